"""The ways to make a `Problem`: named forms, ground truths, distances, cosines, inner products."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from ebbing._euclidean import PerTask, gram_from_initial, gram_of_cosines, gram_of_distances
from ebbing._limits import MOST_TASKS
from ebbing._validate import check_array, check_count, check_number, square_entries


class Constructors:
    """Class methods of `Problem` that take the tasks in the forms in which people have them."""

    if TYPE_CHECKING:

        def __init__(self, *, gram: npt.ArrayLike, gaps: npt.ArrayLike | None = None, **settings: Any) -> None: ...

    @classmethod
    def _of_kinds(cls, kinds: npt.NDArray[Any], norm: float, settings: dict[str, Any]) -> Self:
        """Return tasks of which equal kinds (T,) share a ground truth and different ones are orthogonal."""
        return cls(gram=_norm_squared(norm) * (kinds[:, None] == kinds[None, :]), **settings)

    @classmethod
    def orthogonal(cls, T: int, *, norm: float = 1.0, **settings: Any) -> Self:
        """Return T tasks with pairwise orthogonal ground truths (Figure 1 b, d).

        Args:
            T: Number of tasks.
            norm: Length of every ground truth.
            **settings: `n`, `p` and the other arguments of `Problem`.

        Returns:
            The problem.

        Example:
            >>> from ebbing import Problem
            >>> Problem.orthogonal(T=3, n=50, p=100).gaps[0].tolist()
            [0.0, 2.0, 2.0]
        """
        T = _number_of_tasks(T)
        return cls._of_kinds(np.arange(T), norm, settings)

    @classmethod
    def identical(cls, T: int, *, norm: float = 1.0, **settings: Any) -> Self:
        """Return T tasks with the same ground truth (Figure 1 a, c).

        Args:
            T: Number of tasks.
            norm: Length of the ground truth.
            **settings: `n`, `p` and the other arguments of `Problem`.

        Returns:
            The problem.

        Example:
            >>> from ebbing import Problem
            >>> Problem.identical(T=3, n=50, p=100).gaps[0].tolist()
            [0.0, 0.0, 0.0]
        """
        return cls._of_kinds(np.zeros(_number_of_tasks(T)), norm, settings)

    @classmethod
    def categories(cls, labels: str | Sequence[str], *, norm: float = 1.0, **settings: Any) -> Self:
        """Return tasks of categories: equal labels share a ground truth, different ones are orthogonal.

        Args:
            labels: The category of each task, as a string of letters or a sequence of words.
            norm: Length of every ground truth.
            **settings: `n`, `p` and the other arguments of `Problem`.

        Returns:
            The problem, its tasks named by category and number unless `names` are given.

        Raises:
            ValueError: If there are no labels.

        Example:
            >>> from ebbing import Problem
            >>> Problem.categories("ABAB", n=50, p=100).names
            ('A1', 'B1', 'A2', 'B2')
        """
        try:
            labels = list(labels)
        except TypeError:
            shown = reprlib.repr(labels)
            raise ValueError(f"categories: {shown} is no list of labels; give one per task, such as 'ABAB'") from None
        if not labels:
            raise ValueError("categories: no labels; give one per task, such as 'ABAB'")
        _number_of_tasks(len(labels))
        kinds = np.array([str(label) for label in labels])
        dot = "." if any(kind[-1:].isdigit() for kind in kinds) else ""  # the 11th "A" is not the first "A1"
        names = [f"{kind}{dot}{np.count_nonzero(kinds[: i + 1] == kind)}" for i, kind in enumerate(kinds)]
        return cls._of_kinds(kinds, norm, {"names": names} | settings)

    @classmethod
    def from_vectors(cls, vectors: npt.ArrayLike, *, initial: npt.ArrayLike | None = None, **settings: Any) -> Self:
        """Return the problem of tasks with the given ground truths.

        Args:
            vectors: One ground truth per row (T, features).
            initial: The initial model w_0 (features,); zero if None.
            **settings: `n`, `p` and the other arguments of `Problem`.

        Returns:
            The problem.

        Raises:
            ValueError: If the shapes do not match.

        Example:
            >>> from ebbing import Problem
            >>> Problem.from_vectors([[3, 4], [0, 4]], initial=[0, 4], n=5, p=10).gram.tolist()
            [[9.0, 0.0], [0.0, 0.0]]
        """
        W = check_array("vectors", vectors)
        if W.ndim != 2 or 0 in W.shape:
            raise ValueError(f"vectors have shape {W.shape}; give one row of features per task: (T, features)")
        if initial is not None:
            w0 = check_array("initial", initial)
            if w0.shape != W.shape[1:]:
                raise ValueError(
                    f"initial has shape {w0.shape} but each task has {W.shape[1]} features; make them equal"
                )
            W = W - w0
        square_entries("vectors", W)
        # Differences before squares: near-identical tasks of great length keep their small distance.
        gaps = np.array([np.sum((W - w) ** 2, axis=1) for w in W])
        return cls(gram=W @ W.T, gaps=gaps, **settings)

    @classmethod
    def from_distances(
        cls,
        distances: npt.ArrayLike,
        norms: PerTask | None = None,
        *,
        tolerance: float | None = None,
        **settings: Any,
    ) -> Self:
        """Return the problem of tasks whose ground truths have the given distances.

        If no points have the given distances, they are moved to the nearest ones that some points have. A warning says
        how far. The move must be within the tolerance, or within the rounding of the numbers given.

        Args:
            distances: |w*_i - w*_j|, not squared (T, T).
            norms: |w*_i - w_0|, the distance of each task from the initial model, one number or one per task. If None,
                the initial model lies at the mean of the ground truths.
            tolerance: The largest change of a distance or norm that makes them Euclidean; if None, what rounding of the
                numbers given explains.
            **settings: `n`, `p` and the other arguments of `Problem`.

        Returns:
            The problem.

        Raises:
            ValueError: If a distance is negative, the diagonal is not zero, or no vectors have nearly these distances.

        Example:
            >>> from ebbing import Problem
            >>> Problem.from_distances([[0, 5], [5, 0]], norms=[3, 4], n=5, p=10).gram.tolist()
            [[9.0, 0.0], [0.0, 16.0]]
            >>> Problem.from_distances([[0, 2], [2, 0]], n=5, p=10).gram.tolist()
            [[1.0, -1.0], [-1.0, 1.0]]
        """
        gram, gaps = gram_of_distances(distances, norms, tolerance)
        return cls(gram=gram, gaps=gaps, **settings)

    @classmethod
    def from_cosines(
        cls, cosines: npt.ArrayLike, norms: PerTask = 1.0, *, tolerance: float | None = None, **settings: Any
    ) -> Self:
        """Return the problem of tasks whose ground truths, seen from the initial model, have the given cosines.

        If no vectors have the given cosines, they are moved to the nearest ones that some vectors have, as in
        `from_distances`.

        Args:
            cosines: <w*_i - w_0, w*_j - w_0> / (|w*_i - w_0| |w*_j - w_0|), the cosine similarity of two tasks (T, T).
            norms: |w*_i - w_0|, the distance of each task from the initial model, one number or one per task.
            tolerance: The largest change of a cosine that makes them those of vectors; if None, what rounding of the
                numbers given explains.
            **settings: `n`, `p` and the other arguments of `Problem`.

        Returns:
            The problem.

        Raises:
            ValueError: If a cosine lies outside [-1, 1], the diagonal is not 1, or no vectors have nearly these.

        Example:
            >>> from ebbing import Problem
            >>> Problem.from_cosines([[1, 0.5], [0.5, 1]], norms=[1, 2], n=5, p=10).gram.tolist()
            [[1.0, 1.0], [1.0, 4.0]]
        """
        return cls(gram=gram_of_cosines(cosines, norms, tolerance), **settings)

    @classmethod
    def from_gram(
        cls,
        gram: npt.ArrayLike,
        *,
        initial: npt.ArrayLike | None = None,
        tolerance: float | None = None,
        **settings: Any,
    ) -> Self:
        """Return the problem of tasks with the given inner products about zero, learned from an initial model.

        If no vectors have the given inner products, they are moved to the nearest ones that some vectors have, as in
        `from_distances`.

        Args:
            gram: Inner products <w*_i, w*_j> (T, T).
            initial: |w_0|^2, then <w_0, w*_1>, ..., <w_0, w*_T> (T+1,); None for an initial model of zero.
            tolerance: The largest change of an inner product that makes them those of vectors; if None, what rounding
                of the numbers given explains.
            **settings: `n`, `p` and the other arguments of `Problem`.

        Returns:
            The problem.

        Raises:
            ValueError: If the shapes do not match, or no vectors have nearly these inner products.

        Example:
            >>> from ebbing import Problem
            >>> Problem.from_gram([[1, 0], [0, 1]], initial=[1, 1, 0], n=5, p=10).gram.tolist()
            [[0.0, 0.0], [0.0, 2.0]]
        """
        return cls(gram=gram_from_initial(gram, initial, tolerance), **settings)


def _number_of_tasks(T: int) -> int:
    if (T := check_count("T", T)) > MOST_TASKS:
        size = T**2 * 8 / 1e9
        raise ValueError(
            f"T={T}: at most {MOST_TASKS:,} tasks; each matrix of (T, T) takes {size:,.1f} GB. With the memory for "
            "several of them, give the Gram matrix itself"
        )
    return T


def _norm_squared(norm: float) -> float:
    return square_entries("norm", np.array(check_number("norm", norm))).item()
