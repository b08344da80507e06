"""Networks whose forward has an argument `task`: told the task's number."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn


def bind_task(network: nn.Module, index: int) -> Callable[[Tensor], Tensor]:
    """The network as a function of inputs; one whose forward has an argument `task` is told the task's number."""
    if "task" not in inspect.signature(network.forward).parameters:
        return network
    return lambda inputs: network(inputs, task=index)


@contextmanager
def task_bound(network: nn.Module, task: int) -> Iterator[None]:
    """A network whose forward has an argument `task` is told the task's number, unless the caller tells it."""
    before = network.__dict__.get("forward")
    if "task" not in inspect.signature(network.forward).parameters:
        yield
        return
    network.forward = _TaskForward(network.forward, task)
    try:
        yield
    finally:
        del network.forward
        if before is not None:
            network.forward = before


class _TaskForward:
    """A network's forward that knows the task. No closure: a copy of the network gets one of its own."""

    def __init__(self, forward: Callable[..., Any], task: int) -> None:
        self.forward, self.task = forward, task
        self.__signature__ = inspect.signature(forward)

    def __call__(self, *given: Any, **named: Any) -> Any:
        known = "task" in self.__signature__.bind_partial(*given, **named).arguments
        return self.forward(*given, **named) if known else self.forward(*given, task=self.task, **named)
