"""Measurements of a network on a few examples: the inputs of its layers, and the gradients of their weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from ebbing.learn._inputs import Inputs, count_inputs, first_inputs, map_inputs, real_positions
from ebbing.learn.projection._calls import Calls, GramMatrices, call_bytes
from ebbing.learn.projection._embedding import EmbeddingLayer
from ebbing.learn.projection._layer_kinds import LinearKind, is_attention, is_cell, is_recurrent, is_table
from ebbing.learn.projection._layers import Layer
from ebbing.learn.projection._padding import common_mask, ignores_padding, without_padding
from ebbing.learn.projection._recording import Recording, recorded_inputs
from ebbing.learn.projection._tied import TiedLayer
from ebbing.learn.training.batches import Pair, split_inputs
from ebbing.learn.training.schedule import Loss

FORWARD_BATCH_SIZE = 64
"""Examples per forward pass in networks with convolutions, whose recorded inputs need much memory."""

TOKEN_BATCH_SIZE = 16
"""Examples per forward pass in networks of sequences, whose examples consist of many tokens."""

MAX_TOKEN_BYTES = 16 << 20
"""The number of bytes of a layer's recorded tokens that are held in memory; of more, R R' is computed."""

Forward = Callable[[Inputs], Tensor]


def weight_gradients(
    network: nn.Module, forward: Forward, layers: list[Layer], examples: Pair, loss: Loss
) -> list[Tensor]:
    """Return the gradient of the mean loss with respect to the weight of every layer, in evaluation mode."""
    network.eval()
    weights = [layer.weight for layer in layers]
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
) -> dict[str, Calls]:
    """Return the inputs of every layer, call by call, by the layer's name.

    `counts` is the number of examples for each layer: the first ones are used. Padding that the network ignores is left
    out. Where the inputs of a layer are many, as with tokens, their sum of R R' is returned.
    """
    inputs: dict[str, Calls] = {layer.name: [] for layer in layers}
    by_name, count_of = {layer.name: layer for layer in layers}, dict(zip(inputs, counts, strict=True))
    separate_counts, offset, measurement = set[int](), 0, _Measurement(forward, layers)
    for x in _forward_batches(network, examples):
        recorded, real = measurement.record(x)
        for name, calls in recorded.items():
            rows = max(count_of[name] - offset, 0)
            if rows >= count_inputs(x):
                inputs[name] += [without_padding(call, real) for call in calls]
            elif all(isinstance(call, Tensor) and len(call) == count_inputs(x) for call in calls):  # a row per example
                first = [call[:rows].clone() for call in calls if rows]  # type: ignore[index] (a tensor)
                inputs[name] += [without_padding(call, None if real is None else real[:rows]) for call in first]
            else:
                separate_counts.add(count_of[name])
            inputs[name] = _compressed(by_name[name], inputs[name])
        offset += count_inputs(x)
    for count in separate_counts:  # rows cannot be assigned to examples: a separate pass with these examples only
        some = [layer for layer in layers if count_of[layer.name] == count]
        inputs |= {layer.name: [] for layer in some}
        for x in _forward_batches(network, first_inputs(examples, count)):
            recorded, real = measurement.record(x)
            for layer in some:
                calls = [without_padding(call, real) for call in recorded[layer.name]]
                inputs[layer.name] = _compressed(layer, inputs[layer.name] + calls)
    return inputs


class _Measurement:
    """Forward passes whose layers' inputs are recorded, with the positions that are no padding.

    Args:
        forward: The network.
        layers: The layers.
    """

    def __init__(self, forward: Forward, layers: list[Layer]) -> None:
        self.forward, self.layers = forward, layers
        self._ignores_padding: bool | None = None  # until there is padding

    def record(self, inputs: Inputs) -> tuple[Recording, Tensor | None]:
        """Return the inputs of all layers, and which positions are real; None if padding counts or there is none."""
        with recorded_inputs(self.layers) as recorded:
            outputs = self.forward(map_inputs(torch.clone, inputs))
        real = real_positions(inputs)
        real = common_mask(recorded.real) if real is None else real
        if real is None or bool(real.all()):
            return recorded, None
        if self._ignores_padding is None:
            self._ignores_padding = ignores_padding(self.forward, self.layers, inputs, outputs, real)
        return recorded, real if self._ignores_padding else None


def _compressed(layer: Layer, calls: Calls) -> Calls:
    """Return the sum of R R' instead of many tokens; anything else as it is."""
    if isinstance(layer, EmbeddingLayer | TiedLayer) or not isinstance(layer.kind, LinearKind):
        return calls
    tokens = [call for call in calls if not isinstance(call, GramMatrices)]
    size = sum(map(call_bytes, tokens))
    if size <= MAX_TOKEN_BYTES or size <= 2 * layer.blocks[0].size ** 2 * layer.weight.element_size():
        return calls
    if any(isinstance(call, tuple) for call in tokens) and layer.groups == 1:
        if len(tokens) < len(calls):
            (gram,) = calls[0]
            calls = [GramMatrices([gram, gram.clone(), gram.clone()]), *tokens]
        layer.split_blocks(3)
    return [layer.add_grams(calls)]


def batch_size(network: nn.Module) -> int | None:
    """Return the number of examples of a forward pass, or None for all: the fewer, the more memory one needs."""
    modules = list(network.modules())
    if any(isinstance(m, nn.modules.batchnorm._BatchNorm) and m.running_mean is None for m in modules):
        return None  # the norm uses the statistics of the batch
    if any(is_table(m) or is_attention(m) or is_recurrent(m) or is_cell(m) for m in modules):
        return TOKEN_BATCH_SIZE
    return FORWARD_BATCH_SIZE if any(isinstance(m, nn.modules.conv._ConvNd) for m in modules) else None


def _forward_batches(network: nn.Module, examples: Inputs) -> list[Inputs]:
    """Return the examples in batches: in a single one if a norm uses the statistics of the batch."""
    size = batch_size(network)
    return [examples] if size is None else split_inputs(examples, size)
