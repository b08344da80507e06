"""Exact standard deviations over steps that learn one task each, to the end; quick for hundreds of tasks.

`_covariance` has the formulas, and grids of problems. Here there is one problem, and tasks may come back. Written out,
the covariances after a step on task t are those before, and a few matrices of low rank:

    C' = (r^2 + spread - transverse) C + spread u u' - 4 transverse x x' + h 1' + 1 h' + constant - weight D
    x_i = E <x, g_i>,  h = weight d_t + transverse C_t,  weight = 2 (transverse E|x|^2 + noise_error / p)
    constant = noise_error_std^2 - transverse C_tt

D, the gaps between tasks, is kept apart with its coefficient: a step costs one product of rank four. While the weights
are not random yet, differences that vanish do so exactly, as in `_covariance`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ebbing._validate import Array
from ebbing.curriculum import Curriculum, first_steps_of
from ebbing.learners import Averaged, LinearLearner, MinimumNorm
from ebbing.problem import Problem
from ebbing.theory._covariance import _difference, _in_units, _largest
from ebbing.theory._mixture_covariance import mixture_deviations, weights_of_forgetting
from ebbing.theory._rates import Rates


def deviations(
    problem: Problem,
    curriculum: Curriculum | None,
    learner: LinearLearner,
    errors: Array,
    *,
    progress: Callable[[float], None] | None = None,
) -> tuple[Array, float, float]:
    """Return the standard deviations of errors, F and G; NaN where they are not known.

    They are known for fresh samples, learned to the end or averaged.

    Args:
        problem: The tasks.
        curriculum: The steps; None: one task after another.
        learner: How each step learns.
        errors: The expected errors (S+1, T).
        progress: Called with the finished fraction, 0 to 1.
    """
    if not isinstance(learner, MinimumNorm | Averaged):
        return _unknown(errors)
    if curriculum is None:
        first = np.arange(1, problem.T + 1)
        return step_deviations(problem.start, problem.gaps, Rates.of(problem), first - 1, first, progress=progress)
    samples = curriculum.samples(problem)
    first = first_steps_of(samples)
    if curriculum.stored and np.count_nonzero(samples, axis=0).max() > 1:
        return _unknown(errors)
    if np.count_nonzero(samples, axis=1).max() > 1 or isinstance(learner, Averaged):
        return mixture_deviations(problem, samples, first, errors, learner, progress=progress)
    tasks, N = samples.argmax(axis=1), samples.sum(axis=1)
    rates = Rates.of_counts(N, np.int64(problem.p), problem.noise_variance[tasks])
    return step_deviations(problem.start, problem.gaps, rates, tasks, first, progress=progress)


def _unknown(errors: Array) -> tuple[Array, float, float]:
    return np.full(errors.shape, np.nan), np.nan, np.nan


def step_deviations(
    start: Array,
    gaps: Array,
    rates: Rates,
    tasks: npt.NDArray[np.int64],
    first_steps: npt.NDArray[np.int64],
    *,
    progress: Callable[[float], None] | None = None,
) -> tuple[Array, float, float]:
    """Return the standard deviations of every L[s, i] (S+1, T), of F and of G; inf where infinite.

    Args:
        start: |w_0 - w*_i|^2 (T,).
        gaps: |w*_i - w*_j|^2 (T, T).
        rates: The rates of each step (S,).
        tasks: The task of each step, from 0 (S,).
        first_steps: The step, from 1, in which each task is first learned; 0 for never (T,).
        progress: Called with the finished fraction, 0 to 1.

    Returns:
        The three; F is zero for a single step.
    """
    unit = _largest(start, gaps, rates)
    start, gaps, rates = start / unit, gaps / unit, _in_units(rates, unit)
    S, T = len(tasks), len(start)
    weights = weights_of_forgetting(rates.retained, rates.replaced, first_steps)
    through_gaps = ((weights @ gaps) * weights).sum(axis=1)  # a'Da (S,)
    noise = np.where(np.isinf(rates.noise_error), 0.0, rates.noise_error)
    noise_variance = np.where(np.isinf(rates.noise_error_std), 0.0, rates.noise_error_std) ** 2
    errors, F = np.zeros((S + 1, T)), 0.0
    mean = start
    rest, coefficient = np.zeros((T, T)), 0.0  # Cov(L_s) = rest - coefficient D
    buffer, ones = np.empty((T, T)), np.ones(T)
    random = infinite = ever_infinite = False
    for s, t in enumerate(tasks):
        retained, spread, transverse = rates.retained[s], rates.spread[s], rates.transverse[s]
        gap, a = gaps[t], weights[s]
        u = mean - gap
        along = (mean[t] - u) / 2
        weight = 2 * (transverse * mean[t] + noise[s] / rates.parameters[s])
        if random:
            row = rest[t] - coefficient * gap  # C_t
            constant = noise_variance[s] - transverse * row[t]
            half = weight * gap + transverse * row + constant / 2  # h + constant / 2
            total = a.sum()
            through = a @ (rest @ a) - coefficient * through_gaps[s]  # a'Ca
            F += (spread - transverse) * through + spread * (a @ u) ** 2 - 4 * transverse * (a @ along) ** 2
            F += 2 * (a @ half) * total - weight * through_gaps[s]
            factor = retained**2 + spread - transverse
            np.matmul(
                np.stack([spread * u, -4 * transverse * along, half, ones], axis=1),
                np.stack([u, along, ones, half]),
                out=buffer,
            )
            rest *= factor
            rest += buffer
            coefficient = factor * coefficient + weight
        else:
            between = (gap[:, None] + gap[None, :] - gaps) / 2
            across = _difference(mean[t] * between, along[:, None] * along[None, :])
            rest = spread * u[:, None] * u[None, :] + 4 * transverse * across + noise_variance[s]
            rest += 4 * noise[s] / rates.parameters[s] * between
            coefficient = 0.0
            F += a @ (rest @ a)
        random = bool((random and retained > 0) or spread > 0 or noise[s] > 0)
        infinite = bool(np.isinf(rates.noise_error_std[s]) or (infinite and retained > 0))
        ever_infinite |= bool(np.isinf(rates.noise_error_std[s]) and a.any())
        mean = retained * mean + rates.replaced[s] * gap + noise[s]
        if progress is not None:
            progress((s + 1) / S)
        errors[s + 1] = np.inf if infinite else rest.diagonal()  # the gap of a task to itself is zero
    G = np.inf if infinite else (rest.sum() - coefficient * gaps.sum()) / T**2
    F = np.inf if ever_infinite else F
    # Rounding may leave a variance that is zero at -1e-33.
    errors, F, G = (unit * np.sqrt(np.maximum(variance, 0.0)) for variance in (errors, F, G))
    return errors, float(F), float(G)
