"""The order problem with equal n and sigma: an assignment of tasks to places with a discounted-path kernel.

| letter   | shape  | meaning                                                                     |
|----------|--------|-----------------------------------------------------------------------------|
| T        |        | number of tasks, and of places                                              |
| pi       | (T,)   | an order: place j is taken by task pi_j, both counted from 0                |
| linear   | (T, T) | cost of a task in a place, linear[task, place]                              |
| kernel   | (T,)   | k_m, weight of two tasks m places apart; k_0 plays no part                  |
| distance | (T, T) | d, for the paper's tasks d_ab = |w*_a - w*_b|^2                             |
| rho      |        | k_{m+1} / k_m; the paper's kernel is k_m = (1 - r) r^m, so rho = r          |

    V(pi) = sum_j linear[pi_j, j] - sum_{i<j} k_{j-i} d(pi_i, pi_j)

Forgetting (Theorem 1, terms F1 to F3) takes this form up to a constant: distant tasks should follow one another closely.
"""

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Order = NDArray[np.intp]

BRUTE_FORCE_LIMIT = 9  # 9! = 362,880 orders are enumerated in about a second; 10! would need gigabytes
_GEOMETRIC = 1e-9  # how far a kernel may stray from k_1 rho^(m-1), relative to k_1


@dataclass(frozen=True, eq=False)
class Assignment:
    """Minimise V(pi) over the orders pi; the worst order is the best of `negated()`.

    >>> line = Assignment(linear=np.zeros((3, 3)), kernel=[0, 0.5, 0.25], distance=[[0, 1, 4], [1, 0, 1], [4, 1, 0]])
    >>> line.value([0, 2, 1])     # -(0.5 * 4 + 0.5 * 1 + 0.25 * 1)
    -2.75
    >>> line.negated().value([0, 2, 1])
    2.75
    """

    linear: Floats  # (T, T) [task, place]
    kernel: Floats  # (T,)
    distance: Floats  # (T, T)

    def __init__(self, linear: ArrayLike, kernel: ArrayLike, distance: ArrayLike):
        for name, given in (("linear", linear), ("kernel", kernel), ("distance", distance)):
            array = np.array(given, dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        T = len(self.kernel) if self.kernel.ndim == 1 else 0
        if T == 0 or self.linear.shape != (T, T) or self.distance.shape != (T, T):
            raise ValueError(
                f"linear {self.linear.shape}, kernel {self.kernel.shape}, distance {self.distance.shape}: "
                "T tasks need shapes (T, T), (T,) and (T, T)"
            )
        if not all(np.isfinite(a).all() for a in (self.linear, self.kernel, self.distance)):
            raise ValueError("linear, kernel and distance must be finite; found NaN or infinity")
        if np.any(self.distance != self.distance.T) or np.any(np.diag(self.distance) != 0):
            raise ValueError(
                "distance must be symmetric with a zero diagonal, exactly; use (d + d.T) / 2 if rounding broke it"
            )

    @property
    def T(self) -> int:
        """Number of tasks."""
        return len(self.kernel)

    @property
    def rate(self) -> float:
        """rho, if k_m = k_1 rho^(m-1) with 0 <= rho <= 1, which the searches need; otherwise a ValueError."""
        k = self.kernel
        if self.T < 3 or k[1] == 0 == np.abs(k[1:]).max():
            return 0.0
        rho = float(k[2] / k[1]) if k[1] else -1.0
        geometric = k[1] * max(rho, 0.0) ** np.arange(self.T - 1)  # (T-1,)
        if not 0 <= rho <= 1 + _GEOMETRIC or np.abs(k[1:] - geometric).max() > _GEOMETRIC * abs(k[1]):
            raise ValueError(
                f"kernel[1:4] = {k[1:4]}: the search needs kernel[m] = kernel[1] * rho**(m-1) with 0 <= rho <= 1; "
                "with unequal n or sigma, search over the expectation itself"
            )
        return min(rho, 1.0)

    def value(self, order: ArrayLike) -> float:
        """V(order)."""
        pi = np.asarray(order, dtype=np.intp)  # (T,)
        if sorted(pi.tolist()) != list(range(self.T)):
            raise ValueError(f"order {pi.tolist()}: each of the tasks 0..{self.T - 1} must appear once")
        total = self.linear[pi, np.arange(self.T)].sum()
        d = self.distance[np.ix_(pi, pi)]  # (T, T) by place
        for m in range(1, self.T):
            total -= self.kernel[m] * np.trace(d, offset=m)
        return float(total)

    def negated(self) -> "Assignment":
        """The problem of minimising -V: its best orders are the worst orders of this one."""
        return Assignment(-self.linear, -self.kernel, self.distance)

    def reversed(self) -> "Assignment":
        """The same problem read from the last place to the first."""
        return Assignment(self.linear[:, ::-1], self.kernel, self.distance)

    @property
    def scale(self) -> float:
        """A bound on how much V can vary with the order; tolerances are fractions of it."""
        bare = self.linear - self.linear.mean(0) - self.linear.mean(1)[:, None] + self.linear.mean()
        pairs = (self.T - np.arange(self.T))[1:] @ np.abs(self.kernel[1:])  # sum_{i<j} |k_{j-i}|
        return float(self.T * np.abs(bare).max() + pairs * np.abs(self.distance).max())


def value_reference(assignment: Assignment, order: ArrayLike) -> float:
    """V(order), written as in the module's formula; what every faster version is tested against."""
    pi = [int(task) for task in np.asarray(order)]
    total = sum(float(assignment.linear[task, place]) for place, task in enumerate(pi))
    for i, a in enumerate(pi):
        for j in range(i + 1, len(pi)):
            total -= float(assignment.kernel[j - i] * assignment.distance[a, pi[j]])
    return total


def all_values(assignment: Assignment) -> tuple[NDArray[np.int8], Floats]:
    """Every order, and V of each: (T!, T) and (T!,). T is at most 9.

    >>> orders, values = all_values(Assignment(np.eye(2), [0, 1], [[0, 3], [3, 0]]))
    >>> orders.tolist(), values.tolist()
    ([[0, 1], [1, 0]], [-1.0, -3.0])
    """
    T = assignment.T
    if T > BRUTE_FORCE_LIMIT:
        raise ValueError(f"T={T}: brute force is for T <= {BRUTE_FORCE_LIMIT}; use the exact search")
    pi = np.array(list(permutations(range(T))), dtype=np.int8)  # (T!, T)
    values = np.zeros(len(pi))  # (T!,)
    for j in range(T):
        values += assignment.linear[pi[:, j], j]
        for i in range(j):
            values -= assignment.kernel[j - i] * assignment.distance[pi[:, i], pi[:, j]]
    return pi, values
