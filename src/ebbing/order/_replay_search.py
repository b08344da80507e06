"""Searches for the best replay: a dynamic program for the generalization error, local search for anything else."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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


def least_generalization(problem: Problem, budget: int) -> tuple[Counts, float]:
    """Return the replay with the least expected generalization error, and a lower bound on all of them.

    Args:
        problem: The tasks, in the order of learning.
        budget: How many samples may be replayed in all.

    Returns:
        Samples of task j replayed in the step of task t (T, T), and the bound: its value if no step is convex, and
        -inf if samples come in lots.
    """
    lot = lot_size(budget)
    T, lots = problem.T, budget // lot
    # best[m]: the least mean error over all tasks after the steps so far, m lots spent; under: its bound.
    best, under = np.full(lots + 1, np.inf), np.full(lots + 1, np.inf)
    best[0] = under[0] = problem.start.mean()
    choices: list[tuple[Counts, list[Counts]]] = []
    for t in range(T):
        most = lots if t else 0
        rates = StepRates.of(problem.n[t] + lot * np.arange(most + 1), problem.p, MinimumNorm())
        added, bound, splits = _best_splits(problem, t, rates, lot)
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


def _best_splits(problem: Problem, t: int, rates: StepRates, lot: int) -> tuple[Array, Array, list[Counts]]:
    """Return, for each number k of lots replayed in the step of task t, the least b_t, a bound on it and the split.

    b_t = replaced mean_i |w*_i - w*_j|^2, averaged over the samples, + curved dispersion + noise variance.
    """
    T, n = problem.T, int(problem.n[t])
    most = len(rates.replaced) - 1
    distance, variance, gaps = problem.gaps.mean(axis=0), problem.noise_variance, problem.gaps
    added, bound, splits = np.full(most + 1, np.inf), np.full(most + 1, np.inf), []

    def cost(samples: Array, k: int) -> Array:  # (splits, T) -> (splits,)
        shares = samples / (n + lot * k)
        dispersion = np.einsum("bi,ij,bj->b", shares, gaps, shares) / 2
        noise = shares @ variance
        with np.errstate(invalid="ignore"):
            curved = np.where(dispersion > 0, (rates.conflict[k] - rates.replaced[k]) * dispersion, 0.0)
            return rates.replaced[k] * (shares @ distance) + curved + np.where(noise > 0, rates.noise[k] * noise, 0.0)

    own = np.zeros(T)
    own[t] = n
    for k in range(most + 1):
        corners = own + lot * k * np.eye(T)[: max(t, 1)] * (t > 0)
        values = cost(corners, k)
        split = corners[int(np.argmin(values))]
        added[k] = bound[k] = values.min()
        if k and t > 1 and rates.conflict[k] < rates.replaced[k]:  # convex: corners are not best
            split = _descend(lambda samples, k=k: cost(samples, k), split, t)
            added[k] = cost(split[None], k)[0]
            if lot == 1:
                bound[k] = _tangent_bound(split, k, t, added[k], rates, gaps, distance, variance, n)
        whole = split.astype(np.int64)
        whole[t] = 0
        splits.append(whole)
    return added, bound, splits


def _descend(cost: Callable[[Array], Array], split: Array, t: int) -> Array:
    """Move samples between old tasks, in halving amounts, while that helps."""
    amount = max(1, int(split[:t].max()) // 2)
    value = cost(split[None])[0]
    while True:
        moves = [
            split + amount * (np.eye(len(split))[b] - np.eye(len(split))[a])
            for a in range(t) for b in range(t) if a != b and split[a] >= amount
        ]  # fmt: skip
        values = cost(np.array(moves))
        if values.min() < value - 1e-15 * abs(value):
            value, split = float(values.min()), moves[int(np.argmin(values))]
        elif amount == 1:
            return split
        else:
            amount //= 2


def _tangent_bound(
    split: Array, k: int, t: int, value: float, rates: StepRates, gaps: Array, distance: Array, variance: Array, n: int
) -> float:
    """Return a bound on a convex cost over all splits of k samples: its tangent, at the corners."""
    N = n + k
    slope = (rates.replaced[k] * distance + rates.noise[k] * variance) / N
    slope = slope + (rates.conflict[k] - rates.replaced[k]) * (gaps @ split) / N**2
    return float(value + k * slope[:t].min() - slope[:t] @ split[:t])


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
