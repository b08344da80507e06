"""Streams in which every task has all of MNIST, in another guise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch.nn.functional import affine_grid, grid_sample

from ebbing._validate import check_seed
from ebbing.data import Cifar100, Mnist
from ebbing.learn.networks._seeding import hash_to_int
from ebbing.learn.tasks import _datasets
from ebbing.learn.tasks.image_stream import (
    MNIST_MEAN,
    MNIST_STD,
    Images,
    ImageSelection,
    ImageStream,
    Rows,
    check_counts,
    normalize,
    scale_to_unit,
)

MOST_TASKS = 10_000
"""Of streams that could go on for ever."""


@dataclass(frozen=True)
class _WholeMnist(ImageStream):
    """Every task has all ten digits, and the same images in another guise.

    The seed puts the 60,000 training images into a random order: its first `validation_images` are for validation, the
    next `train_images` for training. Of the 10,000 test images it chooses `test_images`.
    """

    tasks: int = 10
    train_images: int = 54_000
    test_images: int = 10_000
    validation_images: int = 6_000

    def __post_init__(self) -> None:
        check_counts(self, "tasks", "train_images", "test_images")
        if type(self.validation_images) is not int or self.validation_images != 0:  # 0: without
            check_counts(self, "validation_images")
        if self.tasks > MOST_TASKS:
            raise ValueError(f"tasks={self.tasks}: give at most {MOST_TASKS:,}")
        if self.train_images + self.validation_images > 60_000:
            raise ValueError(
                f"train_images={self.train_images}, validation_images={self.validation_images}: MNIST has 60,000 "
                "training images for both; ask for fewer"
            )
        if self.test_images > 10_000:
            raise ValueError(f"test_images={self.test_images}: MNIST has 10,000 test images; ask for fewer")

    @property
    def classes(self) -> int:
        """The ten digits."""
        return 10

    @staticmethod
    def _data() -> Mnist:
        return _datasets.mnist()

    def _select(self, data: Mnist | Cifar100, task: int, seed: int) -> ImageSelection:
        random = np.random.default_rng([seed, hash_to_int("split")])
        order = random.permutation(len(data.train_labels))
        validation, train = np.split(order, [self.validation_images])
        test = random.permutation(len(data.test_labels))[: self.test_images]
        return ImageSelection(np.sort(train[: self.train_images]), np.sort(validation), np.sort(test))

    def _first(self, task: int) -> int:
        return 0


@dataclass(frozen=True)
class PermutedMnist(_WholeMnist):
    """Every task moves the pixels by its own random permutation, the first task too. Inputs (n, 784).

    >>> PermutedMnist(tasks=3).names
    ('0', '1', '2')
    """

    identifier: ClassVar[str] = "PermutedMnist"

    def permutation(self, task: str, seed: int) -> Rows:
        """Of a task and a seed: pixel i of its images is pixel `permutation[i]` of MNIST's, row by row.

        >>> sorted(PermutedMnist().permutation("0", seed=0).tolist()) == list(range(784))
        True
        """
        words = hash_to_int(f"permutation {self._place(task)}")
        return np.random.default_rng([check_seed(seed), words]).permutation(28 * 28)

    def _inputs(self, images: Images, task: int, seed: int) -> torch.Tensor:
        pixels = images.reshape(-1, 28 * 28)[:, self.permutation(str(task), seed)]
        return normalize(scale_to_unit(pixels), MNIST_MEAN, MNIST_STD)


@dataclass(frozen=True)
class RotatedMnist(_WholeMnist):
    """Task k turns every image counter-clockwise about its center, by k * 180 / tasks degrees. Inputs (n, 1, 28, 28).

    Between pixels brightness is interpolated linearly in both directions; outside of the image it is black.
    """

    identifier: ClassVar[str] = "RotatedMnist"

    def angle(self, task: str) -> float:
        """By how many degrees a task turns its images.

        >>> RotatedMnist(tasks=4).angle("3")
        135.0
        """
        return self._place(task) * 180 / self.tasks

    def _inputs(self, images: Images, task: int, seed: int) -> torch.Tensor:
        turned = _turned(scale_to_unit(images), self.angle(str(task)))
        return normalize(turned.unsqueeze(1), MNIST_MEAN, MNIST_STD)


def _turned(images: torch.Tensor, degrees: float) -> torch.Tensor:
    """Images (n, h, w) turned counter-clockwise about their center.

    They pass as n channels of one image: where each pixel comes from is then found out once, not n times.
    """
    if not degrees:
        return images
    cos, sin = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    back = torch.tensor([[[cos, -sin, 0.0], [sin, cos, 0.0]]], dtype=torch.float32)  # x to the right, y down
    grid = affine_grid(back, [1, 1, *images.shape[1:]], align_corners=False)
    return grid_sample(images[None], grid, mode="bilinear", padding_mode="zeros", align_corners=False)[0]
