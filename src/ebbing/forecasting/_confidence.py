"""How sure an advised order is: would other examples of the same tasks advise it, too?

The examples are split into halves, at random and repeatedly. An order that is chosen on one half is judged on the
other: what it gains there over the mean of all orders, or over the order as given, is not the luck of the examples that
chose it. The spread over splits is that of the choice of examples; it knows nothing of the noise between training runs.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ebbing._progress import Progress
from ebbing._ranks import rank_correlation
from ebbing._validate import Array
from ebbing.forecasting._evaluation import evaluate_orders
from ebbing.forecasting._search import Weights
from ebbing.forecasting.recursion import KernelModel

_MOST_ORDERS = {"squared": 240, "cross-entropy": 60}
"""Orders that are compared on each half, by the loss; a step under the cross-entropy takes twenty times as long."""

_LEAST_SPLITS = 2
"""Splits that are made however long they take: fewer tell nothing about the spread."""

_LEAST_ORDERS = 10
"""Orders that are compared however long they take."""


@dataclass(frozen=True, eq=False)
class Confidence:
    """Results of orders on random halves of the examples.

    Attributes:
        orders: The orders that were compared: the advised one first, then that as given if it is another (orders, T).
        values: The value of each order on each half (2 splits, orders); rows 2k and 2k+1 are the halves of split k.
    """

    orders: np.ndarray
    values: Array

    @property
    def gains(self) -> Array:
        """What the order chosen on one half gains on the other over the mean order, for each half (2 splits,)."""
        return self.values.mean(axis=1) - self._chosen

    @property
    def gains_over_given(self) -> Array:
        """What the order chosen on one half gains on the other over the order as given, for each half (2 splits,)."""
        (given,) = np.flatnonzero((self.orders == np.arange(self.orders.shape[1])).all(axis=1))
        return self.values[:, given] - self._chosen

    @property
    def _chosen(self) -> Array:
        """The value, on each half, of the order that is best on the other half (2 splits,)."""
        halves = np.arange(len(self.values))
        return self.values[halves, self.values[halves ^ 1].argmin(axis=1)]

    def differences(self) -> tuple[Array, Array]:
        """Return by how much each order is worse than the advised one, and the standard error of that (orders,).

        The standard error is that of `mean_and_error`.
        """
        worse = self.values - self.values[:, :1]
        halves = worse.reshape(-1, 2, worse.shape[1])
        return worse.mean(axis=0), _root_mean_square(halves[:, 0] - halves[:, 1]) / 2

    @property
    def agreement(self) -> float:
        """The mean rank correlation between the values of orders on the two halves of a split."""
        pairs = self.values.reshape(-1, 2, self.values.shape[1])
        return float(np.mean([rank_correlation(one, other) for one, other in pairs]))


def mean_and_error(gains: Array) -> tuple[float, float]:
    """Return the mean of gains on halves, and its standard error as the examples vary.

    The halves of a split have no example in common, and a half has twice the variance of the whole: so the squared
    difference of the two gains is four times the variance that the whole has.

    Args:
        gains: The gain on each half (2 splits,); entries 2k and 2k+1 are the halves of split k.

    Returns:
        The mean and its standard error.
    """
    halves = gains.reshape(-1, 2)
    return float(gains.mean()), float(_root_mean_square(halves[:, 0] - halves[:, 1]) / 2)


def compare_on_halves(
    model: KernelModel,
    weights: Weights,
    orders: np.ndarray,
    advised: np.ndarray,
    *,
    splits: int,
    seconds: float | None = None,
    seed: int,
    progress: Progress = lambda share: None,
) -> Confidence:
    """Compute the values of orders on random halves of the examples.

    Args:
        model: The model.
        weights: The value of an order.
        orders: All orders, or random ones (orders, T); if there are many, some are chosen.
        advised: The order that is advised (T,).
        splits: The number of splits into halves.
        seconds: Time after which no further split is begun; None for no limit. Two are always made, of fewer orders if
            there is no time for all.
        seed: The seed of splits and of the choice of orders.
        progress: A function that is called with the share of the work that is done.

    Returns:
        The values on each half.
    """
    random = np.random.default_rng([seed, 1])
    given = np.arange(len(advised))
    others = orders[(orders != advised).any(axis=1) & (orders != given).any(axis=1)]
    if len(others) > (most := _MOST_ORDERS[model.loss]):
        others = others[random.choice(len(others), most, replace=False)]
    known = [advised] if (advised == given).all() else [advised, given]
    compared = np.vstack([*known, others])
    values: list[Array] = []
    began = time.monotonic()
    for k in range(splits):
        if k >= _LEAST_SPLITS and seconds is not None and time.monotonic() - began > seconds:
            break
        for train, test in zip(random_halves(model.train, random), random_halves(model.test, random), strict=True):
            values.append(weights.values(*evaluate_orders(model.part(train, test), compared)))
            progress(len(values) / (2 * splits))
            if seconds is not None and len(values) == 1:
                needed = 2 * _LEAST_SPLITS * (time.monotonic() - began)
                compared = compared[: max(_LEAST_ORDERS, int(len(compared) * min(1.0, seconds / needed)))]
    return Confidence(compared, np.array([one[: len(compared)] for one in values]))


def random_halves(rows: Sequence[np.ndarray], random: np.random.Generator) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Split the rows of each task randomly into two halves, which share one row if their number is odd.

    Args:
        rows: The rows of each task.
        random: The random generator.

    Returns:
        The rows of each task in the first half, and in the second.
    """
    mixed = [random.permutation(one) for one in rows]
    return [one[: (len(one) + 1) // 2] for one in mixed], [one[len(one) // 2 :] for one in mixed]


def _root_mean_square(values: Array) -> Array:
    """Return the root of the mean square over the first axis, also where squares would overflow."""
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    return largest * np.sqrt(np.square(values / largest).mean(axis=0))
