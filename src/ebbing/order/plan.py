"""In which order should the tasks be learnt? `best_order`.

How an order is found, and what its certificate says:

==============================  ==============================================  ================================
what is minimised               how                                             certificate
==============================  ==============================================  ================================
generalization error            a sort (proof in docs/order.md)                 optimal, at any T, n_t, sigma_t
forgetting or a mix,            branch and bound with dominance (`exact`),      proved in seconds to T = 16, and
equal n and sigma               local search and convex bound (`heuristic`,     further with repeated tasks;
                                `bounds`) beyond                                beyond, a lower bound
forgetting or a mix,            depth-first search over the expectation,        proved to T = 12 or so; beyond,
unequal n or sigma              annealing beyond (`unequal`)                    a lower bound
==============================  ==============================================  ================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial, prod

import numpy as np
import numpy.typing as npt

from ebbing.order import exact, heuristic, unequal
from ebbing.order.bounds import convex_bound
from ebbing.order.objective import Minimise, Objective
from ebbing.problem import Problem

Progress = Callable[[str], None]
"""Called now and then with a line on how the search stands."""

PROVABLE_STATES = 2**20
"""Sets of learnt tasks (identical tasks counted together) up to which a proof is tried: 20 different tasks."""
_PROVABLE_UNEQUAL = 14
"""Tasks up to which a proof is tried when they differ in n or sigma."""


@dataclass(frozen=True)
class Plan:
    """An order with its certificate.

    order: indices into the problem's tasks, from 0, in the order of learning.
    value: what was minimised, in that order (for `worst_order`, maximised).
    lower_bound: no order is below it (for `worst_order`: above). Equal to `value` if proved.
    proved: no order is better by more than `tolerance`.
    how: by which method it was found.
    ties: how many orders share the value, identical tasks told apart; None if not known.
    """

    problem: Problem
    order: tuple[int, ...]
    value: float
    lower_bound: float
    proved: bool
    tolerance: float
    how: str
    ties: int | None

    @property
    def gap(self) -> float:
        """How far the order may be from the best one."""
        return abs(self.value - self.lower_bound)

    @property
    def names(self) -> tuple[str, ...]:
        """The tasks' names in the order of learning."""
        return tuple(self.problem.names[i] for i in self.order)

    @property
    def reordered(self) -> Problem:
        """The problem with its tasks in this order."""
        return self.problem.reordered(self.order)


def best_order(
    problem: Problem,
    minimise: Minimise = "forgetting",
    *,
    seconds: float = 60.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> Plan:
    """The order of least expected forgetting, generalization error, or a weighted mix.

    The search ends when the order is proved optimal, after about `seconds`, or at Ctrl-C; in any case with the best
    order found and a valid lower bound.

    >>> plan = best_order(Problem.categories("AAABBB", n=50, p=100, sigma=0.3))
    >>> plan.names, plan.proved, plan.ties
    (('A1', 'B1', 'A2', 'B2', 'A3', 'B3'), True, 72)
    """
    objective = Objective.of(problem, minimise)
    if not objective.forgetting:
        return _by_sorting(objective)
    if problem.T == 1:
        return Plan(problem, (0,), objective.value([0]), objective.value([0]), True, 0.0, "there is only one order", 1)
    search = _equal if problem.uniform else _unequal
    return search(objective, seconds, seed, progress or (lambda line: None))


# -------------------------------------------------------------------- methods


def _by_sorting(objective: Objective) -> Plan:
    recursion = unequal.Recursion.of(objective.problem, *objective.coefficients)
    keys = recursion.gaps.mean(axis=1) + recursion.level
    distinct = np.sort(keys)
    groups = np.split(distinct, np.flatnonzero(np.diff(distinct) > 1e-12 * np.abs(distinct).max()) + 1)
    # A task that keeps nothing makes the order before it irrelevant; then there are more ties than those counted here.
    ties = prod(factorial(len(group)) for group in groups) if np.all(recursion.keep > 0) else None
    order = unequal.generalization_order(recursion)
    return certified(objective, order, None, recursion.tolerance, "sorted, most dissimilar and noisy first", ties=ties)


def _equal(objective: Objective, seconds: float, seed: int, progress: Progress) -> Plan:
    problem = objective.problem
    assignment, constant = objective.assignment()
    provable = states(problem) <= PROVABLE_STATES
    found = heuristic.search(
        assignment,
        seed=seed,
        rounds=200 * problem.T if provable else None,
        seconds=seconds * (0.2 if provable else 0.8),
        progress=lambda f: progress(f"best so far {f.value + constant:.6g} after {f.rounds} rounds"),
    )
    if not provable:
        bound = convex_bound(assignment, seconds=seconds * 0.2).value + constant
        return certified(
            objective, found.order, bound, assignment.tolerance, "iterated local search, convex lower bound"
        )
    proof = exact.prove(
        assignment,
        incumbent=found.order,
        seconds=seconds * 0.8,
        progress=lambda p: progress(f"best {p.value + constant:.6g}, no order below {p.lower_bound + constant:.6g}"),
    )
    if not proof.proved:
        how = "branch and bound, out of time"
        return certified(objective, proof.order, proof.lower_bound + constant, proof.tolerance, how)
    ties = exact.ties(assignment, proof.value, seconds=min(5.0, seconds))
    if not ties.complete:
        return certified(objective, proof.order, None, proof.tolerance, "branch and bound")
    first = min(ties.orders.tolist())  # of equally good orders, the one nearest to the order given
    return certified(objective, first, None, proof.tolerance, "branch and bound", ties=ties.count)


def _unequal(objective: Objective, seconds: float, seed: int, progress: Progress) -> Plan:
    T = objective.problem.T
    recursion = unequal.Recursion.of(objective.problem, *objective.coefficients)
    found = unequal.search(
        recursion,
        seed=seed,
        rounds=coolings(T),
        seconds=seconds * (0.3 if T <= _PROVABLE_UNEQUAL else 1.0),
        progress=lambda f: progress(f"best so far {f.value:.6g} after {f.rounds} coolings"),
    )
    if T > _PROVABLE_UNEQUAL:
        return certified(objective, found.order, unequal.lower_bound(recursion), recursion.tolerance, "annealing")
    proof = unequal.prove(
        recursion,
        found.order,
        seconds=seconds * 0.7,
        progress=lambda p: progress(f"best {p.value:.6g}, no order below {p.lower_bound:.6g}"),
    )
    bound = None if proof.proved else proof.lower_bound
    return certified(objective, proof.order, bound, proof.tolerance, "depth-first search over the expectation")


def certified(
    objective: Objective,
    order: npt.ArrayLike,
    bound: float | None,
    tolerance: float,
    how: str,
    *,
    ties: int | None = None,
) -> Plan:
    """The plan with its value by `expect` itself, whatever the search computed; no bound means proved."""
    index = _twins_in_turn(objective.problem, np.asarray(order))
    value = objective.value(index)
    return Plan(objective.problem, index, value, value if bound is None else bound, bound is None, tolerance, how, ties)


def _kinds(problem: Problem) -> npt.NDArray[np.int64]:
    """A number for each task, the same for identical ones (T,)."""
    rows = np.column_stack([problem.gaps, problem.start, problem.n, problem.noise_variance])
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)


def states(problem: Problem) -> int:
    """Sets of learnt tasks, identical tasks counted together."""
    return prod(int(count) + 1 for count in np.bincount(_kinds(problem)))


def _twins_in_turn(problem: Problem, order: npt.NDArray[np.intp]) -> tuple[int, ...]:
    """The same order with identical tasks taken as they were given: A1 before A2."""
    kinds = _kinds(problem)
    result = order.copy()
    for kind in np.unique(kinds):
        places = np.flatnonzero(kinds[order] == kind)
        result[places] = np.sort(order[places])
    return tuple(int(i) for i in result)


def coolings(T: int) -> int:
    """Coolings: many for few tasks, where each takes a millisecond."""
    return max(10, 4000 // T)
