"""The paper's closed forms, term by term, for tasks with equal n and noise.

`expect` computes the same numbers by recursion and for any tasks; these are the theorems as printed (errata
corrected, see docs/theory/errata.md), kept as the plain reference and for reading.
"""

from __future__ import annotations

import numpy as np

from ebbing._validate import Array, check_count
from ebbing.problem import Problem
from ebbing.theory._rates import Rates
from ebbing.theory._terms import Terms


def overparameterized_ratio(n: int, p: int) -> float:
    """Return r = 1 - n/p for n < p, and 0 for n >= p, where nothing of the old model stays.

    Args:
        n: Training samples.
        p: Parameters.

    Returns:
        r, from 0 to 1.

    Example:
        >>> overparameterized_ratio(n=50, p=200)
        0.75
    """
    return max(p - n, 0) / p


def coefficients(T: int, n: int, p: int) -> Array:
    """Compute c_ij = (1-r) (r^{T-i} - r^{j-i} + r^{T-j}) for i < j, eq. (8), and 0 elsewhere.

    Args:
        T: Number of tasks.
        n: Training samples of every task.
        p: Parameters.

    Returns:
        The coefficients (T, T); c[0, 1] is the paper's c_{1,2}.

    Example:
        >>> coefficients(T=3, n=50, p=100)[0].tolist()
        [0.0, 0.125, 0.5]
    """
    T, n, p = check_count("T", T), check_count("n", n), check_count("p", p)
    power, replaced = _powers(T, n, p), min(n, p) / p
    i, j = np.triu_indices(T, k=1)
    c = np.zeros((T, T))
    c[i, j] = replaced * (power[T - 1 - i] - power[j - i] + power[T - 1 - j])
    return c


def theorem_terms(problem: Problem) -> Terms:
    """Compute F1, F2, F3, G1, G2, G3 of Theorem 1; with r = 0 they are Theorem 2.

    Args:
        problem: Tasks with equal n and noise, in the order of learning.

    Returns:
        The six terms; F1, F2 and F3 are NaN for a single task.

    Raises:
        ValueError: If tasks differ in n or noise, or if there is noise and |p - n| < 2.

    Example:
        >>> from ebbing import expect
        >>> problem = Problem.orthogonal(T=8, n=50, p=100, sigma=0.3)
        >>> abs(theorem_terms(problem).F2 - expect(problem).terms.F2) < 1e-15
        True
    """
    T, n = problem.T, _equal_n(problem)
    power, start, gaps = _powers(T, n, problem.p), problem.start, problem.gaps
    replaced = min(n, problem.p) / problem.p
    noise_floor = float(Rates.of(problem).noise_floor[0])  # p sigma^2 / (p-n-1), or p sigma^2 / (n-p-1)
    if np.isinf(noise_floor):
        raise ValueError(f"p={problem.p}, n={n}: Theorems 1 and 2 need |p - n| >= 2 when there is noise")
    i = np.arange(1, T)  # the tasks i < T of the paper
    fallen = power[i] * _one_minus_powers(T, n, problem.p)[T - i]  # r^i - r^T
    old = T - 1 or np.nan  # a single task forgets nothing: F is undefined
    return Terms(
        F1=float(-np.sum(fallen * start[:-1]) / old),
        F2=float(np.sum(coefficients(T, n, problem.p) * gaps) / old),
        F3=float(noise_floor * np.sum(fallen) / old),
        G1=float(power[T] * np.mean(start)),
        G2=float(replaced * np.sum(power[T - 1 - np.arange(T)] * gaps.sum(axis=1)) / T),
        G3=float(noise_floor * _one_minus_powers(T, n, problem.p)[T]),
    )


def two_task_forgetting(problem: Problem) -> float:
    """Compute E F_2 = (r^2 - r) |w*_1|^2 + n/p |w*_2 - w*_1|^2 + n r sigma^2 / (p-n-1), eq. (11).

    Args:
        problem: Two tasks with equal n and noise, p >= n + 2 (p > n without noise).

    Returns:
        The expected forgetting.

    Example:
        >>> two_task_forgetting(Problem.orthogonal(T=2, n=50, p=100))
        0.75
    """
    n, p, r, replaced, variance = _two_overparameterized_tasks(problem)
    noise = n * r * variance / (p - n - 1) if variance else 0.0
    return float(-r * replaced * problem.start[0] + replaced * problem.gaps[0, 1] + noise)


def two_task_generalization(problem: Problem) -> float:
    """Compute the expected generalization error of two tasks, eq. (12).

    E G_2 = r^2/2 (|w*_1|^2 + |w*_2|^2) + (1-r^2)/2 |w*_1 - w*_2|^2 + p sigma^2 (1-r^2) / (p-n-1)

    Args:
        problem: Two tasks with equal n and noise, p >= n + 2 (p > n without noise).

    Returns:
        The expected generalization error.

    Example:
        >>> two_task_generalization(Problem.orthogonal(T=2, n=50, p=100))
        1.0
    """
    n, p, r, replaced, variance = _two_overparameterized_tasks(problem)
    fallen = replaced * (1 + r)  # 1 - r^2
    noise = p * variance * fallen / (p - n - 1) if variance else 0.0
    return float(r**2 * problem.start.sum() / 2 + fallen * problem.gaps[0, 1] / 2 + noise)


def two_task_generalization_slope(problem: Problem) -> float:
    """Compute the slope of the expected generalization error of two tasks in p, Section 4.1.

    dE[G_2]/dp = 2 n r <w*_1,w*_2> / p^2 - sigma^2 ((n+1)(1-r^2)/(p-n-1)^2 + 2 n r / ((p-n-1) p))

    p is taken as a real number. Where noise is small and the tasks agree, the slope is first negative and then
    positive: a descent floor (the paper has the two signs the other way round).

    Args:
        problem: Two tasks with equal n and noise, p >= n + 2 (p > n without noise).

    Returns:
        The derivative at the problem's p.

    Example:
        >>> two_task_generalization_slope(Problem.identical(T=2, n=50, p=100))
        0.005
    """
    n, p, r, replaced, variance = _two_overparameterized_tasks(problem)
    agreement = (problem.start.sum() - problem.gaps[0, 1]) / 2
    slope = 2 * replaced * r * agreement / p
    if variance:
        a = p - n - 1
        slope -= variance * ((n + 1) * replaced * (1 + r) / a**2 + 2 * replaced * r / a)
    return float(slope)


def _two_overparameterized_tasks(problem: Problem) -> tuple[int, int, float, float, float]:
    n, p = _equal_n(problem), problem.p
    variance = float(problem.noise_variance[0])
    if problem.T != 2:
        raise ValueError(f"the corollary is about T=2 tasks, not {problem.T}; use expect(problem)")
    if p <= n or (variance and p < n + 2):
        raise ValueError(f"p={p}, n={n}: the corollary needs p >= n + 2 (p > n without noise); use expect(problem)")
    return n, p, overparameterized_ratio(n, p), n / p, variance


def _equal_n(problem: Problem) -> int:
    if not problem.uniform:
        raise ValueError("the closed forms need the same n and noise for every task; use expect(problem)")
    return int(problem.n[0])


def _log_ratio(n: int, p: int) -> float:
    """Return log r without loss of digits at either end; -inf for r = 0."""
    if n >= p:
        return -np.inf
    return float(np.log1p(-n / p) if 2 * n < p else np.log((p - n) / p))


def _powers(T: int, n: int, p: int) -> Array:
    """Return r^0 .. r^T, with 0^0 = 1."""
    return np.concatenate([[1.0], np.exp(np.arange(1, T + 1) * _log_ratio(n, p))])


def _one_minus_powers(T: int, n: int, p: int) -> Array:
    """Return 1 - r^0 .. 1 - r^T without cancellation for r near 1."""
    return np.concatenate([[0.0], -np.expm1(np.arange(1, T + 1) * _log_ratio(n, p))])
