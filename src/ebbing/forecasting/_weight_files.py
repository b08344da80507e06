"""Inner products of the differences between files of weights, which may be larger than memory.

Files are read in blocks, each thread with buffers of its own: plain reads into the same small buffer are faster than a
mapped file, every page of which the system has to map first.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

import numpy as np
import torch

from ebbing._validate import Array

_BUFFER = 2**21
"""Numbers of all differences together that are compared at once: they stay in the processor's cache."""

_SUMMED = 2**12
"""Products that are summed in single precision; sums of millions of them would be wrong by up to one percent."""

_FLOATING = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
}
"""Types of numbers that are weights, by their names in the file; others are counters or masks."""


@dataclass(frozen=True)
class StoredTensor:
    """Where a tensor stands in a file.

    Attributes:
        dtype: The type of its numbers; None if they are no weights.
        shape: Its shape.
        offset: The place of its first byte in the file.
    """

    dtype: torch.dtype | None
    shape: tuple[int, ...]
    offset: int

    @property
    def numel(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)


def read_header(path: str | os.PathLike[str]) -> dict[str, StoredTensor]:
    """Read what a safetensors file holds.

    Args:
        path: A file that is known to be valid.

    Returns:
        The tensors by name.
    """
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        content = json.loads(file.read(length))
    content.pop("__metadata__", None)
    return {
        name: StoredTensor(_FLOATING.get(one["dtype"]), tuple(one["shape"]), 8 + length + one["data_offsets"][0])
        for name, one in content.items()
    }


class _Block(NamedTuple):
    """A part of a tensor: `size` numbers from `first` on."""

    name: str
    first: int
    size: int


def difference_products(
    base: str | os.PathLike[str],
    paths: Sequence[str | os.PathLike[str]],
    headers: Sequence[Mapping[str, StoredTensor]],
    names: Sequence[str],
) -> Array:
    """Compute inner products of the differences of weights from those of a base.

    Args:
        base: The file of the base.
        paths: The other files, T of them.
        headers: What the files hold, that of the base first.
        names: The tensors to compare, which all files have with the same shapes.

    Returns:
        The inner products (T, T).
    """
    size = _SUMMED * max(1, _BUFFER // (len(paths) * _SUMMED))
    blocks = [
        _Block(name, first, min(size, headers[0][name].numel - first))
        for name in names
        for first in range(0, headers[0][name].numel, size)
    ]
    threads = max(1, min(torch.get_num_threads(), len(blocks)))

    def run(part: Sequence[_Block]) -> Array:
        return _block_products([base, *paths], headers, part, size)

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(run, [blocks[k::threads] for k in range(threads)]), np.zeros((len(paths), len(paths))))


def _block_products(
    paths: Sequence[str | os.PathLike[str]],
    headers: Sequence[Mapping[str, StoredTensor]],
    blocks: Sequence[_Block],
    size: int,
) -> Array:
    """Sum the inner products over some blocks of at most `size` numbers."""
    T = len(paths) - 1
    is_double = any(headers[0][block.name].dtype == torch.float64 for block in blocks)
    precise = torch.float64 if is_double else torch.float32
    differences = torch.zeros(T, size, dtype=precise).numpy()
    parts = differences.reshape(T, -1, _SUMMED).swapaxes(0, 1)  # (parts, T, summed), of the same numbers
    base_bytes, bytes_ = bytearray(8 * size), bytearray(8 * size)
    total = np.zeros((T, T))
    with ExitStack() as stack:
        files = [stack.enter_context(open(path, "rb", buffering=0)) for path in paths]
        for block in blocks:
            before = _read(files[0], headers[0][block.name], block, base_bytes).to(precise).numpy()
            for k in range(T):
                after = _read(files[k + 1], headers[k + 1][block.name], block, bytes_).to(precise).numpy()
                np.subtract(after, before, out=differences[k, : block.size])
            differences[:, block.size :] = 0.0  # the last block of a tensor may be shorter
            # NumPy sees that both factors are the same and computes half of the products; torch takes thrice as long.
            total += (parts @ parts.swapaxes(1, 2)).sum(0, dtype=np.float64)
    return (total + total.T) / 2


def _read(file: BinaryIO, tensor: StoredTensor, block: _Block, buffer: bytearray) -> torch.Tensor:
    """Read a part of a tensor into a buffer, and return it as a view of that."""
    assert tensor.dtype is not None
    width = tensor.dtype.itemsize
    file.seek(tensor.offset + width * block.first)
    view, done = memoryview(buffer)[: width * block.size], 0
    while done < len(view):
        if not (count := file.readinto(view[done:])):  # type: ignore[attr-defined]  (an unbuffered file has it)
            raise OSError(f"{file.name!r} ended while it was read: it has become shorter")
        done += count
    return torch.frombuffer(buffer, dtype=tensor.dtype, count=block.size)
