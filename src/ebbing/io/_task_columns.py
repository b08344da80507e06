"""Columns of tables of examples: names, the index of a pandas frame, and cells that must be numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ebbing._tables import escape_control

_NO_NAME = ("", "Unnamed: 0")  # of an index that pandas wrote to a CSV file, and read from one and wrote again
_INDEX = "__index_level_0__"  # of an index that pandas wrote to a Parquet file
_SHOWN = 8  # names of columns in an error; the last one, which is often the label, is among them
_MISSING = ("", "na", "n/a", "nan", "null", "none")


def columns_by_name(file: Path, names: Sequence[str], values: Sequence[Any], label: str) -> tuple[dict[str, Any], bool]:
    """Return the columns of a table without the index of a pandas frame.

    Args:
        file: The file, to be named in errors.
        names: The names of the columns.
        values: The cells of each.
        label: The column of labels, which is never an index.

    Returns:
        The columns by name, and whether an index was left out: in CSV files a first column without a name that counts
        0, 1, 2, ...; in Parquet files that which pandas marks so.

    Raises:
        ValueError: If no column has the labels, two columns have the same name, or the first has none and does not
            count so.
    """
    if label not in names:
        shown = ", ".join(names) if len(names) <= _SHOWN else f"{', '.join(names[: _SHOWN - 1])}, ..., {names[-1]}"
        raise ValueError(f"{file}: no column is called {label!r}, but {shown}; name the column of labels with --label")
    if repeated := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"{file}: two columns are called {repeated[0]!r}; give every column a name of its own")
    columns = dict(zip(names, values, strict=True))
    if _INDEX in columns and label != _INDEX:
        del columns[_INDEX]
        return columns, True
    first = names[0] if names else label
    if first == label or first not in _NO_NAME:
        return columns, False
    if [str(cell) for cell in columns[first]] != [str(k) for k in range(len(columns[first]))]:
        raise ValueError(
            f"{file}: the first column has no name; if it is the index of a pandas frame, write the file with "
            "index=False; if it is an input, give it a name"
        )
    del columns[first]
    return columns, True


def parse_cells(file: Path, name: str, cells: Sequence[str], label: str) -> np.ndarray:
    """Return the cells of a column as whole numbers where all are, otherwise in floating point.

    Args:
        file: The file, to be named in errors.
        name: The name of the column.
        cells: Its cells.
        label: The column of labels.

    Returns:
        The numbers (n,).

    Raises:
        ValueError: If a cell is no finite number.
    """
    if all(cell.lstrip("+-").isdecimal() and len(cell) < 18 for cell in cells):
        return np.array([int(cell) for cell in cells])
    for row, cell in enumerate(cells, 1):
        if not _is_finite(cell):
            held = repr(escape_control(cell[:40])) if cell else "no value"
            raise ValueError(f"{file}: column {name!r} has {held} in example {row}; {_rule(cell, name == label)}")
    return np.array([float(cell) for cell in cells])


def number_classes(where: str, cells: Sequence[Any], classes: Sequence[str]) -> np.ndarray:
    """Return labels that are names of classes as numbers.

    Args:
        where: The words that begin an error.
        cells: The labels (n,).
        classes: The names, in the order of the network's outputs.

    Returns:
        The numbers (n,): 0 for the first class.

    Raises:
        ValueError: If a label is none of the classes.

    Example:
        >>> number_classes("cats.csv", ["no", "yes", "no"], ["no", "yes"])
        array([0, 1, 0])
    """
    number = {name: k for k, name in enumerate(classes)}
    found = [number.get(str(cell).strip(), -1) for cell in cells]
    if -1 in found:
        row = found.index(-1)
        raise ValueError(
            f"{where} has {str(cells[row])[:40]!r} in example {row + 1}: classes={','.join(classes)} must name every "
            "label, in the order of the network's outputs"
        )
    return np.array(found)


def _rule(cell: str, is_label: bool) -> str:
    """Return what a cell must be, and the way out for one that is not."""
    if cell.lower().lstrip("+-") in (*_MISSING, "inf", "infinity"):
        return "every number must be finite: fill it in, or leave out the example"
    if is_label:
        return "every cell must be a number: write classes as 0, 1, 2, ..., or name them with --classes"
    return "every cell must be a number: write words as columns of 0 and 1, or leave out the column"


def _is_finite(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False
