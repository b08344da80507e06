"""Buffers of a network, which modules may replace as they like: put back, and refused where they change their shape."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn


def snapshot_buffers(network: nn.Module) -> Callable[[], None]:
    """A function that makes all buffers as they are now: modules may replace them, by others of other shapes."""
    owners = [(module._buffers, name) for module in network.modules() for name in module._buffers]
    kept = [None if (value := buffers[name]) is None else value.detach().clone() for buffers, name in owners]

    def put_back() -> None:
        for (buffers, name), value in zip(owners, kept, strict=True):
            now = buffers.get(name)
            if value is None or now is None or now.shape != value.shape:
                buffers[name] = None if value is None else value.clone()
            else:
                now.copy_(value)

    return put_back


def buffer_shapes(network: nn.Module) -> dict[str, torch.Size]:
    """Of all buffers, by name."""
    return {name: value.shape for name, value in network.named_buffers()}


def check_buffer_shapes(network: nn.Module, then: dict[str, torch.Size]) -> None:
    """What each task keeps for itself is written where that of others was."""
    now = buffer_shapes(network)
    for name in sorted({*now, *then}):
        if now.get(name) != then.get(name):
            was, is_ = (f"of shape {tuple(x[name])}" if name in x else "not there" for x in (then, now))
            raise ValueError(
                f"buffer {name!r} was {was} before the task and is {is_} after it: a buffer whose shape changes "
                "cannot be kept for each task; give it its shape before start(), or make it an ordinary attribute"
            )
