"""Streams in which every task has some of the classes of a data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from ebbing._validate import number
from ebbing.data import Cifar100, Mnist
from ebbing.learn.networks._seeding import hash_to_int
from ebbing.learn.tasks import _datasets
from ebbing.learn.tasks.image_stream import (
    MNIST_MEAN,
    MNIST_STD,
    Images,
    ImageSelection,
    ImageStream,
    check_counts,
    normalize,
    scale_to_unit,
)

CIFAR_MEAN, CIFAR_STD = [125.3 / 255, 123.0 / 255, 113.9 / 255], [63.0 / 255, 62.1 / 255, 66.7 / 255]


@dataclass(frozen=True)
class _Split(ImageStream):
    """Task k has the labels k * classes, ..., (k + 1) * classes - 1.

    The seed and the task's name put the task's training images into a random order: its first `validation_share`,
    rounded, is for validation, the next `train_images` (None: the rest) for training. Another random order of its test
    images begins with the `test_images` (None: all) that are taken. Images stay in these orders: a data set may be
    sorted by class, and a network that normalizes by the statistics of a batch must not see one class.
    """

    tasks: int
    validation_share: float
    train_images: int | None = None
    test_images: int | None = None
    classes: int = 10

    source: ClassVar[str]
    labels: ClassVar[int]

    def __post_init__(self) -> None:
        check_counts(self, "tasks", "classes")
        check_counts(self, *(name for name in ("train_images", "test_images") if getattr(self, name) is not None))
        object.__setattr__(self, "validation_share", number("validation_share", self.validation_share))
        if self.validation_share >= 1:
            raise ValueError(f"validation_share={self.validation_share:g}: give less than 1, to leave some to train")
        if self.tasks * self.classes > self.labels:
            raise ValueError(
                f"tasks={self.tasks} of classes={self.classes} each are {self.tasks * self.classes} classes, but "
                f"{self.source} has {self.labels}; ask for fewer tasks or classes"
            )

    def _select(self, data: Mnist | Cifar100, task: int, seed: int) -> ImageSelection:
        random = np.random.default_rng([seed, hash_to_int(f"split {task}")])
        train = random.permutation(np.flatnonzero(data.train_labels // self.classes == task))
        test = random.permutation(np.flatnonzero(data.test_labels // self.classes == task))
        validation, rest = np.split(train, [round(self.validation_share * len(train))])
        if not 1 <= (self.train_images or len(rest)) <= len(rest):
            raise ValueError(
                f"train_images={self.train_images}, validation_share={self.validation_share:g}: task {task} has "
                f"{len(train):,} training images, of which {len(rest):,} are left; ask for less"
            )
        if (self.test_images or 0) > len(test):
            raise ValueError(f"test_images={self.test_images}: task {task} has {len(test):,} test images; ask for less")
        return ImageSelection(rest[: self.train_images], validation, test[: self.test_images])

    def _first(self, task: int) -> int:
        return task * self.classes


@dataclass(frozen=True)
class SplitMnist(_Split):
    """Two digits in each task: 0 and 1, 2 and 3, ... Inputs (n, 1, 28, 28).

    >>> SplitMnist().names, SplitMnist().classes
    (('0', '1', '2', '3', '4'), 2)
    """

    identifier: ClassVar[str] = "SplitMnist"

    tasks: int = 5
    validation_share: float = 0.1
    classes: int = 2

    source: ClassVar[str] = "MNIST"
    labels: ClassVar[int] = 10

    @staticmethod
    def _data() -> Mnist:
        return _datasets.mnist()

    def _inputs(self, images: Images, task: int, seed: int) -> torch.Tensor:
        return normalize(scale_to_unit(images).unsqueeze(1), MNIST_MEAN, MNIST_STD)


@dataclass(frozen=True)
class SplitCifar100(_Split):
    """Ten classes of CIFAR-100 in each task, in the order of their labels. Inputs (n, 3, 32, 32).

    >>> SplitCifar100(tasks=20, classes=5).names[-1]
    '19'
    """

    identifier: ClassVar[str] = "SplitCifar100"

    tasks: int = 10
    validation_share: float = 0.05

    source: ClassVar[str] = "CIFAR-100"
    labels: ClassVar[int] = 100

    @staticmethod
    def _data() -> Cifar100:
        return _datasets.cifar100()

    def _inputs(self, images: Images, task: int, seed: int) -> torch.Tensor:
        return normalize(scale_to_unit(images.transpose(0, 3, 1, 2)), CIFAR_MEAN, CIFAR_STD)
