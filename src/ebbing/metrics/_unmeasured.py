"""Numbers that stand for what was not measured, as the zeros that `np.zeros((T, T))` leaves above the diagonal."""

from __future__ import annotations

import numpy as np

from ebbing.metrics._matrix import Values, just_learned

_FILLERS = (0.0, -1.0)


def find_filler(L: Values) -> float | None:
    """Return the number that alone stands above the diagonal, with other numbers on it: 0 or -1.

    Args:
        L: The matrix (..., T+1, T), a row of NaN for an initial model that was not measured.

    Returns:
        The number, if all of the matrices are such; otherwise, and for one task, None.
    """
    t, i = np.triu_indices(L.shape[-1], 1)
    above, diagonal = L[..., t + 1, i], just_learned(L)
    for value in _FILLERS if len(t) else ():
        if (above == value).all() and (np.nan_to_num(diagonal, nan=value) != value).any(axis=-1).all():
            return value
    return None


def mark_unmeasured(matrix: Values, value: float) -> Values:
    """Return the matrix with NaN for the entries above the diagonal that have a value.

    Args:
        matrix: The matrix (..., T+1, T) or (..., T, T).
        value: The value that stands for what was not measured.

    Returns:
        The matrix. The row of the initial model becomes NaN if all of it has the value, and stays otherwise.
    """
    rows, columns = matrix.shape[-2:]
    initial = rows - columns  # 1 with the row of the initial model
    above = ~np.tri(columns, dtype=bool) & (matrix[..., initial:, :] == value)
    whole = (matrix[..., :initial, :] == value).all(axis=-1, keepdims=True)
    first = np.broadcast_to(whole, matrix[..., :initial, :].shape)
    return np.where(np.concatenate([first, above], axis=-2), np.nan, matrix)


def numpy_line(shape: tuple[int, ...], *, initial_too: bool) -> str:
    """Return a line of NumPy that puts NaN above the diagonal.

    Args:
        shape: The shape of the matrix (..., T+1, T) or (..., T, T).
        initial_too: Whether the row of the initial model becomes NaN, too.

    Returns:
        The line, for a matrix called `matrix`.

    Example:
        >>> numpy_line((3, 3), initial_too=False)
        'matrix = np.where(np.tri(3), matrix, np.nan)'
    """
    rows, columns = shape[-2:]
    if rows == columns:
        return f"matrix = np.where(np.tri({columns}), matrix, np.nan)"
    if initial_too:
        return f"matrix = np.where(np.tri({rows}, {columns}, -1), matrix, np.nan)"
    part = "matrix[1:]" if len(shape) == 2 else "matrix[..., 1:, :]"
    return f"{part} = np.where(np.tri({columns}), {part}, np.nan)"
