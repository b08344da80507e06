"""Steps of plain gradient descent, without an optimizer of PyTorch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from ebbing.learn._inputs import Inputs
from ebbing.learn.training._optimizer_steps import Objective
from ebbing.learn.training.batches import Pair


def run_epoch(objective: Objective, parameters: Sequence[nn.Parameter], batches: Iterable[Pair], rate: float) -> int:
    """Make one step for each batch, and return the number of steps."""
    steps = 0
    for inputs, labels in batches:
        steps += 1
        _step(objective, parameters, inputs, labels, rate)
    return steps


def check_finite(parameters: Iterable[nn.Parameter], rate: float, *, regression: bool = False) -> None:
    """Raise an error if training at a learning rate has ended in weights that are not finite."""
    if any(not parameter.isfinite().all() for parameter in parameters):
        other = "check that all inputs are finite"
        if regression:
            other = "scale the labels of all tasks to a mean of 0 and a standard deviation of 1"
        raise FloatingPointError(
            f"training diverged: weights are no longer finite at learning rate {rate:g}; lower it, or {other}"
        )


def _step(
    objective: Objective, parameters: Sequence[nn.Parameter], inputs: Inputs, labels: Tensor, rate: float
) -> None:
    """Make one gradient step; being a function, it frees its gradients before the next step."""
    gradients = torch.autograd.grad(objective(inputs, labels), parameters, allow_unused=True)
    with torch.no_grad():
        for parameter, gradient in zip(parameters, gradients, strict=True):
            if gradient is not None:  # None: the head of another task, for example
                parameter.add_(gradient, alpha=-rate)
