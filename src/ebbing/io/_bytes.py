"""Content of a file, whatever it is: never more than a limit, and never a wait for a pipe that nobody writes to."""

from __future__ import annotations

import os
from pathlib import Path


def read_bytes(file: Path, limit: int, way_out: str = "") -> bytes:
    """Return the bytes of a file, pipe or device, if they are no more than the limit."""
    if file.is_dir():
        raise ValueError(f"{file}: this is a directory; name a file in it")
    try:  # opened without waiting: a pipe without a writer is empty
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise FileNotFoundError(f"{file}: no such file") from None
    with open(descriptor, "rb") as stream:
        os.set_blocking(descriptor, True)
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"{file}: more than {limit:,} bytes, the most that is read of such a file{way_out}")
    return content


def read_text(file: Path, limit: int) -> str:
    """Return the text of a file, UTF-8 with or without a byte order mark."""
    try:
        return read_bytes(file, limit).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise ValueError(f"{file}: not a text file (byte {problem.start} is not UTF-8); save it as UTF-8") from problem
