"""The best order of tasks that are replayed, or not learned to the end: `best_order_with_replay`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from ebbing._pages import Page
from ebbing._tables import Table, Tabular, format_number, to_frame
from ebbing._validate import Array, check_count, check_seconds, check_seed
from ebbing.learners import LinearLearner, MinimumNorm, check_learner, simplify_learner
from ebbing.order._best_order import Progress, check_progress
from ebbing.order._clock import Clock, heed_interrupts, heeding, interrupt_requested
from ebbing.order._known_orders import KnownOrders
from ebbing.order._replay_orders import ReplayOrders
from ebbing.order._search_space import nearest_equivalent
from ebbing.order._tables import describe_objective, hardly_learned_notes, join_names, short_order
from ebbing.order.objective import Criterion, Objective
from ebbing.order.replay import check_replay_tasks
from ebbing.problem import Problem
from ebbing.theory import InfiniteExpectationError
from ebbing.theory._description import describe, describe_step_model
from ebbing.theory._step_checks import check_rates_converge, check_single_tasks

if TYPE_CHECKING:
    import pandas as pd

ALL_ORDERS = 8
"""Up to this many tasks all orders are tried."""


@dataclass(frozen=True, eq=False)
class ReplayOrder(Tabular):
    """An order of tasks that are replayed, or not learned to the end.

    Attributes:
        problem: The tasks, in the order in which they were given.
        order: Indices of the tasks from 0, in the order of learning (T,).
        value: The objective in that order; never above that in the order given.
        lower_bound: No order is below it; -inf if no bound is known.
        proved: Whether no order is better, up to rounding.
        method: How the order was found.
        given: The objective in the order given; inf if it is infinite.
        values: The objective of every order, in the order of `itertools.permutations`; empty for more than 8 tasks.
        objective: What is minimized.
        interrupted: Whether Ctrl-C ended the search.
        memory: Fresh samples of each old task at every step.
        learner: How each step learns.
    """

    problem: Problem
    order: tuple[int, ...]
    value: float
    lower_bound: float
    proved: bool
    method: str
    given: float
    values: Array
    objective: Objective
    interrupted: bool = False
    memory: int = 0
    learner: LinearLearner = MinimumNorm()  # noqa: RUF009  (frozen)

    @property
    def names(self) -> tuple[str, ...]:
        """The tasks' names in the order of learning."""
        return tuple(self.problem.names[i] for i in self.order)

    @property
    def worst(self) -> float:
        """The largest value of all orders; NaN if not all were tried."""
        return float(self.values.max()) if len(self.values) else np.nan

    @property
    def gap(self) -> float:
        """The largest possible distance of the value from the best one, `value - lower_bound`."""
        return self.value - self.lower_bound

    def to_frame(self) -> pd.DataFrame:
        """Return the order as a pandas DataFrame.

        Returns:
            One row per task in the order of learning, with the columns `place` (from 1), `task` (name) and `index`
            (from 0, in the problem as given).
        """
        places = range(1, len(self.order) + 1)
        return to_frame({"place": places, "task": self.names, "index": self.order})

    def _page(self) -> Page:
        return Page("In which order to learn, with old data")

    def _answer(self) -> str:
        quantity, best = describe_objective(self.objective), format_number(self.value, ".4g")
        if self.value >= self.given:
            least = "no order has less" if self.proved else "no better order was found"
            return f"Keep your order: its {quantity} is {best}, and {least}."
        given = format_number(self.given, ".4g")
        return f"Learn {short_order(self.names)}: the {quantity} is {best}, instead of {given} in the order as given."

    def _tables(self) -> Sequence[Table]:
        quantity = describe_objective(self.objective)
        rows = [["this order", format_number(self.value)], ["the order given", format_number(self.given)]]
        if len(self.values):
            rows.append(["mean of all orders", format_number(float(self.values.mean()))])
            rows.append(["the worst order", format_number(self.worst)])
        replayed = f"; {self.memory} fresh samples of each old task are replayed at every step" if self.memory else ""
        title = (
            f"{describe(self.problem)}\n{describe_step_model(self.learner)}{replayed}.\n"
            f"Learn in this order for the least {quantity}:\n  {join_names(self.names)}"
        )
        return (Table(title, ["", quantity], rows, [self._certificate(quantity), *hardly_learned_notes(self.problem)]),)

    def _certificate(self, quantity: str) -> str:
        if self.proved:
            return f"Proved: no order has a lower {quantity} in this model ({self.method})."
        known = (
            f"no order is below {format_number(self.lower_bound)}"
            if self.lower_bound > -np.inf
            else "no bound is known"
        )
        stopped = " The search was interrupted." if self.interrupted else ""
        return f"Not proved: found by {self.method}; {known}.{stopped} More time (seconds) may find a better order."


def best_order_with_replay(
    problem: Problem,
    memory: int,
    objective: Objective = "forgetting",
    *,
    learner: LinearLearner = MinimumNorm(),  # noqa: B008  (frozen)
    seconds: float = 10.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> ReplayOrder:
    """Find the order of tasks when every old task is replayed at each step.

    Up to 8 tasks all orders are tried. For the generalization error of up to 18 tasks, learned to the end, there is a
    dynamic program over sets of tasks. Both are proofs. Otherwise a local search starts from the order given and from
    those of the simple rules; its result is not proved.

    Args:
        problem: The tasks.
        memory: Fresh samples of each old task at every step, mixed with the new one; 0 for none.
        objective: "forgetting", "generalization", the weight of forgetting from 0 to 1, or weights of both.
        learner: How each step learns.
        seconds: Time for the local search. Ctrl-C ends it with the best order so far.
        seed: Seed of the local search.
        progress: A function that is called with lines about the local search, such as print.

    Returns:
        The order with its value, never worse than the order given, and what is proved of it.

    Raises:
        ValueError: If there is a single task, or the expectation is infinite in every order tried.

    Example:
        >>> best_order_with_replay(Problem.categories("AABB", n=50, p=200, sigma=0.3), memory=10).order
        (0, 2, 1, 3)
        >>> twelve = Problem.categories("AAABBBCCCDDD", n=50, p=900)
        >>> best_order_with_replay(twelve, memory=5, objective="generalization").proved
        True
    """
    criterion = Criterion.of(problem, objective)
    memory = check_count("memory", memory, least=0)
    T, report = check_replay_tasks(problem), heeding(check_progress(progress))
    check_rates_converge(problem.n, problem.p, check_learner(learner))
    if memory:
        check_single_tasks(np.ones((1, T), dtype=np.int64), learner)
    clock, seed = Clock(check_seconds(seconds)), check_seed(seed)
    with heed_interrupts():
        replayed = ReplayOrders(criterion, memory, simplify_learner(learner))
        given = float(replayed.values(np.arange(T)[None])[0])
        values, bound = np.empty(0), replayed.floor()
        if T <= ALL_ORDERS:
            orders = np.array(list(permutations(range(T))))
            values = replayed.values(orders)
            order, method, bound = orders[np.argmin(values)], f"all {len(values):,} orders were tried", np.inf
        elif replayed.by_sets:
            order, method, bound = replayed.best_by_sets(), "a dynamic program over sets of tasks", np.inf
        else:
            starts = KnownOrders.of(criterion).orders
            order, _ = replayed.search(np.concatenate([starts, starts[:, ::-1]]), seed, clock, report)
            method = "local search"
        interrupted = method == "local search" and interrupt_requested()
    order = np.array(nearest_equivalent(problem, order))
    value = float(replayed.values(order[None])[0])
    if given <= value * (1 + 1e-13):  # of equal orders, the one given
        order, value = np.arange(T), given
    if not np.isfinite(value):
        raise InfiniteExpectationError(
            f"memory={memory}: in every order that was tried a step has N within 1 of p={problem.p} and noise or tasks "
            f"that disagree, or its gradient steps diverge; use another memory, another p, or Ridge(penalty)"
        )
    bound = min(bound, value)
    proved = bool(value - bound <= 1e-12 * abs(value))
    found = tuple(int(i) for i in order)
    return ReplayOrder(
        problem, found, value, bound, proved, method, given, values, criterion.objective, interrupted, memory, learner
    )
