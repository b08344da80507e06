"""The best order of tasks that are replayed, or not learned to the end: `best_order_with_replay`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from ebbing._tables import Table, Tabular, format_number
from ebbing._validate import Array, check_count
from ebbing.learners import LinearLearner, MinimumNorm, check_learner
from ebbing.order._curriculum_values import Counts, curriculum_values
from ebbing.order._tables import describe_objective, join_names
from ebbing.order.objective import Criterion, Objective
from ebbing.problem import Problem
from ebbing.theory._description import describe
from ebbing.theory._step_checks import check_rates_converge

MOST_TASKS = 8
"""Largest T: all orders are tried."""


@dataclass(frozen=True, eq=False)
class ReplayOrder(Tabular):
    """The best order of tasks that are replayed, or not learned to the end.

    Attributes:
        problem: The tasks, in the order in which they were given.
        order: Indices of the tasks from 0, in the order of learning (T,).
        value: The objective in that order; no order is below it.
        worst: The largest value of all orders.
        values: The objective of every order, in the order of `itertools.permutations`.
        objective: What is minimized.
    """

    problem: Problem
    order: tuple[int, ...]
    value: float
    worst: float
    values: Array
    objective: Objective

    @property
    def names(self) -> tuple[str, ...]:
        """The tasks' names in the order of learning."""
        return tuple(self.problem.names[i] for i in self.order)

    @property
    def given(self) -> float:
        """The objective in the order given."""
        return float(self.values[0])

    def _answer(self) -> str:
        quantity, best = describe_objective(self.objective), format_number(self.value, ".4g")
        if self.value >= self.given:
            return f"Keep your order: its {quantity} is {best}, and no order has less."
        given = format_number(self.given, ".4g")
        return f"Learn {join_names(self.names)}: the {quantity} is {best}, instead of {given} in the order as given."

    def _tables(self) -> Sequence[Table]:
        quantity = describe_objective(self.objective)
        rows = [
            ["this order", format_number(self.value)],
            ["the order given", format_number(self.given)],
            ["mean of all orders", format_number(float(self.values.mean()))],
            ["the worst order", format_number(self.worst)],
        ]
        title = f"{describe(self.problem)}\nLearn in this order for the least {quantity}:\n  {join_names(self.names)}"
        return (Table(title, ["", quantity], rows, [f"Proved: all {len(self.values):,} orders were tried."]),)


def best_order_with_replay(
    problem: Problem,
    memory: int,
    objective: Objective = "forgetting",
    *,
    learner: LinearLearner = MinimumNorm(),  # noqa: B008  (frozen)
) -> ReplayOrder:
    """Find the best order of at most 8 tasks when every old task is replayed at each step, by trying all.

    Args:
        problem: The tasks.
        memory: Fresh samples of each old task at every step, mixed with the new one; 0 for none.
        objective: "forgetting", "generalization", the weight of forgetting from 0 to 1, or weights of both.
        learner: How each step learns.

    Returns:
        The order with its value.

    Raises:
        ValueError: If there are more than 8 tasks, or a single one.

    Example:
        >>> best_order_with_replay(Problem.categories("AABB", n=50, p=200, sigma=0.3), memory=10).order
        (0, 2, 1, 3)
    """
    criterion = Criterion.of(problem, objective)
    memory = memory if memory == 0 else check_count("memory", memory)
    T = problem.T
    if not 2 <= T <= MOST_TASKS:
        raise ValueError(f"the problem has {T} tasks: all orders of 2 to {MOST_TASKS} tasks are tried; use fewer")
    check_rates_converge(problem.n, problem.p, check_learner(learner))
    orders = np.array(list(permutations(range(T))))
    values = _order_values(criterion, orders, memory, learner)
    best = int(np.argmin(values))
    order = tuple(orders[best].tolist())
    return ReplayOrder(problem, order, float(values[best]), float(values.max()), values, criterion.objective)


def _order_values(criterion: Criterion, orders: Counts, memory: int, learner: LinearLearner) -> Array:
    """Return the objective of replaying in each order (orders,)."""
    problem, T = criterion.problem, criterion.problem.T
    places = np.argsort(orders, axis=1)  # (orders, T): when each task is learned
    step = np.arange(T)[None, :, None]
    samples = np.where(places[:, None] == step, problem.n, np.where(places[:, None] < step, memory, 0))
    F, G = np.empty(len(orders)), np.empty(len(orders))
    for i, (order, one) in enumerate(zip(orders, samples, strict=True)):
        reordered = problem.reordered(order)
        f, g = curriculum_values(reordered, one[None][:, :, order], learner)
        F[i], G[i] = f[0], g[0]
    return criterion.generalization * G + (criterion.forgetting * F if criterion.forgetting else 0.0)
