"""How the steps of training are made: the optimizer, its learning rates, and what is done to the gradients.

Without any of these settings, a step is that of plain gradient descent (`schedule.fit`). The optimizer trains the
parameters that a context of `task` yields. Where old tasks are protected, these are coordinates of the weights in free
directions alone, so no optimizer can change anything else, whatever it does with momentum, weight decay or scaling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from ebbing._validate import check_count

MakeOptimizer = Callable[[list[nn.Parameter]], Optimizer]
"""A function from the parameters to train to an optimizer."""

MakeScheduler = Callable[[Optimizer], LRScheduler]
"""A function from an optimizer to a scheduler of its learning rates."""


@dataclass(frozen=True)
class Optimization:
    """The settings of training steps: what `learn` takes as keywords.

    Attributes:
        optimizer: A function from the parameters to train to an optimizer, such as
            `lambda parameters: torch.optim.AdamW(parameters, lr=2e-5)`; None for plain gradient descent.
        scheduler: A function from the optimizer to a scheduler of `torch.optim.lr_scheduler`, whose step follows every
            step of the optimizer.
        mixed_precision: The type of the products of the forward pass, torch.bfloat16 or torch.float16, by autocast.
        accumulate: The number of batches whose gradients make one step: their mean over all examples.
        clip_norm: The largest norm of the gradient of all parameters together; None for any.

    Raises:
        ValueError: If a setting is out of its range.
    """

    optimizer: MakeOptimizer | None = None
    scheduler: MakeScheduler | None = None
    mixed_precision: torch.dtype | None = None
    accumulate: int = 1
    clip_norm: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.optimizer, Optimizer) or not (self.optimizer is None or callable(self.optimizer)):
            raise ValueError(
                f"optimizer={type(self.optimizer).__name__}(...): the parameters to train exist only while a task is "
                "learned, so give a function of them, such as lambda parameters: AdamW(parameters, lr=2e-5)"
            )
        if isinstance(self.scheduler, LRScheduler) or not (self.scheduler is None or callable(self.scheduler)):
            raise ValueError(
                f"scheduler={type(self.scheduler).__name__}(...): give a function of the optimizer, such as "
                "lambda optimizer: ExponentialLR(optimizer, 0.99)"
            )
        if self.scheduler is not None and self.optimizer is None:
            raise ValueError("a scheduler without an optimizer: give optimizer=, a function of the parameters, too")
        if self.mixed_precision not in (None, torch.bfloat16, torch.float16):
            raise ValueError(f"mixed_precision={self.mixed_precision!r}: give torch.bfloat16 or torch.float16")
        object.__setattr__(self, "accumulate", check_count("accumulate", self.accumulate))
        norm = self.clip_norm
        if norm is not None and (isinstance(norm, bool) or not isinstance(norm, int | float) or not norm > 0):
            raise ValueError(f"clip_norm={norm!r}: give the largest norm of the gradient, a positive number")

    @property
    def is_plain(self) -> bool:
        """Whether steps are those of plain gradient descent."""
        return self == Optimization()
