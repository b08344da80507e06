"""What is at stake in choosing an order: the best, the worst, the given and random ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import factorial, inf, nan
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ebbing._tables import Table, Tabular, format_number, to_frame
from ebbing._validate import check_count, check_seconds, check_seed
from ebbing.order import _branch_and_bound, _local_search, _unequal
from ebbing.order._best_order import Progress, best_order, compile_search, coolings
from ebbing.order._bounds import convex_bound
from ebbing.order._clock import SOON, Clock, heed_interrupts, heeding, interrupt_requested
from ebbing.order._compilation import check_searchable, describe_method
from ebbing.order._known_orders import KnownOrders, order_values
from ebbing.order._search_space import PROVABLE_UNEQUAL, provable
from ebbing.order._tables import COLUMNS, problem_table
from ebbing.order.objective import Criterion, Objective
from ebbing.order.plan import Plan, certified, order_table
from ebbing.problem import Problem
from ebbing.theory import expect
from ebbing.theory._description import learning_notes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_SAMPLED = 1000  # random orders; if there are no more orders than that, all of them
_BATCH = 50


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
    criterion, seconds, seed = Criterion.of(problem, objective), check_seconds(seconds), check_seed(seed)
    with heed_interrupts():
        if not criterion.forgetting:
            recursion = _unequal.Recursion.of(problem, *criterion.coefficients)
            order, how = _unequal.generalization_order(recursion)[::-1], "sorted, most similar first"
            return certified(KnownOrders.of(criterion), order, None, recursion.tolerance, how, worst=True)
        check_searchable(problem.T)
        ready, clock = compile_search(problem.uniform, heeding(None)), Clock(seconds)
        return (_worst_equal if problem.uniform else _worst_unequal)(KnownOrders.of(criterion), clock, seed, ready)


def _worst_equal(known: KnownOrders, clock: Clock, seed: int, ready: bool) -> Plan:
    """Search, or where the search is not compiled yet, only bound the known orders."""
    scaled, factor = known.criterion.scaled()
    assignment, constant = scaled.assignment()
    negated, T, tolerance = assignment.negated(), scaled.problem.T, factor * assignment.tolerance
    order, proved = known.extreme(worst=True), False
    few = provable(scaled.problem)
    if ready:
        start = None if few else order
        search_seconds = clock.left * (0.25 if few else 0.5)
        order = _local_search.search(negated, seed=seed, seconds=search_seconds, rounds=100 * T, start=start).order
    if ready and few:
        how = describe_method("branch and bound")
        proof = _branch_and_bound.prove(negated, incumbent=order, seconds=clock.left)
        order, bound, proved = proof.order, proof.lower_bound, proof.proved
    else:
        how, bound = describe_method("local search"), convex_bound(negated, seconds=clock.left).value
    above = None if proved else factor * (constant - bound) + known.criterion.noise_share
    return certified(known, order, above, tolerance, how, worst=True, interrupted=interrupt_requested())


def _worst_unequal(known: KnownOrders, clock: Clock, seed: int, ready: bool) -> Plan:
    """Search, without a bound; where the search is not compiled yet, take the worst known order."""
    scaled, factor = known.criterion.scaled()
    a, b = scaled.coefficients
    recursion, T, order = _unequal.Recursion.of(scaled.problem, -a, -b), scaled.problem.T, known.extreme(worst=True)
    if ready:
        start = None if T <= PROVABLE_UNEQUAL else order
        order = _unequal.search(recursion, seed=seed, seconds=clock.left, rounds=coolings(T), start=start).order
    tolerance, how = factor * recursion.tolerance, describe_method("annealing")
    return certified(known, order, inf, tolerance, how, worst=True, interrupted=interrupt_requested())


@dataclass(frozen=True, eq=False, repr=False)
class RandomOrders:
    """The values of random orders, or of all orders if there are few.

    Attributes:
        values: The objective in each order (sampled,).
        exhaustive: Whether every order is among them once, so that nothing is random.
    """

    values: npt.NDArray[np.float64]
    exhaustive: bool = False

    @property
    def mean(self) -> float:
        """Mean over the random orders."""
        return float(self.values.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of that mean; 0 if every order is among them, NaN for a single random one."""
        if self.exhaustive:
            return 0.0
        return float(self.values.std(ddof=1) / len(self.values) ** 0.5) if len(self.values) > 1 else nan

    def share_above(self, value: float) -> float:
        """Return the share of random orders that are worse than a value.

        Args:
            value: A value of the objective.

        Returns:
            The share of larger values, from 0 to 1.
        """
        return float(np.mean(self.values > value))

    def __repr__(self) -> str:
        spread = "" if self.exhaustive else f" ± {format_number(self.standard_error, '.1g')}"
        return f"RandomOrders({self.describe()}: mean={format_number(self.mean)}{spread})"

    def describe(self) -> str:
        """Return how many orders there are, in words.

        Returns:
            "1,000 random orders" or "all 24 orders".
        """
        return f"all {len(self.values):,} orders" if self.exhaustive else f"{len(self.values):,} random orders"


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
    criterion, sampled = Criterion.of(problem, objective), check_count("sampled", sampled)
    return RandomOrders(_sample(criterion, sampled, check_seed(seed), Clock())[1])


def _sample(
    criterion: Criterion, sampled: int, seed: int, clock: Clock
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    """Return random orders (m, T) and their values (m,): as many as fit into the time, at least one batch."""
    T, random = criterion.problem.T, np.random.default_rng(seed)
    orders, values = [], []
    for first in range(0, sampled, _BATCH):
        if first and clock.late:
            break
        orders.append(np.array([random.permutation(T) for _ in range(min(_BATCH, sampled - first))]))
        values.append(order_values(criterion, orders[-1]))
    return np.concatenate(orders), np.concatenate(values)


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
        exhaustive = factorial(problem.T) <= _SAMPLED
        if exhaustive:
            orders = np.array(list(permutations(range(problem.T))))
            values = order_values(criterion, orders)
        else:
            orders, values = _sample(criterion, _SAMPLED, seed, Clock(max(SOON / 4, 0.05 * seconds)))
        plan, worst = (_no_better(found, orders, values, criterion) for found in (plan, worst))
        return Stakes(plan, worst, criterion.value(range(problem.T)), RandomOrders(values, exhaustive))


def _no_better(plan: Plan, orders: npt.NDArray[np.intp], values: npt.NDArray[np.float64], criterion: Criterion) -> Plan:
    """Return a plan that no random order is better than."""
    best = int(values.argmax() if plan.worst else values.argmin())
    gain = (values[best] - plan.value) * (1 if plan.worst else -1)
    if plan.proved or not gain > plan.tolerance + 1e-11 * abs(plan.value):
        return plan
    order = tuple(int(i) for i in orders[best])
    method = f"{plan.method}; nothing better found than a random order"
    return replace(plan, order=order, value=criterion.value(order), method=method)
