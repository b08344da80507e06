"""Training on one task: stochastic gradient descent, with a learning rate that may be reduced on plateaus.

With `patience`, as in GPM and TRGP on CIFAR-100: when the validation loss has not improved for that many epochs, the
learning rate is multiplied by `factor`; training stops when it is below `min_learning_rate`. The values with the best
validation loss are kept.
"""

from __future__ import annotations

import reprlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from ebbing._tables import with_article
from ebbing._validate import check_count
from ebbing.learn._inputs import Inputs
from ebbing.learn.training._divergence import LossRecord
from ebbing.learn.training._optimizer_steps import Objective, Steps
from ebbing.learn.training._outputs import class_dimension, describe_wrong_class, output_tensor
from ebbing.learn.training._plain_steps import check_finite, run_epoch
from ebbing.learn.training._training_state import TrainingState
from ebbing.learn.training.batches import Pair, split_inputs
from ebbing.learn.training.optimization import Optimization

CHECKPOINT_SECONDS = 20.0
"""Minimum time between two checkpoints, in seconds; checkpoints are written between epochs."""


class Checkpoint(Protocol):
    """A place where unfinished training is saved."""

    def load(self) -> dict[str, Tensor] | None:
        """Load what was saved last.

        Returns:
            Tensors by name, or None if nothing was saved.
        """
        ...

    def save(self, content: dict[str, Tensor]) -> None:
        """Save tensors, replacing those that were saved before.

        Args:
            content: Tensors by name.
        """
        ...


Loss = Callable[[Tensor, Tensor], Tensor]
"""A function from outputs and labels to their mean loss."""

ProgressCallback = Callable[[float, str], None]
"""A function that is called with the share of the task that is done and a short message."""


@dataclass(frozen=True)
class Schedule:
    """Settings of gradient descent on each task. The defaults are those of Permuted MNIST.

    Attributes:
        learning_rate: The learning rate, or the initial one if there is `patience`.
        epochs: The number of epochs, or its maximum if there is `patience`.
        batch_size: Examples of a training batch.
        patience: Epochs without improvement after which the learning rate is reduced; None for a constant rate.
        factor: The factor of a reduction, between 0 and 1.
        min_learning_rate: The learning rate below which training stops.
        test_batch_size: Examples of a test batch; matters if batch normalization uses batch statistics.

    Raises:
        ValueError: If a setting is out of its range.
    """

    learning_rate: float = 0.01
    epochs: int = 5
    batch_size: int = 10
    patience: int | None = None
    factor: float = 0.5
    min_learning_rate: float = 1e-5
    test_batch_size: int = 64

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "test_batch_size"):
            object.__setattr__(self, name, check_count(name, getattr(self, name)))
        if self.patience is not None:
            object.__setattr__(self, "patience", check_count("patience", self.patience))
        for name, top in (("learning_rate", float("inf")), ("factor", 1.0), ("min_learning_rate", float("inf"))):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 < value < top:
                raise ValueError(f"{name}={reprlib.repr(value)}: give a number between 0 and {top:g}")
        if self.patience is not None and self.learning_rate < self.min_learning_rate:
            raise ValueError(
                f"learning_rate={self.learning_rate:g}, min_learning_rate={self.min_learning_rate:g}: with patience, "
                "training stops below min_learning_rate and so would never start; lower min_learning_rate"
            )


def check_schedule(schedule: object, method: type) -> None:
    """Check that a value is a schedule.

    Args:
        schedule: Any value.
        method: The class of the method that it is for.

    Raises:
        ValueError: If it is not a `Schedule`.
    """
    if isinstance(schedule, nn.Module):
        raise ValueError(
            f"schedule is {with_article(type(schedule).__name__)}: did you mean {method.__name__}().start(network)? "
            "The settings come first, then the network"
        )
    if not isinstance(schedule, Schedule):
        raise ValueError(
            f"schedule={reprlib.repr(schedule)}: give a Schedule, such as Schedule(learning_rate=0.1, epochs=20)"
        )


def task_loss(outputs: Tensor, labels: Tensor) -> Tensor:
    """Compute the cross-entropy of outputs.

    Args:
        outputs: Logits, (n, classes) for classes, or of the shape of the labels for binary labels. With a class for
            every position, (n, classes, ...) or (n, ..., classes). Of a `ModelOutput`, the logits.
        labels: int64 classes (n,) or (n, ...), where -100 does not count; or binary labels from 0 to 1.

    Returns:
        The mean cross-entropy, a scalar.

    Raises:
        ValueError: If outputs and labels do not match.
    """
    outputs = output_tensor(outputs)
    if labels.dtype == torch.int64:
        if labels.ndim != outputs.ndim - 1:
            raise ValueError(
                f"labels of shape {tuple(labels.shape)} for outputs {tuple(outputs.shape)}: give one class per "
                f"example, of shape {tuple(outputs.shape[:1])}, or binary labels for every output as 1.0 or 0.0"
            )
        logits = outputs.movedim(class_dimension(outputs, labels), 1)
        try:
            return functional.cross_entropy(logits, labels)
        except IndexError:
            raise ValueError(describe_wrong_class(labels, logits.shape[1])) from None
    if outputs.shape != labels.shape:
        raise ValueError(
            f"labels {tuple(labels.shape)} of {labels.dtype} for outputs {tuple(outputs.shape)}: give classes as "
            "torch.int64, or binary labels for every output as 1.0 or 0.0"
        )
    return functional.binary_cross_entropy_with_logits(outputs, labels)


@torch.enable_grad()
def fit(
    schedule: Schedule,
    network: nn.Module,
    forward: Callable[[Inputs], Tensor],
    parameters: Sequence[nn.Parameter],
    batches: Callable[[], Iterable[Pair]],
    *,
    task: str = "",
    validation: Pair | None = None,
    loss: Loss = task_loss,
    optimization: Optimization | None = None,
    generator: torch.Generator | None = None,
    checkpoint: Checkpoint | None = None,
    progress: ProgressCallback | None = None,
) -> None:
    """Train parameters in place on one task.

    A checkpoint of another task, or with values of other shapes, is ignored.

    Args:
        schedule: Learning rate, epochs and patience.
        network: The network, whose buffers are part of the checkpoint.
        forward: The function from inputs to outputs.
        parameters: The parameters to train.
        batches: A function that returns the batches of one epoch.
        task: Name of the task, by which a checkpoint is recognized.
        validation: Validation inputs and labels, if the schedule has patience.
        loss: The mean loss of outputs and labels.
        optimization: The optimizer and its settings; None for plain gradient descent.
        generator: The generator that `batches` shuffles with, whose state is part of the checkpoint.
        checkpoint: Where unfinished training is saved, and resumed from.
        progress: A function that is called after every epoch.

    Raises:
        ValueError: If there are no batches, or if the schedule has patience and validation data is missing or a
            scheduler is given.
        FloatingPointError: If the weights are not finite at the end.
    """
    if schedule.patience is not None and validation is None:
        raise ValueError(f"patience={schedule.patience}: give validation data, or set patience to None")
    steps = None if optimization is None else _optimizer_steps(schedule, optimization, parameters)
    losses = LossRecord()
    objective = _objective(forward, loss, losses)
    state = TrainingState(schedule.learning_rate if steps is None else steps.rate, task, steps)

    def values() -> list[Tensor]:
        return [*parameters, *network.buffers()]  # current ones: a module may replace its buffers at any time

    if checkpoint is not None and (saved := checkpoint.load()) is not None and state.matches(saved, values()):
        state.restore(saved, values(), generator)
    saved_at = time.monotonic()
    while state.epoch < schedule.epochs and (schedule.patience is None or state.rate >= schedule.min_learning_rate):
        network.train()
        losses.start_epoch()
        if not (steps.run(objective, batches()) if steps else run_epoch(objective, parameters, batches(), state.rate)):
            raise ValueError(
                f"the data yields no batches in epoch {state.epoch + 1} (a generator can be read only once: give a "
                "list or a DataLoader)"
            )
        state.epoch += 1
        if validation is not None and schedule.patience is not None:
            state.update_rate(_mean_loss(schedule, network, objective, validation), values(), schedule)
        if progress is not None:
            progress(state.epoch / schedule.epochs, f"epoch {state.epoch} of at most {schedule.epochs}")
        if checkpoint is not None and time.monotonic() - saved_at > CHECKPOINT_SECONDS:
            checkpoint.save(state.tensors(values(), generator))
            saved_at = time.monotonic()
    if state.best is not None:
        with torch.no_grad():
            for value, best in zip(values(), state.best, strict=True):
                value.copy_(best)
    check_finite(parameters, state.initial_rate)
    losses.warn_if_diverged(task, state.initial_rate, None if state.best is None else state.best_loss)


def _optimizer_steps(
    schedule: Schedule, optimization: Optimization, parameters: Sequence[nn.Parameter]
) -> Steps | None:
    """Return the steps of an optimizer; None if they are those of plain gradient descent."""
    if optimization.is_plain:
        return None
    steps = Steps(optimization, parameters, schedule.learning_rate)
    if schedule.patience is not None and optimization.scheduler is not None:
        raise ValueError(f"patience={schedule.patience} and a scheduler both set the learning rate: give one of them")
    if schedule.patience is not None and steps.rate < schedule.min_learning_rate:
        raise ValueError(
            f"an optimizer of learning rate {steps.rate:g}, min_learning_rate={schedule.min_learning_rate:g}: with "
            "patience, training stops below min_learning_rate and so would never start; lower min_learning_rate"
        )
    return steps


def _objective(forward: Callable[[Inputs], Tensor], loss: Loss, losses: LossRecord) -> Objective:
    """Return the loss of the network as a function of inputs and labels; those of training are recorded."""

    def objective(inputs: Inputs, labels: Tensor) -> Tensor:
        try:
            value = loss(forward(inputs), labels)
        except ValueError as error:
            if len(labels) > 1 or "more than 1 value per channel" not in str(error):
                raise
            raise ValueError(
                "a batch of one example, too few for batch normalization: create the DataLoader with drop_last=True"
            ) from None
        if torch.is_grad_enabled() and not value.requires_grad:
            raise ValueError("the loss depends on no parameter that is trained: check the network's forward")
        if torch.is_grad_enabled():
            losses.add(value)
        return value

    return objective


@torch.no_grad()
def _mean_loss(schedule: Schedule, network: nn.Module, objective: Objective, data: Pair) -> float:
    network.eval()
    total = 0.0
    for inputs, labels in zip(*(split_inputs(part, schedule.test_batch_size) for part in data), strict=True):
        total += float(objective(inputs, cast(Tensor, labels))) * len(labels)
    return total / len(data[1])
