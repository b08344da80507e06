"""The five-layer network of the paper's appendix: two convolutions and three fully connected layers.

    image > conv 5x5 > ReLU > 2x2 max pooling > conv 5x5 > ReLU > linear > ReLU > linear > ReLU > linear > sigmoid

The paper prints no widths; the defaults are LeNet's (6, 16, 120, 84). The forward pass ends before the sigmoid: losses
and errors apply it themselves, as the cross-entropy of a saturated sigmoid has no gradient.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from ebbing.validate import count

_SEEDING = threading.Lock()
"""PyTorch initialises layers from a generator that all threads share (a Dask worker may have several)."""


@dataclass(frozen=True)
class FiveLayers:
    """Widths of the two convolutions and of the two hidden linear layers."""

    widths: tuple[int, int, int, int] = (6, 16, 120, 84)

    def __post_init__(self) -> None:
        if len(self.widths) != 4:
            raise ValueError(f"widths={self.widths}: give four: two convolutions, two hidden layers")
        object.__setattr__(self, "widths", tuple(count("width", width) for width in self.widths))

    def build(self, seed: int) -> nn.Module:
        """A network with PyTorch's default initialisation, determined by the seed alone.

        >>> FiveLayers().build(seed=0)(torch.zeros(3, 1, 28, 28)).shape
        torch.Size([3, 1])
        """
        with _SEEDING, torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            # Channels last: the convolutions of small batches run a tenth faster on a CPU.
            return _Network(self.widths).to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]


class _Network(nn.Module):
    def __init__(self, widths: tuple[int, int, int, int]) -> None:
        super().__init__()
        first, second, third, fourth = widths
        self.conv1 = nn.Conv2d(1, first, 5)  # 28 -> 24, pooled to 12
        self.conv2 = nn.Conv2d(first, second, 5)  # 12 -> 8
        self.linear1 = nn.Linear(second * 8 * 8, third)
        self.linear2 = nn.Linear(third, fourth)
        self.linear3 = nn.Linear(fourth, 1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = functional.relu(functional.max_pool2d(self.conv1(images), 2))  # ReLU and max pooling commute
        x = functional.relu(self.conv2(x)).flatten(1)
        x = functional.relu(self.linear1(x))
        x = functional.relu(self.linear2(x))
        return self.linear3(x)  # (images, 1)
