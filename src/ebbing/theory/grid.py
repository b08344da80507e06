"""`expect` over a grid of p, n and sigma in one vectorized call: `expect_grid`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from ebbing._limits import check_memory
from ebbing._pages import Page, Picture
from ebbing._tables import Table, Tabular, abridged_rows, format_number, to_frame
from ebbing._validate import Array, check_array, check_counts, check_non_negative, check_square_magnitude
from ebbing.problem import Problem, check_problem
from ebbing.theory._covariance import standard_deviations
from ebbing.theory._description import HARDLY_LEARNED, describe_model
from ebbing.theory._rates import Rates, check_two_tasks
from ebbing.theory._recursion import ExpectedErrors, column

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_POINTS_AT_ONCE = 4096
"""Small enough for the work arrays to stay in a core's cache."""


@dataclass(frozen=True, eq=False, repr=False)
class ExpectationGrid(Tabular):
    """The expectations for the same ground truths at many p, n and sigma.

    Where a task with noise has |p - n| <= 1, E F_T, a difference of infinities, is nan, and E G_T is inf unless a later
    task with n >= p removes the infinity.

    Attributes:
        problem: The tasks, in the order of learning.
        p: Parameters at each point (*grid).
        n: Samples of each task at each point (T, *grid).
        sigma: Label noise of each task at each point (T, *grid).
        forgetting: E F_T (*grid); NaN for a single task.
        generalization: E G_T (*grid).
        F1: Forgetting that comes from the initial model (*grid).
        F2: Forgetting that comes from the gaps between tasks (*grid).
        F3: Forgetting that comes from noise (*grid).
        G1: Generalization error that comes from the initial model (*grid).
        G2: Generalization error that comes from the gaps between tasks (*grid).
        G3: Generalization error that comes from noise (*grid).
    """

    problem: Problem
    p: npt.NDArray[np.int64]
    n: npt.NDArray[np.int64]
    sigma: Array
    forgetting: Array
    generalization: Array
    F1: Array
    F2: Array
    F3: Array
    G1: Array
    G2: Array
    G3: Array
    _rates: Rates

    @cached_property
    def _standard_deviations(self) -> Array:
        shape = self.generalization.shape
        result = np.empty((2, self.generalization.size))
        for points in _chunks(self.generalization.size, _POINTS_AT_ONCE // self.problem.T):
            rates = _at(self._rates, points)
            result[:, points] = standard_deviations(self.problem.start, self.problem.gaps, rates)[1:]
        return result.reshape(2, *shape)

    @property
    def forgetting_std(self) -> Array:
        """Exact standard deviation of F_T at every point, computed on first use."""
        check_two_tasks(self.problem)
        return self._standard_deviations[0]

    @property
    def generalization_std(self) -> Array:
        """Exact standard deviation of G_T at every point, computed on first use."""
        return self._standard_deviations[1]

    def to_frame(self) -> pd.DataFrame:
        """Return the grid as a tidy pandas DataFrame.

        Returns:
            One row per point, in C order, with the columns `p`, `n`, `sigma`, `forgetting`, `generalization`, `F1` to
            `F3` and `G1` to `G3`. Where tasks differ in n, `n 1` to `n T` stand in place of `n`; so with `sigma`.
        """
        names = ("forgetting", "generalization", "F1", "F2", "F3", "G1", "G2", "G3")
        return to_frame(self._coordinates() | {name: getattr(self, name).ravel() for name in names})

    def plot(self, ax: Axes | None = None, *, quantity: Literal["forgetting", "generalization"] = "forgetting") -> Axes:
        """Draw forgetting or generalization error against p, n or sigma, whichever has the most values.

        Args:
            ax: The axes to draw on; a new figure if None.
            quantity: Which of the two.

        Returns:
            The axes, with a line for each combination of the other numbers.

        Raises:
            ValueError: If the quantity has another name, or the forgetting of a single task is asked for.
        """
        from ebbing.plot.errors import plot_expectation_grid

        if quantity not in ("forgetting", "generalization"):
            raise ValueError(f"quantity={quantity!r}: give 'forgetting' or 'generalization'")
        if quantity == "forgetting":
            check_two_tasks(self.problem)
        return plot_expectation_grid(self._coordinates(), getattr(self, quantity).ravel(), quantity, ax=ax)

    def _coordinates(self) -> dict[str, npt.NDArray]:
        """Return p, n and sigma of every point (points,), one column per task where tasks differ."""
        found: dict[str, npt.NDArray] = {"p": self.p.ravel()}
        for name in ("n", "sigma"):
            values = getattr(self, name).reshape(self.problem.T, -1)  # (T, points)
            if np.all(values == values[:1]):
                found[name] = values[0]
            else:
                found |= {f"{name} {i}": row for i, row in enumerate(values, start=1)}
        return found

    def _page(self) -> Page:
        reading = "Expected forgetting against the number with the most values, a line for each of the others."
        return Page("Expected forgetting over a grid of sizes", [Picture(self.plot, reading)])

    def _tables(self) -> Sequence[Table]:
        T, points = self.problem.T, self.generalization.size
        coordinates = self._coordinates()
        shown = {name: values for name, values in coordinates.items() if " " not in name}
        columns = {f"forgetting F_{T}": self.forgetting.ravel()} if T > 1 else {}
        columns |= {f"generalization error G_{T}": self.generalization.ravel()}

        def row(i: int) -> list[str]:
            numbers = [f"{values[i]:g}" if name == "sigma" else str(values[i]) for name, values in shown.items()]
            return [*numbers, *(format_number(values[i]) for values in columns.values())]

        hardly = (
            f"Where n/p is below {HARDLY_LEARNED:g} a task is hardly learned: a small F there does not mean that "
            "knowledge is kept."
        )
        notes = [hardly] if np.any(self.n / self.p < HARDLY_LEARNED) else []
        if not np.all(np.isfinite(self.forgetting if T > 1 else self.generalization)):
            notes.append(
                "Where a task with noise has |p - n| <= 1 its expected error is infinite; forgetting, a difference of "
                "infinities, is not defined there (-)."
            )
        title = f"{T} task{'s' * (T > 1)} at {points} point{'s' * (points != 1)}\n{describe_model(self.n, self.p)}"
        return (Table(title, [*shown, *columns], abridged_rows(points, row), notes, left=()),)

    def __repr__(self) -> str:
        return f"ExpectationGrid(T={self.problem.T}, shape={self.generalization.shape})"


def expect_grid(
    problem: Problem,
    *,
    p: npt.ArrayLike | None = None,
    n: npt.ArrayLike | None = None,
    sigma: npt.ArrayLike | None = None,
) -> ExpectationGrid:
    """Compute `expect` for the ground truths of a problem at many p, n and sigma, without a loop over points.

    Args:
        problem: The tasks, in the order of learning.
        p: Parameters; the problem's if None.
        n: Samples of every task; the problem's if None.
        sigma: Label noise of every task; the problem's if None.

    Returns:
        The expectations, with the shape to which p, n and sigma broadcast.

    Raises:
        ValueError: If the shapes do not broadcast, or a p is smaller than the dimension of the ground truths' span.

    Example:
        >>> problem = Problem.orthogonal(T=8, n=50, p=100)
        >>> grid = expect_grid(problem, p=[[20], [100], [1000]], sigma=[0.1, 0.3])
        >>> grid.generalization.round(6).tolist()
        [[1.756897, 1.812069], [1.767399, 1.930026], [1.255981, 1.284355]]
    """
    check_problem(problem)
    given: dict[str, npt.NDArray] = {"p": check_counts("p", problem.p if p is None else p)}
    if n is not None:
        given["n"] = check_counts("n", n)
    if sigma is not None:
        given["sigma"] = check_square_magnitude("sigma", check_non_negative("sigma", check_array("sigma", sigma)))
    try:
        shape = np.broadcast_shapes(*(array.shape for array in given.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in given.items())
        raise ValueError(f"shapes do not broadcast: {shapes}; make them equal, or 1, along each axis") from None
    if (smallest := given["p"].min(initial=problem.p)) < problem.rank:
        raise ValueError(f"p={smallest}: the ground truths span {problem.rank} dimensions; use p >= {problem.rank}")

    size, T = math.prod(shape), problem.T
    check_memory(f"the rates of {T} tasks at {size:,} points", 10.0 * 8 * T * size, "use fewer points at a time")

    def at_every_point(name: str, default: npt.NDArray) -> npt.NDArray:  # (T, *grid)
        values = given[name] if name in given else default.reshape(T, *[1] * len(shape))
        return np.broadcast_to(values, (T, *shape))

    every_n, every_sigma = at_every_point("n", problem.n), at_every_point("sigma", problem.sigma)
    variance = every_sigma.reshape(T, size) ** 2 + problem.unmodeled[:, None]
    rates = Rates.of_counts(every_n.reshape(T, size), at_every_point("p", problem.n).reshape(T, size), variance)
    parts = np.empty((6, size))
    for chunk in _chunks(size, _POINTS_AT_ONCE):
        parts[:, chunk] = _final_parts(problem, _at(rates, chunk))
    parts = parts.reshape(6, *shape)
    F, G = parts[:3].sum(axis=0), parts[3:].sum(axis=0)
    every_p = np.broadcast_to(given["p"], shape)
    return ExpectationGrid(problem, every_p, every_n, every_sigma, F, G, *parts, _rates=rates)


def _final_parts(problem: Problem, rates: Rates) -> Array:
    """Return F1, F2, F3, G1, G2, G3 (6, points)."""
    with np.errstate(invalid="ignore"):  # inf - inf in forgetting, where the expectation is infinite
        mean = ExpectedErrors(problem.gaps, rates)
        for _ in range(problem.T):
            mean.learn_next()
        parts = np.stack(mean.parts(column(problem.start, rates)))
    parts[2, np.any(np.isinf(rates.noise_error), axis=0)] = np.nan
    return parts


def _chunks(size: int, at_once: int) -> list[slice]:
    at_once = max(at_once, 1)
    return [slice(i, i + at_once) for i in range(0, size, at_once)]


def _at(rates: Rates, points: slice) -> Rates:
    return Rates(**{name: values[:, points] for name, values in vars(rates).items()})
