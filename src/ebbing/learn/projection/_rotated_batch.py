"""A batch that was rotated in advance, for the first layer of a network."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class RotatedBatch(NamedTuple):
    """A batch of inputs together with the same inputs in the rotated coordinates of a layer.

    Attributes:
        batch: The inputs x. Shape (rows, d).
        rotated: The rotated inputs x U. Shape (rows, d).
        version: The version counter of `batch` when it was rotated: the network may change it in place.
    """

    batch: Tensor
    rotated: Tensor
    version: int

    def matches(self, input: Tensor) -> bool:
        """Return whether a layer's input is the batch itself: the same memory, unchanged."""
        batch = self.batch
        same = input.data_ptr() == batch.data_ptr() and input.shape == batch.shape and input.stride() == batch.stride()
        return same and input._version == self.version and not input.requires_grad
