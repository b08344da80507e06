"""Checks that a network can be trained by a learner."""

from __future__ import annotations

import torch
from torch import nn


def check_network(network: nn.Module) -> None:
    """Raise an error if a learner cannot train a network or cannot save it."""
    if not isinstance(network, nn.Module):
        raise ValueError(f"a network of type {type(network).__name__}: give a torch.nn.Module")
    _check_not_wrapped(network)
    if type(network).forward is nn.Module.forward and "forward" not in vars(network):
        raise ValueError(
            f"a {type(network).__name__} has no forward, by which a learner computes outputs: define forward(inputs)"
        )
    if not any(parameter.requires_grad for parameter in network.parameters()):
        raise ValueError("the network has no trainable parameter: set requires_grad of at least one")
    for name, module in network.named_modules():
        if type(module).get_extra_state is not nn.Module.get_extra_state:
            where = f"module {name!r}" if name else "the network"
            raise ValueError(
                f"{where} has a state other than tensors (get_extra_state), which a learner cannot save; "
                "store it in buffers instead"
            )


def _check_not_wrapped(network: nn.Module) -> None:
    """Raise an error for wrappers that copy, shard or compile a network: they bypass changes of the layers inside."""
    for name, module in network.named_modules():
        kind = type(module).__name__
        if kind in ("DataParallel", "DistributedDataParallel", "FullyShardedDataParallel", "OptimizedModule"):
            where = f"module {name!r}" if name else "the network"
            raise ValueError(f"{where} is wrapped in {kind}: give the learner the module inside")


def check_not_inference_mode() -> None:
    """Raise an error in inference mode, where there are no gradients."""
    if torch.is_inference_mode_enabled():
        raise RuntimeError("training is impossible in inference mode: leave torch.inference_mode()")
