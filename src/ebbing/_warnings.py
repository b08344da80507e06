"""Warnings that point at the user's line, however deep in the package they arise."""

from __future__ import annotations

import contextlib
import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parent)
_CONTEXTS = (contextlib.__file__, str(Path("torch", "utils", "_contextlib.py")))
"""Files whose functions stand between a context, or a function with torch's decorators, and its caller."""


def warn(message: str) -> None:
    """Warn at the first line of the call stack that is neither in this package nor a context's.

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
        frame.f_code.co_filename.startswith(_PACKAGE) or frame.f_code.co_filename.endswith(_CONTEXTS)
    ):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)
