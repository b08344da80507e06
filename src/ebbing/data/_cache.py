"""The cache of datasets: one folder, in which each file is validated whenever it is used.

A file is used only if its size, its first bytes and its checksum are the known ones, whether it has just been fetched
or was in the cache. Files are written atomically, so several processes may fetch at the same time.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ebbing._files import write_atomic
from ebbing._warnings import warn
from ebbing.data._packages import PackageSource
from ebbing.data._sources import FetchError, FileSpec, LocalArchives, Mirror, Progress, md5, read_file


class DataError(OSError):
    """Data that could not be fetched or not be written; the message says what was tried and what to do.

    Args:
        *lines: The lines of the message.

    Attributes:
        lines: The lines of the message.
    """

    lines: tuple[str, ...]

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


@dataclass(frozen=True)
class DatasetFiles:
    """The files of a dataset and their sources, in the order in which they are tried.

    If `environment_variable` is not empty, a user can name a file that contains the dataset, by an argument or by that
    variable. The dataset is then read from that file, and from no other source.

    Attributes:
        name: Name of the dataset and of its folder in the cache.
        files: The files: name, checksum, and the official archive that contains each.
        mirrors: Web addresses of folders with the official archives.
        packages: Packages of pip or npm that contain the files.
        environment_variable: Name of the environment variable that names a file, or an empty string.
        accepted_formats: The formats of a file that a user can name, in words for messages.
        folders: Folders in which a package of the system installs the archives.
    """

    name: str
    files: tuple[FileSpec, ...]
    mirrors: tuple[str, ...] = ()
    packages: tuple[PackageSource, ...] = ()
    environment_variable: str = ""
    accepted_formats: str = ""
    folders: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The dataset's folder in the cache."""
        return cache_folder() / self.name

    @property
    def fingerprint(self) -> str:
        """A string that identifies the content of the files."""
        return f"{self.name}-{md5(''.join(file.md5 for file in self.files).encode())}"


@dataclass(frozen=True)
class CachedFile:
    """The state of a file in the cache.

    Attributes:
        dataset: Name of the dataset.
        path: Where the file is, or would be.
        size: Its size in bytes, or None if it is missing.
        state: "verified" if its checksum is right, "damaged" or "missing".
        error: What is wrong with it, if it is damaged.
    """

    dataset: str
    path: Path
    size: int | None
    state: Literal["verified", "damaged", "missing"]
    error: str = ""


def cache_folder() -> Path:
    """Return the folder of the cache: $EBBING_DATA, or else `ebbing` in the platform's folder for caches.

    Returns:
        An absolute path.

    Raises:
        DataError: If the home folder is unknown.

    Example:
        >>> cache_folder().is_absolute()
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
    dataset: DatasetFiles, progress: Progress | None = None, source_file: str | os.PathLike[str] | None = None
) -> dict[str, bytes]:
    """Return the content of every file by name, and fetch what is missing or damaged in the cache.

    Args:
        dataset: The dataset.
        progress: A function that is called often, with a line of text, while something is fetched.
        source_file: A file that contains the dataset, if the dataset has an environment variable, which is the default.

    Returns:
        The contents by the names of the files.

    Raises:
        ValueError: If the dataset cannot be read from a single file.
    """
    if source_file is not None and not dataset.environment_variable:
        raise ValueError(
            f"file={os.fspath(source_file)!r}: {dataset.name} cannot be read from a single file; leave it out"
        )
    contents: dict[str, bytes] = {}
    for file in dataset.files:
        path = dataset.folder / file.name
        content = read_file(path)
        if content is not None:
            if error := file.validation_error(content):
                warn(f"{path} {error}: it is damaged and will be fetched again")
            else:
                contents[file.name] = content
    missing = [file for file in dataset.files if file.name not in contents]
    if not missing:
        return contents
    report: Progress = progress or (lambda line: None)
    if source_file is None and dataset.environment_variable:
        source_file = os.environ.get(dataset.environment_variable) or None  # empty: not set
    if source_file is None:
        return contents | _fetch(dataset, missing, report)
    return contents | _extract(dataset, missing, source_file, report)


def status(dataset: DatasetFiles) -> tuple[CachedFile, ...]:
    """Return the state of a dataset's files in the cache; every file is read and validated.

    Args:
        dataset: The dataset.

    Returns:
        One state per file.
    """

    def file_status(file: FileSpec) -> CachedFile:
        path = dataset.folder / file.name
        content = read_file(path)
        if content is None:
            return CachedFile(dataset.name, path, None, "missing")
        error = file.validation_error(content)
        return CachedFile(dataset.name, path, len(content), "damaged" if error else "verified", error)

    return tuple(file_status(file) for file in dataset.files)


def remove(dataset: DatasetFiles) -> int:
    """Remove a dataset from the cache, including unfinished files of killed processes.

    Other files in its folder, such as an official archive that a user put there, stay.

    Args:
        dataset: The dataset.

    Returns:
        The number of bytes freed.
    """
    folder, freed = dataset.folder, 0
    for file in dataset.files:
        for path in (folder / file.name, *folder.glob(f"{file.name}.*.unfinished")):
            with suppress(FileNotFoundError, NotADirectoryError):  # another process may remove it at the same time
                size = path.stat().st_size
                path.unlink()
                freed += size
    with suppress(OSError):  # missing or not empty
        folder.rmdir()
    return freed


def _extract(
    dataset: DatasetFiles, missing: Sequence[FileSpec], source_file: str | os.PathLike[str], progress: Progress
) -> dict[str, bytes]:
    """Read files from the file that the user named; if that fails, no other source is tried."""
    _check_writable(dataset.folder)
    contents: dict[str, bytes] = {}
    for file in missing:
        progress(os.fspath(source_file))
        try:
            content = file.extract(Path(source_file).expanduser().read_bytes())
        except FetchError as error:
            reason = str(error)
        except OSError as error:
            reason = f"cannot be read: {error.strerror or error}"
        else:
            _write(dataset.folder / file.name, content)
            contents[file.name] = content
            continue
        raise DataError(f"{os.fspath(source_file)} {reason}; give {dataset.accepted_formats}")
    return contents


def _fetch(dataset: DatasetFiles, missing: Sequence[FileSpec], progress: Progress) -> dict[str, bytes]:
    """Try one source after another until every missing file is fetched, validated and written."""
    folder = dataset.folder
    _check_writable(folder)
    contents: dict[str, bytes] = {}
    remaining, tried = list(missing), []
    for source in _sources(dataset, missing):
        progress(source.location)
        try:
            for file, content in source.fetch(remaining, progress):
                if error := file.validation_error(content):
                    raise FetchError(f"{file.name} {error}")
                _write(folder / file.name, content)
                contents[file.name] = content
            reason = ""
        except FetchError as error:
            reason = str(error)
        remaining = [file for file in missing if file.name not in contents]
        if not remaining:
            return contents
        tried.append(f"  {source.location}: {reason or 'no ' + ', '.join(file.name for file in remaining)}")
    variable, formats = dataset.environment_variable, dataset.accepted_formats
    lines = (
        f"{dataset.name} is not in the cache and could not be fetched. Tried:",
        *tried,
        f"Put these files into {folder} (or set EBBING_DATA to another folder that has them in {folder.name}):",
        *(f"  {file.description}" for file in remaining),
        *([f"or set {variable} to {formats}"] if variable else []),
    )
    raise DataError(*lines)


def _sources(dataset: DatasetFiles, missing: Sequence[FileSpec]) -> Iterator[LocalArchives | Mirror | PackageSource]:
    yield from (LocalArchives(Path(folder)) for folder in (dataset.folder, *dataset.folders))
    smallest = min(missing, key=lambda file: file.max_archive_size)
    yield from [Mirror(base, smallest) for base in dataset.mirrors]
    yield from dataset.packages


# -------------------------------------------------------------------- files


def _write(path: Path, content: bytes) -> None:
    try:
        write_atomic(path, content)
    except OSError as error:
        if read_file(path) != content:  # where open files cannot be replaced, another process was faster
            raise _unwritable(path.parent, error) from error


def _check_writable(folder: Path) -> None:
    """Raise an error if the folder cannot be written to, before anything is fetched."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> DataError:
    data_error = DataError(f"cannot write into {folder}: {error.strerror}; set EBBING_DATA to a writable folder")
    data_error.errno = error.errno  # a full disk is not bad input
    return data_error
