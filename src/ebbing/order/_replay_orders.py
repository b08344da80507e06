"""Orders of tasks that are replayed: the objective of many at once, the best one by search, and by a dynamic program.

In step t (from 0) an order learns n_j samples of a new task j and m of each of the t old ones, N = n_j + m t. Its rates
depend on j and t alone, and its mixture on j and on the set of old tasks. Learned to the end, the mean error over all
tasks therefore obeys  a_t = (1 - h) a_{t-1} + b(set of old tasks, j)  with 1 - h >= 0. So the least a for every set of
tasks follows from those of the sets with one task less: a proof of the best order for the generalization error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ebbing._validate import Array
from ebbing.learners import LinearLearner, MinimumNorm
from ebbing.order._clock import Clock
from ebbing.order.objective import Criterion
from ebbing.theory._step_checks import diverging
from ebbing.theory._step_rates import StepRates

Orders = npt.NDArray[np.intp]

PROVABLE = 18
"""Most tasks for which sets of tasks are gone through: 2^T of them."""
_BATCH = 256  # orders that are valued at once
_ROUNDING = 1e-13  # of a value: a smaller gain is rounding


class ReplayOrders:
    """What every order of the tasks leads to, with `memory` fresh samples of each old task in every step.

    Args:
        criterion: What is minimized.
        memory: Samples of each old task, m.
        learner: How each step learns.
    """

    def __init__(self, criterion: Criterion, memory: int, learner: LinearLearner) -> None:
        self.criterion, self.memory, self.learner = criterion, memory, learner
        problem, T = criterion.problem, criterion.problem.T
        self.N = problem.n[:, None] + memory * np.arange(T)  # (task, step)
        self._diverges = diverging(self.N, problem.p, learner)
        N = np.where(self._diverges, problem.n.min(), self.N)
        different, places = np.unique(N, return_inverse=True)
        rates, places = StepRates.of(different, problem.p, learner), places.reshape(T, T)
        self._h, self._u = rates.replaced[places], rates.unfinished[places]
        self._conflict, self._noise = rates.conflict[places], rates.noise[places]

    def values(self, orders: npt.ArrayLike) -> Array:
        """Return the objective of orders (m, T), as `expect` has it; inf where the expectation is, or diverges (m,)."""
        pi, problem = np.asarray(orders, dtype=np.intp), self.criterion.problem
        B, T, memory, each = len(pi), problem.T, float(self.memory), np.arange(len(pi))
        L, old = np.tile(problem.start, (B, 1)), np.zeros((B, T))
        distances, forgetting = np.zeros((B, T)), np.zeros((B, T))
        pairs, variances, broken = np.zeros(B), np.zeros(B), np.zeros(B, dtype=bool)
        for t in range(T):
            j = pi[:, t]
            n, N = problem.n[j].astype(float), self.N[j, t].astype(float)
            h, u = self._h[j, t], self._u[j, t]
            to_old = distances[each, j]
            gaps = (n[:, None] * problem.gaps[j] + memory * distances) / N[:, None]
            dispersion = memory * (n * to_old + memory * pairs) / N**2
            variance = (n * problem.noise_variance[j] + memory * variances) / N
            with np.errstate(invalid="ignore"):
                extra = np.where(dispersion > 0, (self._conflict[j, t] + u - h) * dispersion, 0.0)
                extra = extra + np.where(variance > 0, self._noise[j, t] * variance, 0.0)
            broken |= ~np.isfinite(extra) | self._diverges[j, t]
            extra = np.where(np.isfinite(extra), extra, 0.0)
            own = (n * L[each, j] + memory * np.sum(L * old, axis=1)) / N if u.any() else 0.0
            change = h[:, None] * (gaps - L) + (extra - u * own)[:, None]
            forgetting += change * old
            L += change
            pairs, variances = pairs + to_old, variances + problem.noise_variance[j]
            distances += problem.gaps[j]
            old[each, j] = 1.0
        value = self.criterion.generalization * L.mean(axis=1)
        if self.criterion.forgetting:  # the last task has not changed since it was learned
            value = value + self.criterion.forgetting * forgetting.sum(axis=1) / (T - 1)
        return np.where(broken, np.inf, value)

    @cached_property
    def by_sets(self) -> bool:
        """Whether a dynamic program over sets of tasks finds the best order."""
        return (
            not self.criterion.forgetting
            and isinstance(self.learner, MinimumNorm)
            and self.criterion.problem.T <= PROVABLE
        )

    def best_by_sets(self) -> Orders:
        """Return an order with the least generalization error (T,)."""
        problem, T, memory = self.criterion.problem, self.criterion.problem.T, float(self.memory)
        sets, bits = np.arange(2**T), 1 << np.arange(T)
        size = np.array([(sets >> j) & 1 for j in range(T)]).sum(axis=0)
        mean_gap, variance = problem.gaps.mean(axis=0), problem.noise_variance
        pairs, gap_sum, variance_sum = np.zeros(2**T), np.zeros(2**T), np.zeros(2**T)
        to_set = np.zeros((T, 2**T))  # sum of the gaps between a task and those of a set
        for j, bit in enumerate(bits.tolist()):  # sets whose largest task is j
            below, new = slice(0, bit), slice(bit, 2 * bit)
            pairs[new] = pairs[below] + to_set[j, below]
            gap_sum[new], variance_sum[new] = gap_sum[below] + mean_gap[j], variance_sum[below] + variance[j]
            to_set[:, new] = to_set[:, below] + problem.gaps[:, j : j + 1]
        least, last = np.full(2**T, np.inf), np.zeros(2**T, dtype=np.intp)
        least[0] = problem.start.mean()
        for t in range(T):
            here = sets[size == t]
            for j, bit in enumerate(bits.tolist()):
                S = here[(here & bit) == 0]
                n, N = float(problem.n[j]), float(self.N[j, t])
                h, conflict, noise = self._h[j, t], self._conflict[j, t], self._noise[j, t]
                dispersion = memory * (n * to_set[j, S] + memory * pairs[S]) / N**2
                added = h * (n * mean_gap[j] + memory * gap_sum[S]) / N
                spread = (n * variance[j] + memory * variance_sum[S]) / N
                with np.errstate(invalid="ignore"):
                    added = added + np.where(dispersion > 0, (conflict - h) * dispersion, 0.0)
                    added = added + np.where(spread > 0, noise * spread, 0.0)
                    found = np.where(np.isfinite(least[S]), (1 - h) * least[S], np.inf) + added
                better = found < least[S | bit]
                least[S[better] | bit], last[S[better] | bit] = found[better], j
        order, rest = [], 2**T - 1
        while rest:
            order.append(int(last[rest]))
            rest &= ~int(bits[last[rest]])
        return np.array(order[::-1], dtype=np.intp)

    def floor(self) -> float:
        """Return a lower bound on the objective of every order; -inf if none is known.

        The mean over all tasks of |c - w*_i|^2 is at least v, half the mean gap, for every c. So learned to the end,
        a_t - v >= (1 - h) (a_{t-1} - v) + noise, and the largest h and the least noise of a step bound it.
        """
        if self.criterion.forgetting or not isinstance(self.learner, MinimumNorm):
            return -np.inf
        problem = self.criterion.problem
        v = float(problem.gaps.mean()) / 2
        quietest = float(problem.noise_variance.min())
        above = max(float(problem.start.mean()) - v, 0.0)
        for t in range(problem.T):
            noise = self._noise[:, t].min() * quietest if quietest else 0.0
            above = (1 - self._h[:, t].max()) * above + noise
        return self.criterion.generalization * (v + float(above))

    def search(self, starts: Orders, seed: int, clock: Clock, report: Callable[[str], None]) -> tuple[Orders, float]:
        """Return the best order found by local search, never worse than those to start from, and its value.

        Tasks are swapped and moved until nothing gains; then a few neighbors are shuffled, and again.

        Args:
            starts: Orders to start from (m, T).
            seed: Seed of the moves.
            clock: When to end.
            report: Is told about progress.
        """
        rng, T = np.random.default_rng(seed), self.criterion.problem.T
        values = self.values(starts)
        ranked = [starts[k] for k in np.argsort(values, kind="stable")]
        best, value = ranked[0], float(values.min())
        places, onto = np.array([(a, b) for a in range(T) for b in range(T) if a != b]).T
        rounds = 0
        while not clock.late:
            here = ranked[rounds] if rounds < len(ranked) else _shaken(best, rng)
            current = float(self.values(here[None])[0])
            moves, tried = rng.permutation(2 * len(places)), 0
            while tried < len(moves) and not clock.late:
                some = moves[tried : tried + _BATCH]
                swaps, (a, b) = some % 2 == 0, (places[some // 2], onto[some // 2])
                near = np.array([_moved(here, *each) for each in zip(swaps, a, b, strict=True)])
                found = self.values(near)
                k = int(np.argmin(found))
                tried += len(some)
                if found[k] < current - _ROUNDING * abs(current):
                    here, current = near[k], float(found[k])
                    moves, tried = rng.permutation(2 * len(places)), 0
            if current < value - _ROUNDING * abs(value):
                best, value = here, current
            rounds += 1
            report(f"best so far {value:.6g} after {rounds} rounds")
        return best, value


def _moved(order: Orders, swap: bool, a: int, b: int) -> Orders:
    """Return the order with the tasks in places a and b swapped, or with the task in place a carried to place b."""
    moved = order.copy()
    if swap:
        moved[a], moved[b] = order[b], order[a]
    elif a < b:
        moved[a:b], moved[b] = order[a + 1 : b + 1], order[a]
    else:
        moved[b + 1 : a + 1], moved[b] = order[b:a], order[a]
    return moved


def _shaken(order: Orders, rng: np.random.Generator) -> Orders:
    """Return the order with some neighbors shuffled."""
    shaken, width = order.copy(), min(len(order), int(rng.integers(4, 9)))
    start = int(rng.integers(len(order) - width + 1))
    shaken[start : start + width] = rng.permutation(shaken[start : start + width])
    return shaken
