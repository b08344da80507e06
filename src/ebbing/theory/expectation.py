"""Expected errors, forgetting and generalization error of one problem, with exact standard deviations: `expect`.

Definitions (Section 3): F_T = 1/(T-1) sum_{i<T} (L[T,i] - L[i,i]) and G_T = 1/T sum_i L[T,i].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ebbing._validate import Array
from ebbing.problem import Problem
from ebbing.theory._covariance import standard_deviations
from ebbing.theory._rates import Rates
from ebbing.theory._recursion import ExpectedErrors


@dataclass(frozen=True)
class Terms:
    """F_T = F1 + F2 + F3 and G_T = G1 + G2 + G3 (Theorem 1).

    F1, G1 come from where learning starts (|w*_i|^2), F2, G2 from the gaps between tasks, F3, G3 from noise. The
    recursion splits the same way when n and sigma differ from task to task, so the terms always exist.
    """

    F1: float
    F2: float
    F3: float
    G1: float
    G2: float
    G3: float


@dataclass(frozen=True, eq=False)
class Expectation:
    """What to expect of learning the tasks of `problem` in their order.

    errors: E L[t, i], the error on task i after t tasks (T+1, T).
    lost: E (L[t, i] - L[i, i]) for the tasks i learned before t, zero elsewhere (T+1, T).
    """

    problem: Problem
    errors: Array
    lost: Array
    terms: Terms

    @property
    def forgetting(self) -> float:
        """E F_T, eq. (9)."""
        return float(self.forgetting_curve[-1])

    @property
    def forgetting_curve(self) -> Array:
        """E F_t for t = 2..T (T-1,)."""
        T = check_two_tasks(self.problem)
        return np.array([self.lost[t, : t - 1].mean() for t in range(2, T + 1)])

    @property
    def generalization(self) -> float:
        """E G_T, eq. (10)."""
        return float(self.errors[-1].mean())

    @cached_property
    def _standard_deviations(self) -> tuple[Array, Array, Array]:
        return standard_deviations(self.problem.start, self.problem.gaps, Rates.of(self.problem))

    @property
    def errors_std(self) -> Array:
        """Exact standard deviation of every L[t, i] (T+1, T); inf where the variance is infinite."""
        return self._standard_deviations[0]

    @property
    def forgetting_std(self) -> float:
        """Exact standard deviation of F_T; inf where the variance is infinite."""
        check_two_tasks(self.problem)
        return float(self._standard_deviations[1])

    @property
    def generalization_std(self) -> float:
        """Exact standard deviation of G_T; inf where the variance is infinite."""
        return float(self._standard_deviations[2])


def expect(problem: Problem) -> Expectation:
    """Expected error matrix, forgetting and generalization error of any problem (Theorems 1 and 2, and mixtures).

    Raises ValueError where the expectation is infinite: a task with noise and |p - n| <= 1.

    >>> e = expect(Problem.orthogonal(T=8, n=50, p=100, sigma=0.3))
    >>> round(e.forgetting, 6), round(e.generalization, 6)
    (1.02141, 1.930026)
    >>> round(e.forgetting_std, 4), e.errors.shape
    (0.1523, (9, 8))
    """
    rates = finite_rates(problem)
    T, start = problem.T, problem.start
    errors, lost = np.empty((T + 1, T)), np.empty((T + 1, T))
    mean = ExpectedErrors(problem.gaps, rates)
    errors[0], lost[0] = mean.errors(start), mean.lost(start)
    for t in range(1, T + 1):
        mean.learn_next()
        errors[t], lost[t] = mean.errors(start), mean.lost(start)
    return Expectation(problem, errors, lost, Terms(*(float(part) for part in mean.parts(start))))


def expectation_if_finite(problem: Problem) -> Expectation | None:
    """`expect`, or None where the expectation is infinite.

    >>> expectation_if_finite(Problem.orthogonal(T=2, n=50, p=51, sigma=0.3)) is None
    True
    """
    return None if np.isinf(Rates.of(problem).noise_error).any() else expect(problem)


def finite_rates(problem: Problem) -> Rates:
    """The rates of a problem, if its expectation is finite."""
    rates = Rates.of(problem)
    infinite = np.flatnonzero(np.isinf(rates.noise_error))
    if len(infinite):
        i = infinite[0]
        task = f"p={problem.p}, n={problem.n[i]}, sigma={problem.sigma[i]:g}"
        if missing := problem.unmodeled[i]:
            raise ValueError(
                f"{task}, unmodeled={missing:g}: the expectation is infinite when |p - n| <= 1 and there is noise, "
                "which missing features are; use another p"
            )
        raise ValueError(
            f"{task}: the expectation is infinite when |p - n| <= 1 and sigma > 0; use sigma=0 or another p"
        )
    return rates


def check_two_tasks(problem: Problem) -> int:
    """T, if there is an earlier task to forget."""
    if problem.T < 2:
        raise ValueError("forgetting compares a task with an earlier one: it needs at least two tasks, not 1")
    return problem.T
