"""Short texts by topic: the fortunes of the program of that name, which Linux distributions carry.

A topic is a plain UTF-8 file; its texts stand between lines that hold a single percent sign. The files beside it that
end in .dat or .u8 are an index and a link. Nothing is fetched: the texts come with the system's packages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from ebbing.data._cache import DataError

FORTUNES_FOLDER = Path("/usr/share/games/fortunes")
"""Where Debian and Ubuntu put the texts."""


def fortunes(
    topics: Iterable[str] | None = None, folder: str | os.PathLike[str] = FORTUNES_FOLDER
) -> dict[str, tuple[str, ...]]:
    r"""Return the texts of each topic, in the order of their file; each text once.

    Args:
        topics: Names of topics, such as "science"; None for all.
        folder: The folder that holds a file for each topic; by default that of Debian's package fortunes.

    Returns:
        The texts by topic.

    Raises:
        DataError: If the folder or a topic is missing, or a file is not text.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "pets").write_text("Cats sleep.\n%\nDogs\nbark.\n%\n")
        >>> fortunes(folder=folder)
        {'pets': ('Cats sleep.', 'Dogs\nbark.')}
    """
    place = Path(folder)
    if not place.is_dir():
        raise DataError(
            f"{place}: there is no such folder of texts; install them (Debian, Ubuntu: apt-get install fortunes), or "
            "name a folder with one file of texts for each topic, separated by lines of a single %"
        )
    found = {file.name: file for file in sorted(place.iterdir()) if not file.suffix and file.is_file()}
    chosen = list(found) if topics is None else list(topics)
    if missing := [name for name in chosen if name not in found]:
        raise DataError(f"{place}: has no topic {missing[0]!r}; it has {', '.join(found) or 'none'}")
    return {name: _texts(found[name]) for name in chosen}


def _texts(file: Path) -> tuple[str, ...]:
    try:
        content = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: not a UTF-8 text (byte {error.start}); is it a file of fortunes?") from error
    parts = (part.strip() for part in re.split(r"^%$", content, flags=re.MULTILINE))
    return tuple(dict.fromkeys(part for part in parts if part))
