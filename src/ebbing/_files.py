"""Atomic writing of files."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write a whole file, or, if interrupted, leave it as it was; several processes may write it at the same time.

    A link stays one, and the file that it names is written. A device or a FIFO is written to, not replaced. A killed
    process leaves a file named `name.*.unfinished`.

    Args:
        path: Path of the file; missing folders are created.
        content: Its new content.

    Raises:
        OSError: If it cannot be written; the error names the path as it was given.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "new", "folder", "file.txt")
        >>> write_atomic(file, "everything")
        >>> file.read_text(), [path.name for path in file.parent.iterdir()]
        ('everything', ['file.txt'])
    """
    data = content.encode() if isinstance(content, str) else content
    if is_special(path):
        with path.open("wb") as file:
            file.write(data)
        return
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = _beside(target)
    try:
        with unfinished.open("wb") as file:
            file.write(data)
            file.flush()
            _synchronize(file.fileno())
        unfinished.replace(target)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def check_new_files(folder: Path) -> None:
    """Raise an error if no file can be made in a folder; permissions do not tell, as in /proc.

    Args:
        folder: A folder that exists.

    Raises:
        OSError: If no file can be made there.
    """
    trial = _beside(folder / "trial")
    trial.touch(exist_ok=False)
    trial.unlink()


def is_special(path: Path) -> bool:
    """Return whether a path leads to what exists and is no regular file: a device, a FIFO or a folder.

    Args:
        path: The path, perhaps a link.

    Returns:
        Whether it is so.

    Raises:
        OSError: If links lead in a circle.
    """
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _beside(path: Path) -> Path:
    """Return a path of an unfinished file in the same folder; it is random, as process ids repeat across machines."""
    return path.with_name(f"{path.name}.{secrets.token_hex(8)}.unfinished")


def _synchronize(descriptor: int) -> None:
    """Wait until a file is on the disk, where its file system can do that: some network file systems cannot."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
            raise
