"""How far each task is trained: to a training accuracy or error, or for a number of gradient steps.

A user knows one of them: what training reaches on its training data, or its learning rate and steps. Each becomes the
ridge of a `KernelModel`, the penalty on the distance from the previous weights: the larger, the less a task is fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ebbing._validate import Array
from ebbing.forecasting.extent import Extent
from ebbing.forecasting.recursion import KernelModel
from ebbing.forecasting.targets import Targets

TRAINING_ERROR = 1e-4
"""The mean squared training error at which a task counts as fitted."""

_LEAST, _MOST = 1e-10, 1e3
"""Ridges per training example that are tried."""

_HALVINGS = 12
"""Steps of bisection: the ridge is found within 1%."""


def trained_to(model: KernelModel, extent: Extent | None = None) -> KernelModel:
    """Return a model that trains tasks as far as is said.

    Args:
        model: The model. Under the cross-entropy its time, if it has one, becomes a ridge.
        extent: The training accuracy or the training error that training reaches. Without either: as far as the ridge
            and the time of the model say; if they say nothing, until tasks are fitted.

    Returns:
        The model.

    Raises:
        ValueError: If the model is as good before anything is learned, or a training accuracy is given for regression.
    """
    if extent is not None and extent.training_accuracy is not None:
        if model.targets.kind == "regression":
            raise ValueError(
                f"training_accuracy={extent.training_accuracy:g}: labels are numbers (regression), which have no "
                "accuracy; give training_error"
            )
        if extent.training_accuracy <= (initial := 1.0 - training_mistakes(model.with_(ridge=np.inf))):
            raise ValueError(
                f"training_accuracy={extent.training_accuracy:g}: the accuracy is {initial:.3g} before anything is "
                "learned; give what training reaches, which is more"
            )
        return model.with_(ridge=ridge_of(model, training_mistakes, 1.0 - extent.training_accuracy))
    if extent is not None and extent.training_error is not None:
        if extent.training_error >= (initial := training_error(model.with_(ridge=np.inf))):
            raise ValueError(
                f"training_error={extent.training_error:g}: the mean squared training error is {initial:.3g} before "
                "anything is learned; give what training reaches, which is less"
            )
        return model.with_(ridge=ridge_of(model, training_error, extent.training_error))
    if model.loss == "squared":
        return model
    if model.time is not None:
        size = float(np.mean([len(rows) for rows in model.train]))
        return model.with_(ridge=size / max(model.time, 1e-12) + model.ridge, time=None)
    return model if model.ridge else model.with_(ridge=ridge_of(model, training_error, TRAINING_ERROR))


def ridge_of(model: KernelModel, measure: Callable[[KernelModel], float], goal: float) -> float:
    """Find the largest ridge with which tasks, each learned alone, are fitted as well as is said.

    Args:
        model: The model; its own ridge does not matter.
        measure: What the ridge makes larger: `training_error` or `training_mistakes`.
        goal: The value of it that training reaches.

    Returns:
        The ridge; the least that is tried, if no ridge reaches the goal.
    """
    size = float(np.mean([len(rows) for rows in model.train]))
    low, high = np.log(_LEAST * size), np.log(_MOST * size)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        reached = measure(model.with_(ridge=float(np.exp(middle)))) <= goal
        low, high = (middle, high) if reached else (low, middle)
    return float(np.exp(low))


def training_error(model: KernelModel) -> float:
    """Compute the mean squared error of training rows when each task is learned alone, on average over tasks.

    Args:
        model: The model; with an infinite ridge nothing is learned.

    Returns:
        The error.
    """
    targets = model.targets
    return float(
        np.mean([np.square(targets.clip(found) - targets.values[rows]).mean() for rows, found in _learned_alone(model)])
    )


def training_mistakes(model: KernelModel) -> float:
    """Compute the share of wrong answers on training rows when each task is learned alone, on average over tasks.

    Args:
        model: The model, not of regression; with an infinite ridge nothing is learned.

    Returns:
        The share, from 0 to 1.
    """
    return float(
        np.mean([1.0 - model.targets.accuracy(found[:, None], rows)[0] for rows, found in _learned_alone(model)])
    )


def _learned_alone(model: KernelModel) -> Iterator[tuple[np.ndarray, Array]]:
    """Yield the training rows of each task, and their predictions (rows, C) once the task is learned alone."""
    for rows in model.train:
        before = model.initial()
        after = model.learn(before, rows, rows) if np.isfinite(model.ridge) else before[rows]
        yield rows, model.predicted(after[:, 0])


def training_time(targets: Targets, learning_rate: float, steps: int, scale: float, *, of_outputs: bool) -> float:
    """Return the time tau of gradient flow that gradient descent takes.

    Descent on the cross-entropy moves an output by its residual y - f, and a prediction by that times the slope of the
    sigmoid (at most 1/4) or of the softmax (about 1/C); on the mean squared error of C outputs by 2/C residuals.

    Args:
        targets: What is learned.
        learning_rate: The learning rate.
        steps: The number of steps.
        scale: The mean squared gradient, by which the kernel was divided.
        of_outputs: Whether outputs move, as under the cross-entropy, and not predictions.

    Returns:
        tau, in units of the kernel.

    Example:
        >>> training_time(Targets.of(np.array([0, 1])), learning_rate=0.1, steps=200, scale=10.0, of_outputs=False)
        50.0
    """
    C = targets.values.shape[1]
    slope = 1.0 if of_outputs else {"classes": 1.0 / C, "regression": 2.0 / C}.get(targets.kind, 0.25)
    return learning_rate * steps * scale * slope
