"""What is at stake in choosing an order: the best, the worst, the given and random ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ebbing._pages import Page, Picture, distances_picture
from ebbing._tables import Table, Tabular, format_number, to_frame
from ebbing._validate import check_seconds, check_seed
from ebbing.order._best_order import Progress, best_order
from ebbing.order._clock import SOON, Clock, heed_interrupts
from ebbing.order._random_orders import RandomOrders, all_or_random_orders
from ebbing.order._tables import COLUMNS, describe_objective, problem_table, short_order
from ebbing.order._worst_order import worst_order
from ebbing.order.objective import Criterion, Objective
from ebbing.order.plan import Plan, order_table
from ebbing.problem import Problem
from ebbing.theory import expect
from ebbing.theory._description import learning_notes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Stakes(Tabular):
    """The best order beside the given one, the worst one and random ones, or all orders if there are few.

    Attributes:
        plan: The recommended order.
        worst: The worst order.
        given: The value of the order in which the tasks were given.
        random: The values of random orders, or of all orders of at most six tasks.
    """

    plan: Plan
    worst: Plan
    given: float
    random: RandomOrders

    def to_frame(self) -> pd.DataFrame:
        """Return the orders side by side as a pandas DataFrame.

        Returns:
            Rows `recommended`, `given`, `worst` and `random mean` in the column `order`, with the columns `value`,
            `forgetting`, `generalization` (NaN where they are not known) and `tasks` (names in the order of learning).
        """
        plan = self.plan
        rows: list[tuple[object, ...]] = [
            (label, value, *self._both(order), tuple(plan.problem.names[i] for i in order))
            for label, order, value in (
                ("recommended", plan.order, plan.value),
                ("given", tuple(range(plan.problem.T)), self.given),
                ("worst", self.worst.order, self.worst.value),
            )
        ]
        rows.append(("random mean", self.random.mean, nan, nan, None))
        names = ("order", "value", "forgetting", "generalization", "tasks")
        return to_frame(dict(zip(names, zip(*rows, strict=True), strict=True)))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distribution of random orders, with the recommended, the given and the worst one.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.order import plot_order_stakes

        return plot_order_stakes(self, ax=ax)

    def __repr__(self) -> str:
        values = (self.plan.value, self.given, self.random.mean, self.worst.value)
        recommended, given, mean, worst = map(format_number, values)
        return f"Stakes(recommended={recommended}, given={given}, mean={mean}, worst={worst}, plan={self.plan!r})"

    def _both(self, order: Sequence[int]) -> tuple[float, float]:
        """Return E F_T (NaN for a single task) and E G_T."""
        e = expect(self.plan.problem.reordered(order))
        return e.forgetting if len(order) > 1 else nan, e.generalization

    def _page(self) -> Page:
        reading = "Gray: how many orders have which value. Lines: the recommended, the given and the worst order."
        pictures = [Picture(self.plot, reading), distances_picture(self.plan.plot, self.plan.names)]
        return Page("In which order to learn", pictures)

    def _answer(self) -> str:
        quantity, best = describe_objective(self.plan.objective), format_number(self.plan.value, ".4g")
        if self.plan.value >= self.given - self.plan.tolerance:
            least = "no order has less" if self.plan.proved else "no better order was found"
            return f"Keep your order: its {quantity} is {best}, and {least}."
        proved = ", proved to be the least" if self.plan.proved else ""
        return (
            f"Learn {short_order(self.plan.names)}: the {quantity} is {best}{proved}, instead of "
            f"{format_number(self.given, '.4g')} in the order as given."
        )

    def _tables(self) -> Sequence[Table]:
        plan = self.plan
        names = [name for name in COLUMNS if name == "generalization" or plan.problem.T > 1]
        mixed = plan.objective not in names
        rows = []
        for label, order, value in (
            ("recommended order", plan.order, plan.value),
            ("order as given", range(plan.problem.T), self.given),
            ("worst order" + ("" if self.worst.proved else " found"), self.worst.order, self.worst.value),
        ):
            values = dict(zip(COLUMNS, self._both(order), strict=True))
            numbers = [*([value] if mixed else []), *(values[name] for name in names)]
            rows.append([label, *map(format_number, numbers)])
        error = self.random.standard_error
        mean = format_number(self.random.mean, ".5g")
        if not self.random.exhaustive:
            mean += f" ± {error if error > plan.tolerance else 0:.1g}"
        means = [mean, *([""] * len(names))] if mixed else [mean if name == plan.objective else "" for name in names]
        rows.append([f"{'all' if self.random.exhaustive else 'random'} orders, mean", *means])
        shares = [self.random.share_above(value + plan.tolerance) for value in (self.given, plan.value)]
        share_note = "Of {}, {:.0%} are worse than the given one and {:.0%} worse than the recommended one."
        headers = ["expected", *(["objective"] if mixed else []), *(COLUMNS[name] for name in names)]
        e = expect(plan.reordered)
        notes = learning_notes(plan.reordered, e.errors, e.forgetting if plan.problem.T > 1 else None)
        return (
            problem_table(plan.problem),
            order_table(plan),
            Table("", headers, rows, [share_note.format(self.random.describe(), *shares), *notes]),
            e.task_table("Each task in the recommended order:"),
        )


def stakes(
    problem: Problem,
    objective: Objective = "forgetting",
    *,
    seconds: float = 60.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> Stakes:
    """Compare the best order with the given one, the worst one and random ones.

    Args:
        problem: The tasks, in the order to compare with.
        objective: "forgetting", "generalization", or weights such as {"forgetting": 0.7, "generalization": 0.3}.
        seconds: Time for the searches; most of it is spent on the best order.
        seed: Seed of the searches and of the random orders.
        progress: Called now and then with a line on the state of the search.

    Returns:
        The recommended order and the values of the others.

    Example:
        >>> found = stakes(Problem.categories("AABB", n=50, p=100))
        >>> found.plan.value < found.random.mean < found.worst.value == found.given
        True
    """
    criterion, seconds, seed = Criterion.of(problem, objective), check_seconds(seconds), check_seed(seed)
    with heed_interrupts():
        plan = best_order(problem, objective, seconds=0.8 * seconds, seed=seed, progress=progress)
        left = min(SOON, 0.15 * seconds) if plan.interrupted else 0.15 * seconds
        worst = worst_order(problem, objective, seconds=left, seed=seed)
        orders, random = all_or_random_orders(criterion, seed, Clock(max(SOON / 4, 0.05 * seconds)))
        plan, worst = (_no_better(found, orders, random.values, criterion) for found in (plan, worst))
        return Stakes(plan, worst, criterion.value(range(problem.T)), random)


def _no_better(plan: Plan, orders: npt.NDArray[np.intp], values: npt.NDArray[np.float64], criterion: Criterion) -> Plan:
    """Return a plan that no random order is better than."""
    best = int(values.argmax() if plan.worst else values.argmin())
    gain = (values[best] - plan.value) * (1 if plan.worst else -1)
    if plan.proved or not gain > plan.tolerance + 1e-11 * abs(plan.value):
        return plan
    order = tuple(int(i) for i in orders[best])
    method = f"{plan.method}; nothing better found than a random order"
    return replace(plan, order=order, value=criterion.value(order), method=method)
