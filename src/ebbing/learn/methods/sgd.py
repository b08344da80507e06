"""Plain stochastic gradient descent on the new task alone, with the settings of the paper's experiments.

Choices that the paper leaves open, and their reasons (docs/theory/networks.md has the measurements):

1. Batch size: the whole training set at once.
2. Training loss: cross-entropy on the logits. With the squared error of the sigmoid some tasks after the first are not
   learned at all, as the sigmoid saturates; the theory assumes fitted tasks. Errors are squared errors in any case.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from ebbing._validate import check_count
from ebbing.learn._inputs import Inputs, select_inputs
from ebbing.learn.tasks.base import TaskData
from ebbing.learn.training._optimizer_steps import Objective
from ebbing.learn.training._outputs import call_network
from ebbing.learn.training._plain_steps import check_finite, run_epoch
from ebbing.learn.training._regression import squared_error
from ebbing.learn.training.batches import Pair, split_batches
from ebbing.learn.training.schedule import task_loss


@dataclass(frozen=True)
class Sgd:
    """Plain stochastic gradient descent; the defaults are the paper's settings.

    Attributes:
        learning_rate: The learning rate.
        epochs: The number of epochs per task.
        batch_size: The number of examples per step; None for the whole training set.
        loss: The training loss: "cross-entropy" on the logits, or "squared" error of the sigmoid. Regression is learned
            by the squared error of the outputs in any case.
        identifier: The name of the method in the keys of stored results.
        version: The version of the method. It enters the key of stored results: raise it when results change.
    """

    learning_rate: float = 0.1
    epochs: int = 600
    batch_size: int | None = None
    loss: Literal["cross-entropy", "squared"] = "cross-entropy"

    identifier: ClassVar[str] = "Sgd"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "epochs", check_count("epochs", self.epochs))
        if self.batch_size is not None:
            object.__setattr__(self, "batch_size", check_count("batch_size", self.batch_size))
        rate = self.learning_rate
        if not isinstance(rate, Real) or isinstance(rate, bool) or not 0 < rate < float("inf"):
            raise ValueError(f"learning_rate={reprlib.repr(rate)}: give a positive number")
        object.__setattr__(self, "learning_rate", float(rate))
        if self.loss not in ("cross-entropy", "squared"):
            raise ValueError(f"loss={self.loss!r}: give 'cross-entropy' or 'squared'")

    def learn(self, network: nn.Module, task_data: TaskData, generator: torch.Generator) -> None:
        """Train a network on a task's training data, in place.

        Args:
            network: The network, with one logit for labels between 0 and 1, or one output per class or number.
            task_data: The data of the task.
            generator: The random generator that shuffles the data, if there are several batches.

        Raises:
            ValueError: If the loss is "squared" and the labels are classes.
            FloatingPointError: If the weights are not finite at the end.
        """
        inputs, labels = task_data.train_inputs, task_data.train_labels
        if self.loss == "squared" and not labels.is_floating_point():
            raise ValueError("loss='squared' is for labels between 0 and 1; for classes give 'cross-entropy'")
        parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]

        def objective(inputs: Inputs, labels: Tensor) -> Tensor:
            outputs = call_network(network, inputs)
            if task_data.regression:
                return squared_error(outputs, labels)
            if self.loss == "cross-entropy":
                return task_loss(outputs, labels)
            return functional.mse_loss(outputs.sigmoid(), labels)

        network.train()
        run = self._epoch_runner(parameters)
        total = len(labels)
        size = total if self.batch_size is None else min(self.batch_size, total)
        # Others keep a last batch of one example: what is stored stays what is computed again.
        normalizes = any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in network.modules())
        for _ in range(self.epochs):
            if size == total:
                batches = [(inputs, labels)]
            else:
                order = torch.randperm(total, generator=generator)
                chosen = split_batches(order, size) if normalizes else order.split(size)
                batches = ((select_inputs(inputs, batch), labels[batch]) for batch in chosen)
            run(objective, batches)
        check_finite(parameters, self.learning_rate, regression=task_data.regression)

    def _epoch_runner(self, parameters: list[nn.Parameter]) -> Callable[[Objective, Iterable[Pair]], int]:
        """Return a function that makes a step for each batch; it is asked for once for every task."""
        return lambda objective, batches: run_epoch(objective, parameters, batches, self.learning_rate)
