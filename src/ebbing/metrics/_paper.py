"""The metrics of Lin et al. 2023."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ebbing.metrics._matrix import (
    SIGN,
    Kind,
    Values,
    checked_numbers,
    first_and_last,
    just_learned,
    learned_before_last,
    losses,
)


def forgetting(matrix: ArrayLike, *, kind: Kind) -> Values:
    """Compute the forgetting F_T = mean_{i<T} (L[T,i] - L[i,i]), as the paper defines it.

    Positive: old tasks got worse.

    Args:
        matrix: L (..., T+1, T), or (..., T, T) without the initial model.
        kind: "error" or "accuracy": what the matrix holds.

    Returns:
        F_T (...).

    Example:
        >>> float(forgetting([[1.0, 1.0], [0.25, 1.0], [0.75, 0.25]], kind="error"))  # row 0: the initial model
        0.5
    """
    L = losses("forgetting", matrix, kind, first_and_last)
    return (L[..., -1, :-1] - just_learned(L)[..., :-1]).mean(axis=-1)


def forgetting_curve(matrix: ArrayLike, *, kind: Kind) -> Values:
    """Compute the forgetting F_t = mean_{i<t} (L[t,i] - L[i,i]) for t = 2..T, as the paper defines it.

    Args:
        matrix: L (..., T+1, T), or (..., T, T) without the initial model.
        kind: "error" or "accuracy": what the matrix holds.

    Returns:
        F_2, ..., F_T (..., T-1).

    Example:
        >>> forgetting_curve([[0.25, 1, 1], [0.75, 0.5, 1], [0.5, 1.0, 0.25]], kind="error").tolist()
        [0.5, 0.375]
    """
    L = losses("forgetting_curve", matrix, kind, learned_before_last)
    first = just_learned(L)
    steps = range(2, L.shape[-1] + 1)
    return np.stack([(L[..., t, : t - 1] - first[..., : t - 1]).mean(axis=-1) for t in steps], axis=-1)


def generalization_error(matrix: ArrayLike, *, kind: Kind) -> Values:
    """Compute the generalization error G_T = mean_i L[T,i], as the paper defines it.

    For errors; accuracies have `average_accuracy`.

    Args:
        matrix: L (..., T+1, T), or (..., T, T) without the initial model.
        kind: "error" or "accuracy": what the matrix holds.

    Returns:
        G_T (...).

    Raises:
        ValueError: If the matrix holds accuracies, or the last row has a NaN.

    Example:
        >>> float(generalization_error([[0.25, 1.0], [0.75, 0.25]], kind="error"))
        0.5
    """
    if kind == "accuracy":
        raise ValueError("generalization_error is a mean of errors; the matrix holds accuracies: use average_accuracy")
    return losses("generalization_error", matrix, kind, lambda t, i, T: t == T, tasks=1)[..., -1, :].mean(axis=-1)


def average_accuracy(matrix: ArrayLike, *, kind: Kind) -> Values:
    """Compute the average accuracy ACC = mean_i A[T,i], as in the paper's experiments.

    For accuracies; errors have `generalization_error`.

    Args:
        matrix: L (..., T+1, T), or (..., T, T) without the initial model.
        kind: "error" or "accuracy": what the matrix holds.

    Returns:
        ACC (...).

    Raises:
        ValueError: If the matrix holds errors, or the last row has a NaN.

    Example:
        >>> float(average_accuracy([[75, 0], [25, 75]], kind="accuracy"))
        50.0
    """
    if kind == "error":
        raise ValueError("average_accuracy is a mean of accuracies; the matrix holds errors: use generalization_error")
    return -losses("average_accuracy", matrix, kind, lambda t, i, T: t == T, tasks=1)[..., -1, :].mean(axis=-1)


def backward_transfer(matrix: ArrayLike, *, kind: Kind) -> Values:
    """Compute the backward transfer BWT = mean_{i<T} (A[T,i] - A[i,i]) = -F_T, as in the paper and in GEM.

    Negative: old tasks got worse.

    Args:
        matrix: L (..., T+1, T), or (..., T, T) without the initial model.
        kind: "error" or "accuracy": what the matrix holds.

    Returns:
        BWT (...).

    Example:
        >>> float(backward_transfer([[0.75, 0.5], [0.25, 0.75]], kind="accuracy"))
        -0.5
    """
    L = losses("backward_transfer", matrix, kind, first_and_last)
    return (just_learned(L)[..., :-1] - L[..., -1, :-1]).mean(axis=-1)


def forward_transfer(matrix: ArrayLike, scratch: ArrayLike, *, kind: Kind) -> Values:
    """Compute the forward transfer fwt_t = L[t,t] - scratch_t of each task t (the paper's Section 5.3).

    Negative: the tasks before t helped. The paper reads a positive value as a benefit; in a difference of errors the
    negative one is.

    Args:
        matrix: L (..., T+1, T), or (..., T, T) without the initial model.
        scratch: The error (or accuracy, as `kind` says) on each task learned alone (T,), or (..., T) for each matrix.
        kind: "error" or "accuracy": what the matrix and `scratch` hold.

    Returns:
        One value per task (..., T).

    Raises:
        ValueError: If `scratch` has another shape or a NaN.

    Example:
        >>> forward_transfer([[0.5, 1.0], [0.75, 0.25]], [0.5, 0.75], kind="error").tolist()
        [0.0, -0.5]
    """
    L = losses("forward_transfer", matrix, kind, lambda t, i, T: t == i, tasks=1)
    alone = checked_numbers("scratch", scratch, kind)
    if alone.shape not in (L.shape[-1:], L.shape[:-2] + L.shape[-1:]) or np.isnan(alone).any():
        got = f"scratch has shape {alone.shape} and {np.isnan(alone).sum()} NaN"
        raise ValueError(f"{got}; give a number for each of the {L.shape[-1]} tasks")
    return just_learned(L) - SIGN[kind] * alone
