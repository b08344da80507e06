"""Every metric is a small function of one matrix: the error (or accuracy) on each task after each task.

======  ============================================================  ======================================
letter  meaning                                                       where
======  ============================================================  ======================================
T       number of tasks                                               columns of the matrix
L[t,i]  error on task i after t tasks (t = 0: the initial model);     Lin et al. 2023, "Performance
        an accuracy A enters as L = -A: every difference below then   evaluation"; shape (..., T+1, T), or
        has the same sign for both kinds                              (..., T, T) without the initial model
F_t     forgetting                                                    ibid., eq. (forget_linear)
G_T     overall generalization error                                  ibid., eq. (generalization)
======  ============================================================  ======================================

First the paper's metrics, then what others call by the same words, each under its own name (docs/metrics.md: who
means what), from GEM (Lopez-Paz & Ranzato 2017), RWalk (Chaudhry et al. 2018) and Díaz-Rodríguez et al. 2018.
`kind` is "error" (lower is better) or "accuracy" (higher is better, fractions or percentages). Results have the unit
of the matrix and keep its leading axes (runs, seeds). NaN: not measured; only a metric that needs the entry objects.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Kind = Literal["error", "accuracy"]
Values = NDArray[np.float64]  # one value per matrix: shape (...), so a NumPy float for a single matrix
Index, Mask = NDArray[np.int64], NDArray[np.bool_]
Need = Callable[[Index, Index, int], Mask]  # the entries a metric needs, from t = 0..T (down) and i = 1..T (across)
_SIGN = {"error": 1, "accuracy": -1}  # L = sign * what was given


def forgetting(matrix: ArrayLike, *, kind: Kind) -> Values:
    """F_T = mean_{i<T} (L[T,i] - L[i,i]), eq. (forget_linear). Positive: old tasks got worse.

    >>> float(forgetting([[1.0, 1.0], [0.25, 1.0], [0.75, 0.25]], kind="error"))  # row 0: the initial model
    0.5
    """
    L = _losses("forgetting", matrix, kind, _first_and_last)
    return (L[..., -1, :-1] - _just_learned(L)[..., :-1]).mean(axis=-1)


def forgetting_curve(matrix: ArrayLike, *, kind: Kind) -> Values:
    """F_t = mean_{i<t} (L[t,i] - L[i,i]) for t = 2..T, eq. (forget_linear). Shape (..., T-1).

    >>> forgetting_curve([[0.25, 1, 1], [0.75, 0.5, 1], [0.5, 1.0, 0.25]], kind="error").tolist()
    [0.5, 0.375]
    """
    L = _losses("forgetting_curve", matrix, kind, _learned_before_last)
    first = _just_learned(L)
    steps = range(2, L.shape[-1] + 1)
    return np.stack([(L[..., t, : t - 1] - first[..., : t - 1]).mean(axis=-1) for t in steps], axis=-1)


def generalization_error(matrix: ArrayLike, *, kind: Kind) -> Values:
    """G_T = mean_i L[T,i], eq. (generalization). For errors; accuracies have `average_accuracy`.

    >>> float(generalization_error([[0.25, 1.0], [0.75, 0.25]], kind="error"))
    0.5
    """
    if kind == "accuracy":
        raise ValueError("generalization_error is a mean of errors; the matrix holds accuracies: use average_accuracy")
    return _losses("generalization_error", matrix, kind, lambda t, i, T: t == T, tasks=1)[..., -1, :].mean(axis=-1)


def average_accuracy(matrix: ArrayLike, *, kind: Kind) -> Values:
    """ACC = mean_i A[T,i], eq. (metric). For accuracies; errors have `generalization_error`.

    >>> float(average_accuracy([[75, 0], [25, 75]], kind="accuracy"))
    50.0
    """
    if kind == "error":
        raise ValueError("average_accuracy is a mean of accuracies; the matrix holds errors: use generalization_error")
    return -_losses("average_accuracy", matrix, kind, lambda t, i, T: t == T, tasks=1)[..., -1, :].mean(axis=-1)


def backward_transfer(matrix: ArrayLike, *, kind: Kind) -> Values:
    """BWT = mean_{i<T} (A[T,i] - A[i,i]) = -F_T, eq. (metric); also GEM's BWT. Negative: old tasks got worse.

    >>> float(backward_transfer([[0.75, 0.5], [0.25, 0.75]], kind="accuracy"))
    -0.5
    """
    L = _losses("backward_transfer", matrix, kind, _first_and_last)
    return (_just_learned(L)[..., :-1] - L[..., -1, :-1]).mean(axis=-1)


def forward_transfer(matrix: ArrayLike, scratch: ArrayLike, *, kind: Kind) -> Values:
    """fwt_t = L[t,t] - scratch_t for each task t, eq. (fwt). Negative: the tasks before t helped. Shape (..., T).

    `scratch` is the error (or accuracy, as `kind` says) on each task learned alone: (T,), or (..., T) for each matrix.
    1. The paper reads a positive value as a benefit; in a difference of errors the negative one is.

    >>> forward_transfer([[0.5, 1.0], [0.75, 0.25]], [0.5, 0.75], kind="error").tolist()
    [0.0, -0.5]
    """
    L = _losses("forward_transfer", matrix, kind, lambda t, i, T: t == i, tasks=1)
    alone = _numbers("scratch", scratch, kind)
    if alone.shape not in (L.shape[-1:], L.shape[:-2] + L.shape[-1:]) or np.isnan(alone).any():
        got = f"scratch has shape {alone.shape} and {np.isnan(alone).sum()} NaN"
        raise ValueError(f"{got}; give a number for each of the {L.shape[-1]} tasks")
    return _just_learned(L) - _SIGN[kind] * alone


def first_minus_last(matrix: ArrayLike, *, kind: Kind) -> Values:
    """mean_{i<T} (A[i,i] - A[T,i]) (Avalanche): the paper's F_T in accuracies. Positive: old tasks got worse.

    >>> float(first_minus_last([[75, 50], [25, 75]], kind="accuracy"))
    50.0
    """
    L = _losses("first_minus_last", matrix, kind, _first_and_last)
    return (L[..., -1, :-1] - _just_learned(L)[..., :-1]).mean(axis=-1)


def best_minus_last(matrix: ArrayLike, *, kind: Kind) -> Values:
    """mean_{i<T} (max_{1<=l<=T} A[l,i] - A[T,i]) (Mammoth), never negative; unmeasured rows l < i stand aside.

    >>> float(best_minus_last([[50, 0], [75, 75]], kind="accuracy"))
    0.0
    """
    L = _losses("best_minus_last", matrix, kind, _learned_before_last)
    return (L[..., -1, :-1] - np.fmin.reduce(L[..., 1:, :-1], axis=-2)).mean(axis=-1)


def past_best_minus_last(matrix: ArrayLike, *, kind: Kind) -> Values:
    """mean_{i<T} (max_{1<=l<T} A[l,i] - A[T,i]) (RWalk); unmeasured rows l < i stand aside.

    >>> float(past_best_minus_last([[50, 0], [75, 75]], kind="accuracy"))
    -25.0
    """
    L = _losses("past_best_minus_last", matrix, kind, _learned_before_last)
    return (L[..., -1, :-1] - np.fmin.reduce(L[..., 1:-1, :-1], axis=-2)).mean(axis=-1)


def gem_forward_transfer(matrix: ArrayLike, *, kind: Kind) -> Values:
    """mean_{i>1} (A[i-1,i] - A[0,i]) (GEM): task i before it is learned. Positive: earlier tasks helped.

    >>> float(gem_forward_transfer([[50, 25], [75, 50], [50, 75]], kind="accuracy"))
    25.0
    """
    L = _losses("gem_forward_transfer", matrix, kind, lambda t, i, T: (i > 1) & ((t == i - 1) | (t == 0)))
    just_before = np.diagonal(L, axis1=-2, axis2=-1)  # (..., T): L[i-1,i]
    return (L[..., 0, 1:] - just_before[..., 1:]).mean(axis=-1)


def triangle_backward_transfer(matrix: ArrayLike, *, kind: Kind) -> Values:
    """BWT = mean over all pairs i < t of A[t,i] - A[i,i] (Díaz-Rodríguez), not over the last row alone.

    >>> float(triangle_backward_transfer([[80, 0, 0], [50, 75, 0], [20, 65, 75]], kind="accuracy"))
    -33.33...
    """
    return _mean_gain(_losses("triangle_backward_transfer", matrix, kind, _learned_before_last))


def positive_backward_transfer(matrix: ArrayLike, *, kind: Kind) -> Values:
    """BWT+ = max(BWT, 0), with the BWT of `triangle_backward_transfer` (Díaz-Rodríguez).

    >>> float(positive_backward_transfer([[0.5, 0.5], [0.75, 0.5]], kind="accuracy"))
    0.25
    """
    return np.maximum(_mean_gain(_losses("positive_backward_transfer", matrix, kind, _learned_before_last)), 0.0)


def remembering(matrix: ArrayLike, *, kind: Kind) -> Values:
    """REM = 1 - |min(BWT, 0)|, with the BWT of `triangle_backward_transfer` (Díaz-Rodríguez). For fractions only.

    >>> float(remembering([[0.75, 0.5], [0.5, 0.5]], kind="accuracy"))
    0.75
    """
    L = _losses("remembering", matrix, kind, _learned_before_last)
    if (outside := np.abs(L - _SIGN[kind] / 2) > 0.5).any():
        value = _SIGN[kind] * L[_first(outside)]
        raise ValueError(f"remembering needs fractions in [0, 1], got {value:g}: divide percentages by 100")
    return 1.0 - np.abs(np.minimum(_mean_gain(L), 0.0))


def lower_triangle_mean(matrix: ArrayLike, *, kind: Kind) -> Values:
    """A = mean of the entries 1 <= i <= t, as errors or accuracies (Díaz-Rodríguez).

    >>> float(lower_triangle_mean([[75, 0], [25, 50]], kind="accuracy"))
    50.0
    """
    L = _losses("lower_triangle_mean", matrix, kind, lambda t, i, T: t >= i, tasks=1)
    t, i = np.tril_indices(L.shape[-1])
    return _SIGN[kind] * L[..., t + 1, i].mean(axis=-1)


def upper_triangle_mean(matrix: ArrayLike, *, kind: Kind) -> Values:
    """FWT = mean of the entries 1 <= t < i, as errors or accuracies: a level, not a difference (Díaz-Rodríguez).

    >>> float(upper_triangle_mean([[75, 25], [50, 75]], kind="accuracy"))
    25.0
    """
    L = _losses("upper_triangle_mean", matrix, kind, lambda t, i, T: (t > 0) & (t < i))
    t, i = np.triu_indices(L.shape[-1], 1)
    return _SIGN[kind] * L[..., t + 1, i].mean(axis=-1)


@dataclass(frozen=True, eq=False)
class Summary:
    """Every metric by name in `values`; None where `reasons` says why it cannot be computed."""

    kind: Kind
    tasks: int
    values: dict[str, Values | None]
    reasons: dict[str, str]


def summary(matrix: ArrayLike, *, kind: Kind) -> Summary:
    """Every metric of the matrix alone: all but `forward_transfer`.

    >>> found = summary([[75, np.nan], [25, 75]], kind="accuracy")
    >>> found.values["forgetting"].item(), found.values["upper_triangle_mean"]
    (50.0, None)
    >>> found.reasons["upper_triangle_mean"]
    'upper_triangle_mean needs the accuracy after task 1, on task 2, and it is missing (NaN): ...'
    """
    metrics = (
        *(forgetting, forgetting_curve, generalization_error, average_accuracy, backward_transfer, first_minus_last),
        *(best_minus_last, past_best_minus_last, gem_forward_transfer, triangle_backward_transfer),
        *(positive_backward_transfer, remembering, lower_triangle_mean, upper_triangle_mean),
    )
    tasks = _matrix(matrix, kind).shape[-1]  # a matrix that no metric could read is an error, not a list of reasons
    values: dict[str, Values | None] = {}
    reasons: dict[str, str] = {}
    for metric in metrics:
        try:
            values[metric.__name__] = metric(matrix, kind=kind)
        except ValueError as reason:
            values[metric.__name__] = None
            reasons[metric.__name__] = str(reason)
    return Summary(kind, tasks, values, reasons)


def _first_and_last(t: Index, i: Index, T: int) -> Mask:
    return (i < T) & ((t == i) | (t == T))


def _learned_before_last(t: Index, i: Index, T: int) -> Mask:
    return (i < T) & (t >= i)


def _losses(metric: str, matrix: ArrayLike, kind: Kind, need: Need, tasks: int = 2) -> Values:
    values = _matrix(matrix, kind)
    T = values.shape[-1]
    if tasks > T:
        raise ValueError(f"{metric} compares tasks and needs T >= {tasks}; got T = {T}: add the rows of more tasks")
    missing = np.isnan(values) & need(np.arange(T + 1)[:, None], np.arange(1, T + 1), T)
    if missing.any():
        place = _first(missing)
        way_out = "evaluate it, or choose another metric" if place[-2] else "put the initial model's row first"
        raise ValueError(f"{metric} needs the {kind} {_where(place)}, and it is missing (NaN): {way_out}")
    return _SIGN[kind] * values


def _matrix(matrix: ArrayLike, kind: Kind) -> Values:
    values = _numbers("matrix", matrix, kind)
    if values.ndim < 2 or values.size == 0 or values.shape[-2] - values.shape[-1] not in (0, 1):
        rule = "give (..., T+1, T) with the initial model's row first, or (..., T, T) without it"
        raise ValueError(f"the matrix has shape {values.shape}: {rule}")
    unmeasured = np.full_like(values[..., :1, :], np.nan)
    return values if values.shape[-2] > values.shape[-1] else np.concatenate([unmeasured, values], axis=-2)


def _numbers(name: str, given: ArrayLike, kind: Kind) -> Values:
    if kind not in _SIGN:
        raise ValueError(f"kind={kind!r}: say 'error' (lower is better) or 'accuracy' (higher is better)")
    try:
        array = np.asarray(given)
    except ValueError:
        raise ValueError(f"{name} has rows of unequal length: fill them up with NaN") from None
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{name} holds {array.dtype} values: give numbers, and NaN where one is missing")
    values = array.astype(np.float64, copy=False)
    outside = np.isinf(values) | ((kind == "accuracy") & ((values < 0) | (values > 100)))
    if outside.any():
        place = _first(outside)
        rule = "errors are finite" if kind == "error" else "accuracies lie in [0, 1] or [0, 100]"
        raise ValueError(f"{name}{list(place)} is {values[place]:g}; {rule}: correct it, or NaN if it was not measured")
    return values


def _just_learned(L: Values) -> Values:
    return np.diagonal(L[..., 1:, :], axis1=-2, axis2=-1)  # (..., T): L[i,i]


def _mean_gain(L: Values) -> Values:
    t, i = np.tril_indices(L.shape[-1], -1)
    return (_just_learned(L)[..., i] - L[..., t + 1, i]).mean(axis=-1)


def _first(mask: Mask) -> tuple[int, ...]:
    return tuple(int(k) for k in np.unravel_index(mask.argmax(), mask.shape))


def _where(place: tuple[int, ...]) -> str:
    *run, t, i = place
    entry = f"after task {t}, on task {i + 1}" if t else f"of the initial model on task {i + 1}"
    return f"{entry}, of matrix {run}" if run else entry
