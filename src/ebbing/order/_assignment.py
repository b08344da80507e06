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

Forgetting (Theorem 1, terms F1 to F3) takes this form up to a constant: distant tasks should follow one another.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import permutations
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Order = NDArray[np.intp]

BRUTE_FORCE_LIMIT = 9  # 9! = 362,880 orders are enumerated in about a second; 10! would need gigabytes
_LARGEST_CODE = 2**62
_TOLERANCE = 1e-9  # of the scale
_SAME = 1e-5  # of the tolerance: rows this close belong to identical tasks
_GEOMETRIC = 1e-9  # how far a kernel may stray from k_1 rho^(m-1), relative to k_1


@dataclass(frozen=True, eq=False)
class Assignment:
    """Minimize V(pi) over the orders pi; the worst order is the best of `negated()`.

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

    @cached_property
    def rate(self) -> float:
        """The rate rho of a geometric kernel, k_m = k_1 rho^(m-1) with 0 <= rho <= 1; any other raises a ValueError."""
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
        """Compute V(order)."""
        pi = np.asarray(order, dtype=np.intp)  # (T,)
        if sorted(pi.tolist()) != list(range(self.T)):
            raise ValueError(f"order {pi.tolist()}: each of the tasks 0..{self.T - 1} must appear once")
        by_place = self.distance[pi[:, None], pi]  # (T, T)
        return float(self.linear[pi, np.arange(self.T)].sum() - 0.5 * np.vdot(self.nearness, by_place))

    @cached_property
    def nearness(self) -> Floats:
        """The weights k_|i-j| of pairs of places, with a zero diagonal (T, T)."""
        k = np.concatenate(([0.0], self.kernel[1:]))
        return k[np.abs(np.subtract.outer(np.arange(self.T), np.arange(self.T)))]

    def negated(self) -> "Assignment":
        """Return the problem of minimizing -V: its best orders are the worst orders of this one."""
        return Assignment(-self.linear, -self.kernel, self.distance)

    def reversed(self) -> "Assignment":
        """Return the same problem read from the last place to the first."""
        return Assignment(self.linear[:, ::-1], self.kernel, self.distance)

    @cached_property
    def tolerance(self) -> float:
        """The difference below which values count as equal: 1e-9 of a bound on the range of V, above rounding."""
        bare = self.linear - self.linear.mean(0) - self.linear.mean(1)[:, None] + self.linear.mean()
        pairs = (self.T - np.arange(self.T))[1:] @ np.abs(self.kernel[1:])  # sum_{i<j} |k_{j-i}|
        varies = self.T * np.abs(bare).max() + pairs * np.abs(self.distance).max()
        return float(_TOLERANCE * varies + 1e-13 * self.T * np.abs(self.linear).max())


def value_reference(assignment: Assignment, order: ArrayLike) -> float:
    """Compute V(order) as in the module's formula: the reference that every faster version is tested against."""
    pi = [int(task) for task in np.asarray(order)]
    total = sum(float(assignment.linear[task, place]) for place, task in enumerate(pi))
    for i, a in enumerate(pi):
        for j in range(i + 1, len(pi)):
            total -= float(assignment.kernel[j - i] * assignment.distance[a, pi[j]])
    return total


def all_values(assignment: Assignment) -> tuple[NDArray[np.int8], Floats]:
    """Return every order (T!, T) and V of each (T!,); T is at most 9.

    >>> orders, values = all_values(Assignment(np.eye(2), [0, 1], [[0, 3], [3, 0]]))
    >>> orders.tolist(), values.tolist()
    ([[0, 1], [1, 0]], [-1.0, -3.0])
    """
    T = assignment.T
    if T > BRUTE_FORCE_LIMIT:
        raise ValueError(f"T={T}: brute force is for T <= {BRUTE_FORCE_LIMIT}; use the exact search")
    pi = _permutations(T)  # (T!, T)
    values = np.zeros(len(pi))  # (T!,)
    for j in range(T):
        values += assignment.linear[pi[:, j], j]
        for i in range(j):
            values -= assignment.kernel[j - i] * assignment.distance[pi[:, i], pi[:, j]]
    return pi, values


@cache
def _permutations(T: int) -> NDArray[np.int8]:
    return np.array(list(permutations(range(T))), dtype=np.int8)


@dataclass(frozen=True, eq=False)
class Types:
    """A problem whose identical tasks are merged into K types, with linear centered (V moves by `offset`) and k_1 >= 0.

    >>> two = Types.of(Assignment(np.zeros((3, 3)), [0, 0.5, 0.25], [[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> two.members, two.interchangeable().tolist(), two.reversible
    ([[0, 2], [1]], [-1, -1], True)
    """

    members: list[list[int]]  # (K) tasks of each type
    linear: Floats  # (K, T)
    distance: Floats  # (K, K), with the sign of the kernel
    k1: float
    rho: float
    offset: float
    close: float  # differences below it are rounding
    backwards: bool = False  # whether places are counted from the last

    @staticmethod
    def of(problem: Assignment) -> "Types":
        """Merge the tasks whose rows of linear (centered) and of distance agree, up to a fraction of the tolerance."""
        rows, columns, mean = problem.linear.mean(1), problem.linear.mean(0), problem.linear.mean()
        linear = problem.linear - rows[:, None] - columns + mean  # (T, T)
        k1 = float(problem.kernel[1]) if problem.T > 1 else 0.0
        close = _SAME * problem.tolerance
        both = np.hstack([linear, k1 * problem.distance])  # (T, 2T)
        apart = np.abs(k1 * problem.distance) + np.diag(np.full(problem.T, np.inf))
        different = bool(apart.min() > close)  # identical tasks have no distance: mostly there are none to look for
        members: dict[int, list[int]] = {task: [task] for task in range(problem.T)} if different else {}
        for task in range(0 if different else problem.T):
            first = list(members)
            twins = np.flatnonzero((np.abs(both[first] - both[task]) <= close).all(1))
            members.setdefault(first[twins[0]] if len(twins) else task, []).append(task)
        first = list(members)
        distance = problem.distance[np.ix_(first, first)] * (1.0 if k1 >= 0 else -1.0)
        offset = float(rows.sum() + columns.sum() - problem.T * mean)
        types = Types(list(members.values()), linear[first], distance, abs(k1), problem.rate, offset, close)
        if prod(int(c) + 1 for c in types.count) > _LARGEST_CODE:
            raise ValueError(
                f"{len(members)} different tasks: the exact search takes at most 62; use the heuristic and its bound"
            )
        return types

    @cached_property
    def count(self) -> NDArray[np.int64]:
        """The number of tasks of each type (K,)."""
        return np.array([len(m) for m in self.members], dtype=np.int64)

    @cached_property
    def stride(self) -> NDArray[np.int64]:
        """The stride of each type in the code of a set (K,): mixed radix, digit x in 0..count_x."""
        return np.array([prod(int(c) + 1 for c in self.count[:x]) for x in range(len(self.count))], dtype=np.int64)

    def placed(self, code: NDArray[np.int64]) -> NDArray[np.int64]:
        """Decode sets (s,) into counts by type (s, K)."""
        return code[:, None] // self.stride % (self.count + 1)

    def order(self, sequence: NDArray[np.int16]) -> Order:
        """Return an order of the tasks from a sequence of types."""
        left = [iter(m) for m in self.members]
        return np.array([next(left[x]) for x in sequence[:: -1 if self.backwards else 1]], dtype=np.intp)

    def interchangeable(self) -> NDArray[np.int64]:
        """Return for each type the last one before it that may trade places with it without changing V, or -1 (K,)."""
        K, d = len(self.count), self.k1 * self.distance
        earlier = np.full(K, -1, dtype=np.int64)
        different = bool(np.diff(np.sort(self.linear[:, 0])).min(initial=np.inf) > self.close)
        for x in range(0 if different else K):
            same = (np.abs(self.linear[:x] - self.linear[x]) <= self.close).all(1) & (self.count[:x] == self.count[x])
            for y in np.flatnonzero(same):
                others = [z for z in range(K) if z not in (x, y)]
                if np.abs(d[x, others] - d[y, others]).max(initial=0.0) <= self.close:
                    earlier[x] = y
        return earlier

    @property
    def reversible(self) -> bool:
        """Whether every order has the same V when it is read backwards (linear is centered: no constants)."""
        return bool(np.abs(self.linear - self.linear[:, ::-1]).max() <= self.close)
