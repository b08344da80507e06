"""Arithmetic of intervals, elementwise on arrays: the result holds whatever numbers the intervals hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ebbing._validate import Array


@dataclass(frozen=True)
class Interval:
    """All numbers from `low` to `high`.

    Attributes:
        low: The smallest ones, any shape.
        high: The largest ones, of the same shape.
    """

    low: Array
    high: Array

    @classmethod
    def between(cls, a: Array, b: Array) -> Interval:
        """Return the interval from the smaller to the larger of two numbers."""
        return cls(np.minimum(a, b), np.maximum(a, b))

    def __add__(self, other: Interval | Array | float) -> Interval:
        """Return the interval of all sums."""
        other = _interval(other)
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval | Array | float) -> Interval:
        """Return the interval of all differences."""
        other = _interval(other)
        return Interval(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Interval | Array | float) -> Interval:
        """Return the interval of all products."""
        other = _interval(other)
        products = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(np.minimum.reduce(products), np.maximum.reduce(products))

    def share(self, low: float | Array, high: float | Array) -> Interval:
        """Return the interval from `low` times to `high` times numbers that are not negative."""
        return self * Interval(np.asarray(low), np.asarray(high))

    def mean(self, weights: Array) -> Interval:
        """Return the interval of sums over the last axis with weights that are not negative; the axis is kept."""
        return Interval(np.sum(self.low * weights, -1, keepdims=True), np.sum(self.high * weights, -1, keepdims=True))

    def column(self, s: int) -> Interval:
        """Return column s (cells, S) as (cells, 1)."""
        return Interval(self.low[:, s : s + 1], self.high[:, s : s + 1])


def _interval(value: Interval | Array | float) -> Interval:
    return value if isinstance(value, Interval) else Interval(np.asarray(value), np.asarray(value))
