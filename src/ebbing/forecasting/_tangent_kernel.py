"""The tangent kernel of a network at its present weights, without gradients of the size of the model.

For examples a and b and outputs c,  K[a, b] = 1/C sum_c <grad f_c(x_a), grad f_c(x_b)>, over the parameters that are
trained (`requires_grad`). Each layer adds its part, computed from what it receives in one forward and C backward
passes: `_layer_gradients` has the formulas. Parameters that no formula fits, and layers whose formula fails a check
against autograd (a layer that is used twice, weights that are shared), get explicit Jacobians.

Examples must not influence each other: the network is put into evaluation mode, so that batch norm uses its running
statistics and dropout is off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ebbing._modes import evaluation_mode
from ebbing._progress import Progress
from ebbing.forecasting._layer_gradients import LayerGradients, layer_gradients
from ebbing.forecasting._network import (
    Inputs,
    batches,
    call,
    check_examples_are_independent,
    in_single_precision,
    num_rows,
    take,
    to_tensors,
    trained_parameters,
)
from ebbing.forecasting.reference_kernel import explicit_kernel

MEMORY = 2e9
"""Bytes that stored gradients may take; more are computed in several passes."""

_BATCH = 32
"""Examples of one forward pass."""

_PROBED = 4
"""Examples on which the formulas are checked against autograd."""

_TOLERANCE = 1e-3
"""Relative difference to autograd at which a formula is given up; rounding in float32 stays a hundred times below."""


def tangent_kernel(
    network: nn.Module,
    inputs: Any,
    *,
    per_output: bool = False,
    memory: float = MEMORY,
    progress: Progress | None = None,
) -> np.ndarray:
    """Compute the tangent kernel of a network: inner products of its gradients, example by example.

    Args:
        network: The network, with its present weights; its mode and its gradients stay as they are. Weights in half
            precision are copied to float32.
        inputs: Inputs of N examples: a tensor or array (N, ...), or several of them by the names of the network's
            arguments.
        per_output: Whether each output keeps a kernel of its own.
        memory: Bytes that stored gradients may take. `kernel_cost` says how many passes that makes.
        progress: A function that is called with the share of the work that is done.

    Returns:
        K (N, N) in float64, the mean over outputs; with `per_output` the kernel of each, (C, N, N).

    Raises:
        ValueError: If nothing is trained, the network does not return (N, C), or its examples influence each other.

    Example:
        >>> network = nn.Linear(2, 1)  # its gradient is the input, and 1 for the bias
        >>> tangent_kernel(network, torch.tensor([[1.0, 2.0], [3.0, 0.0]])).tolist()
        [[6.0, 4.0], [4.0, 10.0]]
    """
    network = in_single_precision(network)
    tensors = to_tensors(network, inputs)
    with evaluation_mode(network):
        cost = _probe(network, tensors, memory)
        rows = num_rows(tensors)
        kernel = torch.zeros(cost.outputs if per_output else 1, rows, rows, dtype=torch.float64)
        for k, layers in enumerate(cost.passes):
            names = [name for name, _ in layers]
            found = [layer for _, layer in layers]
            report = _report(progress, k, cost)
            _collect(network, tensors, dict(zip(names, found, strict=True)), report)
            for layer in found:
                layer.add_kernel(kernel)
                layer.parts.clear()
        if cost.explicit:
            parameters = {name: trained_parameters(network)[name] for name in cost.explicit}
            found_explicit = explicit_kernel(network, tensors, parameters, memory)
            kernel += found_explicit if per_output else found_explicit.sum(0, keepdim=True)
    return kernel.numpy() if per_output else kernel[0].numpy() / cost.outputs


@dataclass(frozen=True)
class KernelCost:
    """What the tangent kernel of a network costs, known before it is computed.

    Attributes:
        rows: N, the number of examples.
        outputs: C, the number of outputs.
        bytes_per_pass: Bytes of gradients that are stored at once; the kernel itself takes 8 N^2 more.
        passes: The layers whose gradients are stored in each pass over the examples, by name.
        explicit: The parameters that need explicit Jacobians.
    """

    rows: int
    outputs: int
    bytes_per_pass: float
    passes: list[list[tuple[str, LayerGradients]]]
    explicit: list[str]

    def __str__(self) -> str:
        total = self.bytes_per_pass + 8 * self.rows**2
        words = f"{self.rows:,} examples, {self.outputs} output{'s' * (self.outputs > 1)}"
        passes = f"{len(self.passes)} pass{'es' * (len(self.passes) != 1)}"
        slow = f"; explicit gradients of {len(self.explicit)} parameters, which are slow" if self.explicit else ""
        return f"tangent kernel of {words}: {passes}, {total / 1e6:,.0f} MB{slow}"


def kernel_cost(network: nn.Module, inputs: Any, *, memory: float = MEMORY) -> KernelCost:
    """Return what the tangent kernel of a network will cost; only a few examples are computed.

    Args:
        network: The network.
        inputs: Inputs of N examples, as for `tangent_kernel`.
        memory: Bytes that stored gradients may take.

    Returns:
        The cost. `print` shows passes and bytes in one line; `bytes_per_pass` has the bytes of stored gradients.

    Example:
        >>> print(kernel_cost(nn.Linear(20, 2), torch.zeros(1000, 20)))
        tangent kernel of 1,000 examples, 2 outputs: 1 pass, 8 MB
    """
    network = in_single_precision(network)
    with evaluation_mode(network):
        return _probe(network, to_tensors(network, inputs), memory)


def _probe(network: nn.Module, inputs: Inputs, memory: float) -> KernelCost:
    """Run a few examples: find the layers whose formulas agree with autograd, and what they will store."""
    check_examples_are_independent(network)
    parameters = trained_parameters(network)
    layers = {
        name: layer
        for name, module in network.named_modules()
        if (layer := layer_gradients(module)) is not None and layer.names
    }
    few = take(inputs, slice(0, _PROBED))
    rows, probed = num_rows(inputs), num_rows(few)
    values = call(network, few)
    outputs = values.shape[1]
    references = {}  # the gradients of two examples, by row
    for row in {0, probed - 1}:
        found = torch.autograd.grad(
            values[row, 0], list(parameters.values()), retain_graph=True, allow_unused=True, materialize_grads=True
        )
        references[row] = {id(p): gradient for p, gradient in zip(parameters.values(), found, strict=True)}
    used_once = _collect(network, few, layers)
    passes: list[list[tuple[str, LayerGradients]]] = []
    covered: set[int] = set()
    filled = largest = 0.0
    for name in used_once:
        layer = layers[name]
        part = layer.parts[0]
        size = rows * sum(t.numel() * t.element_size() for t in part) / probed
        agrees = all(_agree(layer, part, row, gradients) for row, gradients in references.items())
        layer.parts.clear()
        if not agrees or any(id(p) in covered for p in layer.parameters):
            continue
        covered |= {id(p) for p in layer.parameters}
        if not passes or filled + size > memory:
            passes.append([])
            filled = 0.0
        passes[-1].append((name, layer))
        filled += size
        largest = max(largest, filled)
    explicit = {name: value for name, value in parameters.items() if id(value) not in covered}
    jacobians = rows * outputs * sum(value.nbytes for value in explicit.values())
    return KernelCost(rows, outputs, max(largest, min(jacobians, memory)), passes, [*explicit])


def _agree(layer: LayerGradients, part: tuple[Tensor, ...], row: int, gradients: dict[int, Tensor]) -> bool:
    """Return whether a layer has the gradients of one example right; it has not if rows are not examples."""
    found = layer.total(tuple(tensor[row : row + 1] for tensor in part))
    pairs = [(one, gradients[id(p)]) for one, p in zip(found, layer.parameters, strict=True)]
    return all(bool((one - other).norm() <= _TOLERANCE * other.norm() + 1e-12) for one, other in pairs)


def _collect(
    network: nn.Module, inputs: Inputs, layers: dict[str, LayerGradients], report: Callable[[float], None] | None = None
) -> list[str]:
    """Add all examples to the layers; return the names of those layers that each forward pass used exactly once."""
    once = set(layers)
    rows = num_rows(inputs)
    for part in batches(rows, _BATCH):
        with _recorded(network, layers) as records:
            outputs = call(network, take(inputs, part))
            size = part.stop - part.start
            once &= {name for name, calls in records.items() if len(calls) == 1 and _has_rows(calls[0], size)}
            used = [name for name in layers if name in once]
            if not used:
                break
            gradients: list[list[Tensor]] = []
            for c in range(outputs.shape[1]):
                found = torch.autograd.grad(
                    outputs[:, c].sum(),
                    [records[name][0][1] for name in used],
                    retain_graph=c + 1 < outputs.shape[1],
                    allow_unused=True,
                    materialize_grads=True,
                )
                gradients.append(list(found))
        with torch.no_grad():
            for k, name in enumerate(used):
                stacked = torch.stack([of_output[k] for of_output in gradients], dim=1)
                layers[name].parts.append(layers[name].compress(records[name][0][0], stacked))
        if report is not None:
            report(part.stop / rows)
    return [name for name in layers if name in once]


def _has_rows(record: tuple[Any, Any], rows: int) -> bool:
    """Return whether a layer got one row per example and returned as many."""
    return all(isinstance(value, Tensor) and value.ndim and len(value) == rows for value in record)


@contextmanager
def _recorded(network: nn.Module, layers: dict[str, LayerGradients]) -> Iterator[dict[str, list[tuple[Any, Any]]]]:
    """Record inputs and outputs of layers; what follows gets a copy, so that it may change its input in place."""
    records: dict[str, list[tuple[Any, Any]]] = {name: [] for name in layers}

    def hook(name: str) -> Callable[..., Tensor]:
        def record(_: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
            given = inputs[0].detach() if inputs and isinstance(inputs[0], Tensor) else None
            records[name].append((given, output))
            return output.clone()

        return record

    handles = [layer.layer.register_forward_hook(hook(name)) for name, layer in layers.items()]
    try:
        yield records
    finally:
        for handle in handles:
            handle.remove()


def _report(progress: Progress | None, k: int, cost: KernelCost) -> Callable[[float], None] | None:
    if progress is None:
        return None
    return lambda share: progress((k + share) / max(len(cost.passes), 1))
