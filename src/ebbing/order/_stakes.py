"""What is at stake in choosing an order: the best, the worst, the given one, and orders at random."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from ebbing.order import _branch_and_bound, _local_search, _unequal
from ebbing.order._bounds import convex_bound
from ebbing.order.objective import Criterion, Objective
from ebbing.order.plan import PROVABLE_STATES, SOON, Plan, Progress, best_order, certified, coolings, states
from ebbing.problem import Problem


def worst_order(problem: Problem, objective: Objective = "forgetting", *, seconds: float = 10.0, seed: int = 0) -> Plan:
    """The order that makes the same quantity largest: what a careless choice may cost.

    >>> worst = worst_order(Problem.categories("ABAB", n=50, p=100, sigma=0.3))
    >>> worst.names, worst.proved
    (('A1', 'A2', 'B1', 'B2'), True)
    """
    criterion = Criterion.of(problem, objective)
    if problem.T == 1:
        return best_order(problem, objective)
    if not criterion.forgetting:
        recursion = _unequal.Recursion.of(problem, *criterion.coefficients)
        worst = _unequal.generalization_order(recursion)[::-1]
        return certified(criterion, worst, None, recursion.tolerance, "sorted, most similar first", worst=True)
    if problem.uniform:
        assignment, constant = criterion.assignment()
        found = _local_search.search(assignment.negated(), seed=seed, seconds=seconds / 4, rounds=100 * problem.T)
        if states(problem) > PROVABLE_STATES:
            bound = convex_bound(assignment.negated(), seconds=seconds / 2).value
            return certified(criterion, found.order, constant - bound, assignment.tolerance, "local search", worst=True)
        proof = _branch_and_bound.prove(assignment.negated(), incumbent=found.order, seconds=seconds / 2)
        bound = None if proof.proved else constant - proof.lower_bound
        return certified(criterion, proof.order, bound, proof.tolerance, "branch and bound", worst=True)
    a, b = criterion.coefficients
    recursion = _unequal.Recursion.of(problem, -a, -b)
    found = _unequal.search(recursion, seed=seed, seconds=seconds, rounds=coolings(problem.T))
    return certified(criterion, found.order, inf, recursion.tolerance, "annealing", worst=True)


@dataclass(frozen=True, eq=False)
class RandomOrders:
    """Values of random orders (sampled,)."""

    values: npt.NDArray[np.float64]

    @property
    def mean(self) -> float:
        """Mean over the sampled orders."""
        return float(self.values.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of that mean."""
        return float(self.values.std(ddof=1) / len(self.values) ** 0.5)

    def share_above(self, value: float) -> float:
        """The share of random orders that are worse than a value."""
        return float(np.mean(self.values > value))


def random_orders(
    problem: Problem, objective: Objective = "forgetting", *, sampled: int = 1000, seed: int = 0
) -> RandomOrders:
    """What orders chosen at random lead to.

    >>> chance = random_orders(Problem.categories("AABB", n=50, p=100))
    >>> round(chance.mean, 2), chance.share_above(chance.mean) > 0
    (0.55, True)
    """
    criterion = Criterion.of(problem, objective)
    recursion = _unequal.Recursion.of(problem, *criterion.coefficients)
    random = np.random.default_rng(seed)
    return RandomOrders(np.array([recursion.value(random.permutation(problem.T)) for _ in range(sampled)]))


@dataclass(frozen=True, eq=False)
class Stakes:
    """The best order beside the given one, the worst, and chance."""

    plan: Plan
    worst: Plan
    given: float  # the value of the order in which the problem came
    chance: RandomOrders


def stakes(
    problem: Problem,
    objective: Objective = "forgetting",
    *,
    seconds: float = 60.0,
    seed: int = 0,
    progress: Progress | None = None,
) -> Stakes:
    """All four, most of the time spent on the best order.

    >>> found = stakes(Problem.categories("AABB", n=50, p=100))
    >>> found.plan.value < found.chance.mean < found.worst.value == found.given
    True
    """
    plan = best_order(problem, objective, seconds=0.8 * seconds, seed=seed, progress=progress)
    left = min(SOON, 0.2 * seconds) if plan.interrupted else 0.2 * seconds
    worst = worst_order(problem, objective, seconds=left, seed=seed)
    given = Criterion.of(problem, objective).value(range(problem.T))
    return Stakes(plan, worst, given, random_orders(problem, objective, seed=seed))
