"""Read matrices that other programs wrote: CSV, JSON or NumPy files. Nothing is ever unpickled.

=========  ============================================================================================
file       what is understood
=========  ============================================================================================
.csv .tsv  cells between tabs, else semicolons, else commas; column names and row names are optional; cells between
           spaces if all are numbers, as `np.savetxt` writes them; of errors and accuracies also percentages: 98%
.txt       the same, if it holds numbers only
.json      a list of rows, or an object with the rows under a key such as "errors", "accuracies", "matrix"
.npy .npz  one 2-D array of numbers; in .npz under one of these keys, or the only array
=========  ============================================================================================

An empty cell, null, nan, - and n/a all mean NaN, and short rows are filled up with NaN: lower-triangular lists need no
padding.

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebbing._limits import MOST_CELLS, MOST_LINES, MOST_MATRIX_BYTES, MOST_SEPARATORS
from ebbing.io._arrays import check_cells, read_array
from ebbing.io._bytes import read_bytes, read_text
from ebbing.io._delimited import is_missing, parse_delimited, parse_number

FORMATS = (".csv", ".tsv", ".txt", ".json", ".npy", ".npz")
"""Endings of files that hold a matrix."""


@dataclass(frozen=True, eq=False)
class NamedMatrix:
    """A matrix with the names that its file gives to columns and rows.

    Attributes:
        values: The numbers, NaN where an entry is missing, shape (rows, columns).
        column_names: One name per column, or nothing.
        row_names: One name per row, or nothing.
        lines: The line of each row in a CSV file, or nothing.
        first_cell: The place in its line of a row's first number, from 1.
        columns: The place of each column in the file, from 0, if they were put into another order; or nothing.
        key: The name of the matrix in a JSON object or an npz file, or nothing.
        others: The other entries of a JSON object, by name.
        recorded: Whether a program wrote it that marks what was not measured, and uses one unit: in a log, and in a
            record of training that ebbing wrote.
    """

    values: NDArray[np.float64]
    column_names: tuple[str, ...] = ()
    row_names: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    first_cell: int = 1
    columns: tuple[int, ...] = ()
    key: str = ""
    others: Mapping[str, Any] = field(default_factory=dict)
    recorded: bool = False

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
        column = self.columns[column] if self.columns else column
        if self.lines:
            return f"line {self.lines[row]}, cell {self.first_cell + column}"
        return f"row {row + 1}, column {column + 1}"


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
    return NamedMatrix(_padded(file, rows), names, key=key, others=others, recorded=recorded)


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
    value = math.nan if is_missing(cell) else parse_number(cell)
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
