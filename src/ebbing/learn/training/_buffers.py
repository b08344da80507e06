"""Buffers of a network: snapshots that can be restored, and a check that their shapes do not change."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn


def snapshot_buffers(network: nn.Module) -> Callable[[], None]:
    """Return a function that restores all buffers, even those that a module has replaced by other tensors."""
    owners = [(module._buffers, name) for module in network.modules() for name in module._buffers]
    saved = [None if (value := buffers[name]) is None else value.detach().clone() for buffers, name in owners]

    def restore() -> None:
        for (buffers, name), value in zip(owners, saved, strict=True):
            current = buffers.get(name)
            if value is None or current is None or current.shape != value.shape:
                buffers[name] = None if value is None else value.clone()
            else:
                current.copy_(value)

    return restore


def variable_buffers(network: nn.Module) -> list[str]:
    """Return the names of the buffers that training may change: not indices and masks that a module does not save."""
    constants = {
        id(module._buffers[name])
        for module in network.modules()
        for name in module._non_persistent_buffers_set
        if (value := module._buffers[name]) is not None and not value.is_floating_point()
    }
    return [name for name, value in network.named_buffers() if id(value) not in constants]


def buffer_shapes(network: nn.Module) -> dict[str, torch.Size]:
    """Return the shapes of all buffers by name."""
    return {name: value.shape for name, value in network.named_buffers()}


def check_buffer_shapes(network: nn.Module, before: dict[str, torch.Size]) -> None:
    """Raise an error if shapes of buffers have changed: buffers are copied between tasks."""
    after = buffer_shapes(network)
    for name in sorted({*after, *before}):
        if after.get(name) != before.get(name):
            old, new = (f"of shape {tuple(x[name])}" if name in x else "absent" for x in (before, after))
            raise ValueError(
                f"buffer {name!r} was {old} before the task and is {new} after it: a buffer whose shape changes "
                "cannot be saved for each task; give it its shape before start(), or make it an ordinary attribute"
            )
