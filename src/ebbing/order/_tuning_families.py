"""Learners with one number to tune, and how fast their steps change with it: `Family`.

A step on given samples has the rates (`theory._step_rates`)

    h = replaced,  u = unfinished,  m = conflict * dispersion + noise * variance

which are expectations of functions of the eigenvalues s. Their derivatives are bounded by themselves:

==============  ======================  =====================================================================
family          x, the number to tune   for every s (f' is the derivative by x here)
==============  ======================  =====================================================================
Averaged        weight                  h = x h0, u = x (1 - x) h0, m = x^2 m0
Ridge           log penalty             f' = -f (1 - f). With g = f^2/s, f^2 and f^2 (1 - f) / s, of which m
                                        is made: -2 <= g'/g <= 1 and -0.6875 <= g''/g <= 4
GradientFlow    log time                0 <= f'/f <= 1, -0.336 <= f''/f <= 1; u'/f and u''/f likewise; the
                                        parts of m by f^2/s and f^2, with 1 + 4 / (N p - 2) for the mixed one
==============  ======================  =====================================================================

The constants are extremes over s of functions of one variable (docs/theory/steps.md; a test compares them with a grid).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ebbing._validate import Array
from ebbing.learners import Averaged, GradientFlow, LinearLearner, Ridge
from ebbing.order._intervals import Interval
from ebbing.theory._step_rates import StepRates

RIDGE = {"m'": (-2.0, 1.0), "m''": (-0.6875, 4.0), "u''": (-0.5, 1.0)}
FLOW = {
    "h''": (-0.336, 1.0), "u'": (-0.242, 1.0), "u''": (-0.486, 1.0),
    "n'": (0.0, 2.0), "n''": (-0.587, 4.0), "q'": (-0.294, 2.0), "q''": (-0.822, 4.0),
}  # fmt: skip
"""Ranges of derivatives by log time, relative to f (h, u), to f^2/s (n, and q = f times the derivative of f by s)."""


@dataclass(frozen=True)
class Change:
    """A rate of each step over cells of x (cells, S): its values, and its first and second derivative by x."""

    value: Interval
    first: Interval
    second: Interval


@dataclass(frozen=True)
class Family:
    """Learners with one number to tune.

    Attributes:
        learner: The learner with a number x.
        range: The smallest and the largest x.
        changes: h, u and m over cells, from their values at both ends (3, cells, S), the ends (cells, 1) and r =
            4 / (N p - 2) of each step (S,).
    """

    learner: Callable[[float], LinearLearner]
    range: tuple[float, float]
    changes: Callable[[Array, Array, Array, Array, Array], tuple[Change, Change, Change]]


def averaged(p: int) -> Family:
    """Return the weights of `Averaged`."""
    del p
    return Family(lambda x: Averaged(float(x)), (1e-3, 1.0), _averaged)


def ridge(p: int) -> Family:
    """Return the penalties of `Ridge`, from 10^-3 sqrt(p) to 10^5 sqrt(p)."""
    middle = np.log(np.sqrt(p))
    return Family(lambda x: Ridge(float(np.exp(x))), (middle + np.log(1e-3), middle + np.log(1e5)), _ridge)


def gradient_flow(p: int) -> Family:
    """Return the times of `GradientFlow`, from 10^-4 / p to 10^2 / p."""
    return Family(lambda x: GradientFlow(float(np.exp(x))), (np.log(1e-4 / p), np.log(1e2 / p)), _gradient_flow)


def _averaged(at_low: Array, at_high: Array, low: Array, high: Array, r: Array) -> tuple[Change, Change, Change]:
    del r, at_low
    h0, m0, x = at_high[0] / high, at_high[2] / high**2, Interval(low, high)
    same, top = np.zeros_like(h0), np.clip(0.5, low, high)
    ends = Interval.between(low * (1 - low), high * (1 - high))
    return (
        Change(x * h0, Interval(h0, h0), Interval(same, same)),
        Change(
            Interval(ends.low * h0, top * (1 - top) * h0),
            Interval((1 - 2 * high) * h0, (1 - 2 * low) * h0),
            Interval(-2 * h0, -2 * h0),
        ),
        Change(Interval(low**2 * m0, high**2 * m0), x * (2 * m0), Interval(2 * m0, 2 * m0)),
    )


def _ridge(at_low: Array, at_high: Array, low: Array, high: Array, r: Array) -> tuple[Change, Change, Change]:
    u = _grown(at_low[1], at_high[1], high - low, (-1.0, 1.0))
    u = Interval(u.low, np.minimum(u.high, at_low[0]))  # f (1 - f) <= f
    m = _monotone(_grown(at_low[2], at_high[2], high - low, RIDGE["m'"]), at_high[2], at_low[2], r)
    both = u.share(-1.0, 1.0)
    return (
        Change(Interval.between(at_low[0], at_high[0]), Interval(-u.high, -u.low), both),
        Change(u, both, u.share(*RIDGE["u''"])),
        Change(m, m.share(*RIDGE["m'"]), m.share(*RIDGE["m''"])),
    )


def _gradient_flow(at_low: Array, at_high: Array, low: Array, high: Array, r: Array) -> tuple[Change, Change, Change]:
    width = high - low
    first, second = (
        (FLOW["n" + order][0] + r * FLOW["q" + order][0], FLOW["n" + order][1] + r * FLOW["q" + order][1])
        for order in ("'", "''")
    )
    h = Interval(at_low[0], at_high[0])
    m = _monotone(_grown(at_low[2], at_high[2], width, first), at_low[2], at_high[2], r)
    slope = h.share(*FLOW["u'"])
    u = Interval(
        np.maximum(np.maximum(at_low[1] + slope.low * width, at_high[1] - slope.high * width), 0),
        np.minimum(at_low[1] + slope.high * width, at_high[1] - slope.low * width),
    )
    return (
        Change(h, Interval(u.low, h.high), h.share(*FLOW["h''"])),
        Change(u, slope, h.share(*FLOW["u''"])),
        Change(m, m.share(*first), m.share(*second)),
    )


def _grown(at_low: Array, at_high: Array, width: Array, rate: tuple[float | Array, float | Array]) -> Interval:
    """Return the range of a positive function on a cell whose logarithm has a derivative within `rate`."""
    slowest, fastest = rate
    return Interval(
        np.maximum(at_low * np.exp(slowest * width), at_high * np.exp(-fastest * width)),
        np.minimum(at_low * np.exp(fastest * width), at_high * np.exp(-slowest * width)),
    )


def _monotone(m: Interval, small: Array, large: Array, r: Array) -> Interval:
    """Return the part of an interval of m that its ends allow: but for a share of at most r, m is monotone."""
    return Interval(np.maximum(m.low, small / (1 + r)), np.minimum(m.high, large * (1 + r)))


class RateTable:
    """h, u and m of the steps of a curriculum, each x computed once.

    Args:
        family: The learners.
        N: Samples of each step (S,).
        p: Parameters.
        dispersion: Disagreement of the tasks of each step (S,).
        variance: Noise variance of each step (S,).
    """

    def __init__(self, family: Family, N: npt.NDArray[np.int64], p: int, dispersion: Array, variance: Array) -> None:
        self._family, self._N, self._p = family, N.tolist(), p
        self._dispersion, self._variance = dispersion, variance
        self._known: dict[tuple[int, float], tuple[float, float, float, float]] = {}

    def at_one(self, x: Array) -> Array:
        """Return the rates if all steps have the same x (cases,): (3, cases, S)."""
        return self.at(np.tile(x[:, None], len(self._N)))

    def at(self, x: Array) -> Array:
        """Return the rates of each step at its own x (cases, S): (3, cases, S)."""
        four = np.array([[self._rates(N, one) for N, one in zip(self._N, row, strict=True)] for row in x.tolist()])
        h, u, conflict, noise = np.moveaxis(four, -1, 0)
        with np.errstate(invalid="ignore"):
            added = np.where(self._dispersion > 0, conflict * self._dispersion, 0.0)
            return np.array([h, u, added + np.where(self._variance > 0, noise * self._variance, 0.0)])

    def _rates(self, N: int, x: float) -> tuple[float, float, float, float]:
        if (N, x) not in self._known:
            rates = StepRates.of(np.array([N]), self._p, self._family.learner(x))
            self._known[N, x] = (
                float(rates.replaced[0]),
                float(rates.unfinished[0]),
                float(rates.conflict[0]),
                float(rates.noise[0]),
            )
        return self._known[N, x]
