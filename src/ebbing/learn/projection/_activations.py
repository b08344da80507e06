"""What a few examples show of a network: what its layers are given, and where the loss would move their weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from ebbing.learn.projection._layers import Layer, recorded_inputs
from ebbing.learn.training.batches import Pair, split_batches

PASS_SIZE = 64
"""Examples that pass through convolutions together: of a few hundred, what layers are given may need much memory."""

Forward = Callable[[Tensor], Tensor]
Loss = Callable[[Tensor, Tensor], Tensor]


def weight_gradients(
    network: nn.Module, forward: Forward, layers: list[Layer], examples: Pair, loss: Loss
) -> list[Tensor]:
    """The gradient of the mean loss with respect to the weight of every layer."""
    network.eval()
    weights = [layer.module.weight for layer in layers]
    gradients = [torch.zeros_like(weight) for weight in weights]
    for x, y in zip(*(_pieces(network, part) for part in examples), strict=True):
        found = torch.autograd.grad(loss(forward(x.clone()), y), weights, allow_unused=True)
        for total, gradient in zip(gradients, found, strict=True):
            if gradient is not None:
                total.add_(gradient, alpha=len(x) / len(examples[0]))
    return gradients


def layer_inputs(
    network: nn.Module, forward: Forward, layers: list[Layer], examples: Tensor, counts: Sequence[int]
) -> dict[str, list[Tensor]]:
    """What every layer is given by the first examples, as many as are counted for it; call by call."""
    seen: dict[str, list[Tensor]] = {layer.name: [] for layer in layers}
    wanted = dict(zip(seen, counts, strict=True))
    apart, begun = set[int](), 0
    for x in _pieces(network, examples):
        with recorded_inputs(layers) as calls:
            forward(x.clone())
        for name, given in calls.items():
            rows = max(wanted[name] - begun, 0)
            if rows >= len(x):
                seen[name] += given
            elif all(len(call) == len(x) for call in given):  # what belongs to an example is in its row
                seen[name] += [call[:rows].clone() for call in given if rows]  # without the memory of the others
            else:
                apart.add(wanted[name])
        begun += len(x)
    for count in apart:  # which rows belong to whom cannot be told: these examples by themselves
        with recorded_inputs([layer for layer in layers if wanted[layer.name] == count]) as calls:
            for x in _pieces(network, examples[:count]):
                forward(x.clone())
        seen |= calls
    return seen


def _pieces(network: nn.Module, examples: Tensor) -> tuple[Tensor, ...]:
    """Examples that pass through the network together: all where a norm goes by the statistics of the batch."""
    modules = list(network.modules())
    by_batch = any(isinstance(m, nn.modules.batchnorm._BatchNorm) and m.running_mean is None for m in modules)
    large = any(isinstance(module, nn.modules.conv._ConvNd) for module in modules)
    return split_batches(examples, PASS_SIZE) if large and not by_batch else (examples,)
