"""Modules frozen in evaluation mode, and what evaluation mode must not do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import nn


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


@contextmanager
def no_fast_path() -> Iterator[None]:
    """Disable PyTorch's fast path of transformers, which reads the weights of layers without calling the layers.

    It is taken in evaluation mode. What replaces a layer, such as a parametrization or an adapter of PEFT, is ignored
    there: https://github.com/huggingface/peft/issues/761.

    Yields:
        None.
    """
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
