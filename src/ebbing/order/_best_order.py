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
from dataclasses import replace

from ebbing._validate import check_seconds, check_seed
from ebbing.order import _branch_and_bound, _local_search, _unequal
from ebbing.order._bounds import convex_bound, convex_bound_seconds
from ebbing.order._clock import Clock, heed_interrupts, heeding, interrupt_requested
from ebbing.order._compilation import COMPILED, check_searchable, compile_first, describe_method
from ebbing.order._known_orders import KnownOrders
from ebbing.order._search_space import PROVABLE_UNEQUAL, provable
from ebbing.order.objective import Criterion, Objective
from ebbing.order.plan import Plan, certified
from ebbing.problem import Problem

Progress = Callable[[str], None]
"""Called now and then with a line on the state of the search."""


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
    order found, which is never worse than the order given and those of the simple rules, and a valid lower bound.

    Args:
        problem: The tasks, in any order.
        objective: "forgetting", "generalization", or weights such as {"forgetting": 0.7, "generalization": 0.3}.
        seconds: Time for the search. The first search of all compiles, which is not part of it; Ctrl-C ends that, too.
        seed: Seed of the search; the same seed gives the same order if the time suffices.
        progress: Called now and then with a line on the state of the search.

    Returns:
        The order with its certificate.

    Raises:
        ValueError: If an argument is not valid, or if the expectation is infinite or undefined.
        ModuleNotFoundError: If there are more than 100 tasks, a search is needed, and numba is not installed.

    Example:
        >>> plan = best_order(Problem.categories("AAABBB", n=50, p=100, sigma=0.3))
        >>> plan.names, plan.proved, plan.ties
        (('A1', 'B1', 'A2', 'B2', 'A3', 'B3'), True, 72)
    """
    criterion, seconds, seed = Criterion.of(problem, objective), check_seconds(seconds), check_seed(seed)
    report = heeding(check_progress(progress))
    with heed_interrupts():
        if not criterion.forgetting:
            return _by_sorting(criterion)
        check_searchable(problem.T)
        ready, clock = compile_search(problem.uniform, report), Clock(seconds - finishing_seconds(problem.T, seconds))
        known = KnownOrders.of(criterion)
        if problem.uniform:
            return _order_equal(known, clock, seed, report if ready else None)
        return _order_unequal(known, clock, seed, report if ready else None)


def finishing_seconds(T: int, seconds: float) -> float:
    """Return how much of the time to keep for the values and equivalents of the order found.

    Args:
        T: Number of tasks.
        seconds: The time for all.

    Returns:
        The time to keep, at most a third.

    Example:
        >>> finishing_seconds(1000, 0.75), finishing_seconds(1000, 60.0)
        (0.25, 1.0)
    """
    return min(seconds / 3, 1e-6 * T**2)


def check_progress(progress: Progress | None) -> Progress | None:
    """Return a function that is told about progress, if it is one.

    Args:
        progress: What a user gave.

    Returns:
        The same.

    Raises:
        ValueError: If it cannot be called.
    """
    if progress is not None and not callable(progress):
        raise ValueError(f"progress={progress!r}: give a function that takes a line of text, such as print, or None")
    return progress


# -------------------------------------------------------------------- methods


def compile_search(equal: bool, report: Progress) -> bool:
    """Compile the searches, so that this does not count as searching; return False if Ctrl-C ended the wait for it.

    Args:
        equal: Whether all tasks have the same n and sigma.
        report: Is told about it while it lasts.

    Returns:
        Whether the searches are ready.
    """
    return compile_first("equal" if equal else "unequal", lambda: _search_three_tasks(equal), report)


def _search_three_tasks(equal: bool) -> None:
    problem = Problem.from_vectors([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], n=5 if equal else [5, 6, 7], p=20)
    criterion, _ = Criterion.of(problem, "forgetting").scaled()
    if equal:
        assignment, _ = criterion.assignment()
        proof = _branch_and_bound.prove(assignment)
        _branch_and_bound.ties(assignment, proof.value)
    else:
        recursion = _unequal.Recursion.of(criterion.problem, *criterion.coefficients)
        _unequal.prove(recursion, _unequal.search(recursion, rounds=1).order)


def _by_sorting(criterion: Criterion) -> Plan:
    recursion = _unequal.Recursion.of(criterion.problem, *criterion.coefficients)
    order, how = _unequal.generalization_order(recursion), "sorted, most dissimilar and noisy first"
    return certified(KnownOrders.of(criterion), order, None, recursion.tolerance, how)


def _order_equal(known: KnownOrders, clock: Clock, seed: int, report: Progress | None) -> Plan:
    """Search, or where there is no `report`, as the search is not compiled yet, only bound the known orders."""
    scaled, factor = known.criterion.scaled()
    assignment, constant = scaled.assignment()
    tolerance = factor * assignment.tolerance

    def real(value: float) -> float:
        return factor * (value + constant) + known.criterion.noise_share

    if report is not None and provable(scaled.problem):
        proof = _branch_and_bound.prove(
            assignment,
            seconds=clock.left,
            progress=lambda p: report(f"best {real(p.value):.6g}, no order below {real(p.lower_bound):.6g}"),
        )
        method = describe_method("branch and bound")
        if proof.proved:
            return certified(known, proof.order, None, tolerance, method)
        how = describe_method(f"branch and bound, {'interrupted' if interrupt_requested() else 'out of time'}")
        order, bound = proof.order, proof.lower_bound
    else:
        order = known.extreme()
        if report is not None:
            for_bound = max(0.2 * clock.left, min(convex_bound_seconds(scaled.problem.T), 0.5 * clock.left))
            order = _local_search.search(
                assignment,
                seed=seed,
                seconds=clock.left - for_bound,
                start=order,
                progress=lambda f: report(f"best so far {real(f.value):.6g} after {f.rounds} rounds"),
            ).order
        below = convex_bound(assignment, seconds=clock.left)
        bound, how = below.value, describe_method(f"local search, {below.name}")
        method = how
    plan = certified(known, order, real(bound), tolerance, how, interrupted=interrupt_requested())
    return replace(plan, method=method) if plan.proved else plan


def _order_unequal(known: KnownOrders, clock: Clock, seed: int, report: Progress | None) -> Plan:
    """Search, or where there is no `report`, as the search is not compiled yet, only bound the known orders."""
    scaled, factor = known.criterion.scaled()
    recursion = _unequal.Recursion.of(scaled.problem, *scaled.coefficients)
    T, tolerance = known.criterion.problem.T, factor * recursion.tolerance
    few, order, how = T <= PROVABLE_UNEQUAL, known.extreme(), describe_method("annealing")
    if report is not None:
        order = _unequal.search(
            recursion,
            seed=seed,
            rounds=coolings(T) if few else 2**31,
            seconds=clock.left * (0.3 if few else 1.0),
            start=None if few else order,
            progress=lambda f: report(f"best so far {factor * f.value:.6g} after {f.rounds} coolings"),
        ).order
    if report is None or not few or interrupt_requested():
        bound = factor * _unequal.lower_bound(recursion, clock.left)
        return certified(known, order, bound, tolerance, how, interrupted=interrupt_requested())
    proof = _unequal.prove(
        recursion,
        order,
        seconds=clock.left,
        progress=lambda p: report(f"best {factor * p.value:.6g}, no order below {factor * p.lower_bound:.6g}"),
    )
    bound = None if proof.proved else factor * proof.lower_bound
    how = describe_method("depth-first search over the expectation")
    return certified(known, proof.order, bound, tolerance, how, interrupted=interrupt_requested() and not proof.proved)


def coolings(T: int) -> int:
    """Return how often to anneal: often, where it takes a millisecond if it is compiled.

    Up to eight tasks have at most 40,320 orders, fewer than a hundred coolings try.

    Args:
        T: Number of tasks.

    Returns:
        The number of coolings.
    """
    if not COMPILED:
        return max(1, min(4, 40 // T))
    return 100 if T <= 8 else max(10, 4000 // T)
