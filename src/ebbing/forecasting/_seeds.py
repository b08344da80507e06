"""Seeds that change nothing: training runs with nothing random in them say nothing about chance."""

from __future__ import annotations

import numpy as np

from ebbing._validate import Array

NOTHING_RANDOM = (
    "Seeds change nothing here: all of them gave exactly the same errors, which therefore say nothing about chance. "
    "Nothing is random in runs that start from one given network and learn all examples in one batch, without dropout. "
    "Give the method of measure() a batch_size below the number of training examples, or measure() an architecture "
    "with build(seed)."
)
"""What to tell about such runs, and the way out."""


def are_identical(runs: Array) -> bool:
    """Return whether several training runs gave exactly the same numbers.

    Args:
        runs: The numbers of each run (seeds, ...).

    Returns:
        True if there are two runs or more, and all are equal.

    Example:
        >>> are_identical(np.array([[0.1, 0.2]])), are_identical(np.array([[0.1, 0.2], [0.1, 0.2]]))
        (False, True)
    """
    return len(runs) > 1 and all(np.array_equal(runs[0], run, equal_nan=True) for run in runs[1:])
