"""Triangular factors of Gaussian matrices, drawn without the matrices (Bartlett)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ebbing._validate import Array
from ebbing.simulation._steps import offsets


def qr_factor(matrices: Array) -> Array:
    """Return the upper triangular factor of each matrix (runs, rows, columns).

    Args:
        matrices: The matrices.

    Returns:
        The factors (runs, min(rows, columns), columns); signs of their rows are those of LAPACK.
    """
    return np.asarray(np.linalg.qr(matrices, mode="r"), dtype=float)


class TriangularFactor:
    """A factor R of a Gaussian matrix QR, in which each row begins with the root of a chi-squared number (Bartlett).

    Args:
        leads: For each row, the degrees of freedom, the column of its first entry, and the columns of its others,
            which are standard normal.
        columns: Number of columns.

    Attributes:
        rows: Number of rows.
        normals: How many standard normal numbers it takes.
        freedom: Degrees of freedom of the first entries' squares (rows,).
        parts: The rows of each task, if it is a factor of samples.
    """

    def __init__(self, leads: Sequence[tuple[int, int, range]], columns: int, parts: Sequence[slice] = ()) -> None:
        self.rows, self._columns, self.parts = len(leads), columns, parts
        self.freedom = np.array([freedom for freedom, _, _ in leads], dtype=float)
        self._first = np.array([row * columns + column for row, (_, column, _) in enumerate(leads)], dtype=int)
        self._others = np.array([r * columns + column for r, lead in enumerate(leads) for column in lead[2]], dtype=int)
        self.normals = len(self._others)

    @classmethod
    def of(cls, freedom: int, columns: int) -> TriangularFactor:
        """Return the upper triangular factor of a Gaussian matrix (freedom, columns), wide if the matrix is."""
        leads = [(freedom - i, i, range(i + 1, columns)) for i in range(min(freedom, columns))]
        return cls(leads, columns)

    def draw(self, normals: Array, chi2: Array) -> Array:
        """Return the factors (runs, rows, columns).

        Args:
            normals: Standard normal numbers (runs, normals).
            chi2: Chi-squared numbers (runs, rows).

        Returns:
            One matrix per run.
        """
        factors = np.zeros((len(chi2), self.rows * self._columns))
        factors[:, self._others] = normals
        factors[:, self._first] = np.sqrt(chi2)
        return factors.reshape(len(chi2), self.rows, self._columns)

    def draw_runs_last(self, normals: Array, chi2: Array) -> Array:
        """Return the same factors, runs along the last axis.

        Args:
            normals: Standard normal numbers (normals, runs).
            chi2: Chi-squared numbers (rows, runs).

        Returns:
            The factors (rows, columns, runs).
        """
        factors = np.zeros((self.rows * self._columns, chi2.shape[1]))
        factors[self._others] = normals
        factors[self._first] = np.sqrt(chi2)
        return factors.reshape(self.rows, self._columns, -1)


def sample_factor(samples: Sequence[int], q: int, *, noisy: bool) -> TriangularFactor:
    """Return a factor of all [A_j, z_j / sigma_j], one above the other, A_j (n_j, q) in the basis of `Mixture`.

    The residuals of task j = 0, 1, ... are A_j c_j + z_j, and only the first j coordinates of c_j are not zero. So task
    j has rows of its own for its noise, if it is noisy, and j coordinates. Beyond them its samples have no residual,
    and all tasks share rows.
    """
    leads: list[tuple[int, int, range]] = []
    heights, left = [], [0] * (q + 1)
    for j, n in enumerate(samples):
        order = [*[q] * noisy, *range(min(j, q))]  # the noise first, then the coordinates
        heights.append(min(n, len(order)))
        leads += [(n - i, c, range(0 if c == q else c + 1, q)) for i, c in enumerate(order[: heights[-1]])]
        left[min(j, q)] += n - heights[-1]
    shared = 0
    for i in range(q):
        shared += left[i]
        if shared:
            leads.append((shared, i, range(i + 1, q)))
            shared -= 1
    return TriangularFactor(leads, q + 1, offsets(heights))
