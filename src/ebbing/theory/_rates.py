"""The effect of learning one task on any error, in both regimes: the coefficients of the recursions.

Learning a task with n samples replaces w by w' with (math in docs/theory/recursion.md, x = w - w*_t, y = w' - w*_t)

    E|w' - w*_i|^2 = retained |w - w*_i|^2 + replaced |w*_t - w*_i|^2 + noise_error          (Lemma 2)

================  =============================  ==================================  ==========================
here              meaning                        overparameterized, n < p            underparameterized, n >= p
================  =============================  ==================================  ==========================
retained          r_t, of the old error          (p - n) / p                         0
replaced          1 - r_t                        n / p                               1
noise_floor       noise_error / replaced         s^2 p / (p - n - 1)                 s^2 p / (n - p - 1)
noise_error       q_t = E|X^+ z|^2               s^2 n / (p - n - 1)                 s^2 p / (n - p - 1)
noise_error_std   square root of Var|X^+ z|^2    2 s^4 n (p-1) / (a^2 (a-2)),        2 s^4 p (n-1) / (a^2 (a-2)),
                                                 a = p - n - 1                       a = n - p - 1
spread            v, Var(beta), x'Px = beta|x|^2 2 n (p-n) / (p^2 (p+2))             0
transverse        E[beta (1-beta)] / (p-1)       n (p-n) / (p (p+2) (p-1))           0
================  =============================  ==================================  ==========================

s^2 is the noise variance of the task. With s > 0, `noise_error` is infinite for |p - n| <= 1 and `noise_error_std` for
|p - n| <= 3. `retained` and `replaced` are each computed from the counts: 1 - n/p would lose digits at either end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ebbing._validate import Array
from ebbing._weak_cache import weakly_cached
from ebbing.problem import Problem


class InfiniteExpectationError(ValueError):
    """The expected error is infinite."""

    __module__ = "ebbing.theory"  # where users find it


class UnknownExpectationError(ValueError):
    """The expected error is finite, but no exact formula is known, or not to enough digits."""

    __module__ = "ebbing.theory"


@dataclass(frozen=True)
class Rates:
    """The coefficients of the recursions, as the table of this module defines them.

    Attributes:
        retained: r_t (T, *grid): first axis the task, the others a grid of problems (none for a single problem).
        replaced: 1 - r_t (T, *grid).
        noise_floor: The error that noise leads to when the task is learned forever (T, *grid).
        noise_error: q_t (T, *grid).
        noise_error_std: Standard deviation of |X^+ z|^2 (T, *grid).
        spread: Variance of beta (T, *grid).
        transverse: E[beta (1-beta)] / (p-1) (T, *grid).
        parameters: p (T, *grid).
    """

    retained: Array
    replaced: Array
    noise_floor: Array
    noise_error: Array
    noise_error_std: Array
    spread: Array
    transverse: Array
    parameters: Array

    @staticmethod
    @weakly_cached  # a problem never changes, and one question asks for its rates several times
    def of(problem: Problem) -> Rates:
        """Return the rates of one problem, arrays (T,)."""
        return Rates.of_counts(problem.n, np.int64(problem.p), problem.noise_variance)

    @classmethod
    def of_counts(
        cls, n: npt.NDArray[np.int64], p: npt.NDArray[np.int64] | np.int64, variance: npt.NDArray[np.float64]
    ) -> Rates:
        """Return the rates of tasks with n samples, p parameters and noise of the given variance; shapes broadcast."""
        over = n < p
        # Counts are whole numbers up to 2^53, so their differences are exact; products are formed in floats.
        slack = (np.abs(p - n) - 1).astype(float)  # a
        samples, parameters, gap = n.astype(float), np.asarray(p).astype(float), (p - n).astype(float)
        smaller, larger = np.minimum(samples, parameters), np.maximum(samples, parameters)
        noisy = variance > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            per_slack = np.where(noisy, np.where(slack > 0, variance / slack, np.inf), 0.0)
            deviation = per_slack * np.sqrt(2 * smaller * (larger - 1) / (slack - 2))
            transverse = np.where(over, (samples / parameters) * (gap / (parameters - 1)) / (parameters + 2), 0.0)
        retained = np.where(over, gap / parameters, 0.0)
        return cls(
            retained=retained,
            replaced=np.where(over, samples / parameters, 1.0),
            noise_floor=parameters * per_slack,  # underparameterized: smaller == p
            noise_error=smaller * per_slack,
            noise_error_std=np.where(noisy, np.where(slack > 2, deviation, np.inf), 0.0),
            spread=np.where(over, 2 * (samples / parameters) * (gap / parameters) / (parameters + 2), 0.0),
            transverse=transverse,
            parameters=np.broadcast_to(parameters, retained.shape),
        )


def finite_rates(problem: Problem) -> Rates:
    """Return the rates of a problem, if its expectation is finite.

    Args:
        problem: The tasks, in the order of learning.

    Returns:
        Arrays (T,).

    Raises:
        InfiniteExpectationError: If a task has noise and |p - n| <= 1.
    """
    rates = Rates.of(problem)
    infinite = np.flatnonzero(np.isinf(rates.noise_error))
    if len(infinite):
        i = infinite[0]
        task = f"p={problem.p}, n={problem.n[i]}, sigma={problem.sigma[i]:g}"
        if missing := problem.unmodeled[i]:
            raise InfiniteExpectationError(
                f"{task}, unmodeled={missing:g}: the expectation is infinite when |p - n| <= 1 and there is noise, "
                "which missing features are; use another p"
            )
        raise InfiniteExpectationError(
            f"{task}: the expectation is infinite when |p - n| <= 1 and sigma > 0; use sigma=0 or another p"
        )
    return rates


def check_two_tasks(problem: Problem) -> int:
    """Return the number of tasks, if there is an earlier task to forget.

    Args:
        problem: The tasks, in the order of learning.

    Returns:
        T, at least 2.

    Raises:
        ValueError: If the problem has a single task.
    """
    if problem.T < 2:
        raise ValueError("forgetting compares a task with an earlier one: it needs at least two tasks, not 1")
    return problem.T
