"""The networks of Table 1: a perceptron for Permuted MNIST, and a small AlexNet with a head per task for CIFAR-100."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn

from ebbing._validate import count
from ebbing.learn.networks._seeding import build_seeded


@dataclass(frozen=True)
class MLP:
    """Fully connected layers without biases, ReLU between them: 784-100-100-10."""

    widths: tuple[int, ...] = (784, 100, 100, 10)

    identifier: ClassVar[str] = "Perceptron"

    def __post_init__(self) -> None:
        if len(self.widths) < 2:
            raise ValueError(f"widths={self.widths}: give at least inputs and outputs")
        object.__setattr__(self, "widths", tuple(count("width", width) for width in self.widths))

    def build(self, seed: int) -> nn.Module:
        """PyTorch's default initialization, determined by the seed alone.

        >>> MLP().build(seed=0)(torch.zeros(3, 784)).shape
        torch.Size([3, 10])
        """
        return build_seeded(seed, lambda: _mlp(self.widths))


def _mlp(widths: tuple[int, ...]) -> nn.Sequential:
    layers: list[nn.Module] = [nn.Flatten()]
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs, bias=False), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


@dataclass(frozen=True)
class SmallAlexNet:
    """Three convolutions and two wide layers, each with batch normalization and dropout; a head for every task.

    Batch normalization keeps no running statistics: at test, too, it uses those of the batch.
    """

    identifier: ClassVar[str] = "SmallAlexNet"

    tasks: int = 10
    classes: int = 10

    def build(self, seed: int) -> nn.Module:
        """PyTorch's default initialization, determined by the seed alone.

        >>> SmallAlexNet().build(seed=0)(torch.zeros(3, 3, 32, 32), task=2).shape
        torch.Size([3, 10])
        """
        return build_seeded(seed, lambda: _SmallAlexNet(self.tasks, self.classes))


class Dropout(nn.Module):
    """Dropout whose masks cost little: 16 random bits for each value, four masks from each number drawn.

    PyTorch's own takes a fifth of a step of this network on a CPU. The share dropped is exact to 2^-17.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, values: Tensor) -> Tensor:
        """The values as they are when testing; when training, a random share set to 0 and the rest scaled up."""
        if not self.training or self.share == 0:
            return values
        bits = torch.empty(-(-values.numel() // 4), dtype=torch.int64, device=values.device).random_(-(2**63), None)
        bits = bits.view(torch.int16)[: values.numel()]
        kept = bits >= round(self.share * 2**16) - 2**15
        layout = torch.empty_like(values)  # the memory layout of the values, so that the mask is multiplied in one pass
        mask = layout.as_strided((values.numel(),), (1,)).copy_(kept).mul_(1 / (1 - self.share))
        return values * mask.as_strided(values.shape, layout.stride())


class _SmallAlexNet(nn.Module):
    def __init__(self, tasks: int, classes: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inputs, outputs, kernel, dropout in ((3, 64, 4, 0.2), (64, 128, 3, 0.2), (128, 256, 2, 0.5)):
            norm = nn.BatchNorm2d(outputs, track_running_stats=False)
            # ReLU comes last: of non-negative multiples the maximum's ReLU is the ReLU's maximum, with a quarter to do.
            layers += [
                nn.Conv2d(inputs, outputs, kernel, bias=False),
                norm,
                Dropout(dropout),
                nn.MaxPool2d(2),
                nn.ReLU(),
            ]
        layers.append(nn.Flatten())
        for inputs, outputs in ((1024, 2048), (2048, 2048)):
            norm = nn.BatchNorm1d(outputs, track_running_stats=False)
            layers += [nn.Linear(inputs, outputs, bias=False), norm, nn.ReLU(), Dropout(0.5)]
        self.body = nn.Sequential(*layers)
        self.heads = nn.ModuleList(nn.Linear(2048, classes, bias=False) for _ in range(tasks))

    def forward(self, images: Tensor, task: int) -> Tensor:
        if not 0 <= task < len(self.heads):
            raise ValueError(f"task {task} (from 0): the network has heads for {len(self.heads)}; build it with more")
        # Channels last: convolutions, pooling and normalization of small batches take a fifth less time on a CPU.
        return self.heads[task](self.body(images.contiguous(memory_format=torch.channels_last)))
