"""Tools for custom gradients: scaled gradients, gradients of gradients, and computing without mixed precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import torch
from torch import Tensor


def no_autocast(like: Tensor) -> torch.autocast:
    """Return a context that disables mixed precision on the device of a tensor.

    Rotated coordinates are computed inside: rounded to a few bits, they would not protect anything.
    """
    return torch.autocast(like.device.type, enabled=False)


def no_autocast_backward(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Return a backward function that disables mixed precision while it runs.

    Autocast is still enabled there if the training loop calls `loss.backward()` inside its autocast context.
    """

    @wraps(backward)
    def full_precision_backward(ctx: Any, *gradients: Tensor) -> Any:
        if not torch.is_autocast_enabled(gradients[0].device.type):
            return backward(ctx, *gradients)
        with no_autocast(gradients[0]):
            return backward(ctx, *gradients)

    return full_precision_backward


def differentiable_gradients(outputs: Tensor, inputs: Sequence[Tensor], gradient: Tensor) -> list[Tensor | None]:
    """Return the gradients with respect to each input, with a graph, so that they can be differentiated again.

    Inputs that require no gradient get None.
    """
    differentiable = [value for value in inputs if value.requires_grad]
    gradients = iter(torch.autograd.grad(outputs, differentiable, gradient, create_graph=True))
    return [next(gradients) if value.requires_grad else None for value in inputs]


def scale_gradient(values: Tensor, scale: Callable[[Tensor], Tensor]) -> Tensor:
    """Return the values unchanged; in the backward pass, replace their gradient g by scale(g)."""
    return _ScaledGradient.apply(values, scale)  # pyright: ignore[reportReturnType]


class _ScaledGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, scale: Callable[[Tensor], Tensor]) -> Tensor:
        ctx.scale = scale
        return values.view_as(values)

    @staticmethod
    @no_autocast_backward
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return ctx.scale(gradients[0]), None
