"""Expected forgetting and generalization error of many curricula at once: `curriculum_values`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ebbing._validate import Array
from ebbing.learners import LinearLearner
from ebbing.problem import Problem
from ebbing.theory._step_checks import check_single_tasks, diverging
from ebbing.theory._step_rates import StepRates

Counts = npt.NDArray[np.int64]


def curriculum_values(problem: Problem, samples: Counts, learner: LinearLearner) -> tuple[Array, Array]:
    """Return E F and E G of curricula with fresh samples, as `expect` has them, many at once.

    Args:
        problem: The tasks.
        samples: n_sj of every curriculum (curricula, S, T); in all of them each task is first learned in the same step.
        learner: How each step learns.

    Returns:
        Forgetting (NaN where no task is learned before the last step) and generalization error (curricula,); inf where
        the expectation is, and where gradient steps diverge.

    Raises:
        UnknownExpectationError: If one-pass SGD learns several tasks in a step.
    """
    check_single_tasks(samples.reshape(-1, problem.T), learner)
    N = samples.sum(axis=2)
    diverges = diverging(N, problem.p, learner)
    if diverges.all():
        return np.full(len(N), np.inf), np.full(len(N), np.inf)
    rates = _rates(np.where(diverges, N[~diverges].min(), N), problem.p, learner)
    F, G = propagate_many(problem, samples, rates)
    some = diverges.any(axis=1)
    return np.where(some & ~np.isnan(F), np.inf, F), np.where(some, np.inf, G)


def propagate_many(problem: Problem, samples: Counts, rates: StepRates) -> tuple[Array, Array]:
    """Return E F and E G with the rates of every step of every curriculum (curricula, S).

    Args:
        problem: The tasks.
        samples: n_sj of every curriculum (curricula, S, T).
        rates: The effect of each step, arrays (curricula, S).

    Returns:
        Forgetting and generalization error (curricula,).
    """
    B, S, T = samples.shape
    shares = samples / samples.sum(axis=2, keepdims=True)
    gaps = shares @ problem.gaps  # (B, S, T)
    dispersion = np.sum(shares * gaps, axis=2) / 2  # (B, S)
    variance = shares @ problem.noise_variance
    with np.errstate(invalid="ignore"):
        extra = np.where(dispersion > 0, (rates.conflict + rates.unfinished - rates.replaced) * dispersion, 0.0)
        extra = extra + np.where(variance > 0, rates.noise * variance, 0.0)
    broken = np.isinf(extra).any(axis=1)
    added = rates.replaced[:, :, None] * gaps + np.where(np.isinf(extra), 0.0, extra)[:, :, None]
    first = np.argmax(samples[0] > 0, axis=0)  # from 0
    learned = samples[0].any(axis=0)
    L = np.tile(problem.start, (B, 1))
    forgetting = np.zeros((B, T))
    for s in range(S):
        left = rates.unfinished[:, s] * np.sum(L * shares[:, s], axis=1)
        change = added[:, s] - left[:, None] - rates.replaced[:, s, None] * L
        old = learned & (first < s)
        forgetting[:, old] += change[:, old]
        L = L + change
    old = learned & (first < S - 1)
    F = forgetting[:, old].mean(axis=1) if old.any() else np.full(B, np.nan)
    G = L.mean(axis=1)
    return np.where(broken & old.any(), np.inf, F), np.where(broken, np.inf, G)


def _rates(N: Counts, p: int, learner: LinearLearner) -> StepRates:
    """Return the rates of steps of N samples, each different N computed once."""
    different, place = np.unique(N, return_inverse=True)
    found = StepRates.of(different, p, learner)
    names = ("retained", "replaced", "unfinished", "conflict", "noise")
    return StepRates(*(getattr(found, name)[place].reshape(N.shape) for name in names))
