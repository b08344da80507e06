"""Delimited text (CSV, TSV, columns of numbers): which line is a header and which column holds row names.

Names of rows and columns are text. Whole numbers are names too where the header makes that clear (",0,1,2" or
"after,task 1,task 2"); where they could be either names or data, an error says so instead of a guess.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

Line = tuple[int, list[str]]
"""The number of a line in its file, and its cells."""

_MORE_THAN_NUMBERS = re.compile(r"[^\s\d.,;eE+\-%nNaA]")  # NaN is a number
_CLEARER = "write names as text (task 1, task 2, ...) and data with a decimal point (1.0)"

_MISSING = ("-", "--", "–", "—", "n/a", "na", "null", "none")
"""Cells that people write where nothing was measured; NaN is a number."""

_QUOTED = re.compile(r'(?<![^,;\t\r\n ])"[^"]*(?:""[^"]*)*"?')
"""A cell in quotes; a quote within a cell is an ordinary character."""


@dataclass(frozen=True)
class DelimitedText:
    """The cells of a delimited text file, names apart from data."""

    column_names: list[str]
    row_names: list[str]
    lines: list[Line]  # without names
    first_column: int  # 1, or 2 where the first column holds row names


def has_only_numbers(text: str) -> bool:
    """Return whether a text may be a table of numbers without names.

    >>> has_only_numbers("0.9 nan"), has_only_numbers("task 1")
    (True, False)
    """
    return _MORE_THAN_NUMBERS.search(text) is None


def parse_delimited(file: Path, text: str, *, square: bool = False, percent: bool = False) -> DelimitedText:
    """Return the cells of a text.

    Args:
        file: The file, to be named in errors.
        text: Its text.
        square: Whether the matrix is square, which tells names from data by its shape.
        percent: Whether numbers may carry percent signs, which are left out: all of them, or none.

    Returns:
        The cells, names apart from data.
    """
    lines = _lines(file, text)
    names = [cell for cell in lines[0][1] if not is_missing(cell)]
    if len(lines) == 1 and names and all(cell[0].isalpha() and _is_word(cell) for cell in names):
        raise ValueError(f"{file}: line {lines[0][0]} is a header, and no rows follow it; give one line per row")
    if percent and _has_percentages(lines):
        numbers = [(n, [_without_sign(cell) for cell in cells]) for n, cells in lines]
        found = _split(file, numbers, square)
        _check_signs(file, lines, found)
        return found
    return _split(file, lines, square)


def _split(file: Path, lines: list[Line], square: bool) -> DelimitedText:
    """Return names apart from data."""
    header = lines[0][1] if _has_header(file, lines) else []
    body = lines[1:] if header else lines
    widest = max((len(cells) for _, cells in body), default=0)
    without_names = square and len(body) == widest and len(header) in (0, widest)
    skip = int(not without_names and _has_row_names(file, header, body))
    return DelimitedText(
        column_names=header if len(header) < widest else header[skip:],  # without or with a corner
        row_names=[cells[0] if cells else "" for _, cells in body] if skip else [],
        lines=[(n, cells[skip:]) for n, cells in body],
        first_column=1 + skip,
    )


def find_delimiter(text: str) -> str:
    """Return what separates the cells of a text: a tab, a semicolon or a comma.

    The first line with any of them outside quotes decides. Of several, tabs come before semicolons before commas, which
    may be decimal ones.

    Args:
        text: The text.

    Returns:
        The delimiter; a comma if there is none.

    Example:
        >>> find_delimiter('"a; b",c'), find_delimiter("0,9;0,1"), find_delimiter("name")
        (',', ';', ',')
    """
    first = re.search(r"[\t;,][^\r\n]*", _QUOTED.sub("", text))
    return next((mark for mark in "\t;" if first and mark in first[0]), ",")


def parse_number(cell: str) -> float | None:
    """Return the number in a cell, or None."""
    try:
        return float(cell)
    except ValueError:
        return None


def is_missing(cell: str) -> bool:
    """Return whether a cell says that nothing was measured.

    >>> is_missing(""), is_missing("N/A"), is_missing("cats")
    (True, True, False)
    """
    return not cell or cell.lower() in _MISSING


def _lines(file: Path, text: str) -> list[Line]:
    delimiter = find_delimiter(text)
    if not any(mark in text for mark in "\t;,") and has_only_numbers(text):
        delimiter = " "  # any number of them: columns may be aligned
        text = re.sub(r"[^\S\r\n]+", " ", re.sub(r"(?m)^[^\S\r\n]+|[^\S\r\n]+$", "", text))
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    try:
        lines = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as problem:
        raise ValueError(f"{file}: line {reader.line_num}: {problem}; is this a CSV file?") from problem
    lines = [(n, cells) for n, cells in lines if len(cells) > 1 or any(cells)]  # blank lines are no rows
    if not lines:
        raise ValueError(f"{file}: there are no rows in it; give one line per row")
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
    if names and all(map(is_missing, names)):  # a row without measurements, perhaps with its name
        return False
    if corner and not _is_word(corner):
        return False
    if _counting(names):
        return not corner or _rising([line[0] for _, line in body if line])
    return all(_is_word(name) for name in names)


def _has_row_names(file: Path, header: Sequence[str], body: Sequence[Line]) -> bool:
    first = [cells[0] if cells else "" for _, cells in body]
    if all(_is_word(cell) for cell in first) or (header and not header[0]):
        return True
    counted = first[1:] if _is_word(first[0]) else first  # "initial", 1, 2, ...
    if not _rising(counted) or _numbered(header) or not (header or _has_decimals(body, 1)):
        return False
    if _numbered(header[1:]):
        return True
    raise ValueError(f"{file}: the first column ({first[0]}, {first[1]}, ...) may be row names or data; {_CLEARER}")


def _is_percentage(cell: str) -> bool:
    return cell.endswith("%") and parse_number(cell[:-1]) is not None


def _without_sign(cell: str) -> str:
    if not _is_percentage(cell):
        return cell
    number = cell[:-1].rstrip()
    return f"{number}.0" if number.isdecimal() else number  # which is no name


def _has_percentages(lines: Sequence[Line]) -> bool:
    """Return whether data is in percent: the first cell of all, or one that is neither in the first line nor column."""
    data = [*lines[0][1][:1], *(cell for _, cells in lines[1:] for cell in cells[1:])]
    return any(map(_is_percentage, data))


def _check_signs(file: Path, lines: Sequence[Line], found: DelimitedText) -> None:
    """Raise an error for a number without a percent sign in a table that has such signs."""
    skip = found.first_column - 1
    body = [(n, cells[skip:]) for n, cells in lines if n >= found.lines[0][0]] if found.lines else []
    for n, cells in body:
        for place, cell in enumerate(cells, found.first_column):
            if (value := parse_number(cell)) is not None and not math.isnan(value):
                raise ValueError(
                    f"{file}: line {n}, cell {place}: {cell!r} has no percent sign, and others have; write all numbers "
                    "with the sign, or none"
                )


def _is_word(cell: str) -> bool:
    return bool(cell) and parse_number(cell) is None


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
