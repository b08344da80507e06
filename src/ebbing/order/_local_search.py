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
from ebbing.order._compilation import SLOWDOWN
from ebbing.order._local_search_kernels import IDLE, run_rounds
from ebbing.order._quick_bound import eigh_seconds

_SLICE_WORK = 2e7 / SLOWDOWN  # multiplications between two looks at the clock, about
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
                    used, stale = run_rounds(tuple(tasks), tuple(run), draws, used, max(1, int(_SLICE_WORK / work)))
                    here = run.top if run.state[IDLE] >= 0 else run.pi  # the first descent goes down all the way
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
    state: NDArray[np.int64]  # (3,) see IDLE, PLACE, ASLEEP of `_local_search_kernels`
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
