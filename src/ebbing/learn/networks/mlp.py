"""The multilayer perceptron of Table 1, for Permuted MNIST."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from torch import nn

from ebbing._validate import check_count
from ebbing.learn._seeding import build_seeded


@dataclass(frozen=True)
class MLP:
    """A multilayer perceptron: fully connected layers without biases, with ReLU between them.

    Attributes:
        identifier: The kind under which results are stored.
        widths: The number of inputs, the widths of the hidden layers, and the number of outputs.

    Raises:
        ValueError: If there are fewer than two widths.
    """

    identifier: ClassVar[str] = "Perceptron"

    widths: tuple[int, ...] = (784, 100, 100, 10)

    def __post_init__(self) -> None:
        if len(self.widths) < 2:
            raise ValueError(f"widths={self.widths}: give at least the number of inputs and of outputs")
        object.__setattr__(self, "widths", tuple(check_count("width", width) for width in self.widths))

    def build(self, seed: int) -> nn.Module:
        """Build a network with PyTorch's default initialization, which the seed alone determines.

        Args:
            seed: The seed of the initialization.

        Returns:
            A network that flattens its inputs to (n, widths[0]) and returns (n, widths[-1]).

        Example:
            >>> import torch
            >>> MLP().build(seed=0)(torch.zeros(3, 784)).shape
            torch.Size([3, 10])
        """
        return build_seeded(seed, lambda: _mlp(self.widths))


def _mlp(widths: tuple[int, ...]) -> nn.Sequential:
    layers: list[nn.Module] = [nn.Flatten()]
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs, bias=False), nn.ReLU()]
    return nn.Sequential(*layers[:-1])
