"""Networks whose forward function has an argument `task`: it is set to the index of the task."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn


def bind_task(network: nn.Module, index: int) -> Callable[[Tensor], Tensor]:
    """Return the network as a function of its inputs, with the argument `task`, if it has one, set to an index."""
    if "task" not in inspect.signature(network.forward).parameters:
        return network
    return lambda inputs: network(inputs, task=index)


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
