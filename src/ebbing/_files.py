"""Atomic writing of files."""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write a whole file, or, if interrupted, leave it as it was; several processes may write it at the same time.

    A killed process leaves a file named `name.*.unfinished`.

    Args:
        path: Path of the file; missing folders are created.
        content: Its new content.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "new", "folder", "file.txt")
        >>> write_atomic(file, "everything")
        >>> file.read_text(), [path.name for path in file.parent.iterdir()]
        ('everything', ['file.txt'])
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(8)}.unfinished")  # process ids repeat across machines
    try:
        with unfinished.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            _synchronize(file.fileno())
        unfinished.replace(path)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _synchronize(descriptor: int) -> None:
    """Wait until a file is on the disk, where its file system can do that: some network file systems cannot."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
            raise
