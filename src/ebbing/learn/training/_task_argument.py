"""The network as a function of its inputs: its argument `task`, if it has one, is set to the index of the task."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

_TYPE_ERROR = re.compile(r"dtype|scalar type|Input type")
"""What PyTorch says of inputs whose type a layer cannot take."""

_SHAPE_ERROR = re.compile(
    r"shapes? .*(multipl|match)|must match|channels|expected .*(shape|dim|input)|size mismatch", re.I
)
"""What PyTorch says of inputs whose shape a layer cannot take."""


def bind_task(network: nn.Module, index: int) -> Callable[[Tensor], Tensor]:
    """Return the network as a function of its inputs, with the argument `task`, if it has one, set to an index.

    Inputs of a wrong type or shape raise a ValueError that says so.
    """
    arguments = {"task": index} if "task" in inspect.signature(network.forward).parameters else {}

    def forward(inputs: Tensor) -> Tensor:
        try:
            return network(inputs, **arguments)
        except RuntimeError as error:
            if (reason := _wrong_inputs(network, inputs, error)) is None:
                raise
            raise ValueError(reason) from error

    return forward


def _wrong_inputs(network: nn.Module, inputs: Tensor, error: RuntimeError) -> str | None:
    """Return what is wrong with the inputs that raised an error, or None if it was something else."""
    expected = next((p.dtype for p in network.parameters() if p.is_floating_point()), torch.float32)
    device = next((p.device for p in network.parameters()), torch.device("cpu"))
    said = str(error).splitlines()[0]
    if inputs.dtype != expected and _TYPE_ERROR.search(said):
        return f"inputs of {inputs.dtype} for a network of {expected} ({said}): give inputs.to({expected})"
    if inputs.device != device:
        return f"inputs on {inputs.device} for a network on {device}: give inputs.to({str(device)!r})"
    if _SHAPE_ERROR.search(said):
        return (
            f"the network does not take inputs of shape {tuple(inputs.shape)} ({said}): give examples of the "
            "shape that its first layer takes"
        )
    return None


@contextmanager
def task_bound(network: nn.Module, index: int) -> Iterator[None]:
    """Set the default of the network's argument `task`, if it has one, to an index."""
    before = network.__dict__.get("forward")
    if "task" not in inspect.signature(network.forward).parameters:
        yield
        return
    network.forward = _TaskForward(network.forward, index)
    try:
        yield
    finally:
        del network.forward
        if before is not None:
            network.forward = before


class _TaskForward:
    """A forward function with a default `task`. It is a class because a closure would not be copied with a network."""

    def __init__(self, forward: Callable[..., Any], task: int) -> None:
        self.forward, self.task = forward, task
        self.__signature__ = inspect.signature(forward)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = "task" in self.__signature__.bind_partial(*args, **kwargs).arguments
        return self.forward(*args, **kwargs) if given else self.forward(*args, task=self.task, **kwargs)
