"""The objective in random orders, which a chosen order is compared with: `random_orders`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from math import factorial, nan

import numpy as np
import numpy.typing as npt

from ebbing._tables import format_number
from ebbing._validate import check_count, check_seed
from ebbing.order._clock import Clock
from ebbing.order._known_orders import order_values
from ebbing.order.objective import Criterion, Objective
from ebbing.problem import Problem

_SAMPLED = 1000  # random orders; if there are no more orders than that, all of them
_BATCH = 50


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
    return RandomOrders(sample_orders(criterion, sampled, check_seed(seed), Clock())[1])


def sample_orders(
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


def all_or_random_orders(criterion: Criterion, seed: int, clock: Clock) -> tuple[npt.NDArray[np.intp], RandomOrders]:
    """Return all orders if there are at most a thousand, else random ones, as many as fit into the time (m, T)."""
    if factorial(criterion.problem.T) <= _SAMPLED:
        orders = np.array(list(permutations(range(criterion.problem.T))))
        return orders, RandomOrders(order_values(criterion, orders), exhaustive=True)
    orders, values = sample_orders(criterion, _SAMPLED, seed, clock)
    return orders, RandomOrders(values)
