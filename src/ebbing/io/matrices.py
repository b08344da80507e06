"""Read an error or accuracy matrix that another program wrote: CSV, JSON or NumPy. Nothing is ever unpickled.

=========  ============================================================================================
file       what is understood
=========  ============================================================================================
.csv .tsv  cells between tabs, else semicolons, else commas; header row and row labels are optional
.json      a list of rows, or an object with the rows under "errors", "accuracies" or "matrix"
.npy .npz  one 2-D array of numbers; in .npz under one of these names, or the only array
=========  ============================================================================================

Rows are t = 0..T (initial model first) or t = 1..T, columns are tasks. An empty cell, null and nan all mean NaN, and
short rows are filled up with NaN: lower-triangular lists need no padding.

Names of rows and columns are text. Whole numbers are names too where the header makes that clear (",0,1,2" or
"after,task 1,task 2"); where they could be either names or data, that is an error and not a guess.
"""

import csv
import io
import json
import math
import os
import re
import reprlib
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_CELLS = 4_000_000  # 2,000 tasks
MOST_BYTES = 25 * MOST_CELLS
_NAMES = ("errors", "accuracies", "matrix")

Line = tuple[int, list[str]]  # its number in the file, its cells


def read_matrix(path: str | os.PathLike[str]) -> NDArray[np.float64]:
    """The matrix in a file: shape (T+1, T) or (T, T), NaN where an entry is missing.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "accuracies.csv")
    >>> _ = file.write_text(",task 1,task 2\\nafter task 1,0.9,\\nafter task 2,0.6,0.8\\n")
    >>> read_matrix(file).tolist()
    [[0.9, nan], [0.6, 0.8]]
    """
    file = Path(path)
    readers = {".csv": _csv, ".tsv": _csv, ".json": _json, ".npy": _numpy, ".npz": _numpy}
    if file.is_dir():
        raise ValueError(f"{file}: this is a directory; name a file in it")
    if not file.exists():
        raise FileNotFoundError(f"{file}: no such file")
    if file.suffix.lower() not in readers:
        raise ValueError(f"{file}: the name does not tell the format; it should end in {', '.join(readers)}")
    size = file.stat().st_size
    if not 0 < size <= MOST_BYTES:
        raise ValueError(f"{file}: {size:,} bytes; a matrix file has between 1 and {MOST_BYTES:,}")
    return readers[file.suffix.lower()](file)


def _numpy(file: Path) -> NDArray[np.float64]:
    with file.open("rb") as stream:
        content = _loaded(file, lambda: np.load(stream, allow_pickle=False))
        if isinstance(content, np.lib.npyio.NpzFile):
            archive, name = content, _choose(file, content.files)
            content = _loaded(file, lambda: archive[name])
    if not isinstance(content, np.ndarray) or content.ndim != 2 or content.dtype.kind not in "fiu":
        got = f"a {content.ndim}-D array of {content.dtype}" if isinstance(content, np.ndarray) else "no array"
        raise ValueError(f"{file}: holds {got}; a matrix is a 2-D array of numbers, one file for each run")
    _check_shape(file, *content.shape)
    return content.astype(np.float64)


def _loaded(file: Path, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except Exception as problem:  # a damaged archive or header can raise nearly anything
        raise ValueError(f"{file}: not a readable NumPy file ({problem}); save it again with np.save") from problem


def _json(file: Path) -> NDArray[np.float64]:
    text = _text(file)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"{file}: not valid JSON ({problem}); is it half-written?") from problem
    if isinstance(content, dict):
        content = content[_choose(file, list(content))]
    if not isinstance(content, list) or not all(isinstance(row, list) for row in content):
        raise ValueError(f"{file}: holds {reprlib.repr(content)}; a matrix is a list of rows, each a list of numbers")
    rows = [[_json_cell(file, r, c, cell) for c, cell in enumerate(row, 1)] for r, row in enumerate(content, 1)]
    return _filled(file, rows)


def _json_cell(file: Path, row: int, column: int, cell: Any) -> float:
    if cell is None:
        return math.nan
    if isinstance(cell, bool) or not isinstance(cell, int | float) or abs(cell) > sys.float_info.max:
        got = reprlib.repr(cell)
        raise ValueError(f"{file}: row {row}, cell {column}: {got} is not a finite number; null means missing")
    return float(cell)


def column_names(path: str | os.PathLike[str]) -> list[str]:
    """The names of the columns in the header of a file that `read_matrix` can read; none where there is no header.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "accuracies.csv")
    >>> _ = file.write_text(',"cats, large",dogs\\nafter cats,0.9,\\nafter dogs,0.6,0.8\\n')
    >>> column_names(file)
    ['cats, large', 'dogs']
    """
    file = Path(path)
    if file.suffix.lower() not in (".csv", ".tsv"):
        return []
    header, _, skip = _table(file)
    return header[skip:]


def _csv(file: Path) -> NDArray[np.float64]:
    header, body, skip = _table(file)
    rows = [[_csv_cell(file, n, c, cell) for c, cell in enumerate(cells[skip:], 1 + skip)] for n, cells in body]
    return _filled(file, rows, len(header) - skip)


def _table(file: Path) -> tuple[list[str], list[Line], int]:
    """The header, if any, the lines below it, and the number of columns that are names of rows."""
    lines = _lines(file)
    header = lines[0][1] if _has_header(file, lines) else []
    body = lines[1:] if header else lines
    return header, body, int(_has_labels(file, header, body))


def _lines(file: Path) -> list[Line]:
    text = _text(file)
    delimiter = next((mark for mark in "\t;" if mark in text), ",")
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    try:
        lines = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as problem:
        raise ValueError(f"{file}: line {reader.line_num}: {problem}; is this a CSV file?") from problem
    lines = [(n, cells) for n, cells in lines if len(cells) > 1 or any(cells)]  # blank lines are no rows
    if not lines:
        raise ValueError(f"{file}: there are no rows in it")
    for _, cells in lines:
        while cells and not cells[-1]:
            cells.pop()
    return lines


def _has_header(file: Path, lines: Sequence[Line]) -> bool:
    (n, cells), body = lines[0], lines[1:]
    if not body or not cells:
        return False
    if len(cells) > 1 and _counting(cells) and _has_decimals(body, 0):
        raise ValueError(f"{file}: line {n}: {cells[0]}, {cells[1]}, ... may be column names or data; {_CLEARER}")
    corner, names = cells[0], cells[1:]
    if corner and not _is_word(corner):
        return False
    if _counting(names):
        return not corner or _rising([line[0] for _, line in body if line])
    return all(_is_word(name) for name in names)


def _has_labels(file: Path, header: Sequence[str], body: Sequence[Line]) -> bool:
    first = [cells[0] if cells else "" for _, cells in body]
    if all(_is_word(cell) for cell in first) or (header and not header[0]):
        return True
    counted = first[1:] if _is_word(first[0]) else first  # "initial", 1, 2, ...
    if not _rising(counted) or _numbered(header) or not (header or _has_decimals(body, 1)):
        return False
    if _numbered(header[1:]):
        return True
    raise ValueError(f"{file}: the first column ({first[0]}, {first[1]}, ...) may be row labels or data; {_CLEARER}")


_CLEARER = "write names as text (task 1, task 2, ...) and data with a decimal point (1.0)"


def _is_word(cell: str) -> bool:
    return bool(cell) and _number(cell) is None


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _numbered(names: Sequence[str]) -> bool:
    """Whether the names end in 0, 1, 2, ... or 1, 2, 3, ..."""
    ends = [re.search(r"\d{1,9}$", name) for name in names]
    numbers = [int(end[0]) for end in ends if end]
    return bool(names) and numbers in (list(range(len(names))), list(range(1, len(names) + 1)))


def _counting(cells: Sequence[str]) -> bool:
    return all(cell.isdecimal() for cell in cells) and _numbered(cells)


def _rising(cells: Sequence[str]) -> bool:
    whole = len(cells) > 1 and all(cell.isdecimal() for cell in cells)
    return whole and all(float(a) < float(b) for a, b in pairwise(cells))


def _has_decimals(body: Sequence[Line], start: int) -> bool:
    return any(not cell.isdecimal() for _, cells in body for cell in cells[start:] if cell)


def _csv_cell(file: Path, line: int, column: int, cell: str) -> float:
    value = _number(cell) if cell else math.nan
    if value is None or math.isinf(value):
        rule = "is not a finite number; use a decimal point, and leave the cell empty if it is missing"
        raise ValueError(f"{file}: line {line}, cell {column}: {reprlib.repr(cell)} {rule}")
    return value


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as problem:
        raise ValueError(f"{file}: not a text file (byte {problem.start} is not UTF-8); save it as UTF-8") from problem


def _choose(file: Path, names: Sequence[str]) -> str:
    known = [name for name in names if name in _NAMES] or names
    if len(known) != 1:
        raise ValueError(
            f"{file}: holds {reprlib.repr(list(names))}; name one matrix {', '.join(_NAMES[:2])} or matrix"
        )
    return known[0]


def _filled(file: Path, rows: Sequence[Sequence[float]], width: int = 0) -> NDArray[np.float64]:
    width = max([width, *map(len, rows)])
    _check_shape(file, len(rows), width)
    matrix = np.full((len(rows), width), np.nan)
    for filled, row in zip(matrix, rows, strict=True):
        filled[: len(row)] = row
    return matrix


def _check_shape(file: Path, rows: int, columns: int) -> None:
    if columns == 0 or rows - columns not in (0, 1):
        rule = "T tasks need T columns and T rows, or T+1 with the initial model's first"
        raise ValueError(f"{file}: {rows} rows and {columns} columns of numbers; {rule}")
    if rows * columns > MOST_CELLS:
        raise ValueError(f"{file}: {rows} rows and {columns} columns; no more than {MOST_CELLS:,} cells are read")
