"""A sequence of linear tasks: the input of theory, simulation and order.

========  ==========================================================  =====================
here      in the paper                                                shape
========  ==========================================================  =====================
T         number of tasks                                             int
gram      K, K_ij = <w*_i - w_0, w*_j - w_0>                          (T, T)
gaps      d_ij = |w*_i - w*_j|^2, the (dis)similarity of two tasks    (T, T)
n         n_t, training samples of task t                             (T,)
p         p, parameters of the model                                  int
sigma     sigma_t, standard deviation of the label noise of task t    (T,)
========  ==========================================================  =====================

The paper starts at w_0 = 0. Any other start only shifts every ground truth, so `gram` always holds inner
products relative to the initial model, and no other formula mentions w_0. p is a number, never an array size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ebbing._validate import (
    RELATIVE_TOLERANCE,
    Array,
    broadcast_per_task,
    check_array,
    check_count,
    check_counts,
    check_magnitude,
    check_non_negative,
    check_number,
    check_square,
    check_square_magnitude,
    check_symmetric,
    square_entries,
)

PerTask = float | Sequence[float] | Array


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Problem:
    """T linear tasks in the order in which they are learned, validated once.

    Args:
        gram: Inner products <w*_i - w_0, w*_j - w_0> of the ground truths (T, T).
        n: Training samples, one number or one per task.
        p: Parameters of the model.
        sigma: Standard deviation of the label noise, one number or one per task.
        unmodeled: |w_missing|^2 of the true features that the model lacks, one number or one per task. They act as
            noise of that variance (the paper's footnote to Assumption 1); errors stay distances in the modeled
            features, so the error on noise-free test data is larger by `unmodeled`.
        names: One distinct name per task; "task 1", "task 2", ... if None.
        gaps: Squared distances |w*_i - w*_j|^2 (T, T), if they are known to more digits than `gram` gives; computed
            from `gram` if None.

    Attributes:
        gram: Inner products of the ground truths relative to the initial model (T, T).
        n: Training samples of each task (T,).
        p: Parameters of the model.
        sigma: Standard deviation of the label noise of each task (T,).
        unmodeled: Squared length of the ground truth's unmodeled part, for each task (T,).
        names: Names of the tasks (T,).
        gaps: Squared distances between the ground truths (T, T).

    Raises:
        ValueError: If an argument has a wrong shape or value, if no vectors have these inner products, or if the
            ground truths span more than p dimensions.

    Example:
        >>> Problem(gram=[[1, 0.5], [0.5, 1]], n=50, p=100, sigma=0.3)
        Problem(T=2, n=50, p=100, sigma=0.3)
    """

    gram: Array
    n: npt.NDArray[np.int64]
    p: int
    sigma: Array
    unmodeled: Array
    names: tuple[str, ...]
    gaps: Array

    def __init__(
        self,
        *,
        gram: npt.ArrayLike,
        n: int | Sequence[int] | npt.NDArray[np.integer],
        p: int,
        sigma: PerTask = 0.0,
        unmodeled: PerTask = 0.0,
        names: Sequence[str] | None = None,
        gaps: npt.ArrayLike | None = None,
    ) -> None:
        p = check_count("p", p)
        gram = check_magnitude("gram", check_square("gram", gram))
        T = len(gram)
        gram, rank = _positive_semidefinite(gram)
        if rank > p:
            raise ValueError(
                f"p={p}: the ground truths span {rank} dimensions and do not fit into p parameters; "
                f"use p >= {rank}, or fewer features with the rest as unmodeled energy"
            )
        names = tuple(f"task {i + 1}" for i in range(T)) if names is None else _distinct(names, T)
        self._set(
            gram=gram,
            n=broadcast_per_task("n", check_counts("n", n), T),
            p=p,
            sigma=check_square_magnitude("sigma", check_non_negative("sigma", broadcast_per_task("sigma", sigma, T))),
            unmodeled=check_magnitude(
                "unmodeled", check_non_negative("unmodeled", broadcast_per_task("unmodeled", unmodeled, T))
            ),
            names=names,
            gaps=_gaps_of(gram) if gaps is None else _matching_gaps(gaps, gram),
        )

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    # ---------------------------------------------------------------- constructors

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
            >>> Problem.orthogonal(T=3, n=50, p=100).gaps[0].tolist()
            [0.0, 2.0, 2.0]
        """
        return cls(gram=_norm_squared(norm) * np.eye(_number_of_tasks(T)), **settings)

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
            >>> Problem.identical(T=3, n=50, p=100).gaps[0].tolist()
            [0.0, 0.0, 0.0]
        """
        T = _number_of_tasks(T)
        return cls(gram=np.full((T, T), _norm_squared(norm)), **settings)

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
            >>> Problem.categories("ABAB", n=50, p=100).names
            ('A1', 'B1', 'A2', 'B2')
        """
        if len(labels) == 0:
            raise ValueError("categories: no labels; give one per task, such as 'ABAB'")
        kinds = np.array([str(label) for label in labels])
        dot = "." if any(kind[-1:].isdigit() for kind in kinds) else ""  # the 11th "A" is not the first "A1"
        names = [f"{kind}{dot}{np.count_nonzero(kinds[: i + 1] == kind)}" for i, kind in enumerate(kinds)]
        same = kinds[:, None] == kinds[None, :]
        settings.setdefault("names", names)
        return cls(gram=_norm_squared(norm) * same, **settings)

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
    def from_distances(cls, distances: npt.ArrayLike, norms: PerTask | None = None, **settings: Any) -> Self:
        """Return the problem of tasks whose ground truths have the given distances.

        Args:
            distances: |w*_i - w*_j|, not squared (T, T).
            norms: |w*_i - w_0|, the distance of each task from the initial model, one number or one per task. If None,
                the initial model lies at the mean of the ground truths.
            **settings: `n`, `p` and the other arguments of `Problem`.

        Returns:
            The problem.

        Raises:
            ValueError: If a distance is negative, the diagonal is not zero, or no vectors have these distances.

        Example:
            >>> Problem.from_distances([[0, 5], [5, 0]], norms=[3, 4], n=5, p=10).gram.tolist()
            [[9.0, 0.0], [0.0, 16.0]]
            >>> Problem.from_distances([[0, 2], [2, 0]], n=5, p=10).gram.tolist()
            [[1.0, -1.0], [-1.0, 1.0]]
        """
        D = check_square("distances", distances)
        if np.any(D < 0):
            raise ValueError(f"distances must not be negative, but the smallest is {D.min():g}; give |w_i - w_j|")
        if np.any(np.diag(D) != 0):
            i = int(np.argmax(np.diag(D) != 0))
            raise ValueError(
                f"distances[{i}, {i}] = {D[i, i]:g}: a task is at distance 0 from itself; set the diagonal to 0"
            )
        squares = square_entries("distances", check_symmetric("distances", D))
        if norms is None:
            lengths = squares.mean(axis=1) - squares.mean() / 2
        else:
            lengths = square_entries("norms", check_non_negative("norms", broadcast_per_task("norms", norms, len(D))))
        return cls(gram=(lengths[:, None] + lengths - squares) / 2, gaps=squares, **settings)

    @classmethod
    def from_gram(cls, gram: npt.ArrayLike, *, initial: npt.ArrayLike | None = None, **settings: Any) -> Self:
        """Return the problem of tasks with the given inner products about zero, learned from an initial model.

        Args:
            gram: Inner products <w*_i, w*_j> (T, T).
            initial: |w_0|^2, then <w_0, w*_1>, ..., <w_0, w*_T> (T+1,); None for an initial model of zero.
            **settings: `n`, `p` and the other arguments of `Problem`.

        Returns:
            The problem.

        Raises:
            ValueError: If the shapes do not match, or no vectors have these inner products.

        Example:
            >>> Problem.from_gram([[1, 0], [0, 1]], initial=[1, 1, 0], n=5, p=10).gram.tolist()
            [[0.0, 0.0], [0.0, 2.0]]
        """
        if initial is None:
            return cls(gram=gram, **settings)
        K = check_square("gram", gram)
        row = check_array("initial", initial)
        if row.shape != (len(K) + 1,):
            raise ValueError(
                f"initial has shape {row.shape}; for {len(K)} tasks give {len(K) + 1} numbers: "
                "|w_0|^2, then <w_0, w*_i> for each task"
            )
        _positive_semidefinite(np.block([[row[:1, None], row[None, 1:]], [row[1:, None], K]]))
        return cls(gram=K - row[1:, None] - row[None, 1:] + row[0], **settings)

    # ---------------------------------------------------------------- views

    @property
    def T(self) -> int:
        """Number of tasks."""
        return len(self.gram)

    @property
    def start(self) -> Array:
        """|w_0 - w*_i|^2, the error of the initial model on each task: row 0 of every error matrix (T,)."""
        return np.diagonal(self.gram)

    @property
    def noise_variance(self) -> Array:
        """Variance of label noise and missing features together, sigma_t^2 + |w_missing|^2 (T,)."""
        return self.sigma**2 + self.unmodeled

    @property
    def uniform(self) -> bool:
        """Whether all tasks have the same n and noise (the paper's Assumption 3)."""
        return bool(np.all(self.n == self.n[0]) and np.all(self.noise_variance == self.noise_variance[0]))

    @property
    def rank(self) -> int:
        """Dimension of the span of the ground truths."""
        return _positive_semidefinite(self.gram)[1]

    def reordered(self, order: Sequence[int] | npt.NDArray[np.integer]) -> Self:
        """Return the same tasks learned in another order.

        Args:
            order: A permutation of 0..T-1 (T,); `order[t]` is the index of the task learned at place t.

        Returns:
            The problem with its tasks in that order.

        Raises:
            ValueError: If the order is not a permutation of 0..T-1.

        Example:
            >>> Problem.categories("AABB", n=50, p=100).reordered([0, 2, 1, 3]).names
            ('A1', 'B1', 'A2', 'B2')
        """
        index = np.asarray(order)
        whole = index.dtype.kind in "iu" and index.ndim == 1
        if not whole or not np.array_equal(np.sort(index), np.arange(self.T)):
            raise ValueError(f"order={list(order)}: give each of 0..{self.T - 1} exactly once")
        return self._copy(
            gram=self.gram[np.ix_(index, index)],
            gaps=self.gaps[np.ix_(index, index)],
            names=tuple(self.names[i] for i in index),
            **{key: getattr(self, key)[index] for key in ("n", "sigma", "unmodeled")},
        )

    def replace(self, **changes: Any) -> Self:
        """Return the same problem with another n, p, sigma, unmodeled or names.

        Args:
            **changes: New values by name.

        Returns:
            The changed problem, validated again.

        Raises:
            ValueError: If another name is given, or a value is not valid.

        Example:
            >>> Problem.orthogonal(T=8, n=50, p=100).replace(p=200, sigma=0.1)
            Problem(T=8, n=50, p=200, sigma=0.1)
        """
        unknown = set(changes) - {"n", "p", "sigma", "unmodeled", "names"}
        if unknown:
            raise ValueError(f"replace takes n, p, sigma, unmodeled and names, not {', '.join(sorted(unknown))}")
        return type(self)(**{field.name: getattr(self, field.name) for field in fields(self)} | changes)

    def _copy(self, **changes: Any) -> Self:
        """Return a changed copy without validation, for changes that cannot make a valid problem invalid."""
        new = object.__new__(type(self))
        new._set(**{field.name: getattr(self, field.name) for field in fields(self)} | changes)
        return new

    def __repr__(self) -> str:
        extra = f", unmodeled={_short(self.unmodeled)}" if np.any(self.unmodeled) else ""
        return f"Problem(T={self.T}, n={_short(self.n)}, p={self.p}, sigma={_short(self.sigma)}{extra})"


# -------------------------------------------------------------------- checks of Gram matrices and names

MOST_TASKS = 20_000
"""Largest T: the Gram matrix of more tasks does not fit into a few gigabytes."""


def _number_of_tasks(T: int) -> int:
    if (T := check_count("T", T)) > MOST_TASKS:
        raise ValueError(f"T={T}: at most {MOST_TASKS:,} tasks; the Gram matrix of more does not fit into memory")
    return T


def _positive_semidefinite(gram: Array) -> tuple[Array, int]:
    """Return the symmetrized matrix and its rank, if it is positive semidefinite."""
    gram = check_symmetric("gram", gram)
    eigenvalues = np.linalg.eigvalsh(gram)
    tolerance = RELATIVE_TOLERANCE * max(float(np.abs(eigenvalues).max()), np.finfo(float).tiny)
    if eigenvalues[0] < -tolerance:
        raise ValueError(
            f"no vectors have these inner products or distances: the Gram matrix has eigenvalue {eigenvalues[0]:.3g}, "
            f"below -{tolerance:.3g} (1e-9 of the largest); check that distances are Euclidean and norms match them"
        )
    return gram, int(np.count_nonzero(eigenvalues > tolerance))


def _gaps_of(gram: Array) -> Array:
    lengths = np.diagonal(gram)
    return np.maximum(lengths[:, None] + lengths - 2 * gram, 0.0)


def _matching_gaps(gaps: npt.ArrayLike, gram: Array) -> Array:
    array = check_symmetric("gaps", check_square("gaps", gaps))
    expected = _gaps_of(gram)
    if array.shape != gram.shape or np.abs(array - expected).max() > RELATIVE_TOLERANCE * np.abs(gram).max() * 4:
        raise ValueError("gaps differ from gram: d_ij must be K_ii + K_jj - 2 K_ij; leave gaps out to have it computed")
    return array


def _norm_squared(norm: float) -> float:
    return square_entries("norm", np.array(check_number("norm", norm))).item()


def _distinct(names: Sequence[str], T: int) -> tuple[str, ...]:
    result = tuple(str(name) for name in names)
    if len(result) != T:
        raise ValueError(f"{len(result)} names for {T} tasks; give one per task")
    repeated = sorted({name for name in result if result.count(name) > 1})
    if repeated:
        raise ValueError(
            f"names must differ, but {', '.join(map(repr, repeated))} occurs more than once; rename one of them"
        )
    return result


def _short(values: npt.NDArray[Any]) -> str:
    return f"{values[0]:g}" if np.all(values == values[0]) else f"[{', '.join(f'{v:g}' for v in values)}]"


def check_problem(problem: object) -> None:
    """Raise an error for anything but a `Problem`.

    Args:
        problem: What a user gave.

    Raises:
        ValueError: If it is no problem; the message says how to make one.
    """
    if not isinstance(problem, Problem):
        raise ValueError(
            f"problem is a {type(problem).__name__}: give a Problem, such as "
            "Problem.from_distances(distances, n=50, p=100) or Problem.orthogonal(T=8, n=50, p=100)"
        )
