"""Read matrices that other programs wrote: CSV, JSON or NumPy files. Nothing is ever unpickled.

=========  ============================================================================================
file       what is understood
=========  ============================================================================================
.csv .tsv  cells between tabs, else semicolons, else commas; column names and row names are optional; cells between
           spaces if all are numbers, as `np.savetxt` writes them; of errors and accuracies also percentages: 98%
.txt       the same, if it holds numbers only
.json      a list of rows, or an object with the rows under a key such as "errors", "accuracies", "matrix"
.npy .npz  one 2-D array of numbers; in .npz under one of these keys, or the only array
.log .pyd  accuracies that other frameworks log (`ebbing.io.framework_logs`); also .txt, .out, .err
=========  ============================================================================================

An empty cell, null and nan all mean NaN, and short rows are filled up with NaN: lower-triangular lists need no padding.

Names of rows and columns are text. Whole numbers are names too where the header makes that clear (",0,1,2" or
"after,task 1,task 2"); where they could be either names or data, an error says so instead of a guess.
"""

from __future__ import annotations

import json
import math
import os
import reprlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebbing._limits import MOST_CELLS, MOST_LINES, MOST_MATRIX_BYTES, MOST_SEPARATORS
from ebbing._validate import EntryError
from ebbing._warnings import warn
from ebbing.io._arrays import check_cells, read_array
from ebbing.io._bytes import read_bytes, read_text
from ebbing.io._delimited import parse_delimited, parse_number
from ebbing.io.framework_logs import find_log
from ebbing.metrics import Kind, MetricSummary
from ebbing.metrics._matrix import SIGN, error_matrix
from ebbing.metrics._summary import describe_zeros, summarize
from ebbing.metrics._unmeasured import mark_unmeasured

FORMATS = (".csv", ".tsv", ".txt", ".json", ".npy", ".npz")
"""Endings of files that hold a matrix."""

_KINDS: dict[str, Kind] = {"errors": "error", "accuracies": "accuracy"}
_ERROR_KEYS = (*_KINDS, "matrix")


@dataclass(frozen=True, eq=False)
class NamedMatrix:
    """A matrix with the names that its file gives to columns and rows.

    Attributes:
        values: The numbers, NaN where an entry is missing, shape (rows, columns).
        column_names: One name per column, or nothing.
        row_names: One name per row, or nothing.
        lines: The line of each row in a CSV file, or nothing.
        first_cell: The place in its line of a row's first number, from 1.
        key: The name of the matrix in a JSON object or an npz file, or nothing.
        others: The other entries of a JSON object, by name.
        marks_missing: Whether what was not measured is always marked: in a log, and in a record of training that ebbing
            wrote.
    """

    values: NDArray[np.float64]
    column_names: tuple[str, ...] = ()
    row_names: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    first_cell: int = 1
    key: str = ""
    others: Mapping[str, Any] = field(default_factory=dict)
    marks_missing: bool = False

    def place(self, row: int, column: int) -> str:
        """Return where a number stands in its file.

        Args:
            row: Index of the row, from 0.
            column: Index of the column, from 0.

        Returns:
            The line and cell of a CSV file, the row and column of another, from 1.

        Example:
            >>> NamedMatrix(np.eye(2), lines=(2, 4)).place(1, 0)
            'line 4, cell 1'
        """
        if self.lines:
            return f"line {self.lines[row]}, cell {self.first_cell + column}"
        return f"row {row + 1}, column {column + 1}"


def read_matrix(path: str | os.PathLike[str], *, unmeasured: float | None = None) -> NDArray[np.float64]:
    r"""Return the error or accuracy matrix in a file.

    Rows are t = 0..T (initial model first) or t = 1..T, columns are tasks. A warning says so if all entries above the
    diagonal are exactly 0: what was not measured must be NaN.

    Args:
        path: A CSV, TSV, JSON, npy or npz file. In JSON and npz the matrix stands under "errors", "accuracies" or
            "matrix", or it is the only entry. Or a log of Mammoth, PyCIL, LAMDA-PILOT or Avalanche with one run.
        unmeasured: A number that stands for what was not measured: entries above the diagonal that have it become NaN,
            and so does the initial model's row if all of it has it. None: no number does.

    Returns:
        The matrix, NaN where an entry is missing, shape (T+1, T) or (T, T).

    Raises:
        ValueError: If the file does not hold such a matrix; the message names the file and the place.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "accuracies.csv")
        >>> _ = file.write_text(",task 1,task 2\nafter task 1,0.9,\nafter task 2,0.6,0.8\n")
        >>> read_matrix(file).tolist()
        [[0.9, nan], [0.6, 0.8]]
    """
    matrix = read_error_matrix(path, unmeasured=unmeasured)
    if message := _zeros(matrix, None):
        warn(f"{path}: {message}, read the file with unmeasured=0")
    return matrix.values


def summarize_file(
    path: str | os.PathLike[str],
    kind: str | None = None,
    run: int | None = None,
    unmeasured: float | None = None,
) -> MetricSummary:
    """Return what was forgotten and every metric of the error or accuracy matrix in a file.

    Args:
        path: A file as `read_matrix` reads it.
        kind: "error" or "accuracy": what the matrix holds; None if its key in the file says it, or the file is a log.
        run: The number of the run in a log that holds several, from 0; -1 for the last.
        unmeasured: A number that stands for what was not measured, as in `read_matrix`.

    Returns:
        The metrics, with the names of tasks that the file gives to its columns.

    Raises:
        ValueError: If the file does not hold such a matrix, the message names the file and the place; or if nothing
            tells what it holds.
    """
    matrix = read_error_matrix(path, run, unmeasured)
    said = _KINDS.get(matrix.key)
    if kind is None and said is None:
        raise ValueError(
            f"{path}: errors or accuracies? --kind is missing: say --kind error (lower is better) or --kind accuracy "
            "(higher is better)"
        )
    if kind in SIGN and said not in (None, kind):
        raise ValueError(f"{path}: holds {matrix.key}, and --kind {kind} contradicts that: leave it out")
    names = matrix.column_names or None
    try:
        found = summarize(matrix.values, kind=kind or said, names=names)  # type: ignore[arg-type]  (checked there)
    except EntryError as error:
        raise ValueError(f"{path}: {matrix.place(*error.index)}: {error}") from None
    if message := _zeros(matrix, found.kind):
        warn(f"{path}: {message}, say --unmeasured 0")
    return found


def _zeros(matrix: NamedMatrix, kind: Kind | None) -> str:
    """Say that zeros may stand for what was not measured; nothing if they do not."""
    try:
        return "" if matrix.marks_missing else describe_zeros(error_matrix(matrix.values, "error"), kind)
    except ValueError:  # infinite numbers, which no metric reads
        return ""


def read_error_matrix(
    path: str | os.PathLike[str], run: int | None = None, unmeasured: float | None = None
) -> NamedMatrix:
    """Return the error or accuracy matrix in a file with its names, without a warning.

    Args:
        path: A file as `read_matrix` reads it.
        run: The number of the run in a log that holds several, from 0; -1 for the last.
        unmeasured: A number that stands for what was not measured, as in `read_matrix`.

    Returns:
        The matrix, shape (T+1, T) or (T, T).

    Raises:
        ValueError: If the file does not hold such a matrix; the message names the file and the place.
    """
    file = Path(path)
    log = find_log(file, run)
    if log is None and run is not None:
        raise ValueError(f"run={run}: {file} is no log of several runs; leave it out")
    matrix = (
        read_named_matrix(file, _ERROR_KEYS) if log is None else NamedMatrix(log, key="accuracies", marks_missing=True)
    )
    rows, columns = matrix.values.shape
    if columns == 0 or rows - columns not in (0, 1):
        rule = "T tasks need T columns and T rows, or T+1 with the initial model's first"
        raise ValueError(f"{file}: {rows} rows and {columns} columns of numbers; {rule}")
    return matrix if unmeasured is None else replace(matrix, values=mark_unmeasured(matrix.values, unmeasured))


def read_named_matrix(
    path: str | os.PathLike[str], keys: Sequence[str] = ("matrix",), *, square: bool = False
) -> NamedMatrix:
    r"""Return the matrix in a file, of any shape, with the names of its columns and rows.

    Args:
        path: A CSV, TSV, JSON, npy or npz file.
        keys: Names under which the matrix may stand in a JSON object or an npz file.
        square: Whether the matrix has as many rows as columns, which tells row names from data in a CSV file.

    Returns:
        The matrix. A CSV file gives names of columns in its header and of rows in its first column; a JSON object or
        an npz file gives names of columns under "names".

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file does not hold a matrix; the message names the file and the place.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "distances.csv")
        >>> _ = file.write_text('"cats, large",dogs\n0,1.5\n1.5,0\n')
        >>> read_named_matrix(file).column_names
        ('cats, large', 'dogs')
    """
    file = Path(path)
    if file.is_dir():
        raise ValueError(f"{file}: this is a directory; name a file in it")
    if not file.exists():
        raise FileNotFoundError(f"{file}: no such file")
    if (suffix := file.suffix.lower()) not in FORMATS:
        raise ValueError(f"{file}: the name does not tell the format; it should end in {', '.join(FORMATS)}")
    size = file.stat().st_size
    if not 0 < size <= MOST_MATRIX_BYTES:
        raise ValueError(f"{file}: {size:,} bytes; a matrix file has between 1 and {MOST_MATRIX_BYTES:,}")
    if suffix in (".csv", ".tsv", ".txt"):
        return _csv(file, square=square, percent="accuracies" in keys)
    return _json(file, keys) if suffix == ".json" else _numpy(file, keys)


# -------------------------------------------------------------------- NumPy


def _numpy(file: Path, keys: Sequence[str]) -> NamedMatrix:
    content = read_bytes(file, MOST_MATRIX_BYTES)
    chosen: list[str] = []  # the key in an npz; an npy has none

    def choose(found: Sequence[str]) -> str:
        chosen.append(_choose_key(file, found, keys))
        return chosen[0]

    matrix, names = read_array(file, content, choose)
    with np.errstate(all="ignore"):  # a signaling NaN is NaN; what is too large becomes infinite, which nobody accepts
        return NamedMatrix(matrix.astype(np.float64), _names(names), key="".join(chosen))


# -------------------------------------------------------------------- JSON


def _json(file: Path, keys: Sequence[str]) -> NamedMatrix:
    text, names, key, others = _text(file, ",[{"), (), "", {}
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"{file}: not valid JSON ({problem}); is it half-written?") from problem
    if isinstance(content, dict):
        names = _names(content.get("names"))
        key = _choose_key(file, list(content), keys)
        others, content = content, content.pop(key)
    if not isinstance(content, list) or not all(isinstance(row, list) for row in content):
        raise ValueError(f"{file}: holds {reprlib.repr(content)}; a matrix is a list of rows, each a list of numbers")
    rows = [[_json_cell(file, r, c, cell) for c, cell in enumerate(row, 1)] for r, row in enumerate(content, 1)]
    recorded = others.get("schema") == "ebbing.matrix/1"
    return NamedMatrix(_padded(file, rows), names, key=key, others=others, marks_missing=recorded)


def _json_cell(file: Path, row: int, column: int, cell: Any) -> float:
    if cell is None:
        return math.nan
    if isinstance(cell, bool) or not isinstance(cell, int | float) or abs(cell) > sys.float_info.max:
        got = reprlib.repr(cell)
        raise ValueError(f"{file}: row {row}, cell {column}: {got} is not a finite number; null means missing")
    return float(cell)


# -------------------------------------------------------------------- CSV


def _csv(file: Path, *, square: bool, percent: bool) -> NamedMatrix:
    text = _text(file, ",;\t\r\n")
    spaces = not any(mark in text for mark in ",;\t")
    if spaces:
        _check_count(file, text, " ")
    table = parse_delimited(file, text, square=square, percent=percent)
    rows = [
        [_csv_cell(file, n, c, cell) for c, cell in enumerate(cells, table.first_column)] for n, cells in table.lines
    ]
    values = _padded(file, rows, len(table.column_names))
    if spaces and not values.size:
        raise ValueError(
            f"{file}: no commas, semicolons or tabs between its cells; spaces are read only between numbers: leave out "
            "names, or write commas, such as by np.savetxt(file, matrix, delimiter=',')"
        )
    lines = tuple(n for n, _ in table.lines)
    return NamedMatrix(values, tuple(table.column_names), tuple(table.row_names), lines, table.first_column)


def _csv_cell(file: Path, line: int, column: int, cell: str) -> float:
    value = parse_number(cell) if cell else math.nan
    if value is None or math.isinf(value):
        rule = "is not a finite number; use a decimal point, and leave the cell empty if it is missing"
        raise ValueError(f"{file}: line {line}, cell {column}: {reprlib.repr(cell)} {rule}")
    return value


# -------------------------------------------------------------------- all formats


def _text(file: Path, separators: str) -> str:
    """Return the text of a file, if it has no more cells than are read."""
    text = read_text(file, MOST_MATRIX_BYTES)
    if (lines := text.count("\n") + text.count("\r")) > MOST_LINES:
        raise ValueError(f"{file}: {lines:,} lines; no more than {MOST_LINES:,} are read")
    _check_count(file, text, separators)
    return text


def _check_count(file: Path, text: str, separators: str) -> None:
    if sum(map(text.count, separators)) > MOST_SEPARATORS:
        raise ValueError(f"{file}: more than {MOST_CELLS:,} cells; no more are read")


def _names(value: Any) -> tuple[str, ...]:
    """Names of columns, if the value is a list of strings."""
    return tuple(value) if isinstance(value, list) and all(isinstance(name, str) for name in value) else ()


def _choose_key(file: Path, found: Sequence[str], keys: Sequence[str]) -> str:
    known = [name for name in found if name in keys] or [name for name in found if name != "names"]
    if len(known) != 1:
        wanted = " or ".join(filter(None, (", ".join(keys[:-1]), keys[-1])))
        raise ValueError(f"{file}: holds {reprlib.repr(list(found))}; name one matrix {wanted}")
    return known[0]


def _padded(file: Path, rows: Sequence[Sequence[float]], width: int = 0) -> NDArray[np.float64]:
    width = max([width, *map(len, rows)])
    check_cells(file, len(rows), width)
    matrix = np.full((len(rows), width), np.nan)
    for padded, row in zip(matrix, rows, strict=True):
        padded[: len(row)] = row
    return matrix
