"""Orders that are known without a search: the order given and the simple rules. No result is worse than any of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from ebbing._validate import Array
from ebbing._weak_cache import weakly_cached
from ebbing.order._clock import SOON, Clock
from ebbing.order.objective import Criterion
from ebbing.order.simple_rules import CHEAP_RULES
from ebbing.problem import Problem
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
        >>> criterion = Criterion.of(Problem.categories("AAB", n=50, p=100), "forgetting")
        >>> order_values(criterion, [[0, 1, 2], [0, 2, 1]]).round(3).tolist()
        [0.75, 0.375]
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


@weakly_cached  # a problem never changes, and one question asks for its known orders several times
def _known(problem: Problem) -> tuple[tuple[str, ...], Orders]:
    """Return the order given and those of the simple rules (m, T), and what each is called.

    Up to a thousand tasks these are all rules that do not search; beyond, as many as fit into a second.
    """
    clock, orders = Clock(SOON), {"as given": np.arange(problem.T)}
    for name, rule in CHEAP_RULES.items():
        if problem.T <= _ALL_RULES_UP_TO or not clock.late:
            orders[f"of the rule {name}"] = rule(problem)
    return tuple(orders), np.array(list(orders.values()))


@dataclass(frozen=True, eq=False)
class KnownOrders:
    """The order given and those of the simple rules, with their values.

    Attributes:
        criterion: What is minimized.
        labels: What each order is called (m,).
        orders: The order given first, then one per rule (m, T).
        values: V of each, up to rounding (m,).
    """

    criterion: Criterion
    labels: tuple[str, ...]
    orders: Orders
    values: Array

    @classmethod
    def of(cls, criterion: Criterion) -> Self:
        """Return the known orders of a problem.

        Args:
            criterion: What is minimized.

        Returns:
            The orders and their values.

        Example:
            >>> known = KnownOrders.of(Criterion.of(Problem.categories("AABB", n=50, p=100), "forgetting"))
            >>> known.labels[:2], known.orders[:2].tolist(), known.values[:2].round(3).tolist()
            (('as given', 'of the rule largest_error'), [[0, 1, 2, 3], [0, 2, 1, 3]], [0.646, 0.479])
        """
        labels, orders = _known(criterion.problem)
        scaled, factor = criterion.scaled()
        share = criterion.noise_share if criterion.problem.uniform else 0.0
        return cls(criterion, labels, orders, factor * order_values(scaled, orders) + share)

    def extreme(self, worst: bool = False) -> Orders:
        """Return the best known order, or the worst one (T,)."""
        return self.orders[self.values.argmax() if worst else self.values.argmin()]

    def at_least(self, order: Sequence[int], worst: bool = False) -> tuple[tuple[int, ...], float, str]:
        """Return an order, or a known one that is better, compared to the last digit.

        Args:
            order: An order that a search found (T,).
            worst: Whether larger values are better.

        Returns:
            The order, its value, and what it is called if it is a known one, else "".
        """
        sign = -1.0 if worst else 1.0
        best, value = tuple(order), self.criterion.value(order)
        label = next((self.labels[k] for k in np.flatnonzero((self.orders == order).all(axis=1))), "")
        close = _ROUNDING * max(abs(value), float(np.abs(self.values).max()))
        for k in np.flatnonzero(sign * self.values <= sign * value + close):
            known = tuple(int(i) for i in self.orders[k])
            if known != best and sign * (v := self.criterion.value(known)) < sign * value:
                best, value, label = known, v, self.labels[k]
        return best, value, label
