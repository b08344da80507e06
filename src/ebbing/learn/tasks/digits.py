"""Binary tasks on MNIST: does the image show one of some digits?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from ebbing._validate import check_count, check_seed
from ebbing.learn._seeding import hash_to_int
from ebbing.learn.tasks import _datasets
from ebbing.learn.tasks.base import Occurrence, TaskData


@dataclass(frozen=True)
class DigitTasks:
    """The binary tasks "is the digit in Y?" on MNIST (Section 5.1 of the paper and its appendix).

    A task is a set Y of digits, written "0-1-2". Inputs have shape (n, 1, 28, 28) with values from 0 to 1, labels
    (n, 1). Images are drawn randomly without replacement, anew for every occurrence.

    Attributes:
        identifier: The kind under which results are stored.
        train_images: Training images of each occurrence.
        test_images: Test images of each occurrence.

    Raises:
        ValueError: If MNIST has fewer images.
    """

    identifier: ClassVar[str] = "DigitTasks"

    train_images: int = 200
    test_images: int = 1000

    def __post_init__(self) -> None:
        object.__setattr__(self, "train_images", check_count("train_images", self.train_images))
        object.__setattr__(self, "test_images", check_count("test_images", self.test_images))
        if self.train_images > 60_000 or self.test_images > 10_000:
            raise ValueError(
                f"train_images={self.train_images}, test_images={self.test_images}: "
                "MNIST has 60,000 training and 10,000 test images; ask for fewer"
            )

    @property
    def fingerprint(self) -> str:
        """The checksum of MNIST."""
        return _datasets.mnist().fingerprint

    def load(self, occurrence: Occurrence | str, seed: int) -> TaskData:
        """Return the images of an occurrence of a task.

        Args:
            occurrence: The task, by name or as an occurrence.
            seed: The seed of the random choice of images.

        Returns:
            Images of MNIST's training set for training, and of its test set for testing.
        """
        occurrence, seed = Occurrence.of(occurrence), check_seed(seed)
        data, digits = _datasets.mnist(), self.digits(occurrence.task)
        random = np.random.default_rng([seed, hash_to_int(occurrence.task), occurrence.index])
        train = random.choice(60_000, self.train_images, replace=False)
        test = random.choice(10_000, self.test_images, replace=False)
        return TaskData(
            _images(data.train_images[train]),
            _labels(data.train_labels[train], digits),
            _images(data.test_images[test]),
            _labels(data.test_labels[test], digits),
        )

    def check(self, task: str) -> None:
        """Raise a ValueError if a name is not a set of digits.

        Args:
            task: Name of the task.
        """
        self.digits(task)

    @staticmethod
    def digits(task: str) -> list[int]:
        """Return the digits of a task.

        Args:
            task: Name of the task.

        Returns:
            The digits in the order of the name.

        Raises:
            ValueError: If the name is not a set of digits.

        Example:
            >>> DigitTasks.digits("0-1-2")
            [0, 1, 2]
        """
        parts = task.split("-")
        if not all(len(part) == 1 and part.isdecimal() for part in parts) or len(set(parts)) < len(parts):
            raise ValueError(f"task {task!r}: write a set of digits as 0-1-2")
        return [int(part) for part in parts]


def _images(images: np.ndarray) -> torch.Tensor:
    tensor = torch.from_numpy(images).unsqueeze(1).to(torch.float32) / 255
    return tensor.contiguous(memory_format=torch.channels_last)


def _labels(labels: np.ndarray, digits: list[int]) -> torch.Tensor:
    return torch.from_numpy(np.isin(labels, digits)).to(torch.float32).unsqueeze(1)
