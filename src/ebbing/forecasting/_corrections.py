"""A forecast corrected by training runs: of pairs of tasks, or of every order.

From pairs alone, the error on a task at the end is that after the task and the last one; just learned, it is that after
the previous task and the task. Measured and predicted pairs both give such errors; half of their difference is added to
the forecast of whole orders. Half, as measured pairs differ by chance between training runs, and as longer orders are
not made of pairs. Where every order was trained, the errors of runs and of the forecast are averaged.
docs/theory/forecasts.md compares other weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ebbing._validate import Array

PAIR_WEIGHT = 0.5
"""The part of what measured pairs differ that is added to a forecast."""

RUN_WEIGHT = 4.0
"""The weight of a training run of an order in a mean with a forecast of weight 1."""

Errors = tuple[Array, Array]
"""The errors of orders: on each place's task when it was just learned, and at the end, (orders, T) each."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Errors after one task and after two.

    Attributes:
        single: The error on task i after learning it first (T,).
        old: The error on task i after learning i, then j (T, T); the diagonal is not used.
        new: The error on task j after learning i, then j (T, T).
    """

    single: Array
    old: Array
    new: Array

    @classmethod
    def of(cls, matrices: Mapping[tuple[int, ...], Array], T: int) -> Pairs:
        """Return the errors of all pairs.

        Args:
            matrices: An error matrix for each pair (i, j), of a sequence that begins with i, then j.
            T: The number of tasks.

        Returns:
            The errors.
        """
        single, old, new = np.zeros(T), np.zeros((T, T)), np.zeros((T, T))
        for (i, j), matrix in matrices.items():
            single[i], old[i, j], new[i, j] = matrix[1, 0], matrix[2, 0], matrix[2, 1]
        return cls(single, old, new)

    def evaluate(self, orders: np.ndarray) -> Errors:
        """Return what pairs alone tell about orders.

        Args:
            orders: Tasks in the order of learning (orders, T).

        Returns:
            The error on each place's task when it was just learned (orders, T), and at the end (orders, T).
        """
        learned = np.column_stack([self.single[orders[:, 0]], self.new[orders[:, :-1], orders[:, 1:]]])
        final = np.column_stack([self.old[orders[:, :-1], orders[:, -1:]], learned[:, -1]])
        return learned, final


def correct_by_pairs(forecast: Errors, predicted: Pairs, measured: Pairs, orders: np.ndarray) -> Errors:
    """Add to a forecast of whole orders half of what measured pairs differ from predicted ones.

    Args:
        forecast: The forecast's errors of the orders.
        predicted: The forecast's errors of pairs.
        measured: Measured errors of the same pairs.
        orders: The orders (orders, T).

    Returns:
        The corrected errors.
    """
    parts = zip(forecast, predicted.evaluate(orders), measured.evaluate(orders), strict=True)
    learned, final = (whole + PAIR_WEIGHT * (found - expected) for whole, expected, found in parts)
    return learned, final


def mix_with_runs(forecast: Errors, run: Errors, seeds: int = 1) -> Errors:
    """Average a forecast of whole orders with a training run of each.

    Args:
        forecast: The forecast's errors of the orders.
        run: Measured errors of the same orders.
        seeds: The number of runs over which the result is averaged: the more, the less the forecast weighs.

    Returns:
        The mean errors.
    """
    weight = seeds * RUN_WEIGHT / (seeds * RUN_WEIGHT + 1.0)
    learned, final = (expected + weight * (found - expected) for expected, found in zip(forecast, run, strict=True))
    return learned, final
