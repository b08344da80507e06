"""The small AlexNet of Table 1, with one head per task, for Split CIFAR-100."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ebbing.learn._seeding import build_seeded
from ebbing.learn.networks.dropout import Dropout


@dataclass(frozen=True)
class SmallAlexNet:
    """Three convolutions and two wide layers, each with batch normalization and dropout, and one head per task.

    Batch normalization keeps no running statistics: in evaluation mode, too, it uses those of the batch.

    Attributes:
        identifier: The kind under which results are stored.
        tasks: The number of heads.
        classes: The number of outputs of each head.
        width: The width of every hidden layer, as a multiple of the published one.
    """

    identifier: ClassVar[str] = "SmallAlexNet"

    tasks: int = 10
    classes: int = 10
    width: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.width, int | float) or not 1 / 64 <= self.width < float("inf"):
            raise ValueError(f"width={self.width!r}: give a multiple of the published width, at least 1/64")

    def settings(self) -> dict[str, Any]:
        """Return the settings, which are part of the key of stored results.

        Early versions had no `width`: the default width is left out, so that their results are still found.

        Returns:
            The settings by name.
        """
        found = asdict(self)
        if self.width == 1:
            del found["width"]
        return found

    def build(self, seed: int) -> nn.Module:
        """Build a network with PyTorch's default initialization, which the seed alone determines.

        Args:
            seed: The seed of the initialization.

        Returns:
            A network that takes images (n, 3, 32, 32) and the index of the task, and returns (n, classes).

        Example:
            >>> SmallAlexNet().build(seed=0)(torch.zeros(3, 3, 32, 32), task=2).shape
            torch.Size([3, 10])
        """
        return build_seeded(seed, lambda: _SmallAlexNet(self.tasks, self.classes, self.width))


class _SmallAlexNet(nn.Module):
    def __init__(self, tasks: int, classes: int, width: float) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        first, second, third, wide = (round(width * published) for published in (64, 128, 256, 2048))
        for inputs, outputs, kernel, dropout in ((3, first, 4, 0.2), (first, second, 3, 0.2), (second, third, 2, 0.5)):
            norm = nn.BatchNorm2d(outputs, track_running_stats=False)
            # ReLU follows the pooling: max and ReLU commute, and a quarter of the values is left.
            layers += [
                nn.Conv2d(inputs, outputs, kernel, bias=False),
                norm,
                Dropout(dropout),
                nn.MaxPool2d(2),
                nn.ReLU(),
            ]
        layers.append(nn.Flatten())
        for inputs, outputs in ((4 * third, wide), (wide, wide)):
            norm = nn.BatchNorm1d(outputs, track_running_stats=False)
            layers += [nn.Linear(inputs, outputs, bias=False), norm, nn.ReLU(), Dropout(0.5)]
        self.body = nn.Sequential(*layers)
        self.heads = nn.ModuleList(nn.Linear(wide, classes, bias=False) for _ in range(tasks))

    def forward(self, images: Tensor, task: int) -> Tensor:
        if not 0 <= task < len(self.heads):
            raise ValueError(f"task {task} (from 0): the network has {len(self.heads)} heads; build it with more")
        # Channels last: convolutions, pooling and normalization of small batches take a fifth less time on a CPU.
        return self.heads[task](self.body(images.contiguous(memory_format=torch.channels_last)))
