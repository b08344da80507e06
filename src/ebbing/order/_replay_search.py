"""Searches for the best replay: a dynamic program for the generalization error, local search for anything else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ebbing._validate import Array
from ebbing.learners import MinimumNorm
from ebbing.order._clock import Clock
from ebbing.order._curriculum_values import Counts
from ebbing.problem import Problem
from ebbing.theory._step_rates import StepRates

_MOST_LOTS = 2000
"""Larger budgets are spent in lots of several samples: the work grows with the square of their number."""
_AT_ONCE = 400_000
"""Samples of plans that are evaluated at a time."""


def lot_size(budget: int) -> int:
    """Return in lots of how many samples a budget is spent.

    >>> lot_size(200), lot_size(50_000)
    (1, 25)
    """
    return -(-budget // _MOST_LOTS)


def least_generalization(problem: Problem, budget: int, clock: Clock) -> tuple[Counts, float]:
    """Return the replay with the least expected generalization error, and a lower bound on all of them.

    Args:
        problem: The tasks, in the order of learning.
        budget: How many samples may be replayed in all.
        clock: When to end the search for the splits of convex steps. The rest takes seconds for the largest problems.

    Returns:
        Samples of task j replayed in the step of task t (T, T), and the bound: its value if no step is convex, and
        -inf if samples come in lots.
    """
    lot = lot_size(budget)
    T, lots = problem.T, budget // lot
    # best[m]: the least mean error over all tasks after the steps so far, m lots spent; under: its bound.
    best, under = np.full(lots + 1, np.inf), np.full(lots + 1, np.inf)
    best[0] = under[0] = problem.start.mean()
    choices: list[tuple[Counts, Counts]] = []
    for t in range(T):
        most = lots if t else 0
        rates = StepRates.of(problem.n[t] + lot * np.arange(most + 1), problem.p, MinimumNorm())
        added, bound, splits = _best_splits(problem, t, rates, lot, clock)
        best, choice = _least_after(best, rates.retained, added)
        under, _ = _least_after(under, rates.retained, bound)
        choices.append((choice, splits))
    m = int(np.argmin(best))
    lower = float(under.min()) if lot == 1 else -np.inf
    replayed = np.zeros((T, T), dtype=np.int64)
    for t in reversed(range(T)):
        choice, splits = choices[t]
        k = int(choice[m])
        replayed[t] = splits[k]
        m -= k
    return replayed, lower


def _least_after(before: Array, retained: Array, added: Array) -> tuple[Array, Counts]:
    """Return the least value after a step for each number of lots spent in all, and how many of them the step spends.

    Args:
        before: The least value before the step for each number of lots spent; inf where there is none (lots + 1,).
        retained: What the step keeps of it, for each number of lots that it spends (K,).
        added: What the step adds (K,).
    """
    after, choice = np.full(len(before), np.inf), np.zeros(len(before), dtype=np.int64)
    reached = np.isfinite(before)
    for k in range(len(added)):
        left = slice(0, len(before) - k)
        value = np.where(reached[left], retained[k] * np.where(reached[left], before[left], 0.0) + added[k], np.inf)
        better = value < after[k:]
        after[k:][better] = value[better]
        choice[k:][better] = k
    return after, choice


def _best_splits(problem: Problem, t: int, rates: StepRates, lot: int, clock: Clock) -> tuple[Array, Array, Counts]:
    """Return, for each number k of lots replayed in the step of task t, the least b_t, a bound on it and the split.

    b_t = replaced mean_i |w*_i - w*_j|^2, averaged over the samples, + curved dispersion + noise variance. For each k
    it is linear in the samples but for the dispersion, a quadratic form.
    """
    T, n, gaps = problem.T, int(problem.n[t]), problem.gaps
    K, old = len(rates.replaced), slice(max(t, 1))
    spent = lot * np.arange(K)  # (K,)
    added, chosen = _least_of_single_tasks(problem, t, rates, spent)
    bound, splits = added.copy(), np.zeros((K, T), dtype=np.int64)
    splits[np.arange(K), chosen] = spent
    convex = np.flatnonzero((rates.conflict < rates.replaced) & (spent > 0)) if t > 1 else []  # corners are not best
    for k in convex:
        N = n + int(spent[k])
        with np.errstate(invalid="ignore"):
            noise = np.where(problem.noise_variance > 0, rates.noise[k] * problem.noise_variance, 0.0)
        linear = (rates.replaced[k] * gaps.mean(axis=0) + noise) / N
        cost = _SplitCost(linear, (rates.conflict[k] - rates.replaced[k]) / N**2, gaps, t)
        split = splits[k].astype(float)
        split[t] = n
        further = splits[k - 1].astype(float)  # one lot more than the split before: mostly nearly the best
        further[t] = n
        further[int(np.argmin(cost.slope(further)[old]))] += lot
        amount = max(4, 2 * lot)
        if not cost(further) < cost(split):
            further, amount = split, max(1, int(spent[k]) // 2)
        split = further if clock.late else cost.descend(further, amount)
        added[k] = bound[k] = cost(split)
        if lot == 1:
            slope = cost.slope(split)[old]  # a convex cost is above its tangent, which is least at a corner
            bound[k] = added[k] + spent[k] * slope.min() - slope @ split[old]
        splits[k] = split
        splits[k, t] = 0
    return added, bound, splits


def _least_of_single_tasks(problem: Problem, t: int, rates: StepRates, spent: Counts) -> tuple[Array, Counts]:
    """Return the least b_t with samples of one old task alone, for each number of samples, and that task (K,)."""
    old = slice(max(t, 1))
    distance, variance = problem.gaps.mean(axis=0), problem.noise_variance
    own, other = (
        part[:, None] / (problem.n[t] + spent[:, None]) for part in (np.full(len(spent), problem.n[t]), spent)
    )
    dispersion = own * other * problem.gaps[t, old]  # (K, t)
    noise = own * variance[t] + other * variance[old]
    with np.errstate(invalid="ignore"):
        curved = np.where(dispersion > 0, (rates.conflict - rates.replaced)[:, None] * dispersion, 0.0)
        noisy = np.where(noise > 0, rates.noise[:, None] * noise, 0.0)
    values = rates.replaced[:, None] * (own * distance[t] + other * distance[old]) + curved + noisy
    return values.min(axis=1), values.argmin(axis=1)


@dataclass(frozen=True)
class _SplitCost:
    """The cost of a split s (T,), linear s + curve s'Gs / 2 with the gaps G, of which tasks before t may change."""

    linear: Array
    curve: float
    gaps: Array
    t: int

    def __call__(self, split: Array) -> float:
        return float(self.linear @ split + self.curve * (split @ self.gaps @ split) / 2)

    def slope(self, split: Array) -> Array:
        return self.linear + self.curve * (self.gaps @ split)

    def descend(self, split: Array, amount: int) -> Array:
        """Move samples between old tasks, in halving amounts, while that helps."""
        split, least = split.copy(), -1e-14 * abs(self(split))
        among = self.gaps[: self.t, : self.t]
        while True:
            slope = self.slope(split)[: self.t]
            change = amount * (slope - slope[:, None]) - self.curve * amount**2 * among  # (from, to)
            change[split[: self.t] < amount] = np.inf
            a, b = np.unravel_index(int(np.argmin(change)), change.shape)
            if change[a, b] < least:
                split[a] -= amount
                split[b] += amount
            elif amount == 1:
                return split
            else:
                amount //= 2


def local_search(
    values: Callable[[Counts], Array], starts: Sequence[Counts], budget: int, seed: int, clock: Clock
) -> Counts:
    """Return the best plan that adding, removing and moving samples leads to, from several plans.

    Args:
        values: The objective of plans (plans, T, T) -> (plans,).
        starts: Plans to begin with (T, T).
        budget: How many samples a plan has at most.
        seed: Seed of one more start, a random plan.
        clock: When to end with the best plan so far.

    Returns:
        The best plan (T, T).
    """
    T = len(starts[0])
    steps, tasks = np.tril_indices(T, -1)
    rng = np.random.default_rng(seed)
    random = np.zeros((T, T), dtype=np.int64)
    random[steps, tasks] = rng.multinomial(budget, rng.dirichlet(np.full(len(steps), 0.3)))
    ordered = sorted((*starts, random), key=lambda plan: float(values(plan[None])[0]))  # time may end after the first
    found = [_climb(values, start[steps, tasks], budget, steps, tasks, T, clock) for start in ordered]
    best = min(found, key=lambda pair: pair[0])[1]
    plan = np.zeros((T, T), dtype=np.int64)
    plan[steps, tasks] = best
    return plan


def _climb(
    values: Callable[[Counts], Array], start: Counts, budget: int, steps: Counts, tasks: Counts, T: int, clock: Clock
) -> tuple[float, Counts]:
    places = len(start)

    def evaluate(flat: Counts) -> Array:
        found = np.full(len(flat), np.inf)
        at_once = max(1, _AT_ONCE // T**2)
        for first in range(0, len(flat), at_once):
            if first and clock.late:
                break
            part = slice(first, first + at_once)
            plans = np.zeros((len(flat[part]), T, T), dtype=np.int64)
            plans[:, steps, tasks] = flat[part]
            found[part] = values(plans)
        return found

    best, value = start.copy(), float(evaluate(start[None])[0])
    unit = np.vstack([np.eye(places, dtype=np.int64), np.zeros((1, places), dtype=np.int64)])  # the last: unused
    lot = lot_size(budget)
    sizes = [lot * 2**i for i in range(max(6, (budget // lot).bit_length() - 1), -1, -1) if lot * 2**i <= budget]
    while sizes and not clock.late:
        size = sizes[0]
        available = np.append(best, budget - best.sum())
        sources = np.flatnonzero(available >= size)
        a, b = (grid.ravel() for grid in np.meshgrid(sources, np.arange(places + 1), indexing="ij"))
        moved = best + size * (unit[b[a != b]] - unit[a[a != b]])
        results = evaluate(moved) if len(moved) else np.array([np.inf])
        if results.min() < value - 1e-13 * abs(value):
            value, best = float(results.min()), moved[int(np.argmin(results))]
        else:
            sizes.pop(0)
    return value, best
