"""The training or evaluation mode of modules, preserved or frozen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
def frozen_modules(network: nn.Module, names: Iterable[str]) -> Iterator[None]:
    """Keep the named modules in evaluation mode and untrained, whatever mode the network is set to."""
    modules = [network.get_submodule(name) for name in names]
    trained = [parameter for module in modules for parameter in module.parameters() if parameter.requires_grad]
    for parameter in trained:
        parameter.requires_grad_(False)
    for module in modules:
        module.eval()
        module.train = lambda mode=True, module=module: module  # of the instance: `network.train()` calls every module
    try:
        yield
    finally:
        for module in modules:
            module.__dict__.pop("train", None)
        for parameter in trained:
            parameter.requires_grad_(True)
