"""Validation of arguments. Each error message has the rule, the value received and the way out."""

from __future__ import annotations

import operator
import reprlib
from typing import Any

import numpy as np
import numpy.typing as npt

from ebbing._limits import LARGEST_COUNT, LARGEST_SQUARE

Array = npt.NDArray[np.float64]

RELATIVE_TOLERANCE = 1e-9
"""How far, relative to its largest entry, a matrix may be from symmetric (and a Gram matrix from semidefinite)."""


class EntryError(ValueError):
    """An error about one entry of an array, so that a reader of files can say on which line it stands.

    Attributes:
        name: Name of the array.
        index: Index of the entry.
    """

    def __init__(self, message: str, name: str, index: tuple[int, ...]) -> None:
        super().__init__(message)
        self.name, self.index = name, index


def check_count(name: str, value: object, least: int = 1) -> int:
    """Return a value as an integer from 1 to 2^53; 50.0 is accepted as 50.

    Args:
        name: Name of the argument.
        value: Its value.
        least: The smallest integer that is allowed, 1 or 0.

    Returns:
        The integer.

    Raises:
        ValueError: If it is not such an integer.

    Example:
        >>> check_count("p", 1e9)
        1000000000
    """
    number = _whole(value)
    if number is None:
        raise ValueError(f"{name}={reprlib.repr(value)}: give a whole number >= {least}")
    if not least <= number <= LARGEST_COUNT:
        raise ValueError(f"{name}={_shown(number)}: give a whole number from {least} to 2^53")
    return number


def check_seed(value: object) -> int:
    """Return a seed as a non-negative int of Python, so that keys do not depend on its type; 1e3 is 1000.

    Args:
        value: The seed.

    Returns:
        The seed.

    Raises:
        ValueError: If it is not a non-negative integer.

    Example:
        >>> check_seed(np.int64(3))
        3
    """
    number = _whole(value)
    if number is None or number < 0:
        shown = reprlib.repr(value) if number is None else _shown(number)
        raise ValueError(f"seed={shown}: give a whole number >= 0")
    return number


def _whole(value: object) -> int | None:
    """Return an integer, or a float without a fraction, as an int; None for anything else."""
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, float | np.floating) and np.isfinite(value) and value == int(value):
        return int(value)
    try:
        return operator.index(value)  # type: ignore[arg-type]  (its TypeError is the check)
    except TypeError:
        return None


def _shown(number: int) -> str:
    """Return an integer as text; a long one by its first digits, as Python writes none of more than 4,300."""
    return str(number) if number.bit_length() < 200 else f"{'-' * (number < 0)}2^{number.bit_length() - 1}..."


def check_array(name: str, value: npt.ArrayLike) -> Array:
    """Return a finite array of floats of any shape. Strings, booleans and complex numbers are not accepted.

    Args:
        name: Name of the argument.
        value: Its value.

    Returns:
        The array.

    Raises:
        ValueError: If it is not an array of finite numbers.
    """
    try:
        given = np.asarray(value)
        array = np.array(given, dtype=np.float64) if given.dtype.kind in "iufO" else None
    except (TypeError, ValueError, OverflowError):
        array = None
    if array is None:
        shown = reprlib.repr(value)
        raise ValueError(f"{name} is not an array of numbers (perhaps with rows of unequal length): {shown}")
    invalid = ~np.isfinite(array)
    if np.any(invalid):
        if not array.ndim:
            raise ValueError(f"{name}={array}: give a finite number")
        index = first_index(invalid)
        raise EntryError(f"{name}{list(index)} = {array[index]}: every entry must be finite", name, index)
    return array


def check_counts(name: str, value: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return an array of integers from 1 to 2^53, of any shape.

    Args:
        name: Name of the argument.
        value: Its value.

    Returns:
        The array.

    Example:
        >>> check_counts("p", [[1e9, 20]]).tolist()
        [[1000000000, 20]]
    """
    try:
        given = np.asarray(value)
    except ValueError:  # rows of unequal length
        given = np.empty(0)
    if given.dtype.kind not in "iu":  # integers are not converted: 2^53 + 1 as a float would be 2^53
        given = check_array(name, value)
    fractional = given[given != np.floor(given)]
    for suspect in (*fractional[:1], *(given.min(keepdims=True).flat if given.size else ()), given.max(initial=1)):
        check_count(name, suspect.item())
    return given.astype(np.int64)


def check_order(order: Any, T: int) -> npt.NDArray[np.integer[Any]]:
    """Return an order of T tasks.

    Args:
        order: The tasks in their order, indices from 0.
        T: The number of tasks.

    Returns:
        The order (T,).

    Raises:
        ValueError: If it is not a permutation of 0..T-1.

    Example:
        >>> check_order([1, 0], T=2)
        array([1, 0])
    """
    index: npt.NDArray[Any]
    try:
        index = np.asarray(order)
    except ValueError:  # lists of unequal length
        index = np.empty(0)
    whole = index.dtype.kind in "iu" and index.ndim == 1
    if not whole or not np.array_equal(np.sort(index), np.arange(T)):
        shown = index.tolist() if whole else order
        raise ValueError(f"order={reprlib.repr(shown)}: give each of 0..{T - 1} exactly once")
    return index


def check_number(name: str, value: npt.ArrayLike) -> float:
    """Return a finite, non-negative number.

    Args:
        name: Name of the argument.
        value: Its value.

    Returns:
        The number.

    Raises:
        ValueError: If it is not a single such number.

    Example:
        >>> check_number("norm", 2)
        2.0
    """
    array = check_non_negative(name, check_array(name, value))
    if array.ndim:
        raise ValueError(f"{name} has shape {array.shape}; give a single number")
    return float(array)


def first_index(mask: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the index of the first True.

    >>> first_index(np.array([[False, False], [True, False]]))
    (1, 0)
    """
    return tuple(int(k) for k in np.unravel_index(int(mask.argmax()), mask.shape))


def check_square(name: str, value: npt.ArrayLike) -> Array:
    """Return a finite square matrix with at least one row.

    Args:
        name: Name of the argument.
        value: Its value.

    Returns:
        The matrix, (T, T).

    Raises:
        ValueError: If it is not square.
    """
    array = check_array(name, value)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or len(array) == 0:
        raise ValueError(f"{name} has shape {array.shape}; give a square matrix, one row and column per task")
    return array


def check_symmetric(name: str, array: Array, rounding: Array | float = 0.0) -> Array:
    """Return the symmetric part of a matrix that is symmetric up to rounding.

    Args:
        name: Name of the argument.
        array: A square matrix, (T, T).
        rounding: How far each entry may be from its true value, if that is more than rounding of double precision.

    Returns:
        The symmetric matrix.

    Raises:
        ValueError: If it is not symmetric up to rounding.
    """
    excess = np.abs(array - array.T) - 2 * rounding
    if excess.max() > RELATIVE_TOLERANCE * np.abs(array).max():
        i, j = first_index(excess == excess.max())
        message = f"{name} is not symmetric: [{i}, {j}] = {array[i, j]:.12g} but [{j}, {i}] = {array[j, i]:.12g}"
        raise EntryError(f"{message}; make them equal", name, (i, j))
    return (array + array.T) / 2


def broadcast_per_task(name: str, array: npt.NDArray[Any], T: int) -> npt.NDArray[Any]:
    """Return one value per task.

    Args:
        name: Name of the argument.
        array: One value, or one per task.
        T: The number of tasks.

    Returns:
        The values, (T,).

    Raises:
        ValueError: If there is another number of values.
    """
    if array.ndim == 0:
        return np.full(T, array)
    if array.shape != (T,):
        if array.ndim > 1:
            raise ValueError(f"{name} has shape {array.shape}; give one number, or one for each of the {T} tasks")
        counts = f"{len(array)} number{'s' * (len(array) != 1)} for {T} task{'s' * (T > 1)}"
        raise ValueError(f"{name}={reprlib.repr(array.tolist())}: {counts}; give one number, or one for each task")
    return array


def check_non_negative(name: str, array: Array) -> Array:
    """Return an array without negative entries.

    Args:
        name: Name of the argument.
        array: The array.

    Returns:
        The same array.

    Raises:
        ValueError: If an entry is negative.
    """
    if np.any(array < 0):
        message = f"{name}={array.min():g}: must not be negative; give 0 or more"
        raise EntryError(message, name, first_index(array == array.min())) if array.ndim else ValueError(message)
    return array


def check_per_task(name: str, value: npt.ArrayLike, T: int) -> Array:
    """Return one number per task, none of them negative.

    Args:
        name: Name of the argument.
        value: One number, or one per task.
        T: The number of tasks.

    Returns:
        A copy, (T,).
    """
    return check_non_negative(name, broadcast_per_task(name, check_array(name, value), T))


def check_magnitude(name: str, array: Array) -> Array:
    """Return an array of which sums of a few entries do not overflow.

    Args:
        name: Name of the argument.
        array: The array.

    Returns:
        The same array.

    Raises:
        ValueError: If an entry is too large.
    """
    if np.any(np.abs(array) > LARGEST_SQUARE):
        raise ValueError(
            f"{name} has an entry of {np.abs(array).max():g}: at most {LARGEST_SQUARE:g}; use larger units"
        )
    return array


def check_square_magnitude(name: str, array: Array) -> Array:
    """Return an array of which sums of a few squares do not overflow.

    Args:
        name: Name of the argument.
        array: The array.

    Returns:
        The same array.

    Raises:
        ValueError: If a square is too large.
    """
    if np.any(np.abs(array) > LARGEST_SQUARE**0.5):
        largest = np.abs(array).max()
        raise ValueError(f"{name} has an entry of {largest:g}: at most {LARGEST_SQUARE**0.5:g}; use larger units")
    return array


def square_entries(name: str, array: Array) -> Array:
    """Return the squares of an array's entries.

    Args:
        name: Name of the argument.
        array: The array.

    Returns:
        The squares, none of which is too large.
    """
    return check_square_magnitude(name, array) ** 2


def check_seconds(seconds: float) -> float:
    """Return a time limit, if it is positive; infinity is allowed.

    >>> check_seconds(0.5)
    0.5
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float | np.number) or not seconds > 0:
        raise ValueError(f"seconds={seconds!r}: give a positive number of seconds")
    return float(seconds)
