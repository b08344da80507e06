"""The best order in which to learn the tasks, with a certificate: `best_order`.

The search and the certificate depend on what is minimized:

==============================  ==============================================  ================================
what is minimized               how                                             certificate
==============================  ==============================================  ================================
generalization error            a sort (proof: docs/theory/order_search.md)     optimal, at any T, n_t, sigma_t
forgetting or a mix,            branch and bound with dominance, beyond it a    proved in seconds to T = 16, and
equal n and sigma               local search with a convex lower bound          further with repeated tasks;
                                                                                beyond, a lower bound
forgetting or a mix,            depth-first search over the expectation,        proved to T = 12 or so; beyond,
unequal n or sigma              annealing beyond                                a lower bound
==============================  ==============================================  ================================

Without numba (the extra `fast`) the same searches run as plain Python, about 100 times slower: seconds to T = 12.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ebbing._validate import check_seconds
from ebbing.order import _branch_and_bound, _local_search, _unequal
from ebbing.order._bounds import convex_bound
from ebbing.order._compilation import COMPILED, check_searchable, describe_method
from ebbing.order._search_space import PROVABLE_STATES, PROVABLE_UNEQUAL, states
from ebbing.order.objective import Criterion, Objective
from ebbing.order.plan import Plan, certified
from ebbing.problem import Problem

Progress = Callable[[str], None]
"""Called now and then with a line on the state of the search."""

SOON = 1.0
"""Seconds for a bound after Ctrl-C."""


def best_order(
    problem: Problem,
    objective: Objective = "forgetting",
    *,
    seconds: float = 60.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> Plan:
    """Return the order of least expected forgetting, generalization error, or a weighted mix.

    The search ends when the order is proved optimal, after about `seconds`, or at Ctrl-C; in any case with the best
    order found and a valid lower bound.

    Args:
        problem: The tasks, in any order.
        objective: "forgetting", "generalization", or weights such as {"forgetting": 0.7, "generalization": 0.3}.
        seconds: Time for the search.
        seed: Seed of the search; the same seed gives the same order if the time suffices.
        progress: Called now and then with a line on the state of the search.

    Returns:
        The order with its certificate.

    Raises:
        ValueError: If the objective is unknown, or if the expectation is infinite or undefined.
        ModuleNotFoundError: If there are more than 100 tasks, a search is needed, and numba is not installed.

    Example:
        >>> plan = best_order(Problem.categories("AAABBB", n=50, p=100, sigma=0.3))
        >>> plan.names, plan.proved, plan.ties
        (('A1', 'B1', 'A2', 'B2', 'A3', 'B3'), True, 72)
    """
    criterion, seconds = Criterion.of(problem, objective), check_seconds(seconds)
    if not criterion.forgetting:
        return _by_sorting(criterion)
    check_searchable(problem.T)
    if COMPILED:
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
        bound = convex_bound(assignment, seconds=left).value + constant
        how = describe_method("local search, convex lower bound")
        return certified(criterion, found.order, bound, assignment.tolerance, how, interrupted=found.interrupted)
    proof = _branch_and_bound.prove(
        assignment,
        seconds=seconds,
        progress=progress
        and (lambda p: progress(f"best {p.value + constant:.6g}, no order below {p.lower_bound + constant:.6g}")),
    )
    if not proof.proved:
        how = describe_method(f"branch and bound, {'interrupted' if proof.interrupted else 'out of time'}")
        bound = proof.lower_bound + constant
        return certified(criterion, proof.order, bound, proof.tolerance, how, interrupted=proof.interrupted)
    return certified(criterion, proof.order, None, proof.tolerance, describe_method("branch and bound"))


def _order_unequal(criterion: Criterion, seconds: float, seed: int, progress: Progress | None) -> Plan:
    T = criterion.problem.T
    recursion = _unequal.Recursion.of(criterion.problem, *criterion.coefficients)
    found = _unequal.search(
        recursion,
        seed=seed,
        rounds=coolings(T) if T <= PROVABLE_UNEQUAL else 2**31,
        seconds=seconds * (0.3 if T <= PROVABLE_UNEQUAL else 1.0),
        progress=progress and (lambda f: progress(f"best so far {f.value:.6g} after {f.rounds} coolings")),
    )
    if T > PROVABLE_UNEQUAL or found.interrupted:
        bound, how = _unequal.lower_bound(recursion), describe_method("annealing")
        return certified(criterion, found.order, bound, recursion.tolerance, how, interrupted=found.interrupted)
    proof = _unequal.prove(
        recursion,
        found.order,
        seconds=seconds * 0.7,
        progress=progress and (lambda p: progress(f"best {p.value:.6g}, no order below {p.lower_bound:.6g}")),
    )
    bound = None if proof.proved else proof.lower_bound
    how = describe_method("depth-first search over the expectation")
    return certified(criterion, proof.order, bound, proof.tolerance, how, interrupted=proof.interrupted)


def coolings(T: int) -> int:
    """Return how often to anneal: often for few tasks, where it takes a millisecond if it is compiled.

    Args:
        T: Number of tasks.

    Returns:
        The number of coolings.
    """
    return max(10, 4000 // T) if COMPILED else max(1, min(4, 40 // T))
