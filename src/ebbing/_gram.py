"""Gram matrices: which ones exist, and the nearest one where rounding of the numbers given spoiled it.

Inner products and distances that are written with a few decimals are hardly ever those of any vectors: where the
true Gram matrix has eigenvalues of zero, rounding makes some of them negative. Let every entry of the matrix be known
up to B_ij. Its eigenvalues are then known up to the norm of B, at most the largest sum of a row. A matrix that misses
by more was not made by rounding.
"""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from ebbing._validate import RELATIVE_TOLERANCE, Array, check_square, check_symmetric
from ebbing._warnings import warn

_MOST_DIGITS = 12
"""Numbers of more digits are not taken for rounded ones."""

_LEAST_DIGITS = 3
"""Numbers are not taken for rounded to fewer digits: 1 and 0.5 are rounded to a decimal, not to a digit."""

_SINGLE_PRECISION = 2.0**-21
"""Relative error of numbers in single precision, with room for the few operations that made them."""


SLIGHTLY_MORE = 1 + 1e-6
"""Projections come to the bounds from outside."""


class NotSemidefiniteError(ValueError):
    """No vectors have these inner products."""


def semidefinite(gram: Array) -> tuple[Array, int]:
    """Return the symmetrized matrix and its rank, if it is positive semidefinite up to rounding of double precision.

    Args:
        gram: A matrix (T, T).

    Returns:
        The symmetric matrix, and its rank.

    Raises:
        NotSemidefiniteError: If it has a negative eigenvalue.
    """
    gram = check_symmetric("gram", gram)
    if (rank := _number_of_kinds(gram)) is not None:
        return gram, rank
    eigenvalues = np.linalg.eigvalsh(gram)
    tolerance = RELATIVE_TOLERANCE * max(float(np.abs(eigenvalues).max()), np.finfo(float).tiny)
    if eigenvalues[0] < -tolerance:
        raise NotSemidefiniteError(
            f"no vectors have these inner products or distances: the Gram matrix has eigenvalue {eigenvalues[0]:.3g}, "
            f"below -{tolerance:.3g} (1e-9 of the largest); check that distances are Euclidean and norms match them"
        )
    return gram, int(np.count_nonzero(eigenvalues > tolerance))


def _number_of_kinds(gram: Array) -> int | None:
    """Return the rank of a multiple of an equivalence relation, without the minutes that thousands of tasks take."""
    related = gram != 0
    first = related.argmax(axis=1)  # (T,) the first task of the same kind
    if gram[0, 0] <= 0 or not np.array_equal(gram, gram[0, 0] * (first[:, None] == first)):
        return None
    return len(np.unique(first))


def nearest_gram(gram: Array, error: Array) -> Array:
    """Return a positive semidefinite matrix near the given one, within the errors of its entries if one is found.

    Alternating projections, on semidefinite matrices and on those within the errors. The first is the nearest
    semidefinite matrix in the Frobenius norm; the others move less where the numbers are known better.

    Args:
        gram: A symmetric matrix (T, T).
        error: How far each entry may move (T, T).

    Returns:
        The matrix.
    """
    moved = gram
    for _ in range(_rounds(len(gram))):
        nearest = _without_positive(-moved)[0]
        if np.all(np.abs(nearest + gram) <= SLIGHTLY_MORE * error):
            break
        moved = np.clip(-nearest, gram - error, gram + error)
    return -nearest  # type: ignore[possibly-unbound]


def nearest_euclidean(distances: Array, error: Array) -> Array:
    """Return squared Euclidean distances near the given ones, within the errors if such are found.

    Alternating projections (Glunt, Hayden, Hong and Wells 1990), here on G with J G J <= 0, J = I - 1 1' / T, and on
    those within the errors with a zero diagonal.

    Args:
        distances: Distances, not squared (T, T).
        error: How far each may move (T, T).

    Returns:
        Their squares (T, T).
    """
    lowest, highest = np.maximum(distances - error, 0.0) ** 2, (distances + error) ** 2
    for bound in (lowest, highest):
        np.fill_diagonal(bound, 0.0)
    moved = distances**2
    for _ in range(_rounds(len(distances))):
        nearest, removed = _without_positive(centered(moved))
        squares = gaps_of(-nearest / 2)
        if np.all(np.abs(np.sqrt(squares) - distances) <= SLIGHTLY_MORE * error):
            break
        moved = np.clip(moved - removed, lowest, highest)
    return squares  # type: ignore[possibly-unbound]


def centered(matrix: Array) -> Array:
    """Return J A J, with J = I - 1 1' / T."""
    rows = matrix - matrix.mean(axis=0)
    return rows - rows.mean(axis=1, keepdims=True)


def _without_positive(matrix: Array) -> tuple[Array, Array]:
    """Return the negative semidefinite part of a symmetric matrix, and its positive semidefinite part."""
    scale = float(np.abs(matrix).max()) or 1.0
    values, vectors = np.linalg.eigh(matrix / scale)
    negative, positive = ((vectors * part) @ vectors.T for part in (np.minimum(values, 0.0), np.maximum(values, 0.0)))
    return scale * (negative + negative.T) / 2, scale * (positive + positive.T) / 2


def _rounds(T: int) -> int:
    """Return how many projections take about a second."""
    return int(min(max(10**9 // T**3, 2), 100))


def explained_by_rounding(gram: Array, error: Array) -> bool:
    """Return whether a Gram matrix whose entries are known up to their errors may be that of vectors."""
    least = float(np.linalg.eigvalsh(gram)[0])
    return least >= -float(error.sum(axis=1).max()) - RELATIVE_TOLERANCE * float(np.abs(gram).max())


def warn_moved(what: str, moved: float) -> None:
    """Warn that numbers were replaced by the nearest ones that vectors have.

    Args:
        what: The numbers, such as "distances".
        moved: The largest change.
    """
    warn(
        f"no vectors have exactly these {what}, as is common after rounding: the nearest that vectors have were taken, "
        f"which differ by up to {moved:.2g}"
    )


def too_far(what: str, moved: float, gram: Array, hint: str = "") -> ValueError:
    """Return the error for numbers that no vectors have, nor nearly so.

    Args:
        what: The numbers, such as "distances".
        moved: How far the nearest that vectors have are away.
        gram: Their Gram matrix.
        hint: A further way out.

    Returns:
        The error.
    """
    least = float(np.linalg.eigvalsh(gram)[0])
    check = "; check that distances are Euclidean and norms match them" if what == "distances" else ""
    return ValueError(
        f"no vectors have these {what}: the Gram matrix has eigenvalue {least:.3g}{check}. The nearest {what} that "
        f"vectors have differ by up to {moved:.2g}; a tolerance of {_rounded_up(moved)} accepts them{hint}"
    )


def rounding(values: Array) -> Array:
    """Return how far each number may be from what it was before it was written with so many decimals or digits.

    The numbers of an array are taken to be rounded to the same number of decimals, or of significant digits,
    whichever is coarser; or to single precision. Whole numbers are taken to be exact.

    Args:
        values: Finite numbers, of any shape.

    Returns:
        The largest error of each; zero in double precision.

    Example:
        >>> rounding(np.array([0.25, 1.5])).tolist(), rounding(np.array([2.0, 1 / 3])).tolist()
        ([0.005, 0.005], [0.0, 0.0])
    """
    size = np.abs(values)
    parts = [Decimal(repr(v)).normalize().as_tuple() for v in np.unique(size).tolist() if v]
    decimals = max((-int(part.exponent) for part in parts), default=0)
    digits = max((len(part.digits) for part in parts), default=0)
    if decimals <= 0:
        return np.zeros(values.shape)
    if digits <= _MOST_DIGITS:
        with np.errstate(divide="ignore"):
            exponents = np.where(size > 0, np.floor(np.log10(size)), -np.inf)  # of the first digit
        by_digits = 10.0 ** (exponents + 1 - max(digits, _LEAST_DIGITS))
        return np.maximum(10.0**-decimals, by_digits) / 2
    with np.errstate(over="ignore"):
        single = bool(np.all(values.astype(np.float32) == values))
    return _SINGLE_PRECISION * size if single else np.zeros(values.shape)


def gaps_of(gram: Array) -> Array:
    """Return the squared distances d_ij = K_ii + K_jj - 2 K_ij (T, T)."""
    lengths = np.diagonal(gram)
    return np.maximum(lengths[:, None] + lengths - 2 * gram, 0.0)


def matching_gaps(gaps: npt.ArrayLike, gram: Array) -> Array:
    """Return squared distances, if they are those of the Gram matrix up to rounding."""
    array = check_symmetric("gaps", check_square("gaps", gaps))
    allowed = max(4 * RELATIVE_TOLERANCE * float(np.abs(gram).max()), np.finfo(float).tiny)  # squares may underflow
    if array.shape != gram.shape or np.abs(array - gaps_of(gram)).max() > allowed:
        raise ValueError("gaps differ from gram: d_ij must be K_ii + K_jj - 2 K_ij; leave gaps out to have it computed")
    return array


def _rounded_up(value: float) -> str:
    """Return the number with two digits, not below it."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1) if value > 0 else 1.0
    return f"{math.ceil(value / unit) * unit:.2g}"
