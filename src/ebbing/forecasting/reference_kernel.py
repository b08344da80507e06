"""The tangent kernel by explicit Jacobians, example by example: the plain reference for `tangent_kernel`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from ebbing._modes import evaluation_mode
from ebbing.forecasting._network import (
    Inputs,
    batches,
    call,
    num_rows,
    take,
    to_tensors,
    trained_parameters,
)

_CHUNK = 32
"""Examples that are differentiated at once."""


def tangent_kernel_reference(network: nn.Module, inputs: Any, *, per_output: bool = False) -> np.ndarray:
    """Compute the tangent kernel from the Jacobian of each example, which `torch.func` gives.

    Args:
        network: The network, with its present weights.
        inputs: Inputs of N examples: a tensor or array (N, ...), or several of them by the names of the network's
            arguments.
        per_output: Whether each output keeps a kernel of its own.

    Returns:
        K (N, N), as `tangent_kernel` returns it; with `per_output` (C, N, N).

    Example:
        >>> network = nn.Linear(2, 1)  # its gradient is the input, and 1 for the bias
        >>> tangent_kernel_reference(network, torch.tensor([[1.0, 2.0], [3.0, 0.0]])).tolist()
        [[6.0, 4.0], [4.0, 10.0]]
    """
    tensors = to_tensors(network, inputs)
    with evaluation_mode(network):
        kernel = explicit_kernel(network, tensors, trained_parameters(network))
    return (kernel if per_output else kernel.mean(0)).numpy()


def explicit_kernel(
    network: nn.Module, inputs: Inputs, parameters: Mapping[str, nn.Parameter], memory: float = float("inf")
) -> Tensor:
    """Compute the kernel of some parameters from explicit Jacobians, in blocks of rows that fit into memory.

    Args:
        network: The network, in evaluation mode.
        inputs: Inputs of N examples.
        parameters: The parameters, by name.
        memory: Bytes for two blocks of Jacobians; if all rows do not fit, Jacobians are computed several times.

    Returns:
        The kernel of each output (C, N, N) in float64.
    """
    rows = num_rows(inputs)
    with torch.no_grad():
        outputs = call(network, take(inputs, slice(0, 1))).shape[1]
    first = next(iter(parameters.values()))
    per_row = outputs * sum(p.numel() for p in parameters.values()) * first.element_size()
    block = rows if rows * per_row <= memory else max(1, int(memory / (2 * per_row)))
    kernel = torch.zeros(outputs, rows, rows, dtype=torch.float64)
    blocks = batches(rows, block)
    for k, a in enumerate(blocks):
        left = jacobians(network, take(inputs, a), parameters)  # (rows, C, P)
        for b in blocks[k:]:
            right = left if b == a else jacobians(network, take(inputs, b), parameters)
            part = torch.einsum("acp,bcp->cab", left, right).to("cpu", torch.float64)
            kernel[:, a, b] = part
            kernel[:, b, a] = part.transpose(1, 2)
    return kernel


def jacobians(network: nn.Module, inputs: Inputs, parameters: Mapping[str, nn.Parameter]) -> Tensor:
    """Compute the Jacobian of each example's outputs with respect to some parameters.

    Args:
        network: The network, in evaluation mode.
        inputs: Inputs of N examples.
        parameters: The parameters, by name.

    Returns:
        The Jacobians (N, C, P), parameters flattened and joined in their order.
    """
    values = {name: value.detach() for name, value in parameters.items()}

    def outputs_of_one(values: dict[str, Tensor], example: Any) -> Tensor:
        one = {k: v[None] for k, v in example.items()} if isinstance(example, dict) else example[None]
        return call(lambda *args, **named: functional_call(network, values, args, named), one)[0]

    parts = []
    for rows in batches(num_rows(inputs), _CHUNK):
        try:
            with sdpa_kernel(SDPBackend.MATH):  # the form of attention that can be vectorized
                found = vmap(jacrev(outputs_of_one), in_dims=(None, 0))(values, take(inputs, rows))
        except RuntimeError:  # an operation that cannot be vectorized: one example after another
            return _jacobians_one_by_one(network, inputs, parameters)
        parts.append(torch.cat([found[name].flatten(2) for name in parameters], dim=2).detach())
    return torch.cat(parts)


def _jacobians_one_by_one(network: nn.Module, inputs: Inputs, parameters: Mapping[str, nn.Parameter]) -> Tensor:
    """Compute the same Jacobians by one backward pass for each example and output."""
    rows = []
    for k in range(num_rows(inputs)):
        outputs = call(network, take(inputs, slice(k, k + 1)))[0]
        gradients = [
            torch.autograd.grad(output, list(parameters.values()), retain_graph=True, allow_unused=True)
            for output in outputs
        ]
        rows.append(torch.stack([_joined(one, parameters) for one in gradients]))
    return torch.stack(rows)


def _joined(gradients: tuple[Tensor | None, ...], parameters: Mapping[str, nn.Parameter]) -> Tensor:
    pairs = zip(gradients, parameters.values(), strict=True)
    return torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for g, p in pairs])
