"""The five-layer network of the paper's appendix: two convolutions and three fully connected layers.

    image > conv 5x5 > ReLU > 2x2 max pooling > conv 5x5 > ReLU > linear > ReLU > linear > ReLU > linear > sigmoid

The paper prints no widths; the defaults are LeNet's (6, 16, 120, 84). The forward pass ends before the sigmoid: losses
and errors apply it themselves, as the cross-entropy of a saturated sigmoid has no gradient.

`_Reference` is the network as drawn. `_Fused` is the same function with the same weights, a quarter faster to train: it
computes the first convolution and its pooling together. They agree to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import nn
from torch.nn import functional

from ebbing._validate import count
from ebbing.learn.networks._seeding import build_seeded


@dataclass(frozen=True)
class FiveLayers:
    """Widths of the two convolutions and of the two hidden linear layers."""

    identifier: ClassVar[str] = "FiveLayers"

    widths: tuple[int, int, int, int] = (6, 16, 120, 84)

    version: int = field(default=2, init=False)  # to be raised when any bit of outputs changes: it enters the key

    def __post_init__(self) -> None:
        if len(self.widths) != 4:
            raise ValueError(f"widths={self.widths}: give four: two convolutions, two hidden layers")
        object.__setattr__(self, "widths", tuple(count("width", width) for width in self.widths))

    def build(self, seed: int) -> nn.Module:
        """A network with PyTorch's default initialization, determined by the seed alone.

        >>> FiveLayers().build(seed=0)(torch.zeros(3, 1, 28, 28)).shape
        torch.Size([3, 1])
        """
        return build_seeded(seed, lambda: _Fused(self.widths))

    def build_reference(self, seed: int) -> nn.Module:
        """The reference: the same network, computed layer by layer."""
        return build_seeded(seed, lambda: _Reference(self.widths))


class _Reference(nn.Module):
    """The network as drawn."""

    def __init__(self, widths: tuple[int, int, int, int]) -> None:
        super().__init__()
        first, second, third, fourth = widths
        self.conv1 = nn.Conv2d(1, first, 5)  # 28 -> 24, pooled to 12
        self.conv2 = nn.Conv2d(first, second, 5)  # 12 -> 8
        self.linear1 = nn.Linear(second * 8 * 8, third)
        self.linear2 = nn.Linear(third, fourth)
        self.linear3 = nn.Linear(fourth, 1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = functional.relu(self.pooled(images))  # ReLU and max pooling commute
        x = functional.relu(self.conv2(x)).flatten(1)
        x = functional.relu(self.linear1(x))
        x = functional.relu(self.linear2(x))
        return self.linear3(x)  # (images, 1)

    def pooled(self, images: torch.Tensor) -> torch.Tensor:
        """The first convolution, pooled (images, first, 12, 12)."""
        return functional.max_pool2d(self.conv1(images), 2)


class _Fused(_Reference):
    """The same with the first convolution and its pooling in one.

    The four values under a pooling window come from one 6 x 6 patch. So the 5 x 5 kernels, set into the four corners of
    6 x 6 ones and moved by two pixels, give them as four groups of channels; pooling is the largest of the groups,
    element by element. It replaces a convolution too thin to be fast, and a pooling that takes memory in small steps.
    """

    def pooled(self, images: torch.Tensor) -> torch.Tensor:
        if not _untouched(self.conv1):
            return super().pooled(images)
        corners = ((0, 1, 0, 1), (1, 0, 0, 1), (0, 1, 1, 0), (1, 0, 1, 0))  # zeros to the left, right, top, bottom
        kernels = torch.cat([functional.pad(self.conv1.weight, corner) for corner in corners])  # (4 first, 1, 6, 6)
        bias = self.conv1.bias.repeat(4)  # type: ignore[union-attr]
        return _larger_half(_larger_half(functional.conv2d(images, kernels, bias, stride=2)))


def _larger_half(x: torch.Tensor) -> torch.Tensor:
    """max(a, b) of the two halves of the channels. Written so, its gradient costs a sixth of torch.maximum's."""
    a, b = x.chunk(2, dim=1)
    return a + functional.relu(b - a)


def _untouched(layer: nn.Conv2d) -> bool:
    """Whether the layer is its weights and no more: methods may watch a layer or put another in its place."""
    hooks = (layer._forward_pre_hooks, layer._forward_hooks, layer._backward_pre_hooks, layer._backward_hooks)
    return type(layer) is nn.Conv2d and "forward" not in vars(layer) and not any(hooks)
