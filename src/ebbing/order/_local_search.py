"""A good order for up to a thousand tasks: iterated local search, every move priced from running fields.

Write the centered Gram matrix of the distances as  -1/2 J d J = alpha diag(s) alpha',  alpha (T, D), s = +-1 (all +1
for the paper's tasks, with D <= T-1 their dimension). As d_ab = c_a + c_b - 2 <alpha_a, alpha_b>,

    V = sum_j (linear[pi_j, j] - kappa_j c_{pi_j}) + 2 sum_{i<j} k_{j-i} <alpha_{pi_i}, alpha_{pi_j}>,

c_a = <alpha_a, alpha_a>, kappa_j = sum_i k_|i-j|: like tasks repel. The fields  l_p = sum_{i<p} k_{p-i} alpha_{pi_i}
and  r_p = sum_{i>p} k_{i-p} alpha_{pi_i}  obey  l_{p+1} = rho l_p + k_1 alpha_{pi_p}  and price in O(D), apart from the
linear terms,
- a swap of task a in place p with b in place q:  2 <alpha_b - alpha_a, l_p + r_p - l_q - r_q> - 2 k_|p-q| d_ab;
- one more step of carrying a to the right, past b, from P to P+1, where l is the field at P without a:
  2 (1 - rho) <alpha_b - alpha_a, l - r_{P+1}>,  and then  l <- rho l + k_1 alpha_b.
A move is carried out in O(T D), and trying all 2T moves of one task costs O(T D) too: linear in T.

Search: descend from a random order (tasks in turn, each makes its best swap or insertion, and wakes those nearby); then
shake a few places, descend, and keep the result if it is better or slightly worse; go back to the best order when
nothing is gained for a while, and start afresh when nothing is gained for long.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ebbing.order._assignment import Assignment, Floats, Order
from ebbing.order._clock import Clock, interrupt_requested
from ebbing.order._compilation import SLOWDOWN, compiled
from ebbing.order._quick_bound import eigh_seconds

_HEAT = 0.05  # of the typical worsening: how much worse an order the search moves to
_SLICE_WORK = 2e7 / SLOWDOWN  # multiplications between two looks at the clock, about
_IDLE, _PLACE, _ASLEEP = 0, 1, 2  # rounds since top improved (-1 before the first descent); where a descent is, or -1
_ENOUGH = 1e-3  # of the tolerance: a smaller improvement is rounding


@dataclass(frozen=True)
class Found:
    """The best order of a local search."""

    order: Order  # (T,)
    value: float
    rounds: int  # of shaking and descending
    interrupted: bool = False  # by Ctrl-C


def search(
    problem: Assignment,
    *,
    seed: int = 0,
    rounds: int | None = None,
    seconds: float = inf,
    start: ArrayLike | None = None,
    progress: Callable[[Found], None] | None = None,
) -> Found:
    """Search for `rounds` rounds or `seconds`, whichever ends first; the same seed and rounds give the same order.

    Ctrl-C ends the search with the best order so far. Without `rounds` and `seconds` there are 100 T rounds.

    >>> line = Assignment(linear=np.zeros((3, 3)), kernel=[0, 0.5, 0.25], distance=[[0, 1, 4], [1, 0, 1], [4, 1, 0]])
    >>> search(line, seed=1).value
    -2.75
    """
    clock, T = Clock(seconds), problem.T
    if rounds is None:
        rounds = 100 * T if seconds == inf else 2**62
    random = np.random.default_rng(seed)
    pi = random.permutation(T) if start is None else np.array(start, dtype=np.int64)
    best = Found(pi.astype(np.intp), problem.value(pi), 0)
    if T == 1 or clock.late or eigh_seconds(T) > clock.left:
        return replace(best, interrupted=interrupt_requested())
    done, episode, stopped = 0, 0, False
    try:
        tasks = _embed(problem)
        work = T * (1 + tasks.alpha.shape[1])  # multiplications of a move, about
        chunk = max(1, int(_SLICE_WORK / (100 * work)))
        while done < rounds and not clock.late:
            if episode:
                random = np.random.default_rng([seed, episode])
                pi = random.permutation(T)
            run = _Run.start(pi, tasks.alpha.shape)
            stale = False
            while not stale and done < rounds and not clock.late:
                draws = random.random((min(chunk, rounds - done), 4))
                used = 0
                while not stale and used < len(draws) and not clock.late:
                    used, stale = _rounds(tuple(tasks), tuple(run), draws, used, max(1, int(_SLICE_WORK / work)))
                    here = run.top if run.state[_IDLE] >= 0 else run.pi  # the first descent goes down all the way
                    if (value := problem.value(here)) < best.value:
                        best = Found(here.astype(np.intp), value, done + used)
                    if progress:
                        progress(Found(best.order, best.value, done + used))
                done += used
            episode += 1
    except KeyboardInterrupt:
        stopped = True
    return Found(best.order, best.value, done, stopped or interrupt_requested())


class _Tasks(NamedTuple):
    """The problem in the module's form."""

    linear: Floats  # (T, T) with -kappa_j c_a
    alpha: Floats  # (T, D) twice alpha
    signed: Floats  # (T, D) alpha diag(s)
    distance: Floats  # (T, T)
    kernel: Floats  # (T,)
    k1: float
    rho: float
    enough: float  # a smaller improvement is rounding
    window: int  # a change is felt by tasks this many places away


class _Run(NamedTuple):
    """One episode, from its first order until it is stale; updated in place, so that it can be left and continued."""

    pi: NDArray[np.int64]  # (T,) where the search is
    top: NDArray[np.int64]  # (T,) the best order of the episode
    saved: NDArray[np.int64]  # (T,) where the round began
    awake: NDArray[np.bool_]  # (T,) tasks to be tried
    score: Floats  # (3,) V of pi and of top, without the constant, and how much worse a round typically ends
    state: NDArray[np.int64]  # (3,) see _IDLE, _PLACE, _ASLEEP
    left: Floats  # (T, D) the fields l
    right: Floats  # (T, D) the fields r

    @classmethod
    def start(cls, pi: NDArray[np.int64], shape: tuple[int, ...]) -> "_Run":
        """Return a run from an order, with all tasks awake."""
        pi, T = pi.astype(np.int64), len(pi)
        fields = np.zeros(shape), np.zeros(shape)
        return cls(pi, pi.copy(), pi.copy(), np.ones(T, np.bool_), np.zeros(3), np.full(3, -1), *fields)


def _embed(problem: Assignment) -> _Tasks:
    d, k = problem.distance, np.concatenate(([0.0], problem.kernel[1:]))
    mean = d.mean(1)
    gram = -0.5 * (d - mean - mean[:, None] + mean.mean())  # (T, T)
    values, vectors = np.linalg.eigh(gram)
    large = np.abs(values) > 1e-12 * np.abs(values).max()
    alpha = vectors[:, large] * np.sqrt(np.abs(values[large]))  # (T, D)
    rho = problem.rate
    return _Tasks(
        linear=problem.linear - np.outer(np.diag(gram), problem.nearness.sum(0)),
        alpha=np.ascontiguousarray(2 * alpha),
        signed=np.ascontiguousarray(alpha * np.sign(values[large])),
        distance=d,
        kernel=k,
        k1=float(k[1]),
        rho=rho,
        enough=_ENOUGH * problem.tolerance,
        window=2 + int(np.log(0.3) / np.log(min(max(rho, 0.01), 0.97))),
    )


@compiled
def _rounds(tasks, run, draws, i, budget):
    """Shake and descend once per row of `draws` (rounds, 4) from row i on, until the budget of moves is used up.

    Return the rows used so far and whether the run is stale. A round cut short goes on at the next call.
    """
    pi, top, saved, awake, score, state, left, right = run
    T, fields, enough, window = len(pi), (left, right), tasks[7], tasks[8]
    if state[_IDLE] < 0:
        budget = _descend(tasks, pi, fields, awake, state, budget)
        if state[_PLACE] >= 0:
            return i, False
        score[:2] = _value(tasks, pi, fields)
        top[:] = pi
        state[_IDLE] = 0
    while i < len(draws) and budget > 0:
        if state[_PLACE] < 0:
            saved[:] = pi
            _shake(pi, awake, draws[i], window)
        budget = _descend(tasks, pi, fields, awake, state, budget)
        if state[_PLACE] >= 0:
            return i, False
        i += 1
        new = _value(tasks, pi, fields)
        state[_IDLE] += 1
        if new < score[1] - enough:
            score[:2], state[_IDLE] = new, 0
            top[:] = pi
            continue
        if new > score[0] + enough:
            score[2] += 0.05 * (new - score[0] - score[2])
        if new < score[0] - _HEAT * score[2] * np.log(1 - draws[i - 1, 3]):
            score[0] = new
        else:
            pi[:] = saved
        if state[_IDLE] % (5 * T) == 0:
            pi[:] = top
            score[0] = score[1]
        if state[_IDLE] > 100 + 20 * T:
            return i, True
    return i, False


@compiled
def _shake(pi, awake, draw, window):
    """Exchange two neighboring stretches of places, or three tasks anywhere, and wake those nearby."""
    T = len(pi)
    if draw[2] < 0.5:
        longest = max(1, min(T // 2, 25))
        p = int(draw[0] * (T - 1))
        one = min(1 + int(draw[1] * longest), T - 1 - p)
        two = min(1 + int(2 * draw[2] * longest), T - p - one)
        for i in range(one):  # carry the first stretch past the second, its last task first
            _move(pi, p + one - 1 - i, p + one + two - 1 - i, True)
        q, o = p + two, min(T - 1, p + one + two)
    else:
        p, q, o = int(draw[0] * T), int(draw[1] * T), int((2 * draw[2] - 1) * T)
        pi[p], pi[q] = pi[q], pi[p]
        pi[q], pi[o] = pi[o], pi[q]
    for place in (p, q, o):
        _wake(pi, awake, place, window)


@compiled
def _wake(pi, awake, p, window):
    """Mark the tasks near place p to be tried again."""
    for q in range(max(0, p - window), min(len(pi), p + window + 1)):
        awake[pi[q]] = True


@compiled
def _descend(tasks, pi, fields, awake, state, budget):
    """Let each waking task make its best move, until all sleep or the budget is used up; return what is left of it."""
    T, enough, window = len(pi), tasks[7], tasks[8]
    if state[_PLACE] < 0:
        _update(tasks, pi, fields, 0, T - 1)
        state[_PLACE], state[_ASLEEP] = 0, 0
        budget -= 1
    p, asleep = state[_PLACE], state[_ASLEEP]
    while asleep < T and budget > 0:
        p = p + 1 if p + 1 < T else 0
        if not awake[pi[p]]:
            asleep += 1
            continue
        awake[pi[p]] = False
        asleep = 0
        budget -= 1
        delta, q, carry = _best_move(tasks, pi, fields, p)
        if delta < -enough:
            _move(pi, p, q, carry)
            _update(tasks, pi, fields, min(p, q), max(p, q))
            _wake(pi, awake, p, window)
            _wake(pi, awake, q, window)
    state[_PLACE], state[_ASLEEP] = -1 if asleep == T else p, asleep
    return budget


@compiled
def _move(pi, p, q, carry):
    """Carry the task in place p to place q, the tasks between closing up; or swap the two."""
    if not carry:
        pi[p], pi[q] = pi[q], pi[p]
        return
    a, step = pi[p], 1 if q > p else -1
    for i in range(p, q, step):
        pi[i] = pi[i + step]
    pi[q] = a


@compiled
def _update(tasks, pi, fields, lo, hi):
    """Update l_p and r_p of all places after changes between places lo and hi."""
    signed, k1, rho = tasks[2], tasks[5], tasks[6]
    left, right = fields
    T, D = left.shape
    for p in range(lo + 1, T):
        for c in range(D):
            left[p, c] = rho * left[p - 1, c] + k1 * signed[pi[p - 1], c]
    for p in range(hi - 1, -1, -1):
        for c in range(D):
            right[p, c] = rho * right[p + 1, c] + k1 * signed[pi[p + 1], c]


@compiled
def _value(tasks, pi, fields):
    """Compute V without its constant."""
    linear, alpha, total = tasks[0], tasks[1], 0.0
    for p in range(len(pi)):
        total += linear[pi[p], p]
        for c in range(alpha.shape[1]):
            total += alpha[pi[p], c] * fields[0][p, c]
    return total


@compiled
def _best_move(tasks, pi, fields, p):
    """Return the best move of the task in place p: the change of V, the other place, and whether to carry or swap."""
    linear, alpha, signed, distance, kernel, k1, rho = tasks[:7]
    left, right = fields
    T, D = alpha.shape
    a = pi[p]
    best, place, carry = 0.0, p, False
    field = left[p] + right[p]
    for q in range(T):
        b = pi[q]
        delta = linear[b, p] - linear[a, p] + linear[a, q] - linear[b, q] - 2 * kernel[abs(q - p)] * distance[a, b]
        for c in range(D):
            delta += (alpha[b, c] - alpha[a, c]) * (field[c] - left[q, c] - right[q, c])
        if delta < best:
            best, place, carry = delta, q, False
    for step in (1, -1):
        ahead, behind = (right, left) if step > 0 else (left, right)
        field = behind[p].copy()  # at a's place, of the tasks behind it, those it has passed included
        delta, q = 0.0, p + step
        while 0 <= q < T:
            b = pi[q]
            delta += linear[a, q] - linear[a, q - step] + linear[b, q - step] - linear[b, q]
            for c in range(D):
                delta += (1 - rho) * (alpha[b, c] - alpha[a, c]) * (field[c] - ahead[q, c])
                field[c] = rho * field[c] + k1 * signed[b, c]
            if delta < best:
                best, place, carry = delta, q, True
            q += step
    return best, place, carry
