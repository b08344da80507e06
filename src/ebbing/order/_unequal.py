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
from ebbing.order._clock import SOON, Clock, interrupt_requested
from ebbing.order._compilation import COMPILED, SLOWDOWN
from ebbing.order._local_search import Found
from ebbing.order._quick_bound import eigh_seconds
from ebbing.order._unequal_kernels import anneal, depth_first, descend, learn_rest
from ebbing.problem import Problem
from ebbing.theory._rates import Rates

_NODES = 500_000 // SLOWDOWN  # prefixes between two looks at the clock
_TOLERANCE = 1e-12  # of the scale of V
_MOVES = 200  # per task, in one cooling
_SAMPLED = 32  # random orders, whose spread is the first temperature
_LUKEWARM = 1e-2  # of the first temperature
_SLICE_WORK = 2e8 / SLOWDOWN  # multiplications between two looks at the clock, about
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
        rows, learned = np.empty((self.T + 1, self.T)), np.zeros(self.T + 1)
        rows[0] = self.start
        learn_rest(*self.arrays, np.asarray(order, dtype=np.int64), rows, learned, 0)
        return float(np.array([rows[-1].mean(), learned[-1]]) @ (self.a, -self.b))

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


def lower_bound(problem: Recursion, seconds: float = inf) -> float:
    """Return a lower bound of V over all orders (a, b >= 0), a weaker one if the time does not suffice.

    >>> tasks = Problem.from_vectors([[1.0, 0], [0, 1], [1, 1]], n=[5, 10, 20], p=40, sigma=0.1)
    >>> problem = Recursion.of(tasks, a=1.5, b=0.5)
    >>> lower_bound(problem) < min(problem.value(order) for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]))
    True
    """
    from scipy.optimize import linear_sum_assignment

    clock = Clock(seconds)
    v = problem.gaps + problem.noise_floor[:, None]  # (T, T) v[k, t]
    np.fill_diagonal(v, -inf)
    ordered = np.sort(np.vstack([v, problem.start]), axis=0)  # (T+1, T)
    others = np.where(v == ordered[-1], ordered[-2], ordered[-1])  # the largest but k's own
    after = problem.replaced[:, None] * v + problem.retained[:, None] * others  # (T, T) L[t] if k comes just before t
    np.fill_diagonal(after, -1e300)
    just_learned = (
        problem.retained * np.vstack([after, problem.start]) + problem.noise
    )  # (T+1, T); last row: t comes first
    if eigh_seconds(problem.T) > clock.left + SOON:  # an assignment takes about as long, or a few times longer
        most = just_learned.max(axis=0).sum()
    else:
        most = just_learned[linear_sum_assignment(just_learned, maximize=True)].sum()
    least = problem.start.mean()
    for t in generalization_order(problem):
        least = problem.retained[t] * least + problem.replaced[t] * problem.gaps[t].mean() + problem.noise[t]
    return float(problem.a * least - problem.b * most - problem.tolerance)


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
    clock, T, tolerance = Clock(seconds), problem.T, problem.tolerance
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
        while depth >= 0 and score[0] - tolerance > bounds[0] and not clock.late:
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
    return Proof(best.astype(np.intp), value, lower, proved, tolerance, kept, interrupted or interrupt_requested())


def search(
    problem: Recursion,
    *,
    seed: int = 0,
    rounds: int = 10,
    seconds: float = inf,
    start: npt.ArrayLike | None = None,
    progress: Callable[[Found], None] | None = None,
) -> Found:
    """Simulated annealing over swaps and insertions, `rounds` coolings; then every single move until none helps.

    The result is not worse than `start`, by default the order of least generalization error.

    Ctrl-C ends the search with the best order so far.

    >>> tasks = Problem.from_vectors([[1.0, 0], [0, 1], [1, 1]], n=[5, 10, 20], p=40, sigma=0.1)
    >>> search(Recursion.of(tasks, a=1.5, b=0.5)).order.tolist()
    [2, 1, 0]
    """
    clock, T = Clock(seconds), problem.T
    rows, learned = np.empty((T + 1, T)), np.zeros(T + 1)
    rows[0] = problem.start
    first = generalization_order(problem) if start is None else np.array(start, dtype=np.intp)
    best = Found(first, problem.value(first), 0)
    if T == 1 or clock.late:
        return replace(best, interrupted=interrupt_requested())
    began = time.monotonic()
    sampled = [problem.value(np.random.default_rng([seed, k]).permutation(T)) for k in range(_SAMPLED)]
    hot = float(np.std(sampled)) + problem.tolerance
    moves, warm = max(1000, _MOVES * T), 1.0
    fitting = _SAMPLED * clock.left / max(time.monotonic() - began, 1e-9)  # a move takes about as long as a value
    if fitting < moves:  # no time for one cooling: short ones, from the best order and not so hot
        moves, warm = max(1, int(fitting)), _LUKEWARM
    stopped = False
    try:
        for done in range(1, rounds + 1):
            random = np.random.default_rng([seed, 0, done])
            from_best = done % 2 == 0 or warm < 1
            order = best.order.astype(np.int64) if from_best else random.permutation(T).astype(np.int64)
            cooling = hot * np.geomspace(warm, 1e-5, moves)
            chunk = max(1, round(_SLICE_WORK / T**2))
            for first_move in range(0, moves, chunk):
                draws = random.random((min(chunk, moves - first_move), 4))
                temperatures = cooling[first_move : first_move + chunk]
                anneal(*problem.arrays, problem.a, problem.b, order, rows, learned, draws, temperatures)
                if clock.late:
                    break
            state = np.zeros(2, dtype=np.int64)
            ended = T > _DESCEND_UP_TO
            while not (ended or clock.late):
                ended = descend(
                    *problem.arrays, problem.a, problem.b, order, rows, learned, problem.tolerance, state, chunk
                )
            value = problem.value(order)
            best = Found(order.astype(np.intp), value, done) if value < best.value else best
            if progress:
                progress(Found(best.order, best.value, done))
            if clock.late:
                break
    except KeyboardInterrupt:
        stopped = True
    return replace(best, interrupted=stopped or interrupt_requested())


def _twins(problem: Recursion) -> npt.NDArray[np.int64]:
    """Return for each task the last identical one before it, or -1: identical tasks are searched in one order only."""
    features = np.column_stack([problem.gaps, problem.retained, problem.noise, problem.start])
    twins = np.full(problem.T, -1)
    for t in range(problem.T):
        for k in range(t):
            if problem.gaps[k, t] == 0 and np.array_equal(features[k], features[t]):
                twins[t] = k
    return twins
