"""The network as a function of its inputs: its argument `task`, if not among these, is set to the index of the task."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ebbing.learn._inputs import Inputs
from ebbing.learn.training._outputs import output_tensor

_TYPE_ERROR = re.compile(r"dtype|scalar type|Input type")
"""What PyTorch says of inputs whose type a layer cannot take."""

_SHAPE_ERROR = re.compile(
    r"shapes? .*(multipl|match)|must match|channels|expected .*(shape|dim|input)|size mismatch", re.I
)
"""What PyTorch says of inputs whose shape a layer cannot take."""


def bind_task(network: nn.Module, index: int) -> Callable[[Inputs], Tensor]:
    """Return the network as a function from inputs to one tensor, with its argument `task`, if any, set to an index.

    If inputs are a dictionary with an entry "task", as a forecast takes the tasks of examples, that entry is passed on.
    Inputs of a wrong type or shape, and names that the network does not take, raise a ValueError that says so.
    """
    signature = inspect.signature(network.forward)
    arguments = {"task": index} if "task" in signature.parameters else {}

    def forward(inputs: Inputs) -> Tensor:
        try:
            if isinstance(inputs, Mapping):
                named = {**arguments, **inputs}
                _check_names(signature, {*named})
                return output_tensor(network(**named))
            _check_single_input(signature, arguments)
            return output_tensor(network(inputs, **arguments))
        except RuntimeError as error:
            if (reason := _wrong_inputs(network, inputs, error)) is None:
                raise
            raise ValueError(reason) from error

    return forward


def _check_names(signature: inspect.Signature, names: set[str]) -> None:
    """Raise an error for inputs that the network has no argument for, and for arguments that are missing."""
    kinds = inspect.Parameter
    takes = [p for p in signature.parameters.values() if p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)]
    known, any_name = {p.name for p in takes}, any(p.kind is kinds.VAR_KEYWORD for p in signature.parameters.values())
    listed = ", ".join(p.name for p in takes)
    if (unknown := sorted(names - known)) and not any_name:
        raise ValueError(f"the network takes no input {unknown[0]!r}, but {listed}: leave it out, or rename it")
    if missing := [p.name for p in takes if p.default is p.empty and p.name not in names]:
        raise ValueError(f"the network needs an input {missing[0]!r}: give a dictionary with it")


def _check_single_input(signature: inspect.Signature, arguments: dict[str, int]) -> None:
    """Raise an error if one tensor does not suffice for the network."""
    kinds = inspect.Parameter
    positional = [
        p for p in signature.parameters.values() if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    ]
    missing = [p.name for p in positional[1:] if p.default is p.empty and p.name not in arguments]
    if missing:
        names = ", ".join(repr(p.name) for p in positional if p.name not in arguments)
        raise ValueError(f"one tensor for a network that takes {names}: give a dictionary of inputs by name")


def _wrong_inputs(network: nn.Module, inputs: Inputs, error: RuntimeError) -> str | None:
    """Return what is wrong with the inputs that raised an error, or None if it was something else."""
    expected = next((p.dtype for p in network.parameters() if p.is_floating_point()), torch.float32)
    device = next((p.device for p in network.parameters()), torch.device("cpu"))
    said = str(error).splitlines()[0]
    for name, part in inputs.items() if isinstance(inputs, Mapping) else [("", inputs)]:
        of = f"inputs {name!r}" if name else "inputs"
        give = f"{name or 'inputs'}.to"
        if part.dtype != expected and _TYPE_ERROR.search(said) and (not name or part.is_floating_point()):
            return f"{of} of {part.dtype} for a network of {expected} ({said}): give {give}({expected})"
        if part.device != device:
            return f"{of} on {part.device} for a network on {device}: give {give}({str(device)!r})"
    if _SHAPE_ERROR.search(said):
        shapes = (
            ", ".join(f"{name} {tuple(part.shape)}" for name, part in inputs.items())
            if isinstance(inputs, Mapping)
            else str(tuple(inputs.shape))
        )
        return (
            f"the network does not take inputs of shape {shapes} ({said}): give examples of the "
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
