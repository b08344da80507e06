"""Rotated MNIST."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch.nn.functional import affine_grid, grid_sample

from ebbing.learn.tasks._whole_mnist import WholeMnist
from ebbing.learn.tasks.image_stream import MNIST_MEAN, MNIST_STD, Images, normalize, scale_to_unit


@dataclass(frozen=True)
class RotatedMnist(WholeMnist):
    """Rotated MNIST: task k rotates every image by k * 180 / tasks degrees. Inputs have shape (n, 1, 28, 28).

    Images are rotated counterclockwise about their center, with bilinear interpolation; pixels from outside of the
    image are black.

    The seed shuffles the 60,000 training images: the first `validation_images` are for validation, the next
    `train_images` for training. The seed also chooses `test_images` of the 10,000 test images.

    The fields are `tasks`, `train_images`, `test_images` and `validation_images` (0: no validation data), all counts.

    Attributes:
        identifier: The kind under which results are stored.

    Raises:
        ValueError: If a count is not a positive integer or MNIST has fewer images.
    """

    identifier: ClassVar[str] = "RotatedMnist"

    def angle(self, task: str) -> float:
        """Return the angle by which a task rotates its images.

        Args:
            task: Name of the task.

        Returns:
            The angle in degrees, counterclockwise.

        Example:
            >>> RotatedMnist(tasks=4).angle("3")
            135.0
        """
        return self._index(task) * 180 / self.tasks

    def _inputs(self, images: Images, task: int, seed: int) -> torch.Tensor:
        rotated = _rotate(scale_to_unit(images), self.angle(str(task)))
        return normalize(rotated.unsqueeze(1), MNIST_MEAN, MNIST_STD)


def _rotate(images: torch.Tensor, degrees: float) -> torch.Tensor:
    """Rotate images (n, h, w) counterclockwise, as n channels of one image so that the grid is computed once."""
    if not degrees:
        return images
    cos, sin = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    back = torch.tensor([[[cos, -sin, 0.0], [sin, cos, 0.0]]], dtype=torch.float32)  # x to the right, y down
    grid = affine_grid(back, [1, 1, *images.shape[1:]], align_corners=False)
    return grid_sample(images[None], grid, mode="bilinear", padding_mode="zeros", align_corners=False)[0]
