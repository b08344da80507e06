"""Dropout with masks that are cheap to draw on a CPU."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Dropout(nn.Module):
    """Dropout with 16 random bits per value, so that each 64-bit random number gives four masks.

    PyTorch's dropout takes a fifth of a training step of `SmallAlexNet` on a CPU. The probability is rounded to
    a multiple of 2^-16.

    Args:
        p: Probability that a value is set to 0.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, values: Tensor) -> Tensor:
        """Return the values in evaluation mode; in training mode set random ones to 0 and scale the others up.

        Args:
            values: A tensor of any shape.

        Returns:
            A tensor of the same shape; the others are multiplied by 1 / (1 - p).
        """
        if not self.training or self.p == 0:
            return values
        bits = torch.empty(-(-values.numel() // 4), dtype=torch.int64, device=values.device).random_(-(2**63), None)
        bits = bits.view(torch.int16)[: values.numel()]
        kept = bits >= round(self.p * 2**16) - 2**15
        layout = torch.empty_like(values)  # the memory layout of the values, so that the mask is multiplied in one pass
        mask = layout.as_strided((values.numel(),), (1,)).copy_(kept).mul_(1 / (1 - self.p))
        return values * mask.as_strided(values.shape, layout.stride())
