"""Checks of what users give. Each error names the rule, the value received and the way out."""

from __future__ import annotations

import operator
import reprlib
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

RELATIVE_TOLERANCE = 1e-9
"""How far, relative to its largest entry, a matrix may be from symmetric (and a Gram matrix from semidefinite)."""

LARGEST_SQUARE = 1e302
"""Inner products and noise variances may be as large as this: sums of a few of them do not overflow."""

LARGEST_COUNT = 2**53
"""Counts beyond this are not exact in floating point."""


def count(name: str, value: object) -> int:
    """A whole number from 1 to 2^53; 50.0 counts as 50.

    >>> count("p", 1e9)
    1000000000
    """
    if isinstance(value, float | np.floating) and np.isfinite(value) and value == int(value):
        value = int(value)
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]  (its TypeError is the check)
    except TypeError:
        raise ValueError(f"{name}={value!r}: give a whole number >= 1") from None
    if not 1 <= number <= LARGEST_COUNT:
        raise ValueError(f"{name}={number}: give a whole number from 1 to 2^53")
    return number


def check_seed(value: object) -> int:
    """A whole number from 0; one of NumPy's becomes Python's, so that keys made of it are the same.

    >>> check_seed(np.int64(3))
    3
    """
    try:
        number = -1 if isinstance(value, bool | np.bool_) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if number < 0:
        raise ValueError(f"seed={value!r}: give a whole number >= 0")
    return number


def numbers(name: str, value: npt.ArrayLike) -> Array:
    """A finite array of floats, of any shape. Strings, booleans and complex numbers are no numbers here."""
    try:
        given = np.asarray(value)
        array = np.array(given, dtype=np.float64) if given.dtype.kind in "iufO" else None
    except (TypeError, ValueError, OverflowError):
        array = None
    if array is None:
        shown = reprlib.repr(value)
        raise ValueError(f"{name} is not an array of numbers (rows of unequal length count as none): {shown}")
    bad = ~np.isfinite(array)
    if np.any(bad):
        where = np.argwhere(bad)[0].tolist()
        raise ValueError(f"{name}{where if where else ''} = {array[tuple(where)]}: every entry must be finite")
    return array


def counts(name: str, value: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Whole numbers from 1 to 2^53, of any shape.

    >>> counts("p", [[1e9, 20]]).tolist()
    [[1000000000, 20]]
    """
    given = np.asarray(value)
    if given.dtype.kind not in "iu":  # whole numbers stay as they are: 2^53 + 1 as a float would be 2^53
        given = numbers(name, value)
    broken = given[given != np.floor(given)]
    for suspect in (*broken[:1], *(given.min(keepdims=True).flat if given.size else ()), given.max(initial=1)):
        count(name, suspect.item())
    return given.astype(np.int64)


def number(name: str, value: npt.ArrayLike) -> float:
    """A single finite number >= 0.

    >>> number("norm", 2)
    2.0
    """
    array = non_negative(name, numbers(name, value))
    if array.ndim:
        raise ValueError(f"{name} has shape {array.shape}; give a single number")
    return float(array)


def square(name: str, value: npt.ArrayLike) -> Array:
    """A finite square matrix of at least one row."""
    array = numbers(name, value)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or len(array) == 0:
        raise ValueError(f"{name} has shape {array.shape}; give a square matrix, one row and column per task")
    return array


def symmetric(name: str, array: Array) -> Array:
    """The symmetrized matrix, if it was symmetric up to rounding."""
    asymmetry = np.abs(array - array.T)
    if asymmetry.max() > RELATIVE_TOLERANCE * np.abs(array).max():
        i, j = np.unravel_index(int(asymmetry.argmax()), array.shape)
        raise ValueError(
            f"{name} is not symmetric: [{i}, {j}] = {array[i, j]:g} but [{j}, {i}] = {array[j, i]:g}; make them equal"
        )
    return (array + array.T) / 2


def per_task(name: str, value: Any, T: int) -> npt.NDArray[Any]:
    """One value repeated, or one value per task (T,)."""
    array = value if isinstance(value, np.ndarray) and value.dtype == np.int64 else numbers(name, value)
    if array.ndim == 0:
        return np.full(T, array)
    if array.shape != (T,):
        raise ValueError(f"{name} has shape {array.shape}; give one value or one for each of the {T} tasks")
    return array


def non_negative(name: str, array: Array) -> Array:
    """The array, if no entry is below zero."""
    if np.any(array < 0):
        raise ValueError(f"{name}={array.min():g}: must not be negative")
    return array


def small_enough(name: str, array: Array) -> Array:
    """The array, if no entry is too large for sums of a few to be finite."""
    if np.any(np.abs(array) > LARGEST_SQUARE):
        raise ValueError(
            f"{name} has an entry of {np.abs(array).max():g}: at most {LARGEST_SQUARE:g}; use larger units"
        )
    return array


def root_small_enough(name: str, array: Array) -> Array:
    """The array, if no square is too large for sums of a few to be finite."""
    if np.any(np.abs(array) > LARGEST_SQUARE**0.5):
        largest = np.abs(array).max()
        raise ValueError(f"{name} has an entry of {largest:g}: at most {LARGEST_SQUARE**0.5:g}; use larger units")
    return array


def squared(name: str, array: Array) -> Array:
    """The squares, if they are not too large."""
    return root_small_enough(name, array) ** 2
