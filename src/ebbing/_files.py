"""Writing files so that an interruption at any moment leaves no half of one."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path


def write_atomic(path: Path, content: str | bytes) -> None:
    """The whole file, on disk, or, if interrupted, the file as it was. Any number of processes may write it at once.

    What a killed process leaves behind is called `name.*.unfinished`.

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
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
