"""The level of significance tests, and their correction for how many are made together."""

from __future__ import annotations

import numpy as np

from ebbing._validate import Array

SIGNIFICANCE_LEVEL = 0.05
"""The probability of a wrong decision that tests allow, after correction."""


def holm(p_values: Array) -> Array:
    """Correct p-values for the number of tests that are made together, by Holm's method.

    Sorted, the i-th smallest of m p-values is multiplied by m - i + 1, and none becomes smaller than the one before it
    (Holm 1979). The probability of any wrong decision is then at most the level, however the tests depend on each
    other.

    Args:
        p_values: One p-value for each test (m,).

    Returns:
        The corrected p-values, in the same order, at most 1 (m,).

    Example:
        >>> holm(np.array([0.04, 0.01, 0.03])).round(2).tolist()
        [0.06, 0.03, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    corrected = np.empty(len(p_values))
    corrected[order] = np.minimum(np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1)), 1.0)
    return corrected
