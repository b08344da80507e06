"""What is at stake in choosing an order: the best, the worst, the given and random ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ebbing._tables import Table, Tabular, format_number, to_frame
from ebbing._validate import check_seconds
from ebbing.order import _branch_and_bound, _local_search, _unequal
from ebbing.order._best_order import SOON, Progress, best_order, coolings
from ebbing.order._bounds import convex_bound
from ebbing.order._compilation import check_searchable, describe_method
from ebbing.order._search_space import PROVABLE_STATES, states
from ebbing.order._tables import COLUMNS, problem_table
from ebbing.order.objective import Criterion, Objective
from ebbing.order.plan import Plan, certified, order_table
from ebbing.problem import Problem
from ebbing.theory import expect
from ebbing.theory._description import learning_notes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def worst_order(problem: Problem, objective: Objective = "forgetting", *, seconds: float = 10.0, seed: int = 0) -> Plan:
    """Return the order of largest expected forgetting, generalization error, or a weighted mix.

    Args:
        problem: The tasks, in any order.
        objective: "forgetting", "generalization", or weights such as {"forgetting": 0.7, "generalization": 0.3}.
        seconds: Time for the search.
        seed: Seed of the search.

    Returns:
        The order; its `lower_bound` is an upper bound on every order.

    Example:
        >>> worst = worst_order(Problem.categories("ABAB", n=50, p=100, sigma=0.3))
        >>> worst.names, worst.proved
        (('A1', 'A2', 'B1', 'B2'), True)
    """
    criterion, seconds = Criterion.of(problem, objective), check_seconds(seconds)
    if problem.T == 1:
        return best_order(problem, objective)
    if not criterion.forgetting:
        recursion = _unequal.Recursion.of(problem, *criterion.coefficients)
        worst = _unequal.generalization_order(recursion)[::-1]
        return certified(criterion, worst, None, recursion.tolerance, "sorted, most similar first", worst=True)
    check_searchable(problem.T)
    if problem.uniform:
        assignment, constant = criterion.assignment()
        found = _local_search.search(assignment.negated(), seed=seed, seconds=seconds / 4, rounds=100 * problem.T)
        if states(problem) > PROVABLE_STATES:
            bound = convex_bound(assignment.negated(), seconds=seconds / 2).value
            how = describe_method("local search")
            return certified(criterion, found.order, constant - bound, assignment.tolerance, how, worst=True)
        proof = _branch_and_bound.prove(assignment.negated(), incumbent=found.order, seconds=seconds / 2)
        bound = None if proof.proved else constant - proof.lower_bound
        how = describe_method("branch and bound")
        return certified(criterion, proof.order, bound, proof.tolerance, how, worst=True)
    a, b = criterion.coefficients
    recursion = _unequal.Recursion.of(problem, -a, -b)
    found = _unequal.search(recursion, seed=seed, seconds=seconds, rounds=coolings(problem.T))
    return certified(criterion, found.order, inf, recursion.tolerance, describe_method("annealing"), worst=True)


@dataclass(frozen=True, eq=False)
class RandomOrders:
    """The values of random orders.

    Attributes:
        values: The objective in each order (sampled,).
    """

    values: npt.NDArray[np.float64]

    @property
    def mean(self) -> float:
        """Mean over the random orders."""
        return float(self.values.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of that mean."""
        return float(self.values.std(ddof=1) / len(self.values) ** 0.5)

    def share_above(self, value: float) -> float:
        """Return the share of random orders that are worse than a value.

        Args:
            value: A value of the objective.

        Returns:
            The share of larger values, from 0 to 1.
        """
        return float(np.mean(self.values > value))


def random_orders(
    problem: Problem, objective: Objective = "forgetting", *, sampled: int = 1000, seed: int = 0
) -> RandomOrders:
    """Compute the objective in random orders.

    Args:
        problem: The tasks, in any order.
        objective: "forgetting", "generalization", or weights such as {"forgetting": 0.7, "generalization": 0.3}.
        sampled: Number of random orders.
        seed: Seed of the random orders.

    Returns:
        The values (sampled,).

    Example:
        >>> orders = random_orders(Problem.categories("AABB", n=50, p=100))
        >>> round(orders.mean, 2), orders.share_above(orders.mean) > 0
        (0.55, True)
    """
    criterion = Criterion.of(problem, objective)
    recursion = _unequal.Recursion.of(problem, *criterion.coefficients)
    random = np.random.default_rng(seed)
    return RandomOrders(np.array([recursion.value(random.permutation(problem.T)) for _ in range(sampled)]))


@dataclass(frozen=True, eq=False)
class Stakes(Tabular):
    """The best order beside the given one, the worst one and random ones.

    Attributes:
        plan: The recommended order.
        worst: The worst order.
        given: The value of the order in which the tasks were given.
        random: The values of random orders.
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

    def _both(self, order: Sequence[int]) -> tuple[float, float]:
        """Return E F_T (NaN for a single task) and E G_T."""
        e = expect(self.plan.problem.reordered(order))
        return e.forgetting if len(order) > 1 else nan, e.generalization

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
        mean = f"{format_number(self.random.mean, '.5g')} ± {error if error > plan.tolerance else 0:.1g}"
        means = [mean, *([""] * len(names))] if mixed else [mean if name == plan.objective else "" for name in names]
        rows.append(["random orders, mean", *means])
        shares = [self.random.share_above(value + plan.tolerance) for value in (self.given, plan.value)]
        share_note = (
            "Of {:,} random orders, {:.0%} are worse than the given one and {:.0%} worse than the recommended one."
        )
        headers = ["expected", *(["objective"] if mixed else []), *(COLUMNS[name] for name in names)]
        e = expect(plan.reordered)
        notes = learning_notes(plan.reordered, e.errors, e.forgetting if plan.problem.T > 1 else None)
        return (
            problem_table(plan.problem),
            order_table(plan),
            Table("", headers, rows, [share_note.format(len(self.random.values), *shares), *notes]),
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
    seconds = check_seconds(seconds)
    plan = best_order(problem, objective, seconds=0.8 * seconds, seed=seed, progress=progress)
    left = min(SOON, 0.2 * seconds) if plan.interrupted else 0.2 * seconds
    worst = worst_order(problem, objective, seconds=left, seed=seed)
    given = Criterion.of(problem, objective).value(range(problem.T))
    return Stakes(plan, worst, given, random_orders(problem, objective, seed=seed))
