"""Sections 4.2 and 5.1: the effect of similar tasks."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from ebbing import theory
from ebbing.paper.claims.examples import pair
from ebbing.paper.claims.registry import Config, claim
from ebbing.problem import Problem
from ebbing.theory import expect

GOLDEN = (5**0.5 - 1) / 2
"""The r at which c_12 changes sign for T = 4."""


@claim(
    "generalization error falls as any two tasks become more similar",
    "Section 4.2",
    "every pair of T <= 7 tasks made more similar; weights of all gaps for T <= 12",
)
def generalization_is_monotone(config: Config) -> tuple[str, bool]:
    falls, apart, lowest = True, 0.0, np.inf
    for T in range(2, 8):
        for n in (10, 50, 90):  # of p = 100
            weights, before = _gap_weights(T, 1 - n / 100), expect(Problem(gram=np.eye(T), n=n, p=100)).generalization
            for i, j in combinations(range(T), 2):
                gram = np.eye(T)
                gram[i, j] = gram[j, i] = 0.5  # a gap of 1 instead of 2
                fall = before - expect(Problem(gram=gram, n=n, p=100)).generalization
                falls, apart = falls and fall > 0, max(apart, abs(fall - weights[i, j]))
    for T in range(2, 13):
        lowest = min(lowest, *(float(_gap_weights(T, r).min()) for r in np.linspace(0.01, 0.99, 99)))
    text = f"the error falls each time, by the weight of the gap up to {apart:.0e}; smallest weight {lowest:.1e} > 0"
    return text, falls and apart < 1e-12 and lowest > 0


def _gap_weights(T: int, r: float) -> npt.NDArray[np.float64]:
    """Return the weight of each gap d_ij, i < j, in Term G2 (T, T)."""
    power = r ** np.arange(T)[::-1]
    return (1 - r) / T * (power[:, None] + power[None, :])


@claim("with two tasks, forgetting grows with their gap", "Section 4.2, (1)", "cosine 1 .. -1 at r = 0.1, 0.5, 0.9")
def two_tasks_forget_more_apart(config: Config) -> tuple[str, bool]:
    curves = [[expect(pair(c, n=n, p=100, sigma=0.3)).forgetting for c in np.linspace(1, -1, 41)] for n in (90, 50, 10)]
    return "strictly rising at all three r", bool(np.all(np.diff(curves) > 0))


def four_tasks(cosine: float, n: int, p: int) -> Problem:
    """Return the problem of four tasks of Section 4.2.

    Args:
        cosine: The cosine between tasks 1 and 2; both are orthogonal to tasks 3 and 4, which are identical.
        n: The number of samples of each task.
        p: The number of parameters.

    Returns:
        The problem.
    """
    gram = np.eye(4)
    gram[0, 1] = gram[1, 0] = cosine
    gram[2, 3] = gram[3, 2] = 1.0
    return Problem(gram=gram, n=n, p=p, sigma=0.3)


@claim(
    "with four tasks, less similar first tasks can mean less forgetting",
    "Section 4.2, (2), condition r < 0.618 added",
    "cosine of tasks 1, 2 from 1 to -1 at r = 0.3, 0.6, 0.65, 0.9",
)
def four_tasks_forget_less_apart(config: Config) -> tuple[str, bool]:
    rising = {}
    for n in (70, 40, 35, 10):
        curve = [expect(four_tasks(c, n=n, p=100)).forgetting for c in np.linspace(1, -1, 21)]
        rising[1 - n / 100] = np.sign(np.diff(curve))
    holds = all(np.all(s == (-1 if r < GOLDEN else 1)) for r, s in rising.items())
    words = ", ".join(f"r = {r:g}: {'falls' if s[0] < 0 else 'rises'}" for r, s in rising.items())
    return f"forgetting with growing gap: {words}", holds


@claim(
    "c_12 < 0 for T = 4 exactly if r < (sqrt 5 - 1)/2 (the paper: always)",
    "Section 4.2, erratum E5",
    "p = 1000, every n < p",
)
def golden_ratio(config: Config) -> tuple[str, bool]:
    # c_12 = (1-r) r (r^2 + r - 1): the sign is that of r^2 + r - 1, whose root in (0, 1) is (sqrt 5 - 1)/2.
    n = np.arange(1, 1000)
    signs = np.array([np.sign(theory.coefficients(4, int(k), 1000)[0, 1]) for k in n])
    holds = bool(np.all(signs == np.where(1 - n / 1000 < GOLDEN, -1, 1)))
    return f"the sign changes between r = 0.618 and 0.619: {'yes' if holds else 'no'}", holds


@claim(
    "two tasks that oppose each other forget more than orthogonal ones", "Section 5.1", "cosines below 0 and cosine 0"
)
def opposed_tasks_forget_most(config: Config) -> tuple[str, bool]:
    orthogonal = expect(pair(0.0, n=50, p=100)).forgetting
    opposed = [expect(pair(c, n=50, p=100)).forgetting for c in np.linspace(-1, -0.05, 20)]
    positive = expect(pair(0.9, n=50, p=100)).forgetting
    text = f"{min(opposed):.3f} .. {max(opposed):.3f} against {orthogonal:.3f}; cosine 0.9: {positive:.3f}"
    return text, min(opposed) > orthogonal > 0 > positive
