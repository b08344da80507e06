"""What a forecast needs of a PyTorch network: its outputs example by example, and the parameters that are trained."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ebbing._modes import evaluation_mode
from ebbing._tables import count_of
from ebbing.forecasting._reading import num_rows, take

Inputs = Tensor | dict[str, Tensor]
"""Inputs of several examples: a tensor (rows, ...), or tensors by the names of the network's arguments."""

_BATCH = 64
"""Examples of one forward pass."""


def in_single_precision(network: nn.Module) -> nn.Module:
    """Return the network, or a copy in float32 of one that has weights in half precision.

    With 8 to 11 binary digits, gradients would be too coarse: a kernel of them forecasts another network.
    """
    values = chain(network.parameters(), network.buffers())
    if any(value.dtype in (torch.float16, torch.bfloat16) for value in values):
        return copy.deepcopy(network).float()
    return network


class OutputDifference(nn.Module):
    """A network of two outputs, as one of a single output: the second minus the first, the log-odds of class 1."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, *inputs: Tensor, **named: Tensor) -> Tensor:
        outputs = call(self.network, named or inputs[0])
        return outputs[:, 1:] - outputs[:, :1]


def rounding_error(network: nn.Module) -> float:
    """Return the relative rounding error of the numbers that a network computes with."""
    return torch.finfo(next(iter(trained_parameters(network).values())).dtype).eps


def trained_parameters(network: nn.Module) -> dict[str, nn.Parameter]:
    """Return the parameters that are trained, by name; a network without any is an error."""
    found = {name: value for name, value in network.named_parameters() if value.requires_grad}
    if not found:
        raise ValueError(
            f"{type(network).__name__} has no parameter with requires_grad=True: nothing would be trained; set "
            "requires_grad_(True) on what you will train"
        )
    return found


def to_tensors(network: nn.Module, inputs: Any) -> Inputs:
    """Return inputs as tensors on the network's device; floating-point inputs get the type of its parameters."""
    first = next(iter(trained_parameters(network).values()))

    def convert(value: Any) -> Tensor:
        tensor = value if isinstance(value, Tensor) else torch.from_numpy(np.ascontiguousarray(value))
        tensor = tensor.detach()
        if tensor.is_floating_point():  # before it is moved: some devices have no float64
            tensor = tensor.to(first.dtype)
        return tensor.to(first.device)

    return {key: convert(value) for key, value in inputs.items()} if isinstance(inputs, Mapping) else convert(inputs)


def call(network: Callable[..., Any], inputs: Inputs) -> Tensor:
    """Return the outputs of a network as a matrix (rows, outputs).

    A result with an attribute `logits` (as those of transformers) stands for its logits.
    """
    return as_matrix(_run(network, inputs), num_rows(inputs))


def _run(network: Callable[..., Any], inputs: Inputs) -> Any:
    return network(**inputs) if isinstance(inputs, dict) else network(inputs)


def as_matrix(result: Any, rows: int) -> Tensor:
    """Return what a network returns for some rows as a matrix (rows, outputs)."""
    outputs = getattr(result, "logits", result)
    if not isinstance(outputs, Tensor):
        raise ValueError(
            f"the network returns {type(result).__name__}: a forecast needs a tensor (rows, outputs); wrap the network "
            "in a module that returns one"
        )
    if outputs.ndim == 1:
        outputs = outputs[:, None]
    if outputs.ndim != 2 or len(outputs) != rows:
        raise ValueError(
            f"the network returns shape {tuple(outputs.shape)} for {count_of(rows, 'example')}: a forecast needs "
            "(rows, outputs); wrap the network in a module that returns that"
        )
    return outputs


def check_network(network: nn.Module, inputs: Any) -> None:
    """Run one example, so that a network that does not fit the inputs is an error in words, before any other work."""
    if any(value.is_meta for value in chain(network.parameters(), network.buffers())):
        raise ValueError(f"the weights of {type(network).__name__} are on the device 'meta': load them first")
    one = to_tensors(network, take(inputs, slice(0, 1)))
    try:
        with evaluation_mode(network), torch.enable_grad():
            result = _run(network, one)
    except Exception as error:  # the user's network may raise anything
        shapes = {"inputs": one} if isinstance(one, Tensor) else one
        given = ", ".join(f"{name} of shape {tuple(v.shape[1:])} and {v.dtype}" for name, v in shapes.items())
        whole = any(not value.is_floating_point() for value in shapes.values())
        raise ValueError(
            f"{type(network).__name__} fails on one example with {given}: {type(error).__name__}: "
            f"{(str(error).splitlines() or [''])[0]}; give inputs that the network takes"
            + (": whole numbers are not converted" if whole else "")
        ) from error
    if not as_matrix(result, 1).requires_grad:
        raise ValueError(
            f"the outputs of {type(network).__name__} have no gradients: is there torch.no_grad() or detach() in its "
            "forward?"
        )


def check_examples_are_independent(network: nn.Module) -> None:
    """Raise an error for a batch norm that normalizes by the batch in evaluation mode, too."""
    for name, module in network.named_modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is None:
            raise ValueError(
                f"{name or type(module).__name__} is a batch norm without running statistics: examples of a batch "
                "influence each other; use track_running_stats=True"
            )


def check_logits(network: nn.Module, outputs: np.ndarray) -> None:
    """Raise an error if outputs are probabilities: of a softmax, or of a sigmoid that is the last module."""
    *_, last = network.modules()
    of_softmax = outputs.shape[1] > 1 and (outputs >= 0).all() and np.allclose(outputs.sum(axis=1), 1.0, atol=1e-4)
    if of_softmax or isinstance(last, nn.Sigmoid):
        raise ValueError(
            f"the outputs of {type(network).__name__} are probabilities, but a forecast takes logits: leave out the "
            f"last {'Softmax' if of_softmax else 'Sigmoid'}"
        )


def network_outputs(network: nn.Module, inputs: Any) -> np.ndarray:
    """Compute the outputs of a network in evaluation mode, (rows, outputs) in float64."""
    tensors = to_tensors(network, inputs)
    with evaluation_mode(network), torch.no_grad():
        parts = [call(network, take(tensors, rows)) for rows in batches(num_rows(tensors), _BATCH)]
    outputs = torch.cat(parts).cpu().to(torch.float64).numpy()
    if not np.isfinite(outputs).all():
        row = int(np.argwhere(~np.isfinite(outputs))[0, 0])
        raise ValueError(f"the network's output for example {row} is not finite; check its weights and the inputs")
    return outputs


def batches(size: int, batch: int) -> list[slice]:
    """Return consecutive slices of at most `batch` rows."""
    return [slice(start, min(start + batch, size)) for start in range(0, size, batch)]
