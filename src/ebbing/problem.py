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

import reprlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ebbing._constructors import Constructors
from ebbing._euclidean import PerTask
from ebbing._gram import gaps_of, matching_gaps, semidefinite
from ebbing._tables import with_article
from ebbing._validate import (
    Array,
    broadcast_per_task,
    check_count,
    check_counts,
    check_magnitude,
    check_order,
    check_per_task,
    check_square,
    check_square_magnitude,
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Problem(Constructors):
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
        gram, rank = semidefinite(gram)
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
            sigma=check_square_magnitude("sigma", check_per_task("sigma", sigma, T)),
            unmodeled=check_magnitude("unmodeled", check_per_task("unmodeled", unmodeled, T)),
            names=names,
            gaps=gaps_of(gram) if gaps is None else matching_gaps(gaps, gram),
        )

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

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
        return semidefinite(self.gram)[1]

    def reordered(self, order: Sequence[int] | Sequence[str] | npt.NDArray[np.integer]) -> Self:
        """Return the same tasks learned in another order.

        Args:
            order: A permutation of 0..T-1 (T,); `order[t]` is the index of the task learned at place t. Or the names
                of all tasks.

        Returns:
            The problem with its tasks in that order.

        Raises:
            ValueError: If the order is neither a permutation of 0..T-1 nor one of the names.

        Example:
            >>> Problem.categories("AABB", n=50, p=100).reordered([0, 2, 1, 3]).names
            ('A1', 'B1', 'A2', 'B2')
            >>> Problem.categories("AB", n=50, p=100).reordered(("B1", "A1")).names
            ('B1', 'A1')
        """
        index = check_order(places_of(order, self.names), self.T)
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


# -------------------------------------------------------------------- checks and text


def _distinct(names: Iterable[str], T: int) -> tuple[str, ...]:
    try:
        result = tuple(str(name) for name in names)
    except TypeError:
        raise ValueError(f"names={reprlib.repr(names)}: give one name per task, a list of {T}") from None
    if len(result) != T:
        raise ValueError(f"{len(result)} names for {T} tasks; give one per task")
    if repeated := sorted(name for name, times in Counter(result).items() if times > 1):
        shown = ", ".join(map(reprlib.repr, repeated[:5])) + ", ..." * (len(repeated) > 5)
        raise ValueError(f"names must differ, but {shown} occurs more than once; rename one of them")
    return result


def _short(values: npt.NDArray[Any]) -> str:
    return f"{values[0]:g}" if np.all(values == values[0]) else f"[{', '.join(f'{v:g}' for v in values)}]"


def places_of(order: Any, names: Sequence[str]) -> Any:
    """Return an order that is given by the names of the tasks as their places, and any other as it is.

    Args:
        order: What a user gave.
        names: The names of the tasks.

    Returns:
        The order.

    Raises:
        ValueError: If it has names, and not each of them once.
    """
    if not isinstance(order, list | tuple | np.ndarray) or not any(isinstance(task, str) for task in order):
        return order
    places = {name: i for i, name in enumerate(names)}
    found = [places.get(task, -1) if isinstance(task, str) else -1 for task in order]
    if sorted(found) != [*range(len(names))]:
        known = ", ".join(map(repr, names[:8])) + ", ..." * (len(names) > 8)
        raise ValueError(f"order={reprlib.repr([*order])}: give each of {known} exactly once, or their places from 0")
    return found


def check_problem(problem: object) -> None:
    """Raise an error for anything but a `Problem`.

    Args:
        problem: What a user gave.

    Raises:
        ValueError: If it is no problem; the message says how to make one.
    """
    if not isinstance(problem, Problem):
        raise ValueError(
            f"problem is {with_article(type(problem).__name__)}: give a Problem, such as "
            "Problem.from_distances(distances, n=50, p=100) or Problem.orthogonal(T=8, n=50, p=100)"
        )
