"""In which order should the tasks be learned? `best_order`.

How an order is found, and what its certificate says:

==============================  ==============================================  ================================
what is minimized               how                                             certificate
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
from functools import cache, cached_property, lru_cache
from itertools import combinations
from math import factorial, prod

import numpy as np
import numpy.typing as npt

from ebbing.order import _branch_and_bound, _local_search, _unequal
from ebbing.order._bounds import convex_bound
from ebbing.order.objective import Criterion, Objective
from ebbing.problem import Problem

Progress = Callable[[str], None]
"""Called now and then with a line on how the search stands."""

PROVABLE_STATES = 2**20
"""Sets of learned tasks (identical tasks counted together) up to which a proof is tried: 20 different tasks."""
_PROVABLE_UNEQUAL = 14
"""Tasks up to which a proof is tried when they differ in n or sigma."""
SOON = 1.0
"""Seconds that whatever comes after Ctrl-C may take, to end with a bound."""


@dataclass(frozen=True, eq=False)
class Plan:
    """An order with its certificate.

    order: indices into the problem's tasks, from 0, in the order of learning.
    value: what was minimized, in that order (for `worst_order`, maximized).
    lower_bound: no order is below it (for `worst_order`: above). Equal to `value` if proved.
    proved: no order is better by more than `tolerance`.
    how: by which method it was found.
    minimize: what was asked for.
    """

    problem: Problem
    order: tuple[int, ...]
    value: float
    lower_bound: float
    proved: bool
    tolerance: float
    how: str
    objective: Objective
    worst: bool = False  # whether the largest value was looked for
    interrupted: bool = False  # whether Ctrl-C ended the search

    @cached_property
    def ties(self) -> int | None:
        """How many orders share the value, identical tasks told apart; None if not known. Searched for on first use."""
        if not self.proved or self.worst:
            return None
        criterion = Criterion.of(self.problem, self.objective)
        if not criterion.forgetting:
            return _ties_of_sorting(criterion)
        if not self.problem.uniform or states(self.problem) > PROVABLE_STATES:
            return None
        assignment, constant = criterion.assignment()
        found = _branch_and_bound.ties(assignment, self.value - constant, seconds=5.0)
        return found.count if found.complete else None

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
    objective: Objective = "forgetting",
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
    criterion = Criterion.of(problem, objective)
    if not criterion.forgetting:
        return _by_sorting(criterion)
    if progress:
        progress("getting ready (compiling, the first time)")
    _compile(problem.uniform)
    search = _order_equal if problem.uniform else _order_unequal
    return search(criterion, seconds, seed, progress)


# -------------------------------------------------------------------- methods


@cache
def _compile(equal: bool) -> None:
    """Run the searches once on three tasks, so that compiling them does not count as searching."""
    problem = Problem.from_vectors([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], n=5 if equal else [5, 6, 7], p=20)
    criterion = Criterion.of(problem, "forgetting")
    if equal:
        assignment, _ = criterion.assignment()
        proof = _branch_and_bound.prove(assignment)
        _branch_and_bound.ties(assignment, proof.value)
    else:
        recursion = _unequal.Recursion.of(problem, *criterion.coefficients)
        _unequal.prove(recursion, _unequal.search(recursion, rounds=1).order)


def _by_sorting(criterion: Criterion) -> Plan:
    recursion = _unequal.Recursion.of(criterion.problem, *criterion.coefficients)
    order = _unequal.generalization_order(recursion)
    return certified(criterion, order, None, recursion.tolerance, "sorted, most dissimilar and noisy first")


def _ties_of_sorting(criterion: Criterion) -> int | None:
    """Tasks with equal keys may trade places. Where one keeps nothing, orders before it tie too: not counted."""
    recursion = _unequal.Recursion.of(criterion.problem, *criterion.coefficients)
    keys = np.sort(recursion.gaps.mean(axis=1) + recursion.noise_floor)
    groups = np.split(keys, np.flatnonzero(np.diff(keys) > 1e-12 * np.abs(keys).max()) + 1)
    return prod(factorial(len(group)) for group in groups) if np.all(recursion.retained > 0) else None


def _order_equal(criterion: Criterion, seconds: float, seed: int, progress: Progress | None) -> Plan:
    assignment, constant = criterion.assignment()
    if states(criterion.problem) > PROVABLE_STATES:
        found = _local_search.search(
            assignment,
            seed=seed,
            seconds=0.8 * seconds,
            progress=progress and (lambda f: progress(f"best so far {f.value + constant:.6g} after {f.rounds} rounds")),
        )
        left = min(SOON, 0.2 * seconds) if found.interrupted else 0.2 * seconds
        bound, how = convex_bound(assignment, seconds=left).value + constant, "local search, convex lower bound"
        return certified(criterion, found.order, bound, assignment.tolerance, how, interrupted=found.interrupted)
    proof = _branch_and_bound.prove(
        assignment,
        seconds=seconds,
        progress=progress
        and (lambda p: progress(f"best {p.value + constant:.6g}, no order below {p.lower_bound + constant:.6g}")),
    )
    if not proof.proved:
        how = f"branch and bound, {'interrupted' if proof.interrupted else 'out of time'}"
        bound = proof.lower_bound + constant
        return certified(criterion, proof.order, bound, proof.tolerance, how, interrupted=proof.interrupted)
    return certified(criterion, proof.order, None, proof.tolerance, "branch and bound")


def _order_unequal(criterion: Criterion, seconds: float, seed: int, progress: Progress | None) -> Plan:
    T = criterion.problem.T
    recursion = _unequal.Recursion.of(criterion.problem, *criterion.coefficients)
    found = _unequal.search(
        recursion,
        seed=seed,
        rounds=coolings(T) if T <= _PROVABLE_UNEQUAL else 2**31,
        seconds=seconds * (0.3 if T <= _PROVABLE_UNEQUAL else 1.0),
        progress=progress and (lambda f: progress(f"best so far {f.value:.6g} after {f.rounds} coolings")),
    )
    if T > _PROVABLE_UNEQUAL or found.interrupted:
        bound = _unequal.lower_bound(recursion)
        return certified(criterion, found.order, bound, recursion.tolerance, "annealing", interrupted=found.interrupted)
    proof = _unequal.prove(
        recursion,
        found.order,
        seconds=seconds * 0.7,
        progress=progress and (lambda p: progress(f"best {p.value:.6g}, no order below {p.lower_bound:.6g}")),
    )
    bound = None if proof.proved else proof.lower_bound
    how = "depth-first search over the expectation"
    return certified(criterion, proof.order, bound, proof.tolerance, how, interrupted=proof.interrupted)


def certified(
    criterion: Criterion,
    order: npt.ArrayLike,
    bound: float | None,
    tolerance: float,
    how: str,
    *,
    worst: bool = False,
    interrupted: bool = False,
) -> Plan:
    """The plan with its value by `expect` itself, whatever the search computed; no bound means proved."""
    index = _as_given(criterion.problem, np.asarray(order))
    value = criterion.value(index)
    lower_bound = value if bound is None else bound
    proved, objective = bound is None, criterion.objective
    return Plan(criterion.problem, index, value, lower_bound, proved, tolerance, how, objective, worst, interrupted)


@lru_cache(maxsize=8)  # a problem never changes
def _kinds(problem: Problem) -> npt.NDArray[np.int64]:
    """A number for each task, the same for identical ones (T,)."""
    rows = np.column_stack([problem.gaps, problem.start, problem.n, problem.noise_variance])
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in rows])


def states(problem: Problem) -> int:
    """Sets of learned tasks, identical tasks counted together."""
    return prod(int(count) + 1 for count in np.bincount(_kinds(problem)))


def _as_given(problem: Problem, order: npt.NDArray[np.intp]) -> tuple[int, ...]:
    """Of equivalent orders the one nearest to the order given: A1 before A2, and A1 before B1 if A and B may trade."""
    kinds, tasks = _kinds(problem), order.copy()
    members = sorted((np.flatnonzero(kinds == kind) for kind in range(kinds.max() + 1)), key=lambda m: m[0])
    alike: dict[tuple[float, ...], list[npt.NDArray[np.intp]]] = {}
    for m in members:  # kinds may trade only if they are equally large and equal in all that concerns them alone
        key = (len(m), *(float(v[m[0]]) for v in (problem.start, problem.n, problem.noise_variance)))
        alike.setdefault(key, []).append(m)
    for group in alike.values():
        for one, other in combinations(group, 2):
            rest = ~np.isin(np.arange(problem.T), [*one, *other])
            places = [np.flatnonzero(np.isin(tasks, m)) for m in (one, other)]
            may_trade = np.array_equal(problem.gaps[one[0], rest], problem.gaps[other[0], rest])
            if may_trade and places[1][0] < places[0][0]:
                tasks[places[0]], tasks[places[1]] = tasks[places[1]], tasks[places[0]]
    for m in members:
        if len(m) > 1:
            places = np.flatnonzero(np.isin(tasks, m))
            tasks[places] = np.sort(tasks[places])
    return tuple(int(i) for i in tasks)


def coolings(T: int) -> int:
    """Coolings: many for few tasks, where each takes a millisecond."""
    return max(10, 4000 // T)
