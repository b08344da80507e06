"""The store of trained nodes: one entry per key, written atomically, validated whenever it is read.

    folder/ab/abcdef....json           errors, settings, the checksum of the weights, and the checksum of all of this
    folder/ab/abcdef....safetensors    weights, only where children need them
    folder/ab/abcdef....checkpoint     the state of unfinished training

The JSON file is written last and makes the entry valid. A damaged or incomplete file counts as missing: a warning
reports it, and its content is computed again. Entries contain only what determines them (no times, no machine), so the
same work always writes the same bytes.

The folder may be on a network file system, and any number of processes may use it: files are compared with the clock of
that file system, and a file that another machine has just removed or replaced is read or written again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ebbing._warnings import warn
from ebbing.runs._store_files import CheckpointFile, read_file, write_file

_KEY = re.compile(r"[0-9a-f]{64}")

_FILE_NAME = re.compile(r"[0-9a-f]{64}\.(json|safetensors|checkpoint)(\..+\.unfinished)?")
"""Names of the files that the store writes. It never touches others, which may belong to another program's store."""

_STALE_SECONDS = 24 * 3600
"""Age at which an unfinished file has no writer any more: writing takes a second, and clocks of machines differ."""


class StoreError(OSError):
    """A store that cannot be written; the message says what to do."""


@dataclass(frozen=True)
class Entry:
    """The stored result of a node.

    Attributes:
        key: The key of the result, 64 hexadecimal digits.
        errors: Test errors by the occurrence "task#index".
        training_error: Error on the training data of the last task; None for the initial network.
        about: Settings, seed, path and software versions, for readers.
        weights_checksum: The SHA-256 of the weights, or None if they are not stored.
        accuracies: The share of right answers by occurrence; early entries have none.
    """

    key: str
    errors: dict[str, float]
    training_error: float | None
    about: dict[str, Any]
    weights_checksum: str | None
    accuracies: dict[str, float] = field(default_factory=dict)


class Store:
    """A folder of entries, which any number of processes may read and write at the same time.

    Args:
        folder: Path of the folder, which is created when the first entry is written.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        if not isinstance(folder, str | os.PathLike):
            raise ValueError(f"folder={folder!r}: give the path of a folder, such as Store('results/runs')")
        self.folder = Path(folder)

    def __repr__(self) -> str:
        return f"Store({str(self.folder)!r})"

    def get(self, key: str) -> Entry | None:
        """Return an entry.

        Args:
            key: The key of the result.

        Returns:
            The entry, or None if it is missing or damaged.

        Raises:
            ValueError: If `key` is not a key.
            StoreError: If a file stands in place of the folder.
        """
        path = self._path(key, "json")
        try:
            found = read_file(path)
            if found is None:
                return None
            content = json.loads(found)
            checksum = content.pop("checksum")
            if checksum != _digest(_canonical_json(content)) or content["key"] != key:
                raise ValueError("checksum does not match")
            return Entry(**content)
        except NotADirectoryError as error:  # a file in place of the folder
            raise self._unwritable(error) from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            warn(f"{path} is damaged ({error}) and will be computed again")
            return None

    def weights(self, entry: Entry) -> bytes | None:
        """Return the weights of an entry.

        Args:
            entry: The entry.

        Returns:
            A learner's state in the safetensors format, or None if it is not stored or damaged.
        """
        if entry.weights_checksum is None:
            return None
        path = self._path(entry.key, "safetensors")
        content = read_file(path)
        if content is None:
            return None
        if _digest(content) != entry.weights_checksum:
            warn(f"{path} is damaged and will be computed again")
            return None
        return content

    def weights_size(self, entry: Entry) -> int | None:
        """Return the size of an entry's weights.

        Args:
            entry: The entry.

        Returns:
            The size in bytes, or None if the weights are not stored.
        """
        if entry.weights_checksum is None:
            return None
        try:
            return self._path(entry.key, "safetensors").stat().st_size
        except FileNotFoundError:
            return None

    def put(
        self,
        key: str,
        errors: dict[str, float],
        training_error: float | None,
        about: dict[str, Any],
        weights: bytes | None,
        *,
        accuracies: dict[str, float] | None = None,
    ) -> Entry:
        """Store a result: first the weights, then the entry with their checksum.

        Args:
            key: The key of the result.
            errors: Test errors by occurrence.
            training_error: Error on the training data of the last task; None for the initial network.
            about: Settings, seed, path and software versions.
            weights: A learner's state in the safetensors format, or None to store none.
            accuracies: The share of right answers by occurrence.

        Returns:
            The entry.

        Raises:
            StoreError: If the folder cannot be written; what was stored before is still there.
        """
        checksum = None if weights is None else _digest(weights)
        entry = Entry(key, _sorted(errors), training_error, about, checksum, _sorted(accuracies or {}))
        signed = vars(entry) | {"checksum": _digest(_canonical_json(vars(entry)))}
        try:
            if weights is not None:
                write_file(self._path(key, "safetensors"), weights)
            write_file(self._path(key, "json"), _canonical_json(signed) + b"\n")
        except OSError as error:
            raise self._unwritable(error) from error
        return entry

    def check_writable(self) -> float:
        """Check, before anything is trained, that results can be written into the folder.

        Returns:
            The time by the clock of the file system, which may be on another machine.

        Raises:
            StoreError: If the folder cannot be written.
        """
        probe = self.folder / f"{secrets.token_hex(8)}.unfinished"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            try:
                probe.write_bytes(b"probe")
                return probe.stat().st_mtime
            finally:
                with suppress(OSError):
                    probe.unlink()
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> StoreError:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        way_out = "free some space" if full else "name a folder that can be written"
        found = StoreError(
            f"cannot write results into {self.folder}: {error.strerror or error}; {way_out}, and the same command "
            "continues: what was finished before is stored"
        )
        found.errno = error.errno
        return found

    def entries(self) -> Iterator[Entry]:
        """Return all valid entries.

        Yields:
            The entries, ordered by key.
        """
        for path in self._files():
            entry = self.get(path.stem) if path.suffix == ".json" else None
            if entry is not None:
                yield entry

    def size(self) -> int:
        """Return the size of the store on disk, including unfinished files.

        Returns:
            The size in bytes.
        """
        total = 0
        for path in self._files():
            with suppress(FileNotFoundError):  # another process finishes or removes a file at any moment
                total += path.stat().st_size
        return total

    def clean(self, *, weights_only: bool = False) -> int:
        """Remove all entries, or only their weights; unfinished files are removed in either case.

        A run at the same time is not harmed: it has the weights that it needs in memory, and repeats failed writes.

        Args:
            weights_only: Remove only weights.

        Returns:
            The number of bytes freed.
        """
        freed = 0
        for path in self._files():
            if not (weights_only and path.suffix == ".json"):
                with suppress(FileNotFoundError):
                    size = path.stat().st_size
                    path.unlink()
                    freed += size
        return freed

    def remove_stale_files(self, now: float) -> None:
        """Remove files that killed processes left unfinished at least a day ago; those that cannot be removed stay.

        Args:
            now: The time by the clock of the file system.
        """
        for path in self._files():
            with suppress(OSError):
                if path.suffix == ".unfinished" and now - path.stat().st_mtime > _STALE_SECONDS:
                    path.unlink()

    def checkpoint(self, key: str) -> CheckpointFile:
        """Return the checkpoint file of a node.

        Args:
            key: The key of the node's result.

        Returns:
            The file, which may not exist.
        """
        return CheckpointFile(self._path(key, "checkpoint"))

    def _files(self) -> list[Path]:
        return sorted(path for path in self.folder.glob("??/*") if _FILE_NAME.fullmatch(path.name))

    def _path(self, key: str, suffix: str) -> Path:
        if not _KEY.fullmatch(key):
            raise ValueError(f"key {key!r}: a key is 64 hexadecimal digits")
        return self.folder / key[:2] / f"{key}.{suffix}"


def _sorted(values: dict[str, float]) -> dict[str, float]:
    return dict(sorted(values.items()))


def _canonical_json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True).encode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
