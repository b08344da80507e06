"""Training on one task: stochastic gradient descent, with a learning rate that may be reduced on plateaus.

With `patience`, as in GPM and TRGP on CIFAR-100: when the validation loss has not improved for that many epochs, the
learning rate is multiplied by `factor`; training stops when it is below `min_learning_rate`. The values with the best
validation loss are kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from ebbing._validate import check_count
from ebbing._warnings import warn
from ebbing.learn.training.batches import split_batches

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
                raise ValueError(f"{name}={value!r}: give a number between 0 and {top:g}")
        if self.patience is not None and self.learning_rate < self.min_learning_rate:
            raise ValueError(
                f"learning_rate={self.learning_rate:g}, min_learning_rate={self.min_learning_rate:g}: with patience, "
                "training stops below min_learning_rate and so would never start; lower min_learning_rate"
            )


def check_schedule(schedule: object) -> None:
    """Check that a value is a schedule.

    Args:
        schedule: Any value.

    Raises:
        ValueError: If it is not a `Schedule`.
    """
    if not isinstance(schedule, Schedule):
        raise ValueError(f"schedule={schedule!r}: give a Schedule, such as Schedule(learning_rate=0.1, epochs=20)")


def task_loss(outputs: Tensor, labels: Tensor) -> Tensor:
    """Compute the cross-entropy of outputs.

    Args:
        outputs: Logits, (n, classes) for classes, or of the shape of the labels for binary labels.
        labels: int64 classes (n,), or binary labels from 0 to 1.

    Returns:
        The mean cross-entropy, a scalar.

    Raises:
        ValueError: If outputs and labels do not match.
    """
    if not isinstance(outputs, Tensor):
        raise ValueError(f"the network returns a {type(outputs).__name__}: it must return one tensor")
    if labels.dtype == torch.int64:
        if labels.ndim != outputs.ndim - 1:
            raise ValueError(
                f"labels of shape {tuple(labels.shape)} for outputs {tuple(outputs.shape)}: give one class per "
                f"example, of shape {tuple(outputs.shape[:1])}, or binary labels for every output as 1.0 or 0.0"
            )
        try:
            return functional.cross_entropy(outputs, labels)
        except IndexError:
            raise ValueError(
                f"a label of {int(labels.max())} or {int(labels.min())} for outputs of shape {tuple(outputs.shape)}: "
                "give classes from 0, and the network one output per class"
            ) from None
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
    forward: Callable[[Tensor], Tensor],
    parameters: Sequence[nn.Parameter],
    batches: Callable[[], Iterable[tuple[Tensor, Tensor]]],
    *,
    task: str = "",
    validation: tuple[Tensor, Tensor] | None = None,
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
        generator: The generator that `batches` shuffles with, whose state is part of the checkpoint.
        checkpoint: Where unfinished training is saved, and resumed from.
        progress: A function that is called after every epoch.

    Raises:
        ValueError: If there is no validation data but patience, or there are no batches.
        FloatingPointError: If the weights are not finite at the end.
    """
    if schedule.patience is not None and validation is None:
        raise ValueError(f"patience={schedule.patience}: give validation data, or set patience to None")
    state = _State(schedule.learning_rate, task)

    def values() -> list[Tensor]:
        return [*parameters, *network.buffers()]  # current ones: a module may replace its buffers at any time

    if checkpoint is not None and (saved := checkpoint.load()) is not None and state.matches(saved, values()):
        state.restore(saved, values(), generator)
    saved_at = time.monotonic()
    while state.epoch < schedule.epochs and (schedule.patience is None or state.rate >= schedule.min_learning_rate):
        network.train()
        if not _epoch(forward, parameters, batches(), state.rate):
            raise ValueError(
                f"the data yields no batches in epoch {state.epoch + 1} (a generator can be read only once: give a "
                "list or a DataLoader)"
            )
        state.epoch += 1
        if validation is not None and schedule.patience is not None:
            state.update_rate(_mean_loss(schedule, network, forward, validation), values(), schedule)
        if progress is not None:
            progress(state.epoch / schedule.epochs, f"epoch {state.epoch} of at most {schedule.epochs}")
        if checkpoint is not None and time.monotonic() - saved_at > CHECKPOINT_SECONDS:
            checkpoint.save(state.tensors(values(), generator))
            saved_at = time.monotonic()
    if state.best is not None:
        with torch.no_grad():
            for value, best in zip(values(), state.best, strict=True):
                value.copy_(best)
    if any(not parameter.isfinite().all() for parameter in parameters):
        raise FloatingPointError(
            f"training diverged: weights are no longer finite at learning rate {schedule.learning_rate:g}; lower it, "
            "or check that all inputs are finite"
        )


def _epoch(
    forward: Callable[[Tensor], Tensor],
    parameters: Sequence[nn.Parameter],
    batches: Iterable[tuple[Tensor, Tensor]],
    rate: float,
) -> int:
    """Make one step for each batch, and return the number of steps."""
    steps = 0
    for inputs, labels in batches:
        steps += 1
        try:
            _step(forward, parameters, inputs, labels, rate)
        except ValueError as error:
            if len(inputs) > 1 or "more than 1 value per channel" not in str(error):
                raise
            raise ValueError(
                "a batch of one example, too few for batch normalization: create the DataLoader with drop_last=True"
            ) from None
    return steps


def _step(
    forward: Callable[[Tensor], Tensor], parameters: Sequence[nn.Parameter], inputs: Tensor, labels: Tensor, rate: float
) -> None:
    """Make one gradient step; being a function, it frees its gradients before the next step."""
    gradients = torch.autograd.grad(task_loss(forward(inputs), labels), parameters, allow_unused=True)
    with torch.no_grad():
        for parameter, gradient in zip(parameters, gradients, strict=True):
            if gradient is not None:  # None: the head of another task, for example
                parameter.add_(gradient, alpha=-rate)


class _State:
    """Everything that changes during training except the values (parameters and buffers).

    Args:
        rate: The initial learning rate.
        task: Name of the task.
    """

    def __init__(self, rate: float, task: str) -> None:
        self.task = torch.tensor(list(task.encode()), dtype=torch.uint8)
        self.epoch, self.rate = 0, rate
        self.best: list[Tensor] | None = None
        self.best_loss, self.epochs_waited = float("inf"), 0

    def update_rate(self, loss: float, values: list[Tensor], schedule: Schedule) -> None:
        if loss < self.best_loss:
            self.best_loss, self.epochs_waited = loss, 0
            self.best = [value.detach().clone() for value in values]
            return
        self.epochs_waited += 1
        if self.epochs_waited >= (schedule.patience or 1):
            self.rate, self.epochs_waited = self.rate * schedule.factor, 0

    def tensors(self, values: list[Tensor], generator: torch.Generator | None) -> dict[str, Tensor]:
        numbers = torch.tensor([self.epoch, self.rate, self.best_loss, self.epochs_waited], dtype=torch.float64)
        content = {"task": self.task, "numbers": numbers, "dropout": torch.get_rng_state()}
        if (device := values[0].device).type != "cpu":
            content["dropout on GPU"] = torch.get_device_module(device).get_rng_state(device)
        if generator is not None:
            content["shuffling"] = generator.get_state()
        content |= {f"now.{i}": value.detach().contiguous() for i, value in enumerate(values)}
        content |= {f"best.{i}": tensor.contiguous() for i, tensor in enumerate(self.best or [])}
        return content

    def matches(self, content: dict[str, Tensor], values: list[Tensor]) -> bool:
        """Return whether a checkpoint is of this task and has values of these shapes.

        Args:
            content: The tensors of the checkpoint; early ones have no name of a task.
            values: The values to restore.

        Returns:
            Whether it can be restored.
        """
        if not torch.equal(content.get("task", self.task), self.task):
            return False
        saved = {name: tensor.shape for name, tensor in content.items() if name.startswith("now.")}
        if saved == {f"now.{i}": value.shape for i, value in enumerate(values)}:
            return True
        warn("the checkpoint of this task is of another version or network; training starts from the beginning")
        return False

    def restore(self, content: dict[str, Tensor], values: list[Tensor], generator: torch.Generator | None) -> None:
        epoch, rate, best_loss, epochs_waited = content["numbers"].tolist()
        self.epoch, self.rate, self.best_loss, self.epochs_waited = int(epoch), rate, best_loss, int(epochs_waited)
        torch.set_rng_state(content["dropout"])
        if "dropout on GPU" in content and (device := values[0].device).type != "cpu":
            torch.get_device_module(device).set_rng_state(content["dropout on GPU"], device)
        if generator is not None:
            generator.set_state(content["shuffling"])
        with torch.no_grad():
            for i, value in enumerate(values):
                value.copy_(content[f"now.{i}"])
        if "best.0" in content:
            self.best = [content[f"best.{i}"].to(value.device) for i, value in enumerate(values)]


@torch.no_grad()
def _mean_loss(
    schedule: Schedule, network: nn.Module, forward: Callable[[Tensor], Tensor], data: tuple[Tensor, Tensor]
) -> float:
    network.eval()
    total = 0.0
    for inputs, labels in zip(*(split_batches(part, schedule.test_batch_size) for part in data), strict=True):
        total += float(task_loss(forward(inputs), labels)) * len(inputs)
    return total / len(data[0])
