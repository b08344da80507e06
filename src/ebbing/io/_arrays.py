"""Arrays in npy and npz files. The header is read first: what is no matrix is refused before it takes any memory."""

from __future__ import annotations

import io
import math
import struct
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ebbing._limits import MOST_ARCHIVE_BYTES, MOST_CELLS, MOST_NAME_BYTES

Header = tuple[tuple[int, ...], np.dtype[Any]]
"""Shape and type of an array."""

_RULE = "a matrix is a 2-D array of numbers, one file for each matrix"


def read_array(file: Path, content: bytes, choose: Callable[[Sequence[str]], str]) -> tuple[NDArray[Any], list[Any]]:
    """Return the matrix in an npy or npz file, and the names beside it.

    Args:
        file: Named in errors.
        content: Its bytes.
        choose: Returns which of the arrays of an npz file is the matrix.

    Returns:
        The matrix, and what an npz file has under "names" (nothing if there are none).
    """
    if not content.startswith(b"PK"):
        return _matrix(file, lambda: io.BytesIO(content)), []
    _check_contents(file, content)
    with _readable(file, lambda: zipfile.ZipFile(io.BytesIO(content))) as archive:
        members = {name.removesuffix(".npy"): name for name in archive.namelist()}
        key = choose(list(members))
        if not members[key].endswith(".npy"):
            raise ValueError(f"{file}: holds no array; {_RULE}")
        matrix = _matrix(file, lambda: archive.open(members[key]))
        names = _names(file, lambda: archive.open(members["names"])) if "names" in members and key != "names" else []
    return matrix, names


def _matrix(file: Path, opened: Callable[[], IO[bytes]]) -> NDArray[Any]:
    shape, dtype = _readable(file, lambda: _header(opened()))
    if len(shape) != 2 or dtype.kind not in "fiu":
        raise ValueError(f"{file}: holds a {len(shape)}-D array of {dtype}; {_RULE}")
    check_cells(file, *shape)
    return _readable(file, lambda: np.lib.format.read_array(opened(), allow_pickle=False))


def _names(file: Path, opened: Callable[[], IO[bytes]]) -> list[Any]:
    shape, dtype = _readable(file, lambda: _header(opened()))
    if len(shape) != 1 or dtype.kind != "U":
        return []
    if math.prod(shape) * dtype.itemsize > MOST_NAME_BYTES:
        raise ValueError(f"{file}: names of {math.prod(shape) * dtype.itemsize:,} bytes; at most {MOST_NAME_BYTES:,}")
    return _readable(file, lambda: np.lib.format.read_array(opened(), allow_pickle=False)).tolist()


def check_cells(file: Path, rows: int, columns: int) -> None:
    """Raise an error for a matrix that is too large."""
    if rows * columns > MOST_CELLS:
        raise ValueError(f"{file}: {rows} rows and {columns} columns; no more than {MOST_CELLS:,} cells are read")


def _header(stream: IO[bytes]) -> Header:
    with stream:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        else:  # version 3 differs in the encoding of names of fields, which no matrix has
            shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
        return shape, dtype


def _check_contents(file: Path, content: bytes) -> None:
    """Raise an error for a list of contents that would take much memory: it is read as a whole."""
    end = content.rfind(b"PK\5\6")
    record = content[end : end + 22]
    if end < 0 or len(record) < 22:
        return  # cut off; opening it says so
    (size,) = struct.unpack("<L", record[12:16])
    if size > MOST_ARCHIVE_BYTES or content[max(end - 20, 0) : end].startswith(b"PK\6\7"):
        raise ValueError(f"{file}: an archive of too many arrays; save the matrix alone with np.save")


def _readable(file: Path, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except Exception as problem:  # a damaged archive or header can raise nearly anything
        raise ValueError(f"{file}: not a readable NumPy file ({problem}); save it again with np.save") from problem
