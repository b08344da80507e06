"""The exact law of any step, by learning in as few dimensions as are exact: at a cost that does not depend on p.

Used where no closed law is at hand: mixtures learned by a filter, and stored samples.

Rotating the features about a space that contains the ground truths, the model and the stored samples changes no error.
So of N fresh samples in R^p, D coordinates in that space are drawn as they are, and of the p - D others only a lower
triangular factor (N, min(N, p - D)): the LQ factor of a Gaussian matrix (Bartlett). After the step, all that the model
has outside the space is turned into one direction. docs/theory/simulation.md, 5.8.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ebbing._validate import Array
from ebbing.simulation._steps import Schedule
from ebbing.simulation.textbook import learn_step

Generators = Sequence[np.random.Generator]


def reduced_runs(schedule: Schedule, alpha: Array, generators: Generators) -> Array:
    """Return the error matrices of some runs.

    Args:
        schedule: The steps.
        alpha: Coordinates of the ground truths (T, k).
        generators: The random numbers of each run.

    Returns:
        Error matrices (runs, S+1, T).
    """
    problem, runs, (T, k) = schedule.problem, len(generators), alpha.shape
    sigma = np.sqrt(problem.noise_variance)
    errors = np.empty((runs, len(schedule.steps) + 1, T))
    errors[:, 0] = problem.start
    w, core = np.zeros((runs, k)), k  # the first `core` coordinates hold the ground truths and the stored samples
    memory: dict[int, tuple[Array, Array]] = {}
    for s, (step, kept) in enumerate(zip(schedule.steps, schedule.stored_samples, strict=True)):
        wanted = dict(zip(step.tasks, step.samples, strict=True))
        fresh = {t: n for t, n in wanted.items() if t not in memory}
        # Rows to be stored come first: a lower triangular factor has them in its first columns.
        parts = [*kept.items(), *((t, n - kept.get(t, 0)) for t, n in fresh.items())]
        rows = np.repeat(np.array([t for t, _ in parts], dtype=int), [m for _, m in parts])
        D = w.shape[1]
        X, noise = _draw(generators, len(rows), D, problem.p - D)  # (runs, N, D + extra), (runs, N)
        y = np.sum(X[:, :, :k] * alpha[rows], axis=2) + sigma[rows] * noise
        width = X.shape[2]
        features, labels = [X], [y]
        for t in (t for t in step.tasks if t in memory):
            features.append(_padded(memory[t][0][:, : wanted[t]], width))
            labels.append(memory[t][1][:, : wanted[t]])
        w = learn_step(
            _padded(w, width), np.concatenate(features, axis=1), np.concatenate(labels, axis=1), schedule.learner
        )
        if kept:
            core = D + min(sum(kept.values()), width - D)
            first = 0
            for t, m in kept.items():
                memory[t] = X[:, first : first + m, :core].copy(), y[:, first : first + m].copy()
                first += m
        if width > core:
            w = np.column_stack([w[:, :core], np.sqrt(np.sum(w[:, core:] ** 2, axis=1))])
        errors[:, s + 1] = np.sum((w[:, None, :k] - alpha) ** 2, axis=2) + np.sum(w[:, k:] ** 2, axis=1)[:, None]
    return errors


def largest_step(schedule: Schedule) -> int:
    """Return how many numbers the features of a run's largest step are, at most."""
    N = max(step.size for step in schedule.steps)
    stored = sum(sum(kept.values()) + 1 for kept in schedule.stored_samples if kept)
    return N * min(schedule.problem.p, schedule.problem.T + 1 + stored + N)


def _draw(generators: Generators, N: int, D: int, others: int) -> tuple[Array, npt.NDArray[np.float64]]:
    """Return N samples of each run and their noise: D coordinates, then a lower triangular factor of the others."""
    extra = min(N, others)
    X, noise = np.empty((len(generators), N, D + extra)), np.empty((len(generators), N))
    diagonal = np.arange(extra)
    for run, rng in enumerate(generators):
        X[run] = rng.standard_normal((N, D + extra))
        X[run, diagonal, D + diagonal] = np.sqrt(2 * rng.standard_gamma((others - diagonal) / 2))
        noise[run] = rng.standard_normal(N)
    above = np.triu_indices(N, 1, extra)
    X[:, above[0], D + above[1]] = 0.0
    return X, noise


def _padded(array: Array, width: int) -> Array:
    """Return the array with zeros behind its last axis."""
    return np.concatenate([array, np.zeros((*array.shape[:-1], width - array.shape[-1]))], axis=-1)
