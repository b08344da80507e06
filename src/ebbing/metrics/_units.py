"""Whether accuracies are in one unit: fractions, or percent."""

from __future__ import annotations

import numpy as np

from ebbing._tables import format_number
from ebbing.metrics._matrix import Values, describe_place

_BETWEEN_UNITS = 10.0
"""Fractions and percent are a factor of 100 apart; accuracies in one unit seldom leave out a factor of 10."""

_MISTAKEN = 2.0
"""If no accuracy is above this, they are hardly percent: one above 1 is a mistake."""


def describe_units(accuracies: Values) -> str:
    """Say that accuracies look like fractions and percent in one matrix, or like fractions of which one is above 1.

    Args:
        accuracies: The matrix (..., T+1, T), NaN where it was not measured.

    Returns:
        A sentence that names an entry; empty if all look as if they were in one unit.

    Example:
        >>> describe_units(np.array([[10, 10], [98, 12], [0.72, 90]]))
        'the accuracy after task 2, on task 1 is 0.72, and others are 10 to 98: fractions and percent? Give all in ...'
    """
    below, above = (accuracies > 0) & (accuracies <= 1), accuracies > 1
    if not below.any() or not above.any():
        return ""
    if accuracies[above].max() <= _MISTAKEN:
        return f"{_describe(accuracies, above, below)}: fractions are at most 1; correct it, or give all in percent"
    if accuracies[above].min() < _BETWEEN_UNITS * accuracies[below].max():
        return ""
    rare, common = (below, above) if below.sum() <= above.sum() else (above, below)
    return f"{_describe(accuracies, rare, common)}: fractions and percent? Give all in one unit, 0.52 or 52"


def _describe(accuracies: Values, rare: np.ndarray, common: np.ndarray) -> str:
    index = tuple(int(k) for k in np.argwhere(rare)[0])
    value, low, high = (
        format_number(float(number), ".4g")
        for number in (accuracies[index], accuracies[common].min(), accuracies[common].max())
    )
    others = low if low == high else f"{low} to {high}"
    return f"the accuracy {describe_place(index)} is {value}, and others are {others}"
