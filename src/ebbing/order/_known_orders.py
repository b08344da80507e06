"""Orders that are known without a search: the order given and the simple rules. No result is worse than any of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from ebbing._validate import Array
from ebbing.order._clock import SOON, Clock
from ebbing.order.objective import Criterion
from ebbing.order.simple_rules import RULES, SEARCHES
from ebbing.theory._rates import Rates

Orders = npt.NDArray[np.intp]

_ALL_RULES_UP_TO = 1000  # tasks: within half a second; beyond, as many as fit into the time
_ROUNDING = 1e-11  # of the largest value: what is closer is compared by `expect`


def order_values(criterion: Criterion, orders: npt.ArrayLike) -> Array:
    """Compute V of several orders at once by the recursion, in NumPy alone.

    Args:
        criterion: What is minimized.
        orders: Orders of the tasks (m, T).

    Returns:
        The values (m,).

    Example:
        >>> from ebbing.problem import Problem
        >>> criterion = Criterion.of(Problem.categories("AAB", n=50, p=100), "forgetting")
        >>> order_values(criterion, [[0, 1, 2], [0, 2, 1]]).round(3).tolist()
        [0.875, 0.625]
    """
    pi = np.asarray(orders, dtype=np.intp)  # (m, T)
    problem, rates = criterion.problem, Rates.of(criterion.problem)
    row = np.tile(problem.start, (len(pi), 1))  # (m, T)
    learned, each = np.zeros(len(pi)), np.arange(len(pi))
    for task in pi.T:  # (m,)
        retained, replaced, noise = rates.retained[task], rates.replaced[task], rates.noise_error[task]
        learned += retained * row[each, task] + noise
        row *= retained[:, None]
        row += replaced[:, None] * problem.gaps[task]
        row += noise[:, None]
    a, b = criterion.coefficients
    return a * row.mean(axis=1) - b * learned


@dataclass(frozen=True, eq=False)
class KnownOrders:
    """The order given and those of the simple rules, by their value.

    Attributes:
        criterion: What is minimized.
        orders: The order given first, then one per rule (m, T).
        values: V of each, up to rounding (m,).
    """

    criterion: Criterion
    orders: Orders
    values: Array

    @classmethod
    def of(cls, criterion: Criterion) -> Self:
        """Return the known orders; up to a thousand tasks all of them, beyond that as many as fit into a second."""
        problem, clock = criterion.problem, Clock(SOON)
        orders = [np.arange(problem.T)]
        for name, rule in RULES.items():
            if name not in SEARCHES and (problem.T <= _ALL_RULES_UP_TO or not clock.late):
                orders.append(rule(problem))
        scaled, factor = criterion.scaled()
        return cls(criterion, np.array(orders), factor * order_values(scaled, orders))

    def best(self, *others: npt.ArrayLike, worst: bool = False) -> tuple[Orders, float]:
        """Return the best of the known orders and of others, the first of these if none is better, by `expect`.

        Args:
            *others: Orders that a search found (T,).
            worst: Whether larger values are better.

        Returns:
            The order (T,) and its value.
        """
        sign = -1.0 if worst else 1.0
        close = sign * self.values <= (sign * self.values).min() + _ROUNDING * np.abs(self.values).max()
        candidates = [*(np.asarray(order, dtype=np.intp) for order in others), *self.orders[close]]
        values = [self.criterion.value(order) for order in candidates]
        first = int(np.argmin(np.multiply(sign, values)))
        return candidates[first], values[first]
