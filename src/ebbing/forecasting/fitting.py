"""How far each task is trained: to a training error, or for a number of gradient steps.

A user knows one of them: the training error that training reaches, or its learning rate and steps. Both become the
ridge of a `KernelModel`, the penalty on the distance from the previous weights: the larger, the less a task is fitted.
"""

from __future__ import annotations

import numpy as np

from ebbing.forecasting.recursion import KernelModel
from ebbing.forecasting.targets import Targets

TRAINING_ERROR = 1e-4
"""The mean squared training error at which a task counts as fitted."""

_LEAST, _MOST = 1e-10, 1e3
"""Ridges per training example that are tried."""

_HALVINGS = 12
"""Steps of bisection: the ridge is found within 1%."""


def trained_to(model: KernelModel, error: float | None = None) -> KernelModel:
    """Return a model that trains tasks as far as is said.

    Args:
        model: The model. Under the cross-entropy its time, if it has one, becomes a ridge.
        error: The mean squared training error that training reaches. None: as far as the ridge and the time of the
            model say; if they say nothing, until tasks are fitted.

    Returns:
        The model.
    """
    if error is not None:
        return model.with_(ridge=ridge_of_error(model, error))
    if model.loss == "squared":
        return model
    if model.time is not None:
        size = float(np.mean([len(rows) for rows in model.train]))
        return model.with_(ridge=size / max(model.time, 1e-12) + model.ridge, time=None)
    return model if model.ridge else model.with_(ridge=ridge_of_error(model, TRAINING_ERROR))


def ridge_of_error(model: KernelModel, error: float) -> float:
    """Find the ridge with which tasks, each learned alone, reach a training error on average.

    Args:
        model: The model; its own ridge does not matter.
        error: The mean squared training error, of predictions from 0 to 1 unless it is regression.

    Returns:
        The ridge; the least that is tried, if no ridge reaches the error.

    Raises:
        ValueError: If the model has no larger error before anything is learned.
    """
    initial = training_error(model.with_(ridge=np.inf))
    if error >= initial:
        raise ValueError(
            f"training_error={error:g}: the mean squared training error is {initial:.3g} before anything is learned; "
            "give what training reaches, which is less"
        )
    size = float(np.mean([len(rows) for rows in model.train]))
    low, high = np.log(_LEAST * size), np.log(_MOST * size)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        reached = training_error(model.with_(ridge=float(np.exp(middle))))
        low, high = (middle, high) if reached < error else (low, middle)
    return float(np.exp(low))


def training_error(model: KernelModel) -> float:
    """Compute the mean squared error of training rows when each task is learned alone, on average over tasks.

    Args:
        model: The model; with an infinite ridge nothing is learned.

    Returns:
        The error.
    """
    found = []
    for rows in model.train:
        state = model.initial()
        if np.isfinite(model.ridge):
            state = model.learn(state, rows, rows)
            values = state.predictions[:, 0]
        else:
            values = state.predictions[rows, 0]
        found.append(np.square(model.targets.clip(model.predicted(values)) - model.targets.values[rows]).mean())
    return float(np.mean(found))


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
