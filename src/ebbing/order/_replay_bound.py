"""A lower bound on the objective of every replay within a budget, for steps learned to the end: branch and bound.

After step s the errors are  L_s = r_s L_{s-1} + b_s,  with r_s = retained(N_s) and b_s of the samples of step s alone.
The objective is linear in all L_s. Let r* be the rates of one plan, the center of a box of plans, and phi_s the
objective's slope in L_s if later steps have the rates r*. Then for any plan (docs/theory/replay.md)

    objective = phi_{-1} start + sum_s ( phi_s b_s + (r_s - r*_s) phi_s L_{s-1} ).

Given how many samples a step replays, phi_s b_s is a quadratic function of how they are split between old tasks: least
at a corner where it is concave, and above its tangents where it is convex. The last term is small in a small box, where
phi_s L_{s-1} is replaced by its bounds. So a box is bounded by a dynamic program over steps and samples spent. Boxes
are halved, the one with the least bound first.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt

from ebbing._validate import Array
from ebbing.learners import MinimumNorm
from ebbing.order._clock import Clock
from ebbing.order._curriculum_values import Counts
from ebbing.order.objective import Criterion
from ebbing.problem import Problem
from ebbing.theory._step_rates import StepRates

_TANGENTS = 12
"""At how many splits a convex function is bounded."""


@dataclass(frozen=True)
class _Step:
    """What step s adds to errors, for every number k of replayed samples and a single old task j.

    Attributes:
        retained: r_s (K,).
        corners: b_s if all k samples are of task j (K, J, T).
        curvature: Coefficient of the dispersion in b_s (K,).
        lower: A lower bound on b_s over all splits (K, T).
        upper: An upper bound (K, T).
        allowed: Whether the expectation is finite if all k samples are of task j (K, J).
        totals: N_s (K,).
    """

    retained: Array
    corners: Array
    curvature: Array
    lower: Array
    upper: Array
    allowed: npt.NDArray[np.bool_]
    totals: Counts

    @classmethod
    def of(cls, problem: Problem, t: int, budget: int) -> _Step:
        """Return the step of task t."""
        D, n, old = problem.gaps, int(problem.n[t]), max(t, 1)
        k = np.arange(budget + 1 if t else 1)
        N = n + k
        rates = StepRates.of(N, problem.p, MinimumNorm())
        share = k / N  # (K,)
        own, other = (1 - share)[:, None, None], share[:, None, None]
        variance = problem.noise_variance
        mean_gaps = own * D[t] + other * D[:old]  # (K, J, T)
        noise = (1 - share)[:, None] * variance[t] + share[:, None] * variance[:old]  # (K, J)
        dispersion = share[:, None] * (1 - share)[:, None] * D[t, :old]  # (K, J)
        finite = np.isfinite(rates.noise) & np.isfinite(rates.conflict)
        same = (variance[t] == 0) & (variance[:old] == 0) & (D[t, :old] == 0)  # next to N = p, nothing may disagree
        allowed = finite[:, None] | same | ((k == 0) & (variance[t] == 0))[:, None]  # (K, J)
        coefficient = np.where(np.isfinite(rates.noise), rates.noise, 0.0)
        curvature = np.where(np.isfinite(rates.conflict), rates.conflict - rates.replaced, 0.0)
        linear = rates.replaced[:, None, None] * mean_gaps + (coefficient[:, None] * noise)[:, :, None]
        corners = linear + (curvature[:, None] * dispersion)[:, :, None]
        most = share * D[t, :old].max()  # the dispersion is at most the mean squared distance to the new task
        linear_low, linear_high = (np.where(allowed[:, :, None], linear, empty) for empty in (np.inf, -np.inf))
        lower = linear_low.min(axis=1) + np.minimum(curvature * most, 0.0)[:, None]
        least = np.where(allowed[:, :, None], corners, np.inf).min(axis=1)
        lower = np.where(curvature[:, None] >= 0, np.maximum(lower, least), lower)
        upper = linear_high.max(axis=1) + np.maximum(curvature * most, 0.0)[:, None]
        return cls(rates.retained, corners, curvature, lower, upper, allowed, N)


class _Replays:
    """All replays of a problem within a budget."""

    def __init__(self, criterion: Criterion, budget: int) -> None:
        self.problem, self.budget, self.T = criterion.problem, budget, criterion.problem.T
        self.steps = [_Step.of(self.problem, t, budget) for t in range(self.T)]
        per_task = criterion.forgetting / (self.T - 1)
        self.counted = np.where(np.arange(self.T) < self.T - 1, per_task, 0.0)
        self.last = self.counted + criterion.generalization / self.T

    def bound(self, low: Counts, high: Counts) -> tuple[float, Array, Counts]:
        """Return a bound on all plans in a box, how much each step contributes to its gap, and a good plan.

        The plan is a (T, 2) array: how many samples each step replays, and of which old task.
        """
        center = (low + high) // 2
        rates = np.array([step.retained[k] for step, k in zip(self.steps, center, strict=True)])
        slopes = self._slopes(rates)  # (T + 1, T), the first of the start
        below, above = self._errors(low, high)  # (T, T): L_{s-1}
        costs, tasks, gaps = [], [], np.zeros(self.T)
        for s, step in enumerate(self.steps):
            window = slice(low[s], high[s] + 1)
            least, task = self._least(s, window, slopes[s + 1])
            positive, negative = np.maximum(slopes[s + 1], 0), np.minimum(slopes[s + 1], 0)
            lowest, highest = positive @ below[s] + negative @ above[s], positive @ above[s] + negative @ below[s]
            moved = step.retained[window] - rates[s]
            costs.append(least + np.minimum(moved * lowest, moved * highest))
            tasks.append(task)
            gaps[s] = (moved.max() - moved.min()) * (highest - lowest)
        value, spent = _least_sum(costs, low, self.budget)
        chosen = np.array([task[k - first] for task, k, first in zip(tasks, spent, low, strict=True)])
        total = value + float(slopes[0] @ self.problem.start)
        return total, gaps, np.stack([spent, chosen], axis=1)

    def _slopes(self, rates: Array) -> Array:
        slopes = np.zeros((self.T + 1, self.T))
        slopes[self.T] = self.last
        for s in range(self.T - 1, -1, -1):
            slopes[s] = rates[s] * slopes[s + 1]
            if s:
                slopes[s, s - 1] -= self.counted[s - 1]
        return slopes

    def _errors(self, low: Counts, high: Counts) -> tuple[Array, Array]:
        below, above = np.empty((self.T, self.T)), np.empty((self.T, self.T))
        least = most = self.problem.start
        for s, step in enumerate(self.steps):
            below[s], above[s] = least, most
            window = slice(low[s], high[s] + 1)
            rate = step.retained[window, None]
            least = (rate * least + step.lower[window]).min(axis=0)
            most = (rate * most + step.upper[window]).max(axis=0)
            if not np.isfinite(least).all():  # no plan of the box has a finite expectation: its bound is infinite
                least = most = np.zeros(self.T)
        return below, above

    def _least(self, s: int, window: slice, slope: Array) -> tuple[Array, Counts]:
        """Return a lower bound on slope b_s over all splits, for each k of the window, and the best single task."""
        step = self.steps[s]
        corners = np.where(step.allowed[window], step.corners[window] @ slope, np.inf)  # (k, J)
        task = corners.argmin(axis=1)
        least = corners[np.arange(len(task)), task]
        curvature = step.curvature[window] * slope.sum()
        convex = (curvature < 0) & np.isfinite(least) & (np.arange(window.start, window.stop) > 1)
        if s > 1 and convex.any():
            least = np.where(convex, self._tangents(s, window, slope, curvature), least)
        return least, task

    def _tangents(self, s: int, window: slice, slope: Array, curvature: Array) -> Array:
        """Return the largest of some tangents' least values: bounds on a convex function (Frank and Wolfe)."""
        step, D = self.steps[s], self.problem.gaps[: s + 1, : s + 1]
        k, N = np.arange(window.start, window.stop), step.totals[window]
        share = k / N
        # f(z) = linear z + curvature disp(z), z the shares of old tasks, which sum to k / N
        alone = share[:, None] * (1 - share)[:, None] * D[s, :s]
        linear = step.corners[window] @ slope - curvature[:, None] * alone  # (k, J): values at the corners
        x = np.full((len(k), s), 1 / s)  # the part of each old task
        best = np.full(len(k), -np.inf)
        for i in range(_TANGENTS):
            z = np.column_stack([share[:, None] * x, 1 - share])  # (k, s + 1)
            far = z @ D
            value = np.sum(x * linear, axis=1) + curvature * np.sum(z * far, axis=1) / 2
            gradient = linear + (curvature * share)[:, None] * far[:, :s]
            descent = gradient - np.sum(gradient * x, axis=1, keepdims=True)
            best = np.maximum(best, value + descent.min(axis=1))
            x = x + 2 / (i + 2) * (np.eye(s)[descent.argmin(axis=1)] - x)
        return best


def _least_sum(costs: list[Array], low: Counts, budget: int) -> tuple[float, Counts]:
    """Return the least sum of one cost per step with at most `budget` samples in all, and the samples of each step."""
    left = budget - int(low.sum())
    total, choices = np.zeros(1), []
    for cost in costs:
        size = min(len(total) + len(cost) - 1, left + 1)
        sums = np.full((size, len(cost)), np.inf)
        for k in range(min(len(cost), size)):
            part = total[: size - k]
            sums[k : k + len(part), k] = part + cost[k]
        choices.append(sums.argmin(axis=1))
        total = sums.min(axis=1)
    m = int(total.argmin())
    value, spent = float(total[m]), np.zeros(len(costs), dtype=np.int64)
    for s in reversed(range(len(costs))):
        spent[s] = choices[s][m]
        m -= spent[s]
    return value, spent + low


def bound_replay(
    criterion: Criterion, budget: int, best: Counts, value: Callable[[Counts], Array], clock: Clock
) -> tuple[Counts, float]:
    """Return the best replay known, and a bound that no replay within the budget is below.

    Args:
        criterion: The objective; forgetting may be part of it.
        budget: How many samples may be replayed in all.
        best: A good replay (T, T).
        value: The objective of plans (plans, T, T) -> (plans,).
        clock: When to end with the bound so far.

    Returns:
        A replay that is at least as good, and the bound: the replay's value if it is proved best.
    """
    replays = _Replays(criterion, budget)
    T, number = criterion.problem.T, count()
    reached = float(value(best[None])[0])
    low, high = np.zeros(T, dtype=np.int64), np.array([0, *[budget] * (T - 1)])
    first, gaps, _ = replays.bound(low, high)
    heap, done = [(first, next(number), low, high, gaps)], np.inf  # done: the least bound of single plans
    while heap and not clock.late:
        least, _, low, high, gaps = heap[0]
        if least >= reached - 1e-13 * abs(reached) or least >= done:
            break
        heapq.heappop(heap)
        if np.array_equal(low, high):
            done = min(done, least)
            continue
        s = int(np.argmax(np.where(high > low, gaps + 1e-9 * (high - low), -1.0)))
        middle = (low[s] + high[s]) // 2
        for one, other in ((low[s], middle), (middle + 1, high[s])):
            inner_low, inner_high = low.copy(), high.copy()
            inner_low[s], inner_high[s] = one, other
            if inner_low.sum() > budget:
                continue
            inner_high = np.minimum(inner_high, inner_low + budget - inner_low.sum())
            below, gaps_inside, plan = replays.bound(inner_low, inner_high)
            if not np.isfinite(below):
                continue
            replayed = np.zeros((T, T), dtype=np.int64)
            replayed[np.arange(T), plan[:, 1]] = plan[:, 0]
            if (found := float(value(replayed[None])[0])) < reached:
                reached, best = found, replayed
            heapq.heappush(heap, (max(below, least), next(number), inner_low, inner_high, gaps_inside))
    bound = min(done, heap[0][0] if heap else np.inf)
    return best, min(bound, reached)
