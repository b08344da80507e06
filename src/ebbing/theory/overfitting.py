"""Errors as functions of the number of parameters p: descent floors, and whether overfitting is benign (Section 4.1).

Overparameterized means p >= n + 2 for every task here, underparameterized p <= n - 2, as in Theorems 1 and 2. As
p grows, every task is learned ever less: F_T -> 0 and G_T -> mean_i |w*_i|^2, the error of the initial model.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ebbing._validate import LARGEST_COUNT, Array
from ebbing.problem import Problem
from ebbing.theory.expectation import check_two_tasks
from ebbing.theory.grid import expect_grid

Quantity = Literal["forgetting", "generalization"]


@dataclass(frozen=True)
class Floor:
    """The lowest point of a curve over overparameterized p."""

    exists: bool  # whether the curve descends to an interior minimum and rises again
    p: float  # where the lowest value is; inf if only the limit is lowest
    value: float  # the lowest value
    first: float  # the value at the smallest p that is overparameterized
    limit: float  # the value for p -> infinity


def descent_floor(problem: Problem, of: Quantity = "generalization") -> Floor:
    """Where E F_T or E G_T is lowest over all p >= n + 2, and whether that is a floor: down, then up again.

    >>> floor = descent_floor(Problem.identical(T=8, n=50, p=100, sigma=0.3), of="generalization")
    >>> floor.exists, floor.p
    (True, 131.0)
    """
    curve, limit = _curve(problem, of), _limit(problem, of)
    first = max(int(problem.n.max()) + 2, problem.rank)
    too_large = f"n={problem.n.max()}: the curve is lowest beyond p = 2^53, the largest that is exact; use a smaller n"
    if first > LARGEST_COUNT:
        raise ValueError(too_large)
    p, value = _lowest(curve, first, LARGEST_COUNT)
    at_first = float(curve(np.array([first]))[0])
    # Far out the curve meets its limit up to rounding, from above or below: only a clear difference counts.
    if value >= limit - 1e-12 * abs(limit):
        return Floor(False, math.inf, limit, at_first, limit)
    if p == LARGEST_COUNT:
        raise ValueError(too_large)
    return Floor(p > first, float(p), value, at_first, limit)


@dataclass(frozen=True)
class OverfittingVerdict:
    """The best that each regime can reach by choosing p."""

    under_p: float  # nan if no p is underparameterized
    under: float
    over_p: float  # inf if the limit is best
    over: float

    @property
    def benign(self) -> bool:
        """Whether the best overparameterized model beats the best underparameterized one."""
        return self.over < self.under

    @property
    def advantage(self) -> float:
        """How much lower the best overparameterized error is."""
        return self.under - self.over


def benign_overfitting(problem: Problem, of: Quantity = "generalization") -> OverfittingVerdict:
    """Is overfitting benign here? Compares the best p <= n - 2 with the best p >= n + 2.

    >>> benign_overfitting(Problem.orthogonal(T=8, n=50, p=100, sigma=0.3)).benign
    True
    >>> benign_overfitting(Problem.identical(T=8, n=50, p=100, sigma=0.01)).benign
    False
    """
    smallest, largest = max(problem.rank, 1), int(problem.n.min()) - 2
    under_p, under = math.nan, math.nan
    if smallest <= largest:
        under_p, under = _lowest(_curve(problem, of), smallest, largest)
    floor = descent_floor(problem, of)
    return OverfittingVerdict(float(under_p), under, floor.p, floor.value)


def _curve(problem: Problem, of: Quantity) -> Callable[[npt.NDArray[np.int64]], Array]:
    if of not in ("forgetting", "generalization"):
        raise ValueError(f"of={of!r}: give 'forgetting' or 'generalization'")
    if of == "forgetting":
        check_two_tasks(problem)
    return lambda p: getattr(expect_grid(problem, p=p), of)


def _limit(problem: Problem, of: Quantity) -> float:
    return 0.0 if of == "forgetting" else float(problem.start.mean())


def _lowest(curve: Callable[[npt.NDArray[np.int64]], Array], first: int, last: int) -> tuple[int, float]:
    """The whole number in first..last with the lowest value: every one nearby, ever sparser ones far out, refined."""
    near = np.arange(first, min(first + 4096, last) + 1)
    far = np.unique(np.geomspace(first, last, 8192).astype(np.int64).clip(first, last))
    points = np.union1d(near, far)
    while True:
        values = curve(points)
        k = int(np.nanargmin(values))
        left, right = points[max(k - 1, 0)], points[min(k + 1, len(points) - 1)]
        if right - left <= 2:
            return int(points[k]), float(values[k])
        points = np.unique(np.append(np.linspace(left, right, 4096).astype(np.int64), points[k]))
