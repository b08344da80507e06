"""Streams in which every task has all classes of MNIST, with transformed images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ebbing.data import Cifar100, Mnist
from ebbing.learn._seeding import hash_to_int
from ebbing.learn.tasks import _datasets
from ebbing.learn.tasks.image_stream import ImageSelection, ImageStream, check_count_fields

MAX_TASKS = 10_000
"""The largest number of tasks of a stream whose number of tasks is not limited by its data."""


@dataclass(frozen=True)
class WholeMnist(ImageStream):
    """Base class of streams whose tasks transform the same images of all ten digits.

    The seed shuffles the 60,000 training images: the first `validation_images` are for validation, the next
    `train_images` for training. The seed also chooses `test_images` of the 10,000 test images.

    Attributes:
        tasks: The number of tasks.
        train_images: Training images of each task.
        test_images: Test images of each task.
        validation_images: Validation images of each task; 0 for none.
    """

    tasks: int = 10
    train_images: int = 54_000
    test_images: int = 10_000
    validation_images: int = 6_000

    def __post_init__(self) -> None:
        check_count_fields(self, "tasks", "train_images", "test_images")
        if type(self.validation_images) is not int or self.validation_images != 0:
            check_count_fields(self, "validation_images")
        if self.tasks > MAX_TASKS:
            raise ValueError(f"tasks={self.tasks}: give at most {MAX_TASKS:,}")
        if self.train_images + self.validation_images > 60_000:
            raise ValueError(
                f"train_images={self.train_images}, validation_images={self.validation_images}: MNIST has 60,000 "
                "training images for both; ask for fewer"
            )
        if self.test_images > 10_000:
            raise ValueError(f"test_images={self.test_images}: MNIST has 10,000 test images; ask for fewer")

    @property
    def classes(self) -> int:
        """The number of classes of each task: the ten digits."""
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

    def _first_label(self, task: int) -> int:
        return 0
