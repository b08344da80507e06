"""The errata, numbered as in docs/theory/errata.md, that no other claim covers: what is printed, and what is right."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import numpy as np

from ebbing.paper.claims.registry import Config, claim
from ebbing.paper.proofs import best_places, difference, enumerate_orders
from ebbing.problem import Problem
from ebbing.simulation import simulate, solve_task
from ebbing.theory import descent_floor, expect


@claim(
    "the best alpha is sqrt(r^T / (T-2-(T-3)r)) (the paper: (T-1)r)",
    "proof of Prop. order1, erratum E1",
    "slope of the function at both, T = 6, 8, 12 and r = 0.1, 0.5, 0.7",
)
def erratum_1(config: Config) -> tuple[str, bool]:
    right, printed = [], []
    for T, r in product((6, 8, 12), (0.1, 0.5, 0.7)):
        slopes = [
            (1 - r) * (T - 2) + r - r**T / alpha**2
            for alpha in (np.sqrt(r**T / (T - 2 - k * r)) for k in (T - 3, T - 1))
        ]
        right.append(abs(slopes[0]))
        printed.append(abs(slopes[1]))
    text = f"slope at most {max(right):.0e}; at the printed alpha at least {min(printed):.2f}"
    return text, max(right) < 1e-12 and min(printed) > 0.1


@claim(
    "the trace of E (X'X)^-1 is n/(p-n-1) (the paper: n/(p-n+1))",
    "proof of Lemma 2 and eq. (32), erratum E2",
    "{runs} random matrices of 6 samples and 20 parameters",
)
def erratum_2(config: Config) -> tuple[str, bool]:
    n, p = 6, 20
    X = np.random.default_rng(config.seed).standard_normal((config.runs, p, n))
    trace = np.trace(np.linalg.inv(X.transpose(0, 2, 1) @ X), axis1=1, axis2=2)
    mean, error = trace.mean(), trace.std() / config.runs**0.5
    right, printed = n / (p - n - 1), n / (p - n + 1)
    text = f"{mean:.4f} ± {error:.4f}; right {right:.4f}, printed {printed:.4f}"
    return text, bool(abs(mean - right) < 4 * error and abs(mean - printed) > 10 * error)


@claim(
    "the noise is one value per sample (the paper: per parameter)", "Assumption 3.2, erratum E6", "shapes of y = X w"
)
def erratum_6(config: Config) -> tuple[str, bool]:
    n, p = 5, 12
    labels = (np.ones((n, p)) @ np.zeros(p)).shape
    return f"{n} samples of {p} features have labels of shape {labels}", labels == (n,) != (p,)


@claim(
    "underparameterized means n >= p (the paper: n <= p)",
    "Section 3, erratum E7",
    "least squares from two starting points, p = 12",
)
def erratum_7(config: Config) -> tuple[str, bool]:
    rng, apart = np.random.default_rng(config.seed + 1), {}
    for n in (11, 12, 30):
        X, y = rng.standard_normal((1, n, 12)), rng.standard_normal((1, n))
        ends = [solve_task(start, X, y) for start in (np.zeros((1, 12)), np.ones((1, 12)))]
        apart[n] = float(np.abs(ends[0] - ends[1]).max())
    text = "; ".join(f"n = {n}: solutions differ by {distance:.0e}" for n, distance in apart.items())
    return text, apart[11] > 0.1 and max(apart[12], apart[30]) < 1e-9


@claim(
    "the sum over unlike pairs does not change with the order if categories are equally large (the paper: always)",
    "proof of Prop. order2, erratum E11",
    "all orders of (2, 2) and of (3, 1) at r = 1/2, exact",
)
def erratum_11(config: Config) -> tuple[str, bool]:
    def linear(order: str) -> Fraction:
        T, r = len(order), Fraction(1, 2)
        pairs = [(i, j) for j in range(T) for i in range(j) if order[i] != order[j]]
        return sum((r ** (T - 1 - i) + r ** (T - 1 - j) for i, j in pairs), Fraction(0))

    values = [len({linear(order) for order in enumerate_orders(counts)}) for counts in ((2, 2), (3, 1))]
    return f"different values: {values[0]} for (2, 2), {values[1]} for (3, 1)", values[0] == 1 < values[1]


@claim(
    "i* does not increase with r (true, but it does not follow from the paper's proof)",
    "proof of Prop. order1, 2), erratum E12",
    "T = 6, 9, 14 at 199 values of r, exact",
)
def erratum_12(config: Config) -> tuple[str, bool]:
    falls, counts = True, []
    for T in (6, 9, 14):
        places = [best_places(T, Fraction(k, 200))[0] for k in range(1, 200)]
        falls &= all(a >= b for a, b in pairwise(places))
        counts.append((len(set(places)), T // 2 - 1))
    text = f"never increases: {'yes' if falls else 'no'}; places taken: {', '.join(str(found) for found, _ in counts)}"
    return text, falls and all(found == expected for found, expected in counts)


@claim(
    "the square in the proof has a cross term of mean 0, not 0 (the paper leaves it out)",
    "proof of Theorem 2, erratum E13",
    "{runs} runs",
)
def erratum_13(config: Config) -> tuple[str, bool]:
    problem = Problem.from_vectors([[1.0, 0.0], [0.0, 1.0]], n=30, p=10, sigma=1.0)
    errors = simulate(problem, runs=config.runs, seed=config.seed).errors[:, 2]
    cross = errors[:, 0] - problem.gaps[0, 1] - errors[:, 1]  # L_2[2] = |e|^2
    error = cross.std() / config.runs**0.5
    text = f"mean {cross.mean():+.4f} ± {error:.4f}, standard deviation {cross.std():.2f}"
    return text, bool(abs(cross.mean()) < 4 * error and cross.std() > 0.1)


@claim(
    "the lemma holds from the first task on and for all tasks (the paper: t >= 1 and i <= t)",
    "Lemma 2, erratum E14",
    "{runs} runs of three tasks, every t and i",
)
def erratum_14(config: Config) -> tuple[str, bool]:
    problem = Problem.from_vectors([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.5]], n=20, p=50, sigma=0.7)
    sample, r = simulate(problem, runs=config.runs, seed=config.seed + 1).errors, 0.6
    noise = 20 * 0.49 / (50 - 20 - 1)
    step = sample[:, 1:] - r * sample[:, :-1]  # (runs, T, T)
    z = (step.mean(axis=0) - (1 - r) * problem.gaps - noise) / (step.std(axis=0) / config.runs**0.5)
    return f"largest |z| over t = 0, 1, 2 and i = 1, 2, 3: {np.abs(z).max():.2f}", bool(np.abs(z).max() < 4.5)


@claim(
    "the third column is (T-1)/(1-r) times the difference of forgetting (the paper: the difference)",
    "both tables of orders, erratum E15",
    "rows AABABB and ABBBAA at r = 3/4, T = 6",
)
def erratum_15(config: Config) -> tuple[str, bool]:
    def forgetting(order: str) -> float:
        return expect(Problem.categories(order, norm=0.5**0.5, n=50, p=200)).forgetting

    r, T, ratios = Fraction(3, 4), 6, []
    for order in ("AABABB", "ABBBAA"):
        column = sum(c * r**k for k, c in enumerate(difference(order, "ABABAB")))
        ratios.append(float(column) / (forgetting(order) - forgetting("ABABAB")))
    factor = float((T - 1) / (1 - r))
    text = f"column / difference = {ratios[0]:.6f} and {ratios[1]:.6f}; (T-1)/(1-r) = {factor:g}"
    return text, all(abs(ratio / factor - 1) < 1e-10 for ratio in ratios)


@claim(
    "E G_2 has a floor if and only if 0 < sigma^2 < <w_1, w_2> (the paper: if noise is small)",
    "Section 4.1, 3), erratum E17",
    "two tasks with inner product 0.5, sigma = 0, 0.1, 0.6, 0.70, 0.72, 1",
)
def erratum_17(config: Config) -> tuple[str, bool]:
    sigmas = (0.0, 0.1, 0.6, 0.70, 0.72, 1.0)
    found = [descent_floor(Problem(gram=[[1.0, 0.5], [0.5, 1.0]], n=50, p=100, sigma=s)).exists for s in sigmas]
    shown = ", ".join(f"{s:g}" for s, exists in zip(sigmas, found, strict=True) if exists)
    return f"a floor at sigma = {shown} only", found == [0 < s**2 < 0.5 for s in sigmas]
