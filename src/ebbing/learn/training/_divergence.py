"""Losses of training, by which divergence is noticed: those that the steps compute anyway, read once at the end."""

from __future__ import annotations

import math
from collections import deque

import torch
from torch import Tensor

from ebbing._warnings import warn

DIVERGED = 10.0
"""The factor by which the loss at the end exceeds that of the first batch, or 1, when training has diverged."""

_LATEST = 100
"""The number of batches whose median is the loss at the end."""


class LossRecord:
    """The loss of the first batch, and those of the latest batches of an epoch.

    They stay tensors until training ends: reading a number in every step would wait for a GPU.
    """

    def __init__(self) -> None:
        self._first: Tensor | None = None
        self._latest: deque[Tensor] = deque(maxlen=_LATEST)

    def start_epoch(self) -> None:
        """Forget the losses of the epoch before."""
        self._latest.clear()

    def add(self, loss: Tensor) -> None:
        """Remember the loss of a batch."""
        loss = loss.detach()
        self._first = loss if self._first is None else self._first
        self._latest.append(loss)

    def warn_if_diverged(self, task: str, rate: float, best: float | None) -> None:
        """Warn if the loss at the end is far above that of the first batch.

        A task that was nearly learned before starts with a tiny loss, so a loss below ten is never called diverged.
        `best` is the validation loss of the values that are kept, if there is one: it is what counts.
        """
        if self._first is None or not self._latest or not math.isfinite(first := float(self._first)):
            return
        last = float(torch.stack([*self._latest]).float().nanmedian()) if best is None else best
        if last <= DIVERGED * max(first, 1.0):
            return
        name = f" of task {task!r}" if task else ""
        warn(
            f"training{name} diverged at learning rate {rate:g}: the loss was {first:.3g} in the first batch and is "
            f"{last:.3g} at the end; lower the learning rate"
        )
