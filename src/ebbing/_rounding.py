"""Rounding errors: a difference of numbers that should be equal is seldom exactly 0."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ebbing._validate import Array

ROUNDING = 1e-12
"""A difference below this share of the numbers that it is a difference of is a rounding error."""


def without_rounding_errors(differences: npt.ArrayLike, numbers: npt.ArrayLike) -> Array:
    """Return differences, with 0 for those that are zero but for rounding errors.

    Args:
        differences: Differences of numbers, or means of such; NaN stays.
        numbers: What they are differences of, or some of it: the largest counts. NaN does not.

    Returns:
        The differences, in the same shape.

    Example:
        >>> without_rounding_errors([0.1 + 0.2 - 0.3, 0.2 - 0.1], [0.1, 0.2, 0.3]).tolist()
        [0.0, 0.1]
    """
    found = np.asarray(differences, dtype=float)
    largest = np.nanmax(np.abs(numbers), initial=0.0)
    return np.where(np.abs(found) <= ROUNDING * largest, 0.0, found)
