"""Where a run lives: the span of the ground truths, and one direction outside it."""

from __future__ import annotations

import numpy as np

from ebbing._validate import Array
from ebbing.problem import Problem

NUMBERS_AT_ONCE = 2**21
"""Random numbers and errors held at a time, 16 MB."""


def ground_truths(problem: Problem) -> Array:
    """Return coordinates alpha_i of the ground truths, seen from the initial model, in their span.

    They come from gaps and start, not from the Gram matrix: tasks that are near each other but far from the initial
    model keep their distance. With beta_i the coordinates about the mean c, and x = w_0 - c, alpha_i = beta_i - x.

    Args:
        problem: The tasks.

    Returns:
        One row per task (T, k), where k is the dimension of the span.
    """
    tiny, mean = problem.T * np.finfo(float).eps, problem.gaps.mean(axis=0)
    centered = (mean + mean[:, None] - mean.mean() - problem.gaps) / 2  # <beta_i, beta_j>
    eigenvalues, eigenvectors = np.linalg.eigh(centered)
    inside = eigenvalues > tiny * eigenvalues[-1]
    inside[: -problem.p] = False  # more than p dimensions can only be rounding
    scale = np.sqrt(eigenvalues[inside])
    beta = eigenvectors[:, inside] * scale  # (T, k')
    lengths = np.sum(beta**2, axis=1)
    height = max(float(problem.start.mean() - lengths.mean()), 0.0)  # |x|^2, as the beta_i sum to zero
    x = eigenvectors[:, inside].T @ ((lengths + height - problem.start) / 2) / scale  # from <beta_i, x>
    beyond = height - float(x @ x)  # the part of x outside the span of the beta_i
    if beyond <= tiny * height or beta.shape[1] == problem.p:
        return beta - x
    return np.column_stack([beta - x, np.full(problem.T, -(beyond**0.5))])
