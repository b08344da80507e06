"""Every limit on what users give, in one place: sizes of numbers, problems and files, and the memory of the machine.

Limits on files keep the memory for reading one, whatever it holds, below 1 GB (`tests/helpers/fuzzing.py`).
"""

from __future__ import annotations

import os

# -------------------------------------------------------------------- numbers

LARGEST_SQUARE = 1e302
"""The largest inner product or noise variance, such that sums of a few of them do not overflow."""

LARGEST_COUNT = 2**53
"""The largest count; larger integers are not exact in floating point."""

# -------------------------------------------------------------------- problems

MOST_TASKS = 5_000
"""Largest T that a number or a list of categories may ask for; every matrix of (T, T) then takes 200 MB."""

TASKS_WITH_DEVIATIONS = 500
"""Largest T for which tables show standard deviations unasked: their cost grows as T^3, seconds at this T."""

COVARIANCES_WITH_DEVIATIONS = 2 * 10**7
"""The same for curricula, as steps times T^2: a second or two."""

# -------------------------------------------------------------------- files

MOST_CELLS = 4_000_000
"""Cells of the largest matrix that is read: 2,000 tasks."""

MOST_SEPARATORS = MOST_CELLS + 200_000
"""Commas, brackets and line ends in a matrix file of text: one per cell, and some for the rows and names."""

MOST_LINES = 100_000
"""Lines of a matrix file of text. A line takes far more memory than a cell."""

MOST_MATRIX_BYTES = 25 * MOST_CELLS
"""Bytes of the largest matrix file."""

MOST_TOML_BYTES = 2_000_000
"""Bytes of the largest problem file: a matrix of 300 tasks in full precision. More would take the parser minutes."""

MOST_TOML_KEYS = 100
"""Keys in a problem file, and parts of its longest dotted key; a problem needs a dozen keys of one part."""

MOST_NAME_BYTES = 10_000_000
"""Bytes of all names of tasks in an npz file."""

MOST_ARCHIVE_BYTES = 100_000
"""Bytes of the list of contents of an npz file: about a thousand arrays."""


def check_memory(what: str, size: float, way_out: str) -> None:
    """Raise an error if an array would not fit into the memory of this machine.

    Args:
        what: The array, in words.
        size: Its bytes.
        way_out: What to do instead.

    Raises:
        ValueError: If it is larger than the memory.

    Example:
        >>> check_memory("the errors of 2 runs", 1e21, "use fewer runs")
        Traceback (most recent call last):
        ValueError: the errors of 2 runs take 1,000,000,000,000 GB, and this machine has ... GB; use fewer runs
    """
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not on Windows
        memory = 2**40
    if size > memory:
        raise ValueError(f"{what} take {size / 1e9:,.0f} GB, and this machine has {memory / 1e9:,.0f} GB; {way_out}")
