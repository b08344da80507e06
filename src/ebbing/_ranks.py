"""Rank correlation, in NumPy alone."""

from __future__ import annotations

import numpy as np

from ebbing._validate import Array


def rank_correlation(one: Array, other: Array) -> float:
    """Return Spearman's rank correlation, with ties at their mean rank.

    Args:
        one: Values (N,).
        other: Values (N,).

    Returns:
        The correlation of the ranks; 0 if all values of one of them are equal.

    Example:
        >>> rank_correlation(np.array([1.0, 2.0, 5.0]), np.array([0.0, 4.0, 3.0]))
        0.5
    """
    ranks = [_ranks(values) for values in (one, other)]
    spread = ranks[0].std() * ranks[1].std()
    if spread == 0:
        return 0.0
    return float(((ranks[0] - ranks[0].mean()) * (ranks[1] - ranks[1].mean())).mean() / spread)


def _ranks(values: Array) -> Array:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]
