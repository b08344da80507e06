"""Digits of the expected traces of Wishart matrices on 200 random cases. Run: python benchmarks/wishart_digits.py

Prints the largest relative error of E tr f, f(1-f), f^2, f^2/s and f f' against sixty-digit arithmetic for Ridge,
GradientFlow and GradientSteps. References of gradient steps and flows cost more than those of Ridge, so that their
min(N, p) is smaller; p goes up to 10^6 for all. Takes about half an hour.
"""

from __future__ import annotations

import sys
from decimal import MAX_EMAX, Decimal, localcontext
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))
import plain_wishart

from ebbing import GradientFlow, GradientSteps, Ridge
from ebbing.theory._rare_eigenvalues import rare_traces
from ebbing.theory._step_rates import functions_of, tail_of
from ebbing.theory._wishart import EXACT, expected_traces, spectrum

CASES = 200


def traces(learner: Ridge | GradientFlow | GradientSteps, N: int, p: int) -> np.ndarray:
    return expected_traces(functions_of(learner), N, p, tail_of(learner))[[0, 2, 3, 4, 5]]


def sizes(rng: np.random.Generator, most: float) -> tuple[int, int]:
    """Return N and p, one of them up to 10^6, the smaller up to `most`; a third of them next to each other."""
    small = int(10 ** rng.uniform(0, np.log10(most)))
    large = small + int(rng.integers(4)) if rng.random() < 1 / 3 else max(small, int(10 ** rng.uniform(0, 6)))
    return (small, large) if rng.random() < 0.5 else (large, small)


def case(rng: np.random.Generator) -> tuple[str, float]:
    match rng.integers(4):
        case 0 | 1:
            N, p = sizes(rng, 10**5)
            penalty = float(10 ** rng.uniform(-3, 1) * (np.sqrt(N) + np.sqrt(p)) ** 2)
            learner, reference = Ridge(penalty), lambda: plain_wishart.ridge(penalty, N, p)
        case 2:
            N, p = sizes(rng, 60)
            time = float(10 ** rng.uniform(-2, 2) / (np.sqrt(N) + np.sqrt(p)) ** 2)
            learner, reference = GradientFlow(time), lambda: plain_wishart.gradient_flow(time, N, p)
        case _:
            N, p = sizes(rng, 2000)
            steps = int(10 ** rng.uniform(0, np.log10(min(300, 2 + 1000 / np.sqrt(min(N, p))))))
            rate = float(rng.uniform(0.05, 1.5) / (np.sqrt(N) + np.sqrt(p)) ** 2)
            learner, reference = GradientSteps(rate, steps), lambda: plain_wishart.gradient_steps(rate, steps, N, p)
    way = "density" if min(N, p) <= EXACT else "1/k"
    name = f"{learner}, N={N}, p={p} ({way})"
    try:
        found = traces(learner, N, p)
    except OverflowError:
        assert isinstance(learner, GradientSteps)
        error = error_of_logarithms(learner, N, p)
        return f"{name}: {error:.1e}, above the largest number", error
    except ArithmeticError as reason:
        return f"{name}: refused, {reason}", np.nan
    error = float(np.max(np.abs(found / np.array(reference()) - 1)))
    return f"{name}: {error:.1e}", error


def error_of_logarithms(learner: GradientSteps, N: int, p: int) -> float:
    """Return the largest relative error of traces that no float can hold, from their logarithms."""
    k, alpha = min(N, p), float(abs(N - p))
    found, exponents = rare_traces(learner.learning_rate, learner.steps, k, alpha)
    x, weights = spectrum(k, alpha)
    with np.errstate(over="ignore", invalid="ignore"):
        others = functions_of(learner)(x) @ weights  # what is not finite here is nothing next to the rare eigenvalues
    exact = plain_wishart.gradient_steps_in_digits(learner.learning_rate, learner.steps, N, p)
    with localcontext() as context:
        context.prec, context.Emax = 60, MAX_EMAX
        scales = [Decimal(exponent).exp() for exponent in exponents.tolist()]
        finite = np.where(np.isfinite(others), others, 0.0).tolist()
        totals = [Decimal(a) * scale + Decimal(b) for a, scale, b in zip(found.tolist(), scales, finite, strict=True)]
        return max(abs(float(totals[i] / b) - 1) for i, b in zip((0, 2, 3, 4, 5), exact, strict=True))


def main() -> None:
    rng, errors = np.random.default_rng(0), []
    for _ in range(CASES):
        text, error = case(rng)
        print(text, flush=True)
        errors.append(error)
    known = np.array(errors)[np.isfinite(errors)]
    print(f"{len(known)} of {CASES} cases, largest relative error {known.max():.1e}; {CASES - len(known)} refused")


if __name__ == "__main__":
    main()
