"""The training or evaluation mode of every single module of a PyTorch network, restored after use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def preserved_modes(network: nn.Module) -> Iterator[None]:
    """Restore the training or evaluation mode of every single module at the end.

    Args:
        network: The network.

    Yields:
        None.
    """
    modes = [(module, module.training) for module in network.modules()]
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


@contextmanager
def evaluation_mode(network: nn.Module) -> Iterator[None]:
    """Put a network into evaluation mode, and every module back into its own mode at the end."""
    with preserved_modes(network):
        network.eval()
        yield
