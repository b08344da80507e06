"""Warnings that point at the user's line, however deep in the package they arise."""

from __future__ import annotations

import contextlib
import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parent)


def warn(message: str) -> None:
    """Warn at the first line of the call stack that is neither in this package nor in `contextlib`.

    Args:
        message: What is wrong, and what to do.

    Example:
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     warn("something is odd")
        >>> caught[0].filename == __file__
        False
    """
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and (
        frame.f_code.co_filename.startswith(_PACKAGE) or frame.f_code.co_filename == contextlib.__file__
    ):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)
