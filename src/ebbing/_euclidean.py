"""The Gram matrices of distances, cosines and inner products as people write them: rounded, perhaps not symmetric."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ebbing._gram import (
    SLIGHTLY_MORE,
    NotSemidefiniteError,
    centered,
    explained_by_rounding,
    nearest_euclidean,
    nearest_gram,
    rounding,
    semidefinite,
    too_far,
    warn_moved,
)
from ebbing._validate import (
    Array,
    EntryError,
    check_array,
    check_magnitude,
    check_number,
    check_per_task,
    check_square,
    check_square_magnitude,
    check_symmetric,
    first_index,
    square_entries,
)
from ebbing._warnings import warn

PerTask = float | Sequence[float] | Array
"""One number, or one per task."""

_NEGLIGIBLE = 1e-6
"""Relative size of a distance of a task from itself that is taken for zero: rounding of single precision."""


def gram_of_distances(distances: npt.ArrayLike, norms: PerTask | None, tolerance: float | None) -> tuple[Array, Array]:
    """Return the Gram matrix and the squared distances; `Problem.from_distances` has the rules."""
    D = check_square("distances", distances)
    tolerance = None if tolerance is None else check_number("tolerance", tolerance)
    slack = max(_NEGLIGIBLE * float(D.max()), tolerance or 0.0)
    if np.any(-slack > D):
        i, j = first_index(-slack > D)
        raise EntryError(f"distances[{i}, {j}] = {D[i, j]:g} is negative; give |w_i - w_j|", "distances", (i, j))
    if np.any(beyond := np.diag(D) > slack):
        (i,) = first_index(beyond)
        message = f"distances[{i}, {i}] = {D[i, i]:g}: a task is at distance 0 from itself; set the diagonal to 0"
        raise EntryError(message, "distances", (i, i))
    D = np.maximum(D, 0.0)
    np.fill_diagonal(D, 0.0)
    D = _symmetrized("distances", D, tolerance)
    squares = square_entries("distances", D)
    given = None if norms is None else check_per_task("norms", norms, len(D))
    lengths = squares.mean(axis=1) - squares.mean() / 2 if given is None else square_entries("norms", given)
    gram = (lengths[:, None] + lengths - squares) / 2
    try:
        return semidefinite(gram)[0], squares
    except NotSemidefiniteError:
        pass
    if given is not None:  # the initial model is one point more, before the others
        D = np.block([[np.zeros((1, 1)), given[None]], [given[:, None], D]])
    error = rounding(D) if tolerance is None else np.full(D.shape, tolerance)
    products = -centered(D**2) / 2
    nearest = nearest_euclidean(D, error)
    moved = float(np.abs(np.sqrt(nearest) - D).max())
    if not (
        explained_by_rounding(products, (2 * D + error) * error / 2)
        if tolerance is None
        else moved <= SLIGHTLY_MORE * tolerance
    ):
        first = float(np.abs(np.sqrt(nearest_euclidean(D, np.full(D.shape, np.inf))) - D).max())
        raise too_far("distances", first, products, hint=_cosine_hint(D) if norms is None else "")
    warn_moved("distances", moved)
    if norms is None:
        return -centered(nearest) / 2, nearest
    lengths, gaps = nearest[0, 1:], nearest[1:, 1:]
    return (lengths[:, None] + lengths - gaps) / 2, gaps


def gram_of_cosines(cosines: npt.ArrayLike, norms: PerTask, tolerance: float | None) -> Array:
    """Return the Gram matrix of vectors with these cosines and lengths; `Problem.from_cosines` has the rules."""
    C = check_square("cosines", cosines)
    tolerance = None if tolerance is None else check_number("tolerance", tolerance)
    slack = max(_NEGLIGIBLE, tolerance or 0.0)
    if np.any(beyond := np.abs(np.diag(C) - 1) > slack):
        (i,) = first_index(beyond)
        message = f"cosines[{i}, {i}] = {C[i, i]:g}: the cosine of a task and itself is 1; set the diagonal to 1"
        raise EntryError(f"{message} (if these are 1 - cosine: give the cosines themselves)", "cosines", (i, i))
    if np.any(beyond := np.abs(C) > 1 + slack):
        i, j = first_index(beyond)
        message = f"cosines[{i}, {j}] = {C[i, j]:g}: a cosine lies between -1 and 1; inner products are a Gram matrix"
        raise EntryError(message, "cosines", (i, j))
    np.fill_diagonal(C, 1.0)
    C = np.clip(_symmetrized("cosines", C, tolerance), -1.0, 1.0)
    lengths = check_square_magnitude("norms", check_per_task("norms", norms, len(C)))
    try:
        semidefinite(C)
    except NotSemidefiniteError:
        nearest = _nearest_products("cosines", C, tolerance)
        size = np.sqrt(np.diag(nearest))
        C = nearest / size[:, None] / size
    return lengths[:, None] * C * lengths


def gram_from_initial(gram: npt.ArrayLike, initial: npt.ArrayLike | None, tolerance: float | None) -> Array:
    """Return the Gram matrix seen from the initial model; `Problem.from_gram` has the rules."""
    K = check_magnitude("gram", check_square("gram", gram))
    tolerance = None if tolerance is None else check_number("tolerance", tolerance)
    K = _symmetrized("gram", K, tolerance)
    if initial is not None:
        row = check_array("initial", initial)
        if row.shape != (len(K) + 1,):
            raise ValueError(
                f"initial has shape {row.shape}; for {len(K)} tasks give {len(K) + 1} numbers: "
                "|w_0|^2, then <w_0, w*_i> for each task"
            )
        check_magnitude("initial", row)
        K = np.block([[row[:1, None], row[None, 1:]], [row[1:, None], K]])
    try:
        semidefinite(K)
    except NotSemidefiniteError:
        K = _nearest_products("inner products", K, tolerance)
    return K if initial is None else K[1:, 1:] - K[1:, :1] - K[:1, 1:] + K[0, 0]


def _nearest_products(what: str, products: Array, tolerance: float | None) -> Array:
    """Return the nearest inner products that vectors have, with a warning, or raise an error if they are too far."""
    error = rounding(products) if tolerance is None else np.full(products.shape, tolerance)
    nearest = nearest_gram(products, error)
    moved = float(np.abs(nearest - products).max())
    within = explained_by_rounding(products, error) if tolerance is None else moved <= SLIGHTLY_MORE * tolerance
    if not within:
        first = float(np.abs(nearest_gram(products, np.full(products.shape, np.inf)) - products).max())
        raise too_far(what, first, products)
    warn_moved(what, moved)
    return nearest


def _symmetrized(name: str, array: Array, tolerance: float | None) -> Array:
    """Return the mean of a matrix and its transpose, if rounding or the tolerance explains the difference; say so."""
    if np.array_equal(array, array.T):
        return array
    found = check_symmetric(name, array, rounding(array) if tolerance is None else tolerance)
    moved = float(np.abs(found - array).max())
    if moved > _NEGLIGIBLE * float(np.abs(array).max()):
        warn(
            f"{name} is not symmetric, by no more than rounding explains: means were taken, which differ by {moved:.2g}"
        )
    return found


def _cosine_hint(D: Array) -> str:
    """Return what else the numbers may be, if they are no distances: 1 - cosine."""
    if not 0 < D.max() <= 2:
        return ""
    least = float(np.linalg.eigvalsh(1 - D)[0])
    if least < -float(rounding(D).sum(axis=1).max()) - 1e-6:
        return ""
    return ". They may be 1 - cosine, which is no distance: then give the cosines (Problem.from_cosines, --cosines)"
