"""Best orders when tasks differ in n or sigma: search over the expectation itself.

What a task keeps, r_t, now travels with the task, and no kernel of places is left. With D_t = L_t[t] = r_t L_{t-1}[t]
+ q_t, the error of task t when just learned,  (T-1) F_T = T G_T - sum_t D_t,  so forgetting, generalization error and
their mixtures all have the form

    V(pi) = a G_T - b sum_t D_t,      a, b >= 0.

One pass of the recursion evaluates it in O(T^2). Bounds on the rest, given the row L of errors so far:

- G_T is least when the rest is learned in decreasing mean_k d_tk + level_t (`generalization_order`): exact.
- D_t = r_t L[t] + q_t, where L[t] is a mixture of its present value and of v_kt = d_kt + level_k of the tasks k learned
  before t, the last of them with weight 1 - r_k, so  L[t] <= max_k (1-r_k) v_kt + r_k (the largest of all others).

The exact search is depth first over prefixes with these bounds. At the root each task may be the predecessor of only
one other, which makes the second bound a linear assignment.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

import numpy as np
import numpy.typing as npt

from ebbing._validate import Array
from ebbing.order._branch_and_bound import Proof
from ebbing.order._compilation import COMPILED, SLOWDOWN
from ebbing.order._local_search import Found
from ebbing.order._unequal_kernels import anneal, depth_first, descend, learn_rest
from ebbing.problem import Problem
from ebbing.theory._rates import Rates

_NODES = 500_000 // SLOWDOWN  # prefixes between two looks at the clock
_TOLERANCE = 1e-12  # of the scale of V
_MOVES = 200  # per task, in one cooling
_DESCEND_UP_TO = 120 if COMPILED else 30  # tasks: beyond, trying every move takes too long

Order = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Recursion:
    """Minimize V(pi) = a G_T - b sum_t D_t for tasks that may differ in everything."""

    retained: Array  # (T,) r_t
    replaced: Array  # (T,) 1 - r_t
    noise: Array  # (T,) q_t
    noise_floor: Array  # (T,) q_t / (1 - r_t)
    gaps: Array  # (T, T)
    start: Array  # (T,)
    a: float
    b: float

    @classmethod
    def of(cls, problem: Problem, a: float, b: float) -> Recursion:
        """Return the objective on the tasks of `problem`; negative a, b search for the worst order."""
        rates, start = Rates.of(problem), np.ascontiguousarray(problem.start)
        return cls(
            rates.retained,
            rates.replaced,
            rates.noise_error,
            rates.noise_floor,
            problem.gaps,
            start,
            float(a),
            float(b),
        )

    @property
    def T(self) -> int:
        """Number of tasks."""
        return len(self.retained)

    def value(self, order: npt.ArrayLike) -> float:
        """Compute V(order)."""
        return float(self._last(order) @ (self.a, -self.b))

    def mean_error(self, order: npt.ArrayLike) -> float:
        """Compute G_T of an order."""
        return float(self._last(order)[0])

    def _last(self, order: npt.ArrayLike) -> Array:
        rows, learned = np.empty((self.T + 1, self.T)), np.zeros(self.T + 1)
        rows[0] = self.start
        learn_rest(*self.arrays, np.asarray(order, dtype=np.int64), rows, learned, 0)
        return np.array([rows[-1].mean(), learned[-1]])

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """The arrays that the compiled recursion takes."""
        return self.retained, self.replaced, self.noise, self.gaps

    @property
    def tolerance(self) -> float:
        """The difference below which values count as equal: a multiple of rounding."""
        largest = max(float(self.start.max()), float((self.gaps + self.noise_floor).max()))
        return _TOLERANCE * (abs(self.a) + abs(self.b) * self.T) * largest


def generalization_order(problem: Recursion) -> Order:
    """Return the order of least G_T for any n and sigma: decreasing mean_k d_ik + q_i / (1 - r_i)."""
    return np.argsort(-(problem.gaps.mean(axis=1) + problem.noise_floor), kind="stable")


def lower_bound(problem: Recursion) -> float:
    """Return a lower bound of V over all orders (a, b >= 0).

    >>> tasks = Problem.from_vectors([[1.0, 0], [0, 1], [1, 1]], n=[5, 10, 20], p=40, sigma=0.1)
    >>> problem = Recursion.of(tasks, a=1.5, b=0.5)
    >>> lower_bound(problem) < min(problem.value(order) for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]))
    True
    """
    from scipy.optimize import linear_sum_assignment

    v = problem.gaps + problem.noise_floor[:, None]  # (T, T) v[k, t]
    np.fill_diagonal(v, -inf)
    ordered = np.sort(np.vstack([v, problem.start]), axis=0)  # (T+1, T)
    others = np.where(v == ordered[-1], ordered[-2], ordered[-1])  # the largest but k's own
    after = problem.replaced[:, None] * v + problem.retained[:, None] * others  # (T, T) L[t] if k comes just before t
    np.fill_diagonal(after, -1e300)
    just_learned = (
        problem.retained * np.vstack([after, problem.start]) + problem.noise
    )  # (T+1, T); last row: t comes first
    chosen = linear_sum_assignment(just_learned, maximize=True)
    least = problem.mean_error(generalization_order(problem))
    return float(problem.a * least - problem.b * just_learned[chosen].sum() - problem.tolerance)


def prove(
    problem: Recursion,
    incumbent: npt.ArrayLike,
    *,
    seconds: float = inf,
    progress: Callable[[Proof], None] | None = None,
) -> Proof:
    """Search depth first until the best order is proved, time is up or the user interrupts (a, b >= 0).

    >>> tasks = Problem.from_vectors([[1.0, 0], [0, 1], [1, 1]], n=[5, 10, 20], p=40, sigma=0.1)
    >>> prove(Recursion.of(tasks, a=1.5, b=0.5), incumbent=[0, 1, 2]).proved
    True
    """
    deadline = time.monotonic() + seconds
    T, tolerance = problem.T, problem.tolerance
    best = np.array(incumbent, dtype=np.int64)
    score = np.array([problem.value(best), 0.0])
    rows, learned, bounds = np.empty((T + 1, T)), np.zeros(T + 1), np.full(T + 1, -inf)
    rows[0], bounds[0] = problem.start, lower_bound(problem)
    prefix, following = np.zeros(T, dtype=np.int64), np.zeros(T + 1, dtype=np.int64)
    state = (rows, learned, bounds, prefix, following, np.zeros(T, dtype=np.bool_))
    depth, kept = 0, 0
    by_error, twins = generalization_order(problem).astype(np.int64), _twins(problem)
    bound, interrupted = bounds[0], False
    try:
        while depth >= 0 and score[0] - tolerance > bounds[0] and time.monotonic() < deadline:
            depth, nodes = depth_first(
                *problem.arrays, problem.noise_floor, problem.a, problem.b, by_error, twins, *state, best, score, depth,
                tolerance, _NODES,
            )  # fmt: skip
            kept += nodes
            open_levels = [bounds[d] for d in range(depth + 1) if following[d] < T]
            bound = min(open_levels, default=score[0])
            if progress:
                progress(Proof(best.copy(), float(score[0]), float(min(bound, score[0])), False, tolerance, kept))
    except KeyboardInterrupt:
        interrupted = True
    proved = depth < 0 or score[0] - tolerance <= bounds[0]
    value = float(score[0])
    lower = value if proved else float(min(bound, value))
    return Proof(best.astype(np.intp), value, lower, proved, tolerance, kept, interrupted)


def search(
    problem: Recursion,
    *,
    seed: int = 0,
    rounds: int = 10,
    seconds: float = inf,
    progress: Callable[[Found], None] | None = None,
) -> Found:
    """Simulated annealing over swaps and insertions, `rounds` coolings; then every single move until none helps.

    Ctrl-C ends the search with the best order so far.

    >>> tasks = Problem.from_vectors([[1.0, 0], [0, 1], [1, 1]], n=[5, 10, 20], p=40, sigma=0.1)
    >>> search(Recursion.of(tasks, a=1.5, b=0.5)).order.tolist()
    [2, 1, 0]
    """
    deadline = time.monotonic() + seconds
    T = problem.T
    rows, learned = np.empty((T + 1, T)), np.zeros(T + 1)
    rows[0] = problem.start
    best = Found(generalization_order(problem), problem.value(generalization_order(problem)), 0)
    if T == 1:
        return best
    sampled = [problem.value(np.random.default_rng([seed, k]).permutation(T)) for k in range(32)]
    hot = float(np.std(sampled)) + problem.tolerance
    moves = max(1000, _MOVES * T)
    try:
        for done in range(1, rounds + 1):
            random = np.random.default_rng([seed, 0, done])
            order = best.order.astype(np.int64) if done % 2 == 0 else random.permutation(T).astype(np.int64)
            cooling = hot * np.geomspace(1.0, 1e-5, moves)
            chunk = max(1, round(2e8 / SLOWDOWN / T**2))
            for first in range(0, moves, chunk):
                draws = random.random((min(chunk, moves - first), 4))
                temperatures = cooling[first : first + chunk]
                anneal(*problem.arrays, problem.a, problem.b, order, rows, learned, draws, temperatures)
                if time.monotonic() > deadline:
                    break
            if T <= _DESCEND_UP_TO:
                descend(*problem.arrays, problem.a, problem.b, order, rows, learned, problem.tolerance)
            value = problem.value(order)
            best = Found(order.astype(np.intp), value, done) if value < best.value else best
            if progress:
                progress(Found(best.order, best.value, done))
            if time.monotonic() > deadline:
                break
    except KeyboardInterrupt:
        return replace(best, interrupted=True)
    return best


def _twins(problem: Recursion) -> npt.NDArray[np.int64]:
    """Return for each task the last identical one before it, or -1: identical tasks are searched in one order only."""
    features = np.column_stack([problem.gaps, problem.retained, problem.noise, problem.start])
    twins = np.full(problem.T, -1)
    for t in range(problem.T):
        for k in range(t):
            if problem.gaps[k, t] == 0 and np.array_equal(features[k], features[t]):
                twins[t] = k
    return twins
