"""Read an error or accuracy matrix that some other program wrote: CSV, JSON or NumPy. Nothing is ever unpickled.

==============  ====================================================================================================
file            what is understood
==============  ====================================================================================================
.csv .tsv       tab, else semicolon, else comma; a header row and a column of row labels are optional
.json           a list of rows, or an object with the rows under "errors", "accuracies" or "matrix"
.npy .npz       one 2-D array of numbers; in .npz under one of the same names, or the only array
==============  ====================================================================================================

Rows are t = 0..T (initial model first) or t = 1..T, columns are tasks. An empty cell, null or nan is NaN, and short
rows are filled up with NaN, so lower-triangular lists need no padding. Names of rows and columns are text; counting
numbers (0, 1, 2, ... or 1, 2, 3, ...) are names where the corner cell says so, and an error where that is unclear.
"""

import csv
import io
import json
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_CELLS = 10_000_000
MOST_BYTES = 50 * MOST_CELLS
_NAMES = ("errors", "accuracies", "matrix")

Line = tuple[int, list[str]]  # line number in the file, cells


def read_matrix(path: str | os.PathLike[str]) -> NDArray[np.float64]:
    """The matrix in a file, shape (T+1, T) or (T, T), NaN where an entry is missing.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "accuracies.csv")
    >>> _ = file.write_text(",task 1,task 2\\nafter task 1,0.9,\\nafter task 2,0.6,0.8\\n")
    >>> read_matrix(file).tolist()
    [[0.9, nan], [0.6, 0.8]]
    """
    file = Path(path)
    readers = {".csv": _csv, ".tsv": _csv, ".json": _json, ".npy": _numpy, ".npz": _numpy}
    if file.suffix.lower() not in readers:
        raise ValueError(f"{file}: cannot tell the format from the name; use {', '.join(readers)}")
    if file.is_dir():
        raise ValueError(f"{file}: this is a directory; name a file in it")
    if not file.exists():
        raise FileNotFoundError(f"{file}: no such file")
    size = file.stat().st_size
    if size == 0:
        raise ValueError(f"{file}: the file is empty")
    if size > MOST_BYTES:
        raise ValueError(f"{file}: {size:,} bytes are more than any matrix of {MOST_CELLS:,} cells needs")
    return readers[file.suffix.lower()](file)


def _numpy(file: Path) -> NDArray[np.float64]:
    try:
        content = np.load(file, allow_pickle=False)
        if isinstance(content, np.lib.npyio.NpzFile):
            with content:
                content = content[_choose(file, content.files)]
    except Exception as problem:  # damaged archives and headers raise nearly anything
        raise ValueError(f"{file}: not a readable NumPy file ({problem}); save it again with np.save") from problem
    if content.ndim != 2 or content.dtype.kind not in "fiu":
        got = f"{content.ndim}-D array of {content.dtype}"
        raise ValueError(f"{file}: holds a {got}; a matrix is a 2-D array of numbers (several runs: one file each)")
    _shape(file, *content.shape)
    return content.astype(np.float64)


def _json(file: Path) -> NDArray[np.float64]:
    try:
        content = json.loads(_text(file))
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"{file}: not valid JSON ({problem}); it may be half-written") from problem
    if isinstance(content, dict):
        content = content[_choose(file, list(content))]
    if not isinstance(content, list) or not all(isinstance(row, list) for row in content):
        raise ValueError(f"{file}: the matrix must be a list of rows, each a list of numbers")
    return _fill(file, [[_json_cell(file, r, c, cell) for c, cell in enumerate(row, 1)] for r, row in enumerate(content, 1)])


def _json_cell(file: Path, row: int, column: int, cell: Any) -> float:
    if cell is None:
        return math.nan
    if isinstance(cell, bool) or not isinstance(cell, int | float) or abs(cell) > MOST_VALUE:
        raise ValueError(f"{file}: row {row}, cell {column}: {cell!r} is not a finite number; null means missing")
    return float(cell)


def _csv(file: Path) -> NDArray[np.float64]:
    lines = _lines(file, _text(file))
    header = _header(file, lines)
    body = lines[1:] if header else lines
    skip = 1 if _labelled(file, header, body) else 0
    rows = [[_csv_cell(file, line, c, cell) for c, cell in enumerate(cells[skip:], 1 + skip)] for line, cells in body]
    return _fill(file, rows, width=len(header) - skip)
