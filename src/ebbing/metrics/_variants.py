"""The metrics that others publish under the same words, each under a name of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ebbing._validate import first_index
from ebbing.metrics._matrix import (
    SIGN,
    Kind,
    Values,
    first_and_last,
    just_learned,
    learned_before_last,
    losses,
)


def first_minus_last(matrix: ArrayLike, *, kind: Kind) -> Values:
    """Compute mean_{i<T} (A[i,i] - A[T,i]), Avalanche's forgetting: the paper's F_T in accuracies.

    Positive: old tasks got worse.

    Args:
        matrix: L (..., T+1, T), or (..., T, T) without the initial model.
        kind: "error" or "accuracy": what the matrix holds.

    Returns:
        The mean (...).

    Example:
        >>> float(first_minus_last([[75, 50], [25, 75]], kind="accuracy"))
        50.0
    """
    L = losses("first_minus_last", matrix, kind, first_and_last)
    return (L[..., -1, :-1] - just_learned(L)[..., :-1]).mean(axis=-1)


def best_minus_last(matrix: ArrayLike, *, kind: Kind) -> Values:
    """Compute mean_{i<T} (max_{1<=l<=T} A[l,i] - A[T,i]), Mammoth's forgetting, never negative.

    Rows l < i that were not measured do not count.

    Args:
        matrix: L (..., T+1, T), or (..., T, T) without the initial model.
        kind: "error" or "accuracy": what the matrix holds.

    Returns:
        The mean (...).

    Example:
        >>> float(best_minus_last([[50, 0], [75, 75]], kind="accuracy"))
        0.0
    """
    L = losses("best_minus_last", matrix, kind, learned_before_last)
    return (L[..., -1, :-1] - np.fmin.reduce(L[..., 1:, :-1], axis=-2)).mean(axis=-1)


def past_best_minus_last(matrix: ArrayLike, *, kind: Kind) -> Values:
    """Compute mean_{i<T} (max_{1<=l<T} A[l,i] - A[T,i]), RWalk's forgetting.

    Rows l < i that were not measured do not count.

    Args:
        matrix: L (..., T+1, T), or (..., T, T) without the initial model.
        kind: "error" or "accuracy": what the matrix holds.

    Returns:
        The mean (...).

    Example:
        >>> float(past_best_minus_last([[50, 0], [75, 75]], kind="accuracy"))
        -25.0
    """
    L = losses("past_best_minus_last", matrix, kind, learned_before_last)
    return (L[..., -1, :-1] - np.fmin.reduce(L[..., 1:-1, :-1], axis=-2)).mean(axis=-1)


def gem_forward_transfer(matrix: ArrayLike, *, kind: Kind) -> Values:
    """Compute mean_{i>1} (A[i-1,i] - A[0,i]), GEM's forward transfer: task i just before it is learned.

    Positive: earlier tasks helped.

    Args:
        matrix: L (..., T+1, T), or (..., T, T) without the initial model.
        kind: "error" or "accuracy": what the matrix holds.

    Returns:
        The mean (...).

    Example:
        >>> float(gem_forward_transfer([[50, 25], [75, 50], [50, 75]], kind="accuracy"))
        25.0
    """
    L = losses("gem_forward_transfer", matrix, kind, lambda t, i, T: (i > 1) & ((t == i - 1) | (t == 0)))
    just_before = np.diagonal(L, axis1=-2, axis2=-1)  # (..., T): L[i-1,i]
    return (L[..., 0, 1:] - just_before[..., 1:]).mean(axis=-1)


def triangle_backward_transfer(matrix: ArrayLike, *, kind: Kind) -> Values:
    """Compute the mean of A[t,i] - A[i,i] over all pairs i < t, the BWT of Díaz-Rodríguez et al.

    GEM's BWT is the mean over the last row alone.

    Args:
        matrix: L (..., T+1, T), or (..., T, T) without the initial model.
        kind: "error" or "accuracy": what the matrix holds.

    Returns:
        BWT (...).

    Example:
        >>> float(triangle_backward_transfer([[80, 0, 0], [50, 75, 0], [20, 65, 75]], kind="accuracy"))
        -33.33...
    """
    return _mean_gain(losses("triangle_backward_transfer", matrix, kind, learned_before_last))


def positive_backward_transfer(matrix: ArrayLike, *, kind: Kind) -> Values:
    """Compute BWT+ = max(BWT, 0), with the BWT of `triangle_backward_transfer` (Díaz-Rodríguez).

    Args:
        matrix: L (..., T+1, T), or (..., T, T) without the initial model.
        kind: "error" or "accuracy": what the matrix holds.

    Returns:
        BWT+ (...).

    Example:
        >>> float(positive_backward_transfer([[0.5, 0.5], [0.75, 0.5]], kind="accuracy"))
        0.25
    """
    return np.maximum(_mean_gain(losses("positive_backward_transfer", matrix, kind, learned_before_last)), 0.0)


def remembering(matrix: ArrayLike, *, kind: Kind) -> Values:
    """Compute REM = 1 - |min(BWT, 0)|, with the BWT of `triangle_backward_transfer` (Díaz-Rodríguez).

    For fractions only.

    Args:
        matrix: L (..., T+1, T), or (..., T, T) without the initial model.
        kind: "error" or "accuracy": what the matrix holds.

    Returns:
        REM (...).

    Raises:
        ValueError: If an entry lies outside [0, 1].

    Example:
        >>> float(remembering([[0.75, 0.5], [0.5, 0.5]], kind="accuracy"))
        0.75
    """
    L = losses("remembering", matrix, kind, learned_before_last)
    if (outside := np.abs(L - SIGN[kind] / 2) > 0.5).any():
        value = SIGN[kind] * L[first_index(outside)]
        raise ValueError(f"remembering needs fractions in [0, 1], got {value:g}: divide percentages by 100")
    return 1.0 - np.abs(np.minimum(_mean_gain(L), 0.0))


def lower_triangle_mean(matrix: ArrayLike, *, kind: Kind) -> Values:
    """Compute the mean of the entries 1 <= i <= t, as errors or accuracies: A of Díaz-Rodríguez et al.

    Args:
        matrix: L (..., T+1, T), or (..., T, T) without the initial model.
        kind: "error" or "accuracy": what the matrix holds.

    Returns:
        The mean (...).

    Example:
        >>> float(lower_triangle_mean([[75, 0], [25, 50]], kind="accuracy"))
        50.0
    """
    L = losses("lower_triangle_mean", matrix, kind, lambda t, i, T: t >= i, tasks=1)
    t, i = np.tril_indices(L.shape[-1])
    return SIGN[kind] * L[..., t + 1, i].mean(axis=-1)


def upper_triangle_mean(matrix: ArrayLike, *, kind: Kind) -> Values:
    """Compute the mean of the entries 1 <= t < i, as errors or accuracies: FWT of Díaz-Rodríguez et al.

    A level, not a difference.

    Args:
        matrix: L (..., T+1, T), or (..., T, T) without the initial model.
        kind: "error" or "accuracy": what the matrix holds.

    Returns:
        The mean (...).

    Example:
        >>> float(upper_triangle_mean([[75, 25], [50, 75]], kind="accuracy"))
        25.0
    """
    L = losses("upper_triangle_mean", matrix, kind, lambda t, i, T: (t > 0) & (t < i))
    t, i = np.triu_indices(L.shape[-1], 1)
    return SIGN[kind] * L[..., t + 1, i].mean(axis=-1)


def average_incremental_accuracy(matrix: ArrayLike, *, kind: Kind) -> Values:
    """Compute mean_t mean_{i<=t} A[t,i], the average incremental accuracy of iCaRL, PyCIL and others.

    The accuracy on all tasks learned so far, averaged over the steps. `lower_triangle_mean` weighs all entries equally,
    and so the later steps more. For accuracies.

    Args:
        matrix: L (..., T+1, T), or (..., T, T) without the initial model.
        kind: "error" or "accuracy": what the matrix holds.

    Returns:
        The mean (...).

    Raises:
        ValueError: If the matrix holds errors, or an entry with i <= t is NaN.

    Example:
        >>> float(average_incremental_accuracy([[90, 0], [50, 70]], kind="accuracy"))  # (90 + (50 + 70) / 2) / 2
        75.0
    """
    _refuse_errors("average_incremental_accuracy", kind)
    L = losses("average_incremental_accuracy", matrix, kind, lambda t, i, T: t >= i, tasks=1)
    steps = [L[..., t, :t].mean(axis=-1) for t in range(1, L.shape[-1] + 1)]
    return -np.mean(steps, axis=0)


def learning_accuracy(matrix: ArrayLike, *, kind: Kind) -> Values:
    """Compute mean_i A[i,i], the learning accuracy of Riemer et al. 2019: each task right after it is learned.

    For accuracies.

    Args:
        matrix: L (..., T+1, T), or (..., T, T) without the initial model.
        kind: "error" or "accuracy": what the matrix holds.

    Returns:
        The mean (...).

    Raises:
        ValueError: If the matrix holds errors, or an entry of the diagonal is NaN.

    Example:
        >>> float(learning_accuracy([[90, 0], [50, 70]], kind="accuracy"))
        80.0
    """
    _refuse_errors("learning_accuracy", kind)
    L = losses("learning_accuracy", matrix, kind, lambda t, i, T: t == i, tasks=1)
    return -just_learned(L).mean(axis=-1)


def _refuse_errors(metric: str, kind: Kind) -> None:
    if kind == "error":
        raise ValueError(f"{metric} is a mean of accuracies; the matrix holds errors: give accuracies")


def _mean_gain(L: Values) -> Values:
    """Return the mean of A[t,i] - A[i,i] over all pairs i < t (...)."""
    t, i = np.tril_indices(L.shape[-1], -1)
    return (just_learned(L)[..., i] - L[..., t + 1, i]).mean(axis=-1)
