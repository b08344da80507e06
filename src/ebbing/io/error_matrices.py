"""Error and accuracy matrices in files: those of `ebbing.io.matrices`, and logs of other frameworks."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ebbing._validate import EntryError
from ebbing._warnings import warn
from ebbing.io.framework_logs import find_log
from ebbing.io.matrices import NamedMatrix, read_named_matrix
from ebbing.metrics import Kind, MetricSummary
from ebbing.metrics._learning_order import find_learning_order
from ebbing.metrics._matrix import SIGN, error_matrix
from ebbing.metrics._summary import describe_filler, summarize
from ebbing.metrics._units import describe_units
from ebbing.metrics._unmeasured import find_filler, mark_unmeasured

_KINDS: dict[str, Kind] = {"errors": "error", "accuracies": "accuracy"}
_ERROR_KEYS = (*_KINDS, "matrix")


def read_matrix(path: str | os.PathLike[str], *, unmeasured: float | None = None) -> NDArray[np.float64]:
    r"""Return the error or accuracy matrix in a file.

    Rows are t = 0..T (initial model first) or t = 1..T, columns are tasks in the order of learning. If a CSV file names
    its rows after the tasks, as "cats" or "after cats", its columns are put into the order of the rows, and a warning
    says so. Another warning says if all entries above the diagonal are exactly 0 or -1: what was not measured must be
    NaN.

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
    _warn_of(matrix, path, None, "read the file with unmeasured=" if unmeasured is None else None)
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
        raise ValueError(f"{path}: {matrix.place(*error.index)}: {error}{_stands_for(matrix, error.index)}") from None
    _warn_of(matrix, path, found.kind, "say --unmeasured " if unmeasured is None else None)
    return found


def _warn_of(matrix: NamedMatrix, path: str | os.PathLike[str], kind: Kind | None, option: str | None) -> None:
    """Warn of what a matrix may mean other than it says.

    Args:
        matrix: The matrix.
        path: Its file.
        kind: What it holds; None if its reader did not ask.
        option: How to say which number stands for what was not measured; None if this was said.
    """
    if matrix.columns:
        names = ", ".join(matrix.column_names)
        warn(f"{path}: the rows say that tasks were learned in the order {names}; columns are put into this order")
    if matrix.recorded:
        return
    try:
        L = error_matrix(matrix.values, "error")
    except ValueError:  # infinite numbers, which no metric reads
        return
    filler = find_filler(L)
    if filler is not None and option is not None:
        warn(f"{path}: {describe_filler(L, kind, filler)}, {option}{filler:g}")
    if kind == "accuracy" and (message := describe_units(L)):
        warn(f"{path}: {message}")


def _stands_for(matrix: NamedMatrix, index: tuple[int, ...]) -> str:
    """Say how to mark a number that is no accuracy, if it may stand for what was not measured."""
    value = float(matrix.values[index])
    if not np.isnan(mark_unmeasured(matrix.values, value)[index]):
        return ""
    return (
        f" (if {value:g} means that, say --unmeasured {value:g}, or in Python read_matrix(file, unmeasured={value:g}))"
    )


def read_error_matrix(
    path: str | os.PathLike[str], run: int | None = None, unmeasured: float | None = None
) -> NamedMatrix:
    """Return the matrix that `read_matrix` returns, with its names and without a warning.

    Args:
        path: The file.
        run: The number of the run in a log that holds several, from 0; -1 for the last.
        unmeasured: A number that stands for what was not measured.

    Returns:
        The matrix, (T+1, T) or (T, T).

    Raises:
        ValueError: If the file does not hold such a matrix.
    """
    file = Path(path)
    log = find_log(file, run)
    if log is None and run is not None:
        raise ValueError(f"run={run}: {file} is no log of several runs; leave it out")
    matrix = read_named_matrix(file, _ERROR_KEYS) if log is None else NamedMatrix(log, key="accuracies", recorded=True)
    rows, columns = matrix.values.shape
    if columns == 0 or rows - columns not in (0, 1):
        rule = "T tasks need T columns and T rows, or T+1 with the initial model's first"
        raise ValueError(f"{file}: {rows} rows and {columns} columns of numbers; {rule}")
    matrix = _in_order_of_learning(file, matrix)
    if unmeasured is None:
        return matrix
    return replace(matrix, values=mark_unmeasured(matrix.values, unmeasured))


def _in_order_of_learning(file: Path, matrix: NamedMatrix) -> NamedMatrix:
    """Return the matrix with its columns in the order of the rows, if these are named after the same tasks."""
    try:
        order = find_learning_order(matrix.row_names, matrix.column_names)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    if order == sorted(order) or len(order) != matrix.values.shape[1]:
        return matrix
    names = tuple(matrix.column_names[k] for k in order)
    return replace(matrix, values=matrix.values[:, order], column_names=names, columns=tuple(order))
