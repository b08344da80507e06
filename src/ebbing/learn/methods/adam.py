"""Adam on the new task alone: what most people train with, so that a forecast can be checked by their own recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from ebbing._validate import check_number
from ebbing.learn.methods.sgd import Sgd
from ebbing.learn.training._optimizer_steps import Objective, Steps
from ebbing.learn.training.batches import Pair
from ebbing.learn.training.optimization import Optimization


@dataclass(frozen=True)
class Adam(Sgd):
    """Adam with decoupled weight decay (`torch.optim.AdamW`), started anew for every task.

    Attributes:
        learning_rate: The learning rate.
        epochs: The number of epochs per task.
        batch_size: The number of examples per step; None for the whole training set.
        loss: The training loss: "cross-entropy" on the logits, or "squared" error of the sigmoid. Regression is learned
            by the squared error of the outputs in any case.
        weight_decay: The share of the learning rate by which each step shrinks the weights.
        identifier: The name of the method in the keys of stored results.

    Example:
        >>> from ebbing.learn.tasks import TaskData
        >>> inputs, network = torch.eye(4), nn.Linear(4, 2)
        >>> data = TaskData(inputs, torch.tensor([0, 1, 1, 0]), inputs, torch.tensor([0, 1, 1, 0]))
        >>> Adam(learning_rate=0.1, epochs=50).learn(network, data, torch.Generator().manual_seed(0))
        >>> network(inputs).argmax(dim=1).tolist()
        [0, 1, 1, 0]
    """  # noqa: DOC602, DOC603 (the settings of the base class are listed, too)

    learning_rate: float = 1e-3
    epochs: int = 30
    batch_size: int | None = 20
    weight_decay: float = 0.0

    identifier: ClassVar[str] = "Adam"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "weight_decay", check_number("weight_decay", self.weight_decay))

    def _epoch_runner(self, parameters: list[nn.Parameter]) -> Callable[[Objective, Iterable[Pair]], int]:
        def optimizer(parameters: Iterable[nn.Parameter]) -> torch.optim.AdamW:
            return torch.optim.AdamW(parameters, lr=self.learning_rate, weight_decay=self.weight_decay)

        return Steps(Optimization(optimizer), parameters, self.learning_rate).run
