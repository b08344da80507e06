"""Measurements of a network on a few examples: the inputs of its layers, and the gradients of their weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from ebbing.learn.projection._layers import Layer, recorded_inputs
from ebbing.learn.training._inputs import Inputs, count_inputs, first_inputs, map_inputs
from ebbing.learn.training.batches import Pair, split_inputs
from ebbing.learn.training.schedule import Loss

FORWARD_BATCH_SIZE = 64
"""Examples per forward pass in networks with convolutions, whose recorded inputs need much memory."""

Forward = Callable[[Inputs], Tensor]


def weight_gradients(
    network: nn.Module, forward: Forward, layers: list[Layer], examples: Pair, loss: Loss
) -> list[Tensor]:
    """Return the gradient of the mean loss with respect to the weight of every layer, in evaluation mode."""
    network.eval()
    weights = [layer.module.weight for layer in layers]
    gradients = [torch.zeros_like(weight) for weight in weights]
    for x, y in zip(*(_forward_batches(network, part) for part in examples), strict=True):
        assert isinstance(y, Tensor)
        of_batch = torch.autograd.grad(loss(forward(map_inputs(torch.clone, x)), y), weights, allow_unused=True)
        for total, gradient in zip(gradients, of_batch, strict=True):
            if gradient is not None:
                total.add_(gradient, alpha=len(y) / len(examples[1]))
    return gradients


def layer_inputs(
    network: nn.Module, forward: Forward, layers: list[Layer], examples: Inputs, counts: Sequence[int]
) -> dict[str, list[Tensor]]:
    """Return the inputs of every layer, call by call, by the layer's name.

    `counts` is the number of examples for each layer: the first ones are used.
    """
    inputs: dict[str, list[Tensor]] = {layer.name: [] for layer in layers}
    count_of = dict(zip(inputs, counts, strict=True))
    separate_counts, offset = set[int](), 0
    for x in _forward_batches(network, examples):
        with recorded_inputs(layers) as recorded:
            forward(map_inputs(torch.clone, x))
        for name, calls in recorded.items():
            rows = max(count_of[name] - offset, 0)
            if rows >= count_inputs(x):
                inputs[name] += calls
            elif all(len(call) == count_inputs(x) for call in calls):  # one row per example
                inputs[name] += [call[:rows].clone() for call in calls if rows]  # copied to free the other rows
            else:
                separate_counts.add(count_of[name])
        offset += count_inputs(x)
    for count in separate_counts:  # rows cannot be assigned to examples: a separate pass with these examples only
        with recorded_inputs([layer for layer in layers if count_of[layer.name] == count]) as recorded:
            for x in _forward_batches(network, first_inputs(examples, count)):
                forward(map_inputs(torch.clone, x))
        inputs |= recorded
    return inputs


def _forward_batches(network: nn.Module, examples: Inputs) -> list[Inputs]:
    """Return the examples in batches: in a single one if a norm uses the statistics of the batch."""
    modules = list(network.modules())
    batch_statistics = any(isinstance(m, nn.modules.batchnorm._BatchNorm) and m.running_mean is None for m in modules)
    convolutional = any(isinstance(module, nn.modules.conv._ConvNd) for module in modules)
    return split_inputs(examples, FORWARD_BATCH_SIZE) if convolutional and not batch_statistics else [examples]
