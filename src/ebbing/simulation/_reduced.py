"""The exact law of any step, by learning in as few dimensions as are exact: at a cost that does not depend on p.

Used where no closed law is at hand: mixtures learned by a filter, stored samples, mixtures just below interpolation.

Rotating the features about a space that contains the ground truths, the model and the stored samples changes no error.
So of N fresh samples in R^p, D coordinates of that space are drawn as they are, and of the p - D others only a lower
triangular factor (N, min(N, p - D)): the LQ factor of a Gaussian matrix (Bartlett). After the step, all that the model has
outside the space is turned into one direction. docs/theory/simulation.md, 5.8.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ebbing._validate import Array
from ebbing.simulation._steps import Schedule
from ebbing.simulation.textbook import learn_step


def reduced_runs(schedule: Schedule, alpha: Array, rng: np.random.Generator) -> Iterator[Array]:
    """Yield the error matrix (S+1, T) of one run after another.

    Args:
        schedule: The steps.
        alpha: Coordinates of the ground truths (T, k).
        rng: The source of random numbers, consumed run by run.

    Yields:
        Error matrices.
    """
    problem, kept = schedule.problem, schedule.stored_samples
    (T, k), sigma = alpha.shape, np.sqrt(problem.noise_variance)
    while True:
        errors = np.empty((len(schedule.steps) + 1, T))
        errors[0] = problem.start
        w, core = np.zeros(k), k  # the first `core` coordinates hold the ground truths and the stored samples
        memory: dict[int, tuple[Array, Array]] = {}
        for s, step in enumerate(schedule.steps):
            X, y, new = [], [], {}
            fresh = {t: n for t, n in zip(step.tasks, step.samples, strict=True) if t not in memory}
            # Rows to be stored come first: a lower triangular factor has them in its first columns.
            parts = [(t, m) for t, m in kept[s].items()] + [(t, n - kept[s].get(t, 0)) for t, n in fresh.items()]
            rows = np.repeat([t for t, _ in parts], [m for _, m in parts])
            D = len(w)
            features = _rows(rng, len(rows), D, problem.p - D)  # (fresh samples, D + extra)
            width = features.shape[1]
            labels = np.einsum("nk,nk->n", features[:, :k], alpha[rows]) + sigma[rows] * rng.standard_normal(len(rows))
            first = 0
            for t, m in kept[s].items():
                new[t] = features[first : first + m], labels[first : first + m]
                first += m
            if len(rows):
                X.append(features)
                y.append(labels)
            for t, n in zip(step.tasks, step.samples, strict=True):
                if t in memory:
                    stored = memory[t][0][:n]
                    X.append(np.pad(stored, [(0, 0), (0, width - stored.shape[1])]))
                    y.append(memory[t][1][:n])
            w = np.pad(w, (0, width - D))
            w = learn_step(w[None], np.concatenate(X)[None], np.concatenate(y)[None], schedule.learner)[0]
            if new:
                core = D + min(first, width - D)
                memory |= {t: (stored[:, :core], labels) for t, (stored, labels) in new.items()}
            if len(w) > core:
                w = np.append(w[:core], np.linalg.norm(w[core:]))
            errors[s + 1] = np.sum((w[:k] - alpha) ** 2, axis=1) + np.sum(w[k:] ** 2)
        yield errors


def _rows(rng: np.random.Generator, N: int, D: int, others: int) -> Array:
    """Return N Gaussian samples: D coordinates, and a lower triangular factor of the others (N, D + min(N, others))."""
    extra = min(N, others)
    rows = rng.standard_normal((N, D + extra))
    rows[:, D:] = np.tril(rows[:, D:], -1)
    diagonal = np.arange(extra)
    rows[diagonal, D + diagonal] = np.sqrt(rng.chisquare(others - diagonal))
    return rows
