"""What replay and stopping early do in the linear model: claims of this project, each with the check that decides it.

docs/theory/replay.md derives them. n samples of each of two tasks, m samples of the first mixed into the second step,
d = |w*_1 - w*_2|^2, N = n + m < p - 1, L = E|w_1 - w*_1|^2 the error of task 1 just learned.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ebbing.curriculum import Curriculum
from ebbing.learners import Ridge
from ebbing.order import best_order_with_replay, best_penalty, best_stopping_time
from ebbing.paper._output import Verdict
from ebbing.problem import Problem
from ebbing.theory import expect

Check = Callable[[], tuple[str, bool]]

CLAIMS: dict[str, tuple[str, str, Check]] = {}
"""Text, procedure and check of each claim, by name."""


def _claim(text: str, procedure: str) -> Callable[[Check], Check]:
    def register(check: Check) -> Check:
        CLAIMS[check.__name__] = text, procedure, check
        return check

    return register


def check(name: str) -> Verdict:
    """Check one claim.

    Args:
        name: A key of `CLAIMS`.

    Returns:
        The verdict.

    Raises:
        ValueError: If there is no such claim.

    Example:
        >>> check("best_penalty_of_one_task").holds
        True
    """
    if name not in CLAIMS:
        raise ValueError(f"name={name!r}: there is no such claim; give one of {', '.join(CLAIMS)}")
    text, procedure, decide = CLAIMS[name]
    result, holds = decide()
    return Verdict(text, "this project", procedure, result, holds)


def _pairs() -> list[tuple[Problem, int]]:
    """Return two tasks at many angles, sizes and noises, with a number m of samples to replay."""
    sizes = ((20, 100, 5), (50, 200, 20), (50, 200, 100), (5, 400, 5))
    return [
        (Problem.from_vectors([[1, 0], [c, np.sqrt(1 - c * c)]], n=n, p=p, sigma=sigma), m)
        for c in np.linspace(-1, 1, 9) for sigma in (0.0, 0.3, 1.0) for n, p, m in sizes
    ]  # fmt: skip


@_claim(
    "replaying m samples increases forgetting exactly if n d / (p-N-1) + s^2 p (p-1) / ((p-N-1)(p-n-1)) > L",
    "the sign of the change, on 108 pairs of tasks",
)
def replay_can_increase_forgetting() -> tuple[str, bool]:  # noqa: D103  (the claim says it)
    right, increases = 0, 0
    for problem, m in _pairs():
        n, p, N = int(problem.n[0]), problem.p, int(problem.n[0]) + m
        without, replayed = expect(problem), expect(problem, Curriculum.replay(problem, m))
        cost = n * problem.gaps[0, 1] / (p - N - 1)
        cost += problem.noise_variance[0] * p * (p - 1) / ((p - N - 1) * (p - n - 1))
        change = replayed.forgetting - without.forgetting
        predicted = (m / p) * (cost - without.errors[1, 0])
        right += bool(abs(change - predicted) <= 1e-12 * max(1.0, abs(cost)))
        increases += change > 0
    total = len(_pairs())
    result = f"right for {right} of {total}; replay increases forgetting in {increases}"
    return result, right == total and 0 < increases < total


@_claim(
    "without noise, mixing m samples of task 1 into step 2 leaves a larger error on it than replaying them in a step "
    "of their own afterwards, exactly if L < d (2p-N-1) / (p-N-1)",
    "the difference, on 36 pairs of tasks",
)
def mixing_against_one_after_another() -> tuple[str, bool]:  # noqa: D103  (the claim says it)
    right, worse, total = 0, 0, 0
    for problem, m in _pairs():
        if problem.noise_variance.any():
            continue
        n, p, N = int(problem.n[0]), problem.p, int(problem.n[0]) + m
        mixed = expect(problem, Curriculum.replay(problem, m)).errors
        after = expect(problem, Curriculum.replay(problem, m, how="sequential")).errors
        difference = mixed[-1, 0] - after[-1, 0]
        d, L = problem.gaps[0, 1], mixed[1, 0]
        predicted = n * m / p**2 * (d * (2 * p - N - 1) / (p - N - 1) - L)
        right += bool(abs(difference - predicted) < 1e-12 * (1 + d))
        worse, total = worse + (difference > 0), total + 1
    return f"right for {right} of {total}; mixing is worse in {worse}", right == total and 0 < worse < total


@_claim(
    "on the same task without noise, one fresh sample gains as much as (p-m)/n stored ones",
    "m stored against m fresh samples at four sizes",
)
def stored_against_fresh() -> tuple[str, bool]:  # noqa: D103  (the claim says it)
    ratios, expected = [], []
    for n, p, m in ((50, 200, 10), (20, 100, 20), (5, 400, 1), (90, 300, 90)):
        problem = Problem.identical(T=2, n=n, p=p)
        without = expect(problem).forgetting
        fresh, stored = (expect(problem, Curriculum.replay(problem, m, stored=s)).forgetting for s in (False, True))
        ratios.append((without - fresh) / (without - stored))
        expected.append((p - m) / n)
    return (
        "gains of fresh over stored samples: " + ", ".join(f"{ratio:.4g}" for ratio in ratios),
        bool(np.allclose(ratios, expected, rtol=1e-9)),
    )


@_claim(
    "the alternating order, best without replay, does not survive it: with two samples of every old task, one category "
    "after the other forgets least",
    "all orders of AABB, AAABBB and AABBCC, n = 20, p = 400 and 1000, sigma = 0.3",
)
def alternating_order_against_replay() -> tuple[str, bool]:  # noqa: D103  (the claim says it)
    found = []
    for labels in ("AABB", "AAABBB", "AABBCC"):
        for p in (400, 1000):
            problem = Problem.categories(labels, n=20, p=p, sigma=0.3)
            orders = [best_order_with_replay(problem, memory).order for memory in (0, 2)]
            found.append(["".join(problem.names[i][0] for i in order) for order in orders])
    alternates = all(before[0] != before[1] and before[1] != before[2] for before, _ in found)
    grouped = all("".join(sorted(after)) == after for _, after in found)
    return "; ".join(f"{before} becomes {after}" for before, after in found), alternates and grouped


@_claim(
    "the best ridge penalty of a single task is p s^2 / |w* - w_0|^2",
    "six problems, n on both sides of p, by minimizing the expected error",
)
def best_penalty_of_one_task() -> tuple[str, bool]:  # noqa: D103  (the claim says it)
    apart = []
    sizes = ((20, 60, 0.1, 1.3), (20, 60, 1, 1), (59, 60, 0.5, 1), (60, 60, 1, 2), (90, 60, 1, 1), (5, 300, 0.5, 1))
    for n, p, sigma, norm in sizes:
        problem = Problem.orthogonal(T=1, n=n, p=p, sigma=sigma, norm=norm)
        learner = best_penalty(problem).learners[0]
        assert isinstance(learner, Ridge)
        apart.append(abs(learner.penalty / (p * sigma**2 / norm**2) - 1))
    return f"largest relative difference {max(apart):.0e}, of the search", max(apart) < 1e-3


@_claim(
    "the best ridge penalty of two tasks grows with their distance and with the noise",
    "cosines 1, 0.8, 0.5, 0, -0.5 and sigma 0.1, 0.5, 1, at n = 20, p = 60",
)
def best_penalty_in_similarity_and_noise() -> tuple[str, bool]:  # noqa: D103  (the claim says it)
    penalties = np.empty((3, 5))
    for i, sigma in enumerate((0.1, 0.5, 1.0)):
        for j, c in enumerate((1, 0.8, 0.5, 0, -0.5)):
            problem = Problem.from_vectors([[1, 0], [c, np.sqrt(1 - c * c)]], n=20, p=60, sigma=sigma)
            learner = best_penalty(problem).learners[0]
            assert isinstance(learner, Ridge)
            penalties[i, j] = learner.penalty
    grows = np.all(np.diff(penalties, axis=0) > 0) and np.all(np.diff(penalties, axis=1) > 0)
    return f"from {penalties.min():.3g} to {penalties.max():.3g}", bool(grows)


@_claim(
    "ridge at its best penalty is at least as good as early stopping at its best time, and not by much",
    "generalization error of 20 random problems, one to four tasks",
)
def early_stopping_against_ridge() -> tuple[str, bool]:  # noqa: D103  (the claim says it)
    rng, ratios = np.random.default_rng(0), []
    for _ in range(20):
        T, n, sigma = int(rng.integers(1, 5)), int(rng.integers(5, 56)), float(rng.uniform(0.1, 2))
        problem = Problem.from_vectors(rng.standard_normal((T, 3)), n=n, p=60, sigma=sigma)
        ratios.append(best_stopping_time(problem).value / best_penalty(problem).value)
    low, high = min(ratios), max(ratios)
    return f"early stopping has {low:.4f} to {high:.4f} times the error of ridge", low >= 1 - 1e-9 and high < 1.1
