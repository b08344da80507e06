"""Files of a store: reading and writing them beside other processes, and the checkpoint of unfinished training."""

from __future__ import annotations

import errno
import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import safetensors.torch
from torch import Tensor

from ebbing._files import write_atomic
from ebbing._warnings import warn

_ATTEMPTS = 5
"""How often a file is read or written if another process removes or replaces it, or its folder, at the same time."""


def read_file(path: Path) -> bytes | None:
    """Return the content of a file, or None if there is none; read again what another machine has just replaced."""
    for attempts_left in reversed(range(_ATTEMPTS)):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            if not attempts_left or error.errno != errno.ESTALE:
                raise
    return None


def write_file(path: Path, content: bytes) -> None:
    """Write a file atomically; repeat it if another process removes the folder at the same time."""
    for attempts_left in reversed(range(_ATTEMPTS)):
        try:
            write_atomic(path, content)
            return
        except OSError as error:
            if not attempts_left or error.errno not in (errno.ENOENT, errno.ESTALE):
                raise


@dataclass(frozen=True)
class CheckpointFile:
    """A file with the state of unfinished training: tensors in the safetensors format, then their SHA-256.

    Attributes:
        path: Path of the file.
    """

    path: Path

    def load(self) -> dict[str, Tensor] | None:
        """Load what was saved last.

        Returns:
            Tensors by name, or None if the file is missing or damaged.
        """
        try:
            content = read_file(self.path)
        except OSError as error:
            warn(f"{self.path} cannot be read ({error.strerror}); training of its task starts from the beginning")
            return None
        if content is None:
            return None
        if hashlib.sha256(content[:-32]).digest() != content[-32:]:
            warn(f"{self.path} is damaged; training of its task starts from the beginning")
            return None
        return safetensors.torch.load(content[:-32])

    def save(self, content: dict[str, Tensor]) -> None:
        """Save tensors, replacing those that were saved before.

        If the disk is full, for example, a warning says so, and training goes on without a checkpoint.

        Args:
            content: Tensors by name.
        """
        tensors = safetensors.torch.save(content)
        try:
            write_file(self.path, tensors + hashlib.sha256(tensors).digest())
        except OSError as error:
            warn(f"{self.path} cannot be written ({error.strerror or error}); training goes on without a checkpoint")

    def remove(self) -> None:
        """Remove the file."""
        with suppress(OSError):  # the result is stored: a checkpoint that stays is never used
            self.path.unlink()
