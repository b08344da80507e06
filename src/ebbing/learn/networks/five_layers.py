"""The five-layer network of the paper's appendix: two convolutions and three fully connected layers.

    image > conv 5x5 > ReLU > 2x2 max pooling > conv 5x5 > ReLU > linear > ReLU > linear > ReLU > linear > sigmoid

The paper gives no widths; the defaults are LeNet's (6, 16, 120, 84). The forward pass ends before the sigmoid: the loss
and the error apply it, since the cross-entropy of a saturated sigmoid has no gradient.

`_Reference` computes the network layer by layer. `_Fused` computes the same function with the same weights, and trains
a quarter faster: it fuses the first convolution with its pooling. The two agree up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import nn
from torch.nn import functional

from ebbing._validate import check_count
from ebbing.learn._seeding import build_seeded


@dataclass(frozen=True)
class FiveLayers:
    """The five-layer network of Figure 2, for images (n, 1, 28, 28) and one output.

    Attributes:
        identifier: The kind under which results are stored.
        widths: Channels of the two convolutions and widths of the two hidden linear layers.
        version: Version of the forward pass, a part of the key of stored results. It increases whenever any bit of the
            outputs changes.

    Raises:
        ValueError: If there are not four widths.
    """

    identifier: ClassVar[str] = "FiveLayers"

    widths: tuple[int, int, int, int] = (6, 16, 120, 84)

    version: int = field(default=2, init=False)

    def __post_init__(self) -> None:
        if len(self.widths) != 4:
            raise ValueError(f"widths={self.widths}: give four, those of two convolutions and of two hidden layers")
        object.__setattr__(self, "widths", tuple(check_count("width", width) for width in self.widths))

    def build(self, seed: int) -> nn.Module:
        """Build a network with PyTorch's default initialization, which the seed alone determines.

        Args:
            seed: The seed of the initialization.

        Returns:
            A network that takes images (n, 1, 28, 28) and returns logits (n, 1).

        Example:
            >>> FiveLayers().build(seed=0)(torch.zeros(3, 1, 28, 28)).shape
            torch.Size([3, 1])
        """
        return build_seeded(seed, lambda: _Fused(self.widths))

    def build_reference(self, seed: int) -> nn.Module:
        """Build the same network, computed layer by layer: the reference for `build`.

        Args:
            seed: The seed of the initialization.

        Returns:
            A network with the same weights, whose outputs agree up to rounding.
        """
        return build_seeded(seed, lambda: _Reference(self.widths))


class _Reference(nn.Module):
    """The network computed layer by layer.

    Args:
        widths: As in `FiveLayers`.
    """

    def __init__(self, widths: tuple[int, int, int, int]) -> None:
        super().__init__()
        first, second, third, fourth = widths
        self.conv1 = nn.Conv2d(1, first, 5)  # 28 -> 24, pooled to 12
        self.conv2 = nn.Conv2d(first, second, 5)  # 12 -> 8
        self.linear1 = nn.Linear(second * 8 * 8, third)
        self.linear2 = nn.Linear(third, fourth)
        self.linear3 = nn.Linear(fourth, 1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = functional.relu(self.pool(images))  # ReLU and max pooling commute
        x = functional.relu(self.conv2(x)).flatten(1)
        x = functional.relu(self.linear1(x))
        x = functional.relu(self.linear2(x))
        return self.linear3(x)  # (images, 1)

    def pool(self, images: torch.Tensor) -> torch.Tensor:
        """Return the first convolution after pooling.

        Args:
            images: Images, (n, 1, 28, 28).

        Returns:
            Activations, (n, widths[0], 12, 12).
        """
        return functional.max_pool2d(self.conv1(images), 2)


class _Fused(_Reference):
    """The same network with the first convolution and its pooling fused.

    The four values of a pooling window depend on one 6 x 6 patch. The 5 x 5 kernels, padded to the four corners of a
    6 x 6 kernel and applied with stride 2, give them as four groups of channels; pooling is the elementwise maximum of
    the groups. This replaces a convolution with few channels and a pooling with strided memory access, both slow.
    """

    def pool(self, images: torch.Tensor) -> torch.Tensor:
        if not _is_plain(self.conv1):
            return super().pool(images)
        corners = ((0, 1, 0, 1), (1, 0, 0, 1), (0, 1, 1, 0), (1, 0, 1, 0))  # zeros to the left, right, top, bottom
        kernels = torch.cat([functional.pad(self.conv1.weight, corner) for corner in corners])  # (4 first, 1, 6, 6)
        bias = self.conv1.bias.repeat(4)  # type: ignore[union-attr]
        return _max_of_halves(_max_of_halves(functional.conv2d(images, kernels, bias, stride=2)))


def _max_of_halves(x: torch.Tensor) -> torch.Tensor:
    """Return the elementwise maximum of the two halves of the channels; its gradient is six times faster than max's."""
    a, b = x.chunk(2, dim=1)
    return a + functional.relu(b - a)


def _is_plain(layer: nn.Conv2d) -> bool:
    """Return whether a layer has no hooks and no replaced forward, which the fused computation would bypass."""
    hooks = (layer._forward_pre_hooks, layer._forward_hooks, layer._backward_pre_hooks, layer._backward_hooks)
    return type(layer) is nn.Conv2d and "forward" not in vars(layer) and not any(hooks)
