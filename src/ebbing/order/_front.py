"""Orders that balance forgetting and generalization error ("the task order with balanced impact", Section 4.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import frexp, ldexp
from typing import TYPE_CHECKING

from ebbing._pages import Page, Picture
from ebbing._tables import Table, Tabular, format_number, to_frame
from ebbing._validate import check_seconds, check_seed
from ebbing.order._best_order import Progress, best_order, check_progress, compile_search
from ebbing.order._clock import Clock, heed_interrupts, heeding
from ebbing.order._search_space import provable
from ebbing.order._tables import COLUMNS, join_names, problem_table, short_order
from ebbing.order.objective import Criterion
from ebbing.problem import Problem
from ebbing.theory import expect
from ebbing.theory._description import learning_notes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_LEAST = 1e-3  # seconds of a search


@dataclass(frozen=True)
class FrontPoint:
    """A corner of the front: an order and both its values.

    Attributes:
        order: Indices into the problem's tasks, from 0, in the order of learning (T,).
        forgetting: E F_T in that order.
        generalization: E G_T in that order.
        proved: Whether no order is better for the weights that led to this corner.
    """

    order: tuple[int, ...]
    forgetting: float
    generalization: float
    proved: bool


@dataclass(frozen=True, eq=False, repr=False)
class Front(Tabular):
    """The corners of the convex front of forgetting and generalization error; iterate over it for the corners.

    Attributes:
        problem: The tasks, in the order in which they were given.
        points: The corners, least forgetting first.
        complete: Whether every corner is proved and none is missing: each order lies on or above the lines between
            them.
    """

    problem: Problem
    points: tuple[FrontPoint, ...]
    complete: bool

    def to_frame(self) -> pd.DataFrame:
        """Return the corners as a pandas DataFrame.

        Returns:
            One row per corner, least forgetting first, with the columns `forgetting`, `generalization`, `proved` and
            `tasks` (names in the order of learning).
        """
        return to_frame(
            {
                "forgetting": [point.forgetting for point in self.points],
                "generalization": [point.generalization for point in self.points],
                "proved": [point.proved for point in self.points],
                "tasks": [self._names(point) for point in self.points],
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the front: generalization error against forgetting, with the given order.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.order import plot_order_front

        return plot_order_front(self, ax=ax)

    def _names(self, point: FrontPoint) -> tuple[str, ...]:
        return tuple(self.problem.names[i] for i in point.order)

    def _page(self) -> Page:
        below = "no order lies" if self.complete else "not proved: orders may lie"
        reading = f"Each corner is an order; {below} below the line."
        return Page("Orders that balance forgetting and error", [Picture(self.plot, reading)])

    def _answer(self) -> str:
        first, last = self.points[0], self.points[-1]
        if len(self.points) == 1:
            return f"One order has both the least forgetting and the least error: {short_order(self._names(first))}."
        forgetting = (format_number(point.forgetting, ".4g") for point in (first, last))
        error = (format_number(point.generalization, ".4g") for point in (first, last))
        return (
            f"{len(self.points)} orders balance forgetting and error: forgetting from {' to '.join(forgetting)}, and "
            f"generalization error from {' to '.join(error)}."
        )

    def _tables(self) -> Sequence[Table]:
        rows = [
            [
                format_number(point.forgetting),
                format_number(point.generalization),
                join_names(self._names(point)),
                "proved" if point.proved else "not proved",
            ]
            for point in self.points
        ]
        if self.complete:
            note = "All corners of the convex front, proved: no order lies below the lines between them in this model."
        elif provable(self.problem):
            note = (
                "The search ended before every corner was proved: corners may be missing or not the best. More time "
                "(seconds) may complete the front."
            )
        else:
            note = (
                "There are too many tasks for a proof: corners may be missing or not the best. More time (seconds) may "
                "find better ones, not prove them."
            )
        first = self.problem.reordered(self.points[0].order)
        notes = [note, *learning_notes(first, expect(first).errors, self.points[0].forgetting)]
        headers = [*COLUMNS.values(), "order", "certificate"]
        return (
            problem_table(self.problem),
            Table("Orders that balance forgetting and generalization error:", headers, rows, notes, left=(2, 3)),
        )

    def __repr__(self) -> str:
        corners = ", ".join(f"({format_number(p.forgetting)}, {format_number(p.generalization)})" for p in self.points)
        return f"Front(T={self.problem.T}, complete={self.complete}, corners (F, G): {corners})"

    def __iter__(self) -> Iterator[FrontPoint]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)


def front(problem: Problem, *, seconds: float = 60.0, seed: int = 0, progress: Progress | None = None) -> Front:
    """Return the orders that balance forgetting and generalization error: the corners of the convex front.

    Each is optimal for some weights of the two. An order that none of them beats in both respects may lie between
    corners, but no order lies below the line that joins them.

    Args:
        problem: The tasks, in any order.
        seconds: Time for the searches.
        seed: Seed of the searches.
        progress: Called now and then with a line on the state of the search.

    Returns:
        The corners, least forgetting first.

    Raises:
        ValueError: If an argument is not valid, or if the expectation is infinite or undefined.

    Example:
        >>> points = front(Problem.categories("ABBBBB", n=50, p=100))
        >>> [point.order.index(0) + 1 for point in points]       # the special task moves to the front
        [2, 1]
    """
    Criterion.of(problem, "forgetting")  # raises the errors of problems without an answer
    clock, seed, report = Clock(check_seconds(seconds)), check_seed(seed), heeding(check_progress(progress))

    def solve(f: float, g: float) -> FrontPoint:
        weights = {"forgetting": f, "generalization": g}
        plan = best_order(problem, weights, seconds=max(clock.left / 3, _LEAST), seed=seed, progress=report)
        e = expect(plan.reordered)
        return FrontPoint(plan.order, e.forgetting, e.generalization, plan.proved)

    with heed_interrupts():
        compile_search(problem.uniform, report)
        clock = Clock(seconds)
        # A trace of the other quantity breaks ties, so that the ends of the front are not beaten in both respects.
        points, searched = _corners(solve(1.0, 1e-7), solve(1e-7, 1.0), solve, clock, _scale(problem))
    return Front(problem, tuple(points), searched and all(point.proved for point in points))


def _scale(problem: Problem) -> float:
    return float(problem.gaps.max() + problem.start.max())


def _corners(
    first: FrontPoint, last: FrontPoint, solve: Callable[[float, float], FrontPoint], clock: Clock, scale: float
) -> tuple[list[FrontPoint], bool]:
    """Return the corners from the first to the last, and whether there was time to look for all of them."""
    points, open_pairs, searched = [first], [(first, last)], True
    while open_pairs:
        one, other = open_pairs.pop()
        rise, fall = other.forgetting - one.forgetting, one.generalization - other.generalization
        if min(rise, fall) <= 1e-9 * scale:  # the same point, or beaten by its neighbor
            continue
        if clock.late:
            points.append(other)
            searched = False
            continue
        unit = -frexp(max(rise, fall))[1]  # a power of two: products of very small or large differences are not exact
        f, g = ldexp(fall, unit), ldexp(rise, unit)
        between = solve(f, g)
        on_line = f * (between.forgetting - one.forgetting) + g * (between.generalization - one.generalization)
        if on_line >= -1e-9 * scale * max(f, g):  # nothing below the line that joins the two
            points.append(other)
        else:
            open_pairs += [(between, other), (one, between)]
    return points, searched
