"""A lower bound on an objective over all values x of one number that is tuned: `least`.

On a cell from a to b, an objective V with V'' <= M is below its chord by at most M (x - a) (b - x) / 2. The errors obey
L' = (1 - h) L + h gaps - u (<shares, L> - dispersion) + m  from step to step, so their first and second
derivative by x obey recursions, too. In intervals, with `_tuning_families.Family.changes` for the rates, these give M.
The cells that may hold less than the best value are halved until none does, up to a tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ebbing._validate import Array
from ebbing.curriculum import first_steps_of, learned_before
from ebbing.order._clock import Clock
from ebbing.order._curriculum_values import Counts
from ebbing.order._intervals import Interval
from ebbing.order._tuning_families import Change, Family
from ebbing.order.objective import Criterion
from ebbing.problem import Problem
from ebbing.theory._steps import Mixtures

TOLERANCE = 1e-6
"""Differences below it, relative to the largest value on the grid, count as ties."""
_MOST_CELLS = 3000


@dataclass(frozen=True)
class Steps:
    """What an objective depends on besides the learner.

    Attributes:
        start: Errors of the initial model (T,).
        shares: n_sj / N_s (S, T).
        gaps: Distance of the mean ground truth of a step to each task (S, T).
        dispersion: Disagreement of the tasks of a step (S,).
        weights: The objective is the sum of weights times errors after each step (S, T).
        mixed: 4 / (N p - 2) of steps with several samples, else 0 (S,).
        floor: No weights w, however learned, have a lower objective; -inf if none is known.
    """

    start: Array
    shares: Array
    gaps: Array
    dispersion: Array
    weights: Array
    mixed: Array
    floor: float

    @classmethod
    def of(cls, samples: Counts, problem: Problem, mixtures: Mixtures, criterion: Criterion) -> Steps:
        """Return the steps of a curriculum: its samples (S, T), and what they are a mixture of."""
        S, T = samples.shape
        N, first = samples.sum(axis=1), first_steps_of(samples)
        weights = np.zeros((S, T))
        weights[-1] += criterion.generalization / T
        old = learned_before(first, S)
        if criterion.forgetting:
            if not old.any():
                raise ValueError("no task is learned before the last step: nothing can be forgotten; add a step")
            weights[-1, old] += criterion.forgetting / old.sum()
            weights[first[old] - 1, old] -= criterion.forgetting / old.sum()
        with np.errstate(divide="ignore"):
            mixed = np.where(N > 1, 4 / np.maximum(N.astype(float) * problem.p - 2, 0), 0.0)
        # Without forgetting, the mean over the tasks of |w - w*_i|^2 is least at the mean of the ground truths.
        floor = -np.inf if criterion.forgetting else criterion.generalization * float(problem.gaps.mean()) / 2
        return cls(problem.start, mixtures.shares, mixtures.gaps, mixtures.dispersion, weights, mixed, floor)

    def errors(self, rates: Array) -> tuple[Array, Array]:
        """Return the errors and the objective with rates h, u and m.

        Args:
            rates: h, u and m of each step (3, cases, S).

        Returns:
            The errors before each step and after the last (S+1, cases, T), and the objective (cases,).
        """
        h, u, m = rates
        errors = [np.broadcast_to(self.start, (h.shape[0], len(self.start)))]
        for s in range(len(self.shares)):
            L = errors[-1]
            pull = u[:, s] * (L @ self.shares[s] - self.dispersion[s])
            errors.append(L + h[:, s : s + 1] * (self.gaps[s] - L) + (m[:, s] - pull)[:, None])
        found = np.array(errors)
        return found, np.einsum("sbt,st->b", found[1:], self.weights)


def least(
    steps: Steps, family: Family, rates: Callable[[Array], Array], places: Array, clock: Clock
) -> tuple[float, float, float]:
    """Return the best x found, its value and a lower bound on the value of every x of the family.

    Args:
        steps: The steps.
        family: The learners.
        rates: h, u and m of each step (3, places, S) at some x (places,).
        places: Places to look at, ascending, from one end of the family's range to the other.
        clock: When to end.

    Returns:
        x, the objective there, and the bound.
    """
    columns = rates(places)
    values = steps.errors(columns)[1]
    best, tolerance = int(np.argmin(values)), TOLERANCE * float(np.abs(values).max())
    x, value, closed = float(places[best]), float(values[best]), np.inf
    low, high = places[:-1], places[1:]
    ends, at = (columns[:, :-1], columns[:, 1:]), (values[:-1], values[1:])
    while True:
        bounds = _cell_bounds(steps, family, low, high, ends, at)
        unsure = bounds < value - tolerance
        closed = min(closed, float(np.min(bounds[~unsure], initial=np.inf)))
        if not unsure.any() or clock.late or len(low) > _MOST_CELLS:
            return x, value, min(closed, float(bounds.min()), value)
        low, high = low[unsure], high[unsure]
        middle = (low + high) / 2
        new = rates(middle)
        there = steps.errors(new)[1]
        if there.min() < value:
            x, value = float(middle[np.argmin(there)]), float(there.min())
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        ends = (np.hstack([ends[0][:, unsure], new]), np.hstack([new, ends[1][:, unsure]]))
        at = (np.hstack([at[0][unsure], there]), np.hstack([there, at[1][unsure]]))


def _cell_bounds(
    steps: Steps, family: Family, low: Array, high: Array, ends: tuple[Array, Array], at: tuple[Array, Array]
) -> Array:
    """Return lower bounds on the objective in each cell, from the rates and the values at both ends."""
    changes = family.changes(*ends, low[:, None], high[:, None], steps.mixed)
    with np.errstate(over="ignore", invalid="ignore"):
        bend = np.nan_to_num(curvature(steps, changes), nan=np.inf) * (high - low) ** 2 / 2
        # The least of (1 - t) V(a) + t V(b) - bend t (1 - t) is inside if the chord is flatter than the bend.
        t = np.clip(0.5 - (at[1] - at[0]) / (2 * np.maximum(bend, 1e-300)), 0, 1)
        bound = (1 - t) * at[0] + t * at[1] - np.maximum(bend, 0) * t * (1 - t)
    return np.where(np.isfinite(bound), bound, -np.inf)


def curvature(steps: Steps, changes: tuple[Change, Change, Change]) -> Array:
    """Return an upper bound on the second derivative of the objective in each cell (cells,).

    Args:
        steps: The steps.
        changes: h, u and m over the cells, with their derivatives.

    Returns:
        The bounds.
    """
    S, T = steps.shares.shape
    zero = np.zeros((len(changes[0].value.low), T))
    L, L1, L2 = Interval(zero + steps.start, zero + steps.start), Interval(zero, zero), Interval(zero, zero)
    total = Interval(zero[:, :1], zero[:, :1])
    for s in range(S):
        h, h1, h2, u, u1, u2, m, m1, m2 = (
            part.column(s) for change in changes for part in (change.value, change.first, change.second)
        )
        own, own1, own2 = (part.mean(steps.shares[s]) for part in (L, L1, L2))
        away, apart = L - steps.gaps[s], own - steps.dispersion[s]
        kept = Interval(1 - h.high, 1 - h.low)
        L2 = kept * L2 - h1 * L1 * 2.0 - h2 * away - u1 * own1 * 2.0 - u2 * apart - u * own2 + m2
        L1 = kept * L1 - h1 * away - u1 * apart - u * own1 + m1
        L = kept * L + h * steps.gaps[s] - u * apart + m
        L = Interval(np.maximum(L.low, 0), L.high)  # it is a squared distance
        for sign in (1.0, -1.0):
            weights = np.maximum(sign * steps.weights[s], 0)
            if weights.any():
                total = total + L2.mean(weights) * sign
    return total.high[:, 0]
