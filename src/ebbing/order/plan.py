"""An order of the tasks with its certificate: `Plan`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import factorial, prod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ebbing._pages import Page, distances_picture
from ebbing._tables import Table, Tabular, format_number, to_frame
from ebbing.order import _branch_and_bound, _unequal
from ebbing.order._compilation import COMPILED
from ebbing.order._known_orders import KnownOrders
from ebbing.order._search_space import nearest_equivalent, provable
from ebbing.order._tables import describe_objective, join_names, problem_table, short_order
from ebbing.order.objective import Criterion, Objective
from ebbing.problem import Problem
from ebbing.theory import expect
from ebbing.theory._description import learning_notes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


_TIES_SECONDS = 1.0 if COMPILED else 5.0
_SMALLEST = 5e-324  # the distance of the smallest numbers


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Tabular):
    """An order of the tasks with its certificate.

    Attributes:
        problem: The tasks, in the order in which they were given.
        order: Indices into the problem's tasks, from 0, in the order of learning (T,).
        value: The objective in that order: the least found, or for `worst_order` the largest.
        lower_bound: No order is below it (for `worst_order`: above it). Equal to `value` if proved.
        proved: Whether no order is better by more than `tolerance`.
        tolerance: Differences below it count as ties.
        method: The method that found the order.
        objective: "forgetting", "generalization" or the weights of both.
        worst: Whether the largest value was searched for.
        interrupted: Whether Ctrl-C ended the search.
    """

    problem: Problem
    order: tuple[int, ...]
    value: float
    lower_bound: float
    proved: bool
    tolerance: float
    method: str
    objective: Objective
    worst: bool = False
    interrupted: bool = False

    @cached_property
    def ties(self) -> int | None:
        """The number of orders that share the value, identical tasks counted apart.

        Returns:
            The number, computed on first use; None if it is not known.
        """
        if not self.proved or self.worst:
            return None
        criterion = Criterion.of(self.problem, self.objective)
        if not criterion.forgetting:
            return _ties_of_sorting(criterion)
        if not (self.problem.uniform and provable(self.problem)):
            return None
        assignment, _ = criterion.scaled()[0].assignment()
        found = _branch_and_bound.ties(assignment, assignment.value(self.order), seconds=_TIES_SECONDS)
        return found.count if found.complete else None

    @property
    def gap(self) -> float:
        """The largest possible distance of the value from the best one, |value - lower_bound|."""
        return abs(self.value - self.lower_bound)

    @property
    def names(self) -> tuple[str, ...]:
        """The tasks' names in the order of learning."""
        return tuple(self.problem.names[i] for i in self.order)

    @property
    def reordered(self) -> Problem:
        """The problem with its tasks in this order."""
        return self.problem.reordered(self.order)

    @property
    def provable(self) -> bool:
        """Whether the search ends with a proof, given enough time."""
        return self.proved or (provable(self.problem) and (self.problem.uniform or not self.worst))

    def to_frame(self) -> pd.DataFrame:
        """Return what happens to each task in this order as a pandas DataFrame.

        Returns:
            One row per task in the order of learning, with the columns `place` (from 1), `task` (name), `index` (from
            0, in the problem as given), `initial_error`, `error_just_learned`, `final_error` and `forgetting`.
        """
        e = expect(self.reordered)
        return to_frame(
            {
                "place": np.arange(1, self.problem.T + 1),
                "task": list(self.names),
                "index": list(self.order),
                "initial_error": e.errors[0],
                "error_just_learned": np.diagonal(e.errors[1:]),
                "final_error": e.errors[-1],
                "forgetting": e.forgetting_matrix[-1],
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distances between the tasks as a heat map, in this order.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.order import plot_task_distances

        return plot_task_distances(self.reordered, ax=ax)

    def __repr__(self) -> str:
        bound = "proved" if self.proved else f"lower_bound={format_number(self.lower_bound)}"
        kind = "worst, " if self.worst else ""
        objective = self.objective if isinstance(self.objective, str) else dict(self.objective)  # type: ignore[arg-type]
        return (
            f"Plan({kind}T={self.problem.T}, objective={objective!r}, value={format_number(self.value)}, {bound}, "
            f"order={short_order(self.names)!r})"
        )

    def _page(self) -> Page:
        return Page("In which order to learn", [distances_picture(self.plot, self.names)])

    def _tables(self) -> Sequence[Table]:
        e = expect(self.reordered)
        notes = learning_notes(self.reordered, e.errors, e.forgetting if self.problem.T > 1 else None)
        order = order_table(self)
        return (problem_table(self.problem), replace(order, notes=notes), e.task_table("Each task in this order:"))


def certified(
    known: KnownOrders,
    order: npt.ArrayLike,
    bound: float | None,
    tolerance: float,
    method: str,
    *,
    worst: bool = False,
    interrupted: bool = False,
) -> Plan:
    """Return the plan of an order, or of a known order that is better; its value does not come from the search.

    Args:
        known: What is minimized, and the orders that the plan must not be worse than.
        order: The order found (T,).
        bound: A lower bound on every order (an upper bound if `worst`); None if the order is proved.
        tolerance: Differences below it count as ties.
        method: The method that found the order.
        worst: Whether the largest value was searched for.
        interrupted: Whether Ctrl-C ended the search.

    Returns:
        The plan; of equivalent orders the one nearest to the order given.
    """
    criterion = known.criterion
    index, value, label = known.at_least(nearest_equivalent(criterion.problem, np.asarray(order)), worst)
    tolerance = max(tolerance, 4 * criterion.problem.T * _SMALLEST)
    gap = 0.0 if bound is None else bound - value if worst else value - bound
    proved = gap <= tolerance
    lower_bound = value if proved or bound is None else bound
    if label and not proved:
        method = f"{method}; nothing better found than the order {label}"
    objective = criterion.objective
    return Plan(criterion.problem, index, value, lower_bound, proved, tolerance, method, objective, worst, interrupted)


def order_table(plan: Plan) -> Table:
    """Return the order and its certificate, as text without columns.

    Args:
        plan: The order.

    Returns:
        A heading, the names in the order of learning, and what is proved of it.
    """
    quantity = describe_objective(plan.objective)
    heading = (
        f"The order with the largest {quantity}" if plan.worst else f"Learn in this order for the least {quantity}"
    )  # fmt: skip
    return Table(f"{heading}:\n  {join_names(plan.names)}\n{_certificate(plan, quantity)}")


def _certificate(plan: Plan, quantity: str) -> str:
    value, bound = format_number(plan.value), format_number(plan.lower_bound)
    lower, below = ("higher", "above") if plan.worst else ("lower", "below")
    if plan.proved:
        ties = plan.ties
        others = "" if ties is None else f" {ties:,} orders share it." if ties > 1 else " No other order has it."
        return (
            f"Proved: no order of these tasks has a {lower} {quantity} in this linear model than {value} "
            f"({plan.method}).{others}"
        )
    known = (
        f"no order of these tasks is {below} {bound} in this linear model, a gap of {format_number(plan.gap, '.2g')}"
        if "inf" not in bound
        else f"no bound {below} it is known"
    )
    if plan.provable:
        advice = "More time (seconds) may close the gap."
    elif plan.worst and "inf" in bound:
        advice = "More time (seconds) may find a worse order, not prove it."
    else:
        advice = "There are too many tasks for a proof; more time (seconds) may find a better order, not prove it."
    stopped = "The search was interrupted. " if plan.interrupted else ""
    return f"Not proved: this order has {value}, and {known} ({plan.method}). {stopped}{advice}"


def _ties_of_sorting(criterion: Criterion) -> int | None:
    """Count orders of equal value: tasks with equal keys may trade places. None if a task retains nothing."""
    recursion = _unequal.Recursion.of(criterion.problem, *criterion.coefficients)
    keys = np.sort(recursion.gaps.mean(axis=1) + recursion.noise_floor)
    groups = np.split(keys, np.flatnonzero(np.diff(keys) > 1e-12 * np.abs(keys).max()) + 1)
    return prod(factorial(len(group)) for group in groups) if np.all(recursion.retained > 0) else None
