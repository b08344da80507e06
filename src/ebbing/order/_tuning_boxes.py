"""A lower bound on an objective when every step has a number x_s of its own: `bound_boxes`.

Let h*, u*, m* be rates of the steps, L* their errors, V* the objective, and phi_s its slope in the errors after step s
if all later steps have these rates. Then for any other rates, with their errors L,

    V = V* + sum_s ( dh <phi_s, gaps - L_{s-1}> - du <phi_s, 1> (<shares, L_{s-1}> - dispersion) + dm <phi_s, 1> ),

d the difference of the rates of step s to the starred ones. This is exact. With L* for L, term s is a function of x_s
alone, and a chord bounds it as in `_tuning_bound`. What remains is a product of two differences: in a box of all x_s,
intervals bound it. Boxes are halved, the least bound first, until none may hold less than the best value, or until time
is up.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ebbing._validate import Array
from ebbing.order._clock import Clock
from ebbing.order._intervals import Interval
from ebbing.order._tuning_bound import TOLERANCE, Steps
from ebbing.order._tuning_families import Change, Family

_BATCH = 64
_MOST_BOXES = 20_000

Rates = Callable[[Array], Array]
"""h, u and m of each step at x_s (boxes, S): (3, boxes, S)."""


def bound_boxes(steps: Steps, family: Family, rates: Rates, best: float, scale: float, clock: Clock) -> float:
    """Return a lower bound on the objective over all x_s of the family.

    Args:
        steps: The steps.
        family: The learners.
        rates: The rates of each step at its x.
        best: The best value known; boxes that cannot hold less are not halved.
        scale: The size of values, for the tolerance.
        clock: When to end.

    Returns:
        The bound, at most `best`.
    """
    S = len(steps.shares)
    low, high = np.full((1, S), family.range[0]), np.full((1, S), family.range[1])
    bounds, slack = _box_bounds(steps, family, rates, low, high)
    bounds = np.maximum(bounds, steps.floor)
    closed = np.inf
    while True:
        open_boxes = bounds < best - TOLERANCE * scale
        closed = min(closed, float(np.min(bounds[~open_boxes], initial=np.inf)))
        low, high, bounds, slack = low[open_boxes], high[open_boxes], bounds[open_boxes], slack[open_boxes]
        if not len(bounds) or clock.late or len(bounds) > _MOST_BOXES:
            return min(closed, float(np.min(bounds, initial=np.inf)), best)
        chosen = np.argsort(bounds, kind="stable")[:_BATCH]
        rest = np.setdiff1d(np.arange(len(bounds)), chosen)
        a, b, where = low[chosen], high[chosen], np.argmax(slack[chosen], axis=1)
        rows, middle = np.arange(len(chosen)), (a + b) / 2
        left, right = b.copy(), a.copy()
        left[rows, where] = right[rows, where] = middle[rows, where]
        new_low, new_high = np.concatenate([a, right]), np.concatenate([left, b])
        new_bounds, new_slack = _box_bounds(steps, family, rates, new_low, new_high)
        new_bounds = np.maximum(new_bounds, np.tile(bounds[chosen], 2))  # a part of a box has its bound, too
        low, high = np.concatenate([low[rest], new_low]), np.concatenate([high[rest], new_high])
        bounds, slack = np.concatenate([bounds[rest], new_bounds]), np.concatenate([slack[rest], new_slack])


def _box_bounds(steps: Steps, family: Family, rates: Rates, low: Array, high: Array) -> tuple[Array, Array]:
    """Return a lower bound in each box (boxes,), and how much each step may add to its looseness (boxes, S)."""
    middle = (low + high) / 2
    at = [rates(low), rates(middle), rates(high)]  # each (3, boxes, S)
    changes = family.changes(at[0], at[2], low, high, steps.mixed)
    errors, value = steps.errors(at[1])  # (S+1, boxes, T), (boxes,)
    slopes = _slopes(steps, at[1])  # (S, boxes, T)
    ranges = _error_ranges(steps, changes)
    smear, bound = np.empty_like(low), value.copy()
    half = (high - low) ** 2 / 32  # (half the width)^2 / 8
    for s in range(len(steps.shares)):
        total = slopes[s].sum(axis=1)
        factors = (
            np.sum(slopes[s] * (steps.gaps[s] - errors[s]), axis=1),
            -total * (errors[s] @ steps.shares[s] - steps.dispersion[s]),
            total,
        )
        away = [at[e][:, :, s] - at[1][:, :, s] for e in (0, 2)]  # (3, boxes)
        ends = [np.sum(np.array(factors) * each, axis=0) for each in away]
        bends = [change.second.column(s) * f[:, None] for change, f in zip(changes, factors, strict=True)]
        bend = np.maximum((bends[0] + bends[1] + bends[2]).high[:, 0], 0) * half[:, s]
        dh, du = (changes[i].value.column(s) - at[1][i][:, s : s + 1] for i in (0, 1))
        off = ranges[s] - errors[s]
        up, down = np.maximum(slopes[s], 0), np.maximum(-slopes[s], 0)
        product = dh * (off.mean(down) - off.mean(up)) - du * (off.mean(steps.shares[s]) * total[:, None])
        bound += np.minimum(np.minimum(*ends), 0) - bend + product.low[:, 0]
        smear[:, s] = np.maximum(*np.abs(ends)) + bend - product.low[:, 0]
    return np.where(np.isnan(bound), -np.inf, bound), np.nan_to_num(smear, nan=np.inf)


def _slopes(steps: Steps, rates: Array) -> Array:
    """Return the slope of the objective in the errors after each step (S, boxes, T)."""
    h, u, _ = rates
    slope = np.zeros((h.shape[0], steps.shares.shape[1]))
    slopes = []
    for s in reversed(range(len(steps.shares))):
        slope = slope + steps.weights[s]
        slopes.append(slope)
        slope = (1 - h[:, s : s + 1]) * slope - (u[:, s] * slope.sum(axis=1))[:, None] * steps.shares[s]
    return np.array(slopes[::-1])


def _error_ranges(steps: Steps, changes: tuple[Change, Change, Change]) -> list[Interval]:
    """Return intervals of the errors before each step in each box, S times (boxes, T)."""
    start = np.broadcast_to(steps.start, (len(changes[0].value.low), len(steps.start)))
    ranges = [Interval(start, start)]
    for s in range(len(steps.shares) - 1):
        h, u, m = (change.value.column(s) for change in changes)
        L = ranges[-1]
        kept = Interval(1 - h.high, 1 - h.low)
        L = kept * L + h * steps.gaps[s] - u * (L.mean(steps.shares[s]) - steps.dispersion[s]) + m
        ranges.append(Interval(np.maximum(L.low, 0), L.high))
    return ranges
