"""`expect` over a grid of p, n and sigma in one vectorized call: `expect_grid`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ebbing._validate import Array, counts, non_negative, numbers
from ebbing.problem import Problem
from ebbing.theory._covariance import standard_deviations
from ebbing.theory._rates import Rates
from ebbing.theory._recursion import ExpectedErrors, column
from ebbing.theory.expectation import check_two_tasks

_POINTS_AT_ONCE = 4096
"""Small enough for the work arrays to stay in a core's cache."""


@dataclass(frozen=True, eq=False)
class ExpectationGrid:
    """Expectations for the same ground truths at many p, n and sigma; every array has the grid's shape.

    Where a task with noise has |p - n| <= 1, E F_T, a difference of infinities, is nan, and E G_T is inf unless a later
    task with n >= p wipes the infinity out.
    """

    problem: Problem
    forgetting: Array
    generalization: Array
    F1: Array
    F2: Array
    F3: Array
    G1: Array
    G2: Array
    G3: Array
    _rates: Rates

    @cached_property
    def _standard_deviations(self) -> Array:
        shape = self.generalization.shape
        result = np.empty((2, self.generalization.size))
        for points in _chunks(self.generalization.size, _POINTS_AT_ONCE // self.problem.T):
            rates = _at(self._rates, points)
            result[:, points] = standard_deviations(self.problem.start, self.problem.gaps, rates)[1:]
        return result.reshape(2, *shape)

    @property
    def forgetting_std(self) -> Array:
        """Exact standard deviation of F_T at every point, computed on first use."""
        check_two_tasks(self.problem)
        return self._standard_deviations[0]

    @property
    def generalization_std(self) -> Array:
        """Exact standard deviation of G_T at every point, computed on first use."""
        return self._standard_deviations[1]


def expect_grid(
    problem: Problem,
    *,
    p: npt.ArrayLike | None = None,
    n: npt.ArrayLike | None = None,
    sigma: npt.ArrayLike | None = None,
) -> ExpectationGrid:
    """`expect` for the ground truths of `problem` at many p, n and sigma, which broadcast against each other.

    What is not given is taken from `problem`; a given n or sigma holds for every task. There is no loop over points.

    >>> problem = Problem.orthogonal(T=8, n=50, p=100)
    >>> grid = expect_grid(problem, p=[[20], [100], [1000]], sigma=[0.1, 0.3])
    >>> grid.generalization.round(6).tolist()
    [[1.756897, 1.812069], [1.767399, 1.930026], [1.255981, 1.284355]]
    """
    given: dict[str, npt.NDArray] = {"p": counts("p", problem.p if p is None else p)}
    if n is not None:
        given["n"] = counts("n", n)
    if sigma is not None:
        given["sigma"] = non_negative("sigma", numbers("sigma", sigma))
    try:
        shape = np.broadcast_shapes(*(array.shape for array in given.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in given.items())
        raise ValueError(f"shapes do not broadcast: {shapes}; make them equal, or 1, along each axis") from None
    if (smallest := given["p"].min(initial=problem.p)) < problem.rank:
        raise ValueError(f"p={smallest}: the ground truths span {problem.rank} dimensions; use p >= {problem.rank}")

    size = int(np.prod(shape))

    def points(name: str, own: npt.NDArray) -> npt.NDArray:  # (T, size)
        values = np.broadcast_to(given[name], shape).reshape(1, size) if name in given else own[:, None]
        return np.broadcast_to(values, (problem.T, size))

    variance = points("sigma", problem.sigma) ** 2 + problem.unmodeled[:, None]
    rates = Rates.of_counts(points("n", problem.n), points("p", problem.n), variance)
    parts = np.empty((6, size))
    for chunk in _chunks(size, _POINTS_AT_ONCE):
        parts[:, chunk] = _final_parts(problem, _at(rates, chunk))
    parts = parts.reshape(6, *shape)
    return ExpectationGrid(problem, parts[:3].sum(axis=0), parts[3:].sum(axis=0), *parts, _rates=rates)


def _final_parts(problem: Problem, rates: Rates) -> Array:
    """F1, F2, F3, G1, G2, G3 (6, points)."""
    with np.errstate(invalid="ignore"):  # inf - inf in what is lost, where the expectation is infinite
        mean = ExpectedErrors(problem.gaps, rates)
        for _ in range(problem.T):
            mean.learn_next()
        parts = np.stack(mean.parts(column(problem.start, rates)))
    parts[2, np.any(np.isinf(rates.noise_error), axis=0)] = np.nan
    return parts


def _chunks(size: int, at_once: int) -> list[slice]:
    at_once = max(at_once, 1)
    return [slice(i, i + at_once) for i in range(0, size, at_once)]


def _at(rates: Rates, points: slice) -> Rates:
    return Rates(**{name: values[:, points] for name, values in vars(rates).items()})
