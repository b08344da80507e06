"""What cannot be taught: refused in words that help."""

from __future__ import annotations

import torch
from torch import nn


def check_network(network: nn.Module) -> None:
    """What cannot be taught, or not be kept afterwards."""
    if not isinstance(network, nn.Module):
        raise ValueError(f"a network of type {type(network).__name__}: give a torch.nn.Module")
    _check_not_wrapped(network)
    if not any(parameter.requires_grad for parameter in network.parameters()):
        raise ValueError("the network has no parameter to be trained: give one with requires_grad")
    for name, module in network.named_modules():
        if type(module).get_extra_state is not nn.Module.get_extra_state:
            where = f"module {name!r}" if name else "the network"
            raise ValueError(f"{where} keeps more than tensors (get_extra_state), which a learner could not save")


def _check_not_wrapped(network: nn.Module) -> None:
    """Wrappers that copy, shard or compile a network do not see what happens to the layers inside."""
    for name, module in network.named_modules():
        kind = type(module).__name__
        if kind in ("DataParallel", "DistributedDataParallel", "FullyShardedDataParallel", "OptimizedModule"):
            where = f"module {name!r}" if name else "the network"
            raise ValueError(f"{where} is wrapped in {kind}: give the learner what it wraps")


def check_not_inference_mode() -> None:
    """Nothing has gradients there."""
    if torch.is_inference_mode_enabled():
        raise RuntimeError("in inference mode nothing can be learned: leave torch.inference_mode()")
