"""What the command says on standard error."""

from __future__ import annotations

import sys

from ebbing._tables import escape_control


def print_message(message: Exception | str, before: str = "") -> None:
    """Print an error, a warning or a sentence.

    Line breaks are printed where an error has `lines`. In any other text they are escaped as all control characters
    are: it may hold paths and names of users.

    Args:
        message: The error, warning or sentence.
        before: What stands before it.
    """
    lines = getattr(message, "lines", None) or (str(message) or type(message).__name__,)
    print(f"ebbing: {before}" + "\n".join(map(escape_control, lines)), file=sys.stderr)
