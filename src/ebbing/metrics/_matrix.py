"""The matrix that every metric reads: its checks, and what a metric needs of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ebbing._limits import LARGEST_SQUARE
from ebbing._validate import EntryError, first_index
from ebbing.metrics._learning_order import find_learning_order

Kind = Literal["error", "accuracy"]
Values = NDArray[np.float64]  # one value per matrix: shape (...), so a NumPy float for a single matrix
Index, Mask = NDArray[np.int64], NDArray[np.bool_]
Need = Callable[[Index, Index, int], Mask]  # the entries a metric needs, from t = 0..T (down) and i = 1..T (across)
SIGN = {"error": 1, "accuracy": -1}  # L = sign * matrix


def first_and_last(t: Index, i: Index, T: int) -> Mask:
    """Return the entries L[i,i] and L[T,i] of the tasks i < T."""
    return (i < T) & ((t == i) | (t == T))


def learned_before_last(t: Index, i: Index, T: int) -> Mask:
    """Return the entries L[t,i] with t >= i of the tasks i < T."""
    return (i < T) & (t >= i)


def losses(metric: str, matrix: ArrayLike, kind: Kind, need: Need, tasks: int = 2) -> Values:
    """Return L (..., T+1, T), if it has the tasks and the entries that the metric needs."""
    values = error_matrix(matrix, kind)
    T = values.shape[-1]
    if tasks > T:
        raise ValueError(f"{metric} compares tasks and needs T >= {tasks}; got T = {T}: add the rows of more tasks")
    missing = np.isnan(values) & need(np.arange(T + 1)[:, None], np.arange(1, T + 1), T)
    if missing.any():
        place = first_index(missing)
        way_out = "evaluate it, or choose another metric" if place[-2] else "put the initial model's row first"
        if _is_upper(values):
            way_out = "rows are the model after each task, columns the tasks: is the matrix transposed?"
        raise ValueError(f"{metric} needs the {kind} {describe_place(place)}, and it is missing (NaN): {way_out}")
    return SIGN[kind] * values


def _is_upper(values: Values) -> bool:
    """Return whether old tasks were never measured, but tasks that were still to come: rows and columns are swapped."""
    measured = ~np.isnan(values[..., 1:, :])  # (..., T, T)
    return bool(np.triu(measured, 1).any() and not np.tril(measured, -1).any())


def error_matrix(matrix: ArrayLike, kind: Kind) -> Values:
    """Return the matrix (..., T+1, T), with a row of NaN for an initial model that was not measured."""
    _check_order(matrix)
    values = checked_numbers("matrix", matrix, kind)
    if values.ndim < 2 or values.size == 0 or values.shape[-2] - values.shape[-1] not in (0, 1):
        rule = "give (..., T+1, T) with the initial model's row first, or (..., T, T) without it"
        raise ValueError(f"the matrix has shape {values.shape}: {rule}")
    unmeasured = np.full_like(values[..., :1, :], np.nan)
    return values if values.shape[-2] > values.shape[-1] else np.concatenate([unmeasured, values], axis=-2)


def _check_order(given: Any) -> None:
    """Raise an error if the rows of a pandas frame are named after its columns, in another order."""
    columns, index = getattr(given, "columns", None), getattr(given, "index", None)
    if columns is None or index is None:
        return
    names = list(columns)
    order = find_learning_order([str(name) for name in index], [str(name) for name in names])
    if order != sorted(order):
        learned = [names[k] for k in order]
        raise ValueError(
            f"the rows say that tasks were learned in the order {', '.join(map(str, learned))}, but the columns are in "
            f"the order {', '.join(map(str, names))}: give matrix[{learned}]"
        )


def checked_numbers(name: str, given: ArrayLike, kind: Kind) -> Values:
    """Return an array of finite errors or of accuracies in range; NaN where not measured."""
    if not isinstance(kind, str) or kind not in SIGN:
        raise ValueError(f"kind={kind!r}: say 'error' (lower is better) or 'accuracy' (higher is better)")
    try:
        array = np.asarray(_without_gradients(given))
    except (ValueError, TypeError, OverflowError):
        raise ValueError(f"{name} has rows of unequal length: fill them up with NaN") from None
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{name} holds {array.dtype} values: give numbers, and NaN where one is missing")
    values = array.astype(np.float64, copy=False)
    outside = (np.abs(values) > LARGEST_SQUARE) | ((kind == "accuracy") & ((values < 0) | (values > 100)))
    if outside.any():
        place = first_index(outside)
        rule = (
            f"errors are finite, at most {LARGEST_SQUARE:g}"
            if kind == "error"
            else "accuracies lie in [0, 1] or [0, 100]"
        )
        message = f"{name}{list(place)} is {values[place]:g}; {rule}: correct it, or NaN if it was not measured"
        raise EntryError(message, name, place)
    return values


def _without_gradients(given: Any) -> Any:
    """Return tensors of PyTorch, also those in lists, as NumPy reads them: without gradients and in main memory."""
    if isinstance(given, list | tuple):
        return [_without_gradients(part) for part in given]
    if not hasattr(given, "detach"):
        return given
    tensor = given.detach().cpu()
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()


def just_learned(L: Values) -> Values:
    """Return L[i,i] (..., T)."""
    return np.diagonal(L[..., 1:, :], axis1=-2, axis2=-1)


def describe_place(place: tuple[int, ...]) -> str:
    """Return an entry of the matrix in words."""
    *run, t, i = place
    entry = f"after task {t}, on task {i + 1}" if t else f"of the initial model on task {i + 1}"
    return f"{entry}, of matrix {run}" if run else entry
