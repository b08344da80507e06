"""Products and triangular factors of many small matrices at once, runs along the last axis.

One sweep over all runs for each entry: faster than a call of LAPACK for each run, and the bits of a run do not depend
on how many others there are. Matrices must be well conditioned: squares are formed.
"""

from __future__ import annotations

import numpy as np

from ebbing._validate import Array


def add_gram(total: Array, rows: Array) -> None:
    """Add U'U to the upper triangle of a matrix.

    Args:
        total: Matrices (columns, columns, runs), changed.
        rows: U (rows, columns, runs).
    """
    for i in range(len(total)):
        total[i, i:] += np.add.reduce(rows[:, i, None] * rows[:, i:], axis=0)


def cholesky(gram: Array) -> Array:
    """Return the upper triangular R with positive diagonal and R'R = gram.

    Args:
        gram: Matrices (k, k, runs); their upper triangle is read.

    Returns:
        R (k, k, runs); below its diagonal stands anything.
    """
    R = gram.copy()
    for i in range(len(R)):
        R[i, i] = np.sqrt(np.maximum(R[i, i], 0.0))
        np.divide(R[i, i + 1 :], R[i, i], out=R[i, i + 1 :], where=R[i, i] > 0)
        for j in range(i + 1, len(R)):
            R[j, j:] -= R[i, j] * R[i, j:]
    return R


def solve_gram(R: Array, right: Array) -> Array:
    """Return the solution of R'R x = right.

    Args:
        R: Upper triangular (k, k, runs).
        right: Right-hand sides (k, runs).

    Returns:
        x (k, runs).
    """
    x = right.copy()
    for i in range(len(x)):  # R'y = right
        x[i] /= R[i, i]
        x[i + 1 :] -= R[i, i + 1 :] * x[i]
    for i in reversed(range(len(x))):  # Rx = y
        x[i] /= R[i, i]
        x[:i] -= R[:i, i] * x[i]
    return x


def multiply_upper(R: Array, x: Array) -> Array:
    """Return R x for upper triangular R (k, k, runs), or its first rows, and x (k, runs).

    Args:
        R: The matrices (rows, k, runs).
        x: The vectors (k, runs).

    Returns:
        The products (rows, runs).
    """
    return np.stack([np.add.reduce(R[i, i:] * x[i:], axis=0) for i in range(len(R))])
