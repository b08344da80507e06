"""Snapshots of the layers of a network: what a task or an evaluation changes in them is undone."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from ebbing.learn.projection._layers import Layer


def copy_weights(layers: list[Layer]) -> list[list[Tensor]]:
    """Return copies of the weights of all blocks, by layer."""
    return [[weight.clone() for weight in layer.weights] for layer in layers]


def write_weights(layers: list[Layer], weights: list[list[Tensor]]) -> None:
    """Write the weights of all blocks into the network."""
    for layer, of_layer in zip(layers, weights, strict=True):
        layer.set_weights(of_layer)


def effective_weights(layers: list[Layer], weights: list[list[Tensor]], task: int) -> list[list[Tensor]]:
    """Return the weights that a task uses, from the shared ones."""
    return [
        [block.effective_weight(weight, task) for block, weight in zip(layer.blocks, of_layer, strict=True)]
        for layer, of_layer in zip(layers, weights, strict=True)
    ]


def snapshot_layers(layers: list[Layer], tasks: int) -> Callable[[], None]:
    """Return a function that restores weights, blocks and bases after so many tasks, and ends parametrizations."""
    weights = copy_weights(layers)
    blocks = [[(block, block.basis) for block in layer.blocks] for layer in layers]

    def restore() -> None:
        for layer, layer_weights, layer_blocks in zip(layers, weights, blocks, strict=True):
            layer.remove_parametrizations()
            layer.set_blocks([block for block, _ in layer_blocks])  # protecting the task may have split them
            layer.set_weights(layer_weights)
            for block, basis in layer_blocks:
                block.basis = basis
                del block.subspaces[tasks:], block.updates[tasks:]

    return restore
