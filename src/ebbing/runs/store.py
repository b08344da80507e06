"""Where trained nodes live: one entry per key, written atomically, checked whenever it is read.

    folder/ab/abcdef....json           errors, fit, what was trained, the checksum of the weights; its own checksum
    folder/ab/abcdef....safetensors    weights, only where children need them
    folder/ab/abcdef....checkpoint     where the training of a node under way can go on, while it is

The JSON file is written last and makes the entry count. A damaged or half-written file is as good as none: it is
reported by a warning and computed again. Entries hold nothing but what determines them (no times, no machine), so the
same work always leaves the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor

from ebbing._files import write_atomic

_KEY = re.compile(r"[0-9a-f]{64}")

_OURS = re.compile(r"[0-9a-f]{64}\.(json|safetensors|checkpoint)(\..+\.unfinished)?")
"""Names of files that the store writes. It never touches others: stores of other programs have names much like ours."""

_DEAD = 24 * 3600
"""Seconds after which an unfinished file has no writer any more: writing takes one, and clocks of machines differ."""

_ATTEMPTS = 5
"""How often a file is written if others remove it, or its folder, before it has its name."""


@dataclass(frozen=True)
class Entry:
    """A finished node."""

    key: str
    errors: dict[str, float]
    fit: float | None
    about: dict[str, Any]  # settings, seed, path, and with what it was made, to be read by people
    weights_checksum: str | None


@dataclass(frozen=True)
class CheckpointFile:
    """A file with the state of unfinished training: tensors, and a checksum of the rest at the end."""

    path: Path

    def load(self) -> dict[str, Tensor] | None:
        """What was saved last, or None if there is nothing or it is damaged."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        if hashlib.sha256(content[:-32]).digest() != content[-32:]:
            warnings.warn(f"{self.path} is damaged; its task will be learned from the beginning", stacklevel=2)
            return None
        return safetensors.torch.load(content[:-32])

    def save(self, content: dict[str, Tensor]) -> None:
        """Replace what was saved."""
        encode_json = safetensors.torch.save(content)
        _write(self.path, encode_json + hashlib.sha256(encode_json).digest())

    def remove(self) -> None:
        """Once the training is finished."""
        self.path.unlink(missing_ok=True)


class Store:
    """A folder of entries. Any number of processes may read and write it at once."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def get(self, key: str) -> Entry | None:
        """The entry, or None if it is not there or damaged."""
        path = self._path(key, "json")
        try:
            content = json.loads(path.read_bytes())
            checksum = content.pop("checksum")
            if checksum != _digest(_canonical(content)) or content["key"] != key:
                raise ValueError("checksum does not match")
            return Entry(**content)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError) as fault:
            warnings.warn(f"{path} is damaged ({fault}) and will be computed again", stacklevel=2)
            return None

    def weights(self, entry: Entry) -> bytes | None:
        """The weights of an entry, or None if they were not kept or are damaged."""
        if entry.weights_checksum is None:
            return None
        path = self._path(entry.key, "safetensors")
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        if _digest(content) != entry.weights_checksum:
            warnings.warn(f"{path} is damaged and will be computed again", stacklevel=2)
            return None
        return content

    def weights_size(self, entry: Entry) -> int | None:
        """Bytes of the weights of an entry, or None if they are not there."""
        if entry.weights_checksum is None:
            return None
        try:
            return self._path(entry.key, "safetensors").stat().st_size
        except FileNotFoundError:
            return None

    def put(
        self, key: str, errors: dict[str, float], fit: float | None, about: dict[str, Any], weights: bytes | None
    ) -> Entry:
        """Store a node; the weights first, then the entry that vouches for them."""
        if weights is not None:
            _write(self._path(key, "safetensors"), weights)
        entry = Entry(key, dict(sorted(errors.items())), fit, about, None if weights is None else _digest(weights))
        content = _canonical(vars(entry))
        _write(self._path(key, "json"), _canonical(vars(entry) | {"checksum": _digest(content)}) + b"\n")
        return entry

    def entries(self) -> Iterator[Entry]:
        """Every entry that is whole."""
        for path in self._files():
            entry = self.get(path.stem) if path.suffix == ".json" else None
            if entry is not None:
                yield entry

    def size(self) -> int:
        """Bytes on disk, unfinished files included."""
        total = 0
        for path in self._files():
            with suppress(FileNotFoundError):  # another process finishes or removes a file at any moment
                total += path.stat().st_size
        return total

    def clean(self, *, weights_only: bool = False) -> int:
        """Remove all weights, or everything; returns the bytes freed. What was unfinished goes in any case.

        A run that goes on meanwhile is not harmed: it has the weights it needs in memory, and its writers write again.
        """
        freed = 0
        for path in self._files():
            if not (weights_only and path.suffix == ".json"):
                with suppress(FileNotFoundError):
                    size = path.stat().st_size
                    path.unlink()
                    freed += size
        return freed

    def sweep(self) -> None:
        """Remove what writers that were killed left unfinished a day ago or earlier; whatever cannot go stays."""
        for path in self._files():
            with suppress(OSError):
                if path.suffix == ".unfinished" and time.time() - path.stat().st_mtime > _DEAD:
                    path.unlink()

    def checkpoint(self, key: str) -> CheckpointFile:
        """Where the unfinished training of a node is kept."""
        return CheckpointFile(self._path(key, "checkpoint"))

    def _files(self) -> list[Path]:
        return sorted(path for path in self.folder.glob("??/*") if _OURS.fullmatch(path.name))

    def _path(self, key: str, suffix: str) -> Path:
        if not _KEY.fullmatch(key):
            raise ValueError(f"key {key!r}: a key is 64 hexadecimal digits")
        return self.folder / key[:2] / f"{key}.{suffix}"


def _canonical(content: dict[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True).encode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write(path: Path, content: bytes) -> None:
    """The whole file, on disk, or none of it; once more if someone cleans the folder just then."""
    for left in reversed(range(_ATTEMPTS)):
        try:
            write_atomic(path, content)
            return
        except FileNotFoundError:
            if not left:
                raise
