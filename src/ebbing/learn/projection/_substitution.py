"""Calling a module with another tensor in the place of one of its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from torch import Tensor, nn


class Use(NamedTuple):
    """A place where a network uses a parameter.

    Attributes:
        host: The module whose forward uses the parameter.
        owner: The module that has the parameter: the host, or a part of it that is not called itself.
        key: The name of the parameter in its owner.
    """

    host: nn.Module
    owner: nn.Module
    key: str


class SubstitutedForward:
    """The forward of a module with a tensor that is computed at every call in the place of a parameter.

    It is a class because a closure would not be copied with a network. Of a module with several such parameters, one
    forward calls the next.

    Args:
        use: The parameter, and the module whose forward it is.
        compute: A function that returns the tensor.
        forward: The forward that is called with it.
    """

    def __init__(self, use: Use, compute: Callable[[], Tensor], forward: Callable[..., Any]) -> None:
        self.use, self.compute, self.forward = use, compute, forward

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with substituted(self.use, self.compute()):
            return self.forward(*args, **kwargs)


@contextmanager
def substituted(use: Use, value: Tensor) -> Iterator[None]:
    """Let the owner's attribute be a tensor instead of the parameter while the context is open."""
    owner, key = use.owner, use.key
    if isinstance(owner, nn.RNNBase):  # has its weights in a list, too, which its forward uses
        weights, index = owner._flat_weights, owner._flat_weights_names.index(key)
        before = weights[index]
        weights[index] = value  # type: ignore[call-overload]
        try:
            yield
        finally:
            weights[index] = before
        return
    owner.__dict__[key] = value  # found before the parameter of the same name
    try:
        yield
    finally:
        del owner.__dict__[key]
