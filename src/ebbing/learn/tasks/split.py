"""Split MNIST and Split CIFAR-100: every task has some of the classes of a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from ebbing._validate import check_number
from ebbing.data import Cifar100, Mnist
from ebbing.learn._seeding import hash_to_int
from ebbing.learn.tasks import _datasets
from ebbing.learn.tasks.image_stream import (
    MNIST_MEAN,
    MNIST_STD,
    Images,
    ImageSelection,
    ImageStream,
    check_count_fields,
    normalize,
    scale_to_unit,
)

CIFAR_MEAN, CIFAR_STD = [125.3 / 255, 123.0 / 255, 113.9 / 255], [63.0 / 255, 62.1 / 255, 66.7 / 255]


@dataclass(frozen=True)
class _Split(ImageStream):
    """Base class of streams in which task k has the labels k * classes, ..., (k + 1) * classes - 1.

    The seed and the task's name shuffle the task's training images: the first share (`validation_share`, rounded) is
    for validation, the next `train_images` (None: the rest) for training. They also shuffle its test images, of which
    the first `test_images` (None: all) are used. Images stay shuffled: a dataset may be sorted by class, and a network
    that normalizes by batch statistics must not see batches of a single class.

    Attributes:
        tasks: The number of tasks.
        validation_share: Share of the training images that is used for validation, from 0 to less than 1.
        train_images: Training images of each task, or None for all that are left.
        test_images: Test images of each task, or None for all.
        classes: Classes of each task, in the order of their labels.
        source: Name of the dataset.
        labels: Classes of the dataset.
    """

    tasks: int
    validation_share: float
    train_images: int | None = None
    test_images: int | None = None
    classes: int = 10

    source: ClassVar[str]
    labels: ClassVar[int]

    def __post_init__(self) -> None:
        check_count_fields(self, "tasks", "classes")
        check_count_fields(self, *(name for name in ("train_images", "test_images") if getattr(self, name) is not None))
        object.__setattr__(self, "validation_share", check_number("validation_share", self.validation_share))
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

    def _first_label(self, task: int) -> int:
        return task * self.classes


@dataclass(frozen=True)
class SplitMnist(_Split):
    """Split MNIST: two digits in each task (0 and 1, 2 and 3, ...). Inputs have shape (n, 1, 28, 28).

    The seed and the task's name shuffle the task's images; validation, training and test images are the first ones of
    these random orders. The inherited fields `train_images` and `test_images` limit their numbers (None: all).

    Attributes:
        identifier: The kind under which results are stored.
        tasks: The number of tasks.
        validation_share: Share of the training images that is used for validation, from 0 to less than 1.
        classes: Classes of each task, in the order of their labels.
        source: Name of the dataset.
        labels: Classes of the dataset.

    Raises:
        ValueError: If the dataset has fewer classes.

    Example:
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
    """Split CIFAR-100: ten classes in each task, in the order of their labels. Inputs have shape (n, 3, 32, 32).

    The seed and the task's name shuffle the task's images; validation, training and test images are the first ones of
    these random orders. The inherited fields `train_images` and `test_images` limit their numbers (None: all), and
    `classes` is the number of classes of each task.

    Attributes:
        identifier: The kind under which results are stored.
        tasks: The number of tasks.
        validation_share: Share of the training images that is used for validation, from 0 to less than 1.
        source: Name of the dataset.
        labels: Classes of the dataset.

    Raises:
        ValueError: If the dataset has fewer classes.

    Example:
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
