"""Permuted MNIST."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from ebbing._validate import check_seed
from ebbing.learn._seeding import hash_to_int
from ebbing.learn.tasks._whole_mnist import WholeMnist
from ebbing.learn.tasks.image_stream import MNIST_MEAN, MNIST_STD, Images, Rows, normalize, scale_to_unit


@dataclass(frozen=True)
class PermutedMnist(WholeMnist):
    """Permuted MNIST: every task, including the first, permutes the pixels randomly. Inputs have shape (n, 784).

    The seed shuffles the 60,000 training images: the first `validation_images` are for validation, the next
    `train_images` for training. The seed also chooses `test_images` of the 10,000 test images.

    The fields are `tasks`, `train_images`, `test_images` and `validation_images` (0: no validation data), all counts.

    Attributes:
        identifier: The kind under which results are stored.

    Raises:
        ValueError: If a count is not a positive integer or MNIST has fewer images.

    Example:
        >>> PermutedMnist(tasks=3).names
        ('0', '1', '2')
    """

    identifier: ClassVar[str] = "PermutedMnist"

    def permutation(self, task: str, seed: int) -> Rows:
        """Return the permutation of a task: pixel i of its images is pixel `permutation[i]` of MNIST's, row by row.

        Args:
            task: Name of the task.
            seed: The seed of the random permutation.

        Returns:
            A permutation of 0, ..., 783, (784,).

        Example:
            >>> sorted(PermutedMnist().permutation("0", seed=0).tolist()) == list(range(784))
            True
        """
        entropy = hash_to_int(f"permutation {self._index(task)}")
        return np.random.default_rng([check_seed(seed), entropy]).permutation(28 * 28)

    def _inputs(self, images: Images, task: int, seed: int) -> torch.Tensor:
        pixels = images.reshape(-1, 28 * 28)[:, self.permutation(str(task), seed)]
        return normalize(scale_to_unit(pixels), MNIST_MEAN, MNIST_STD)
