"""Errors as functions of the number of parameters p: descent floors, and whether overfitting is benign (Section 4.1).

Overparameterized means p >= n + 2 for every task here, underparameterized p <= n - 2, as in Theorems 1 and 2. As
p grows, every task is learned less and less: F_T -> 0 and G_T -> mean_i |w*_i|^2, the error of the initial model.
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
from ebbing.theory._rates import check_two_tasks
from ebbing.theory.grid import expect_grid

Quantity = Literal["forgetting", "generalization"]


@dataclass(frozen=True)
class DescentFloor:
    """The lowest point of a curve over overparameterized p.

    Attributes:
        exists: Whether the curve descends to an interior minimum and rises again.
        p: Where the lowest value is; inf if only the limit is lowest.
        value: The lowest value.
        first: The value at the smallest p that is overparameterized.
        limit: The value for p -> infinity.
    """

    exists: bool
    p: float
    value: float
    first: float
    limit: float


def descent_floor(problem: Problem, of: Quantity = "generalization") -> DescentFloor:
    """Return where E F_T or E G_T is lowest over all p >= n + 2, and whether that is a floor: down, then up again.

    Args:
        problem: The tasks; its p does not matter.
        of: Which quantity.

    Returns:
        The lowest point with the values at both ends of the curve.

    Raises:
        ValueError: If the quantity has another name, if the forgetting of a single task is asked for, or if the curve
            is lowest beyond p = 2^53.

    Example:
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
        return DescentFloor(False, math.inf, limit, at_first, limit)
    if p == LARGEST_COUNT:
        raise ValueError(too_large)
    return DescentFloor(p > first, float(p), value, at_first, limit)


@dataclass(frozen=True)
class OverfittingVerdict:
    """The lowest error that each regime can reach by choosing p.

    Attributes:
        under_p: The best underparameterized p; NaN if no p is underparameterized.
        under: The error there; NaN if there is none.
        over_p: The best overparameterized p; inf if the limit is best.
        over: The error there.
    """

    under_p: float
    under: float
    over_p: float
    over: float

    @property
    def benign(self) -> bool:
        """Whether the best overparameterized model beats the best underparameterized one."""
        return self.over < self.under

    @property
    def advantage(self) -> float:
        """The lowest underparameterized error minus the lowest overparameterized one."""
        return self.under - self.over


def benign_overfitting(problem: Problem, of: Quantity = "generalization") -> OverfittingVerdict:
    """Return whether overfitting is benign: compare the best p <= n - 2 with the best p >= n + 2.

    Args:
        problem: The tasks; its p does not matter.
        of: Which quantity.

    Returns:
        The best p of each regime with its error.

    Example:
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
    """Return the p in first..last with the lowest value: every p nearby, a geometric grid beyond, then refined."""
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
