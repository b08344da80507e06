"""The worst order in which to learn the tasks: `worst_order`."""

from __future__ import annotations

from math import inf

from ebbing._validate import check_seconds, check_seed
from ebbing.order import _branch_and_bound, _local_search, _unequal
from ebbing.order._best_order import compile_search, coolings, finishing_seconds
from ebbing.order._bounds import convex_bound
from ebbing.order._clock import Clock, heed_interrupts, heeding, interrupt_requested
from ebbing.order._compilation import check_searchable, describe_method
from ebbing.order._known_orders import KnownOrders
from ebbing.order._search_space import PROVABLE_UNEQUAL, provable
from ebbing.order.objective import Criterion, Objective
from ebbing.order.plan import Plan, certified
from ebbing.problem import Problem


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
        ready = compile_search(problem.uniform, heeding(None))
        clock = Clock(seconds - finishing_seconds(problem.T, seconds))
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
