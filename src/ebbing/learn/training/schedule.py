"""Training on one task: shuffled batches, plain gradient steps, and a learning rate that may fall.

With `patience`, as in GPM and TRGP on CIFAR-100: when the loss on validation data has not improved for that many epochs
the learning rate is multiplied by `factor`; below `min_learning_rate` training ends; the best values are what remains.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from ebbing._validate import count
from ebbing.learn.training.batches import split_batches

CHECKPOINT_EVERY = 20.0
"""Seconds between checkpoints, at least; they are written between epochs."""


class Checkpoint(Protocol):
    """Where unfinished training is kept."""

    def load(self) -> dict[str, Tensor] | None:
        """What was saved last, or None."""
        ...

    def save(self, content: dict[str, Tensor]) -> None:
        """Replace what was saved."""
        ...


ProgressCallback = Callable[[float, str], None]
"""Told the share of the task that is done and a few words on how it goes."""


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to learn each task. The defaults are those of Permuted MNIST."""

    learning_rate: float = 0.01
    epochs: int = 5
    batch_size: int = 10
    patience: int | None = None
    factor: float = 0.5
    min_learning_rate: float = 1e-5
    test_batch_size: int = 64  # matters where batch normalization uses the statistics of the batch

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "test_batch_size"):
            object.__setattr__(self, name, count(name, getattr(self, name)))
        if self.patience is not None:
            object.__setattr__(self, "patience", count("patience", self.patience))
        for name, top in (("learning_rate", float("inf")), ("factor", 1.0), ("min_learning_rate", float("inf"))):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 < value < top:
                raise ValueError(f"{name}={value!r}: give a number between 0 and {top:g}")
        if self.patience is not None and self.learning_rate < self.min_learning_rate:
            raise ValueError(
                f"learning_rate={self.learning_rate:g}, min_learning_rate={self.min_learning_rate:g}: with patience, learning ends below "
                "the smallest rate and so would never begin; lower the smallest"
            )


def check_schedule(schedule: object) -> None:
    """A clear error for a number in the place of a schedule."""
    if not isinstance(schedule, Schedule):
        raise ValueError(f"schedule={schedule!r}: give a Schedule, as Schedule(learning_rate=0.1, epochs=20)")


def task_loss(outputs: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy: of classes for whole-number labels, of yes or no for labels between 0 and 1."""
    if not isinstance(outputs, Tensor):
        raise ValueError(f"the network returns a {type(outputs).__name__}: let it return one tensor")
    if labels.dtype == torch.int64:
        if labels.ndim != outputs.ndim - 1:
            raise ValueError(
                f"labels of shape {tuple(labels.shape)} for outputs {tuple(outputs.shape)}: give one class for each "
                f"example, of shape {tuple(outputs.shape[:1])}; yes or no for every output as 1.0 or 0.0"
            )
        try:
            return functional.cross_entropy(outputs, labels)
        except IndexError:
            raise ValueError(
                f"a label of {int(labels.max())} or {int(labels.min())} for outputs of shape {tuple(outputs.shape)}: "
                "give classes from 0 on, and the network an output for each"
            ) from None
    if outputs.shape != labels.shape:
        raise ValueError(
            f"labels {tuple(labels.shape)} of {labels.dtype} for outputs {tuple(outputs.shape)}: give classes as "
            "torch.int64, or yes or no as 1.0 or 0.0 for every output"
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
    random: torch.Generator | None = None,
    checkpoint: Checkpoint | None = None,
    watch: ProgressCallback | None = None,
) -> None:
    """Train the parameters, in place. `batches()` gives one epoch; `random` is what it shuffles with.

    A checkpoint of another task, or of values of other shapes, is not taken up.
    """
    if schedule.patience is not None and validation is None:
        raise ValueError(f"patience={schedule.patience}: give validation data, or leave patience out")
    state = _State(schedule.learning_rate, task)

    def values() -> list[Tensor]:
        """Running statistics move with the parameters; a module may replace its buffers at any time."""
        return [*parameters, *network.buffers()]

    if checkpoint is not None and (saved := checkpoint.load()) is not None and state.fits(saved, values()):
        state.restore(saved, values(), random)
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
            state.judge(_loss(schedule, network, forward, validation), values(), schedule)
        if watch is not None:
            watch(state.epoch / schedule.epochs, f"epoch {state.epoch} of at most {schedule.epochs}")
        if checkpoint is not None and time.monotonic() - saved_at > CHECKPOINT_EVERY:
            checkpoint.save(state.content(values(), random))
            saved_at = time.monotonic()
    if state.best is not None:
        with torch.no_grad():
            for value, best in zip(values(), state.best, strict=True):
                value.copy_(best)
    if any(not parameter.isfinite().all() for parameter in parameters):
        raise FloatingPointError(
            f"training diverged: weights are no longer finite at learning rate {schedule.learning_rate:g}; lower it, "
            "or look for inputs that are not finite"
        )


def _epoch(
    forward: Callable[[Tensor], Tensor],
    parameters: Sequence[nn.Parameter],
    batches: Iterable[tuple[Tensor, Tensor]],
    rate: float,
) -> int:
    """One step for each batch; how many there were."""
    steps = 0
    for inputs, labels in batches:
        steps += 1
        try:
            _step(forward, parameters, inputs, labels, rate)
        except ValueError as fault:
            if len(inputs) > 1 or "more than 1 value per channel" not in str(fault):
                raise
            raise ValueError(
                "a batch of a single example, too few for batch normalization: give the DataLoader drop_last=True"
            ) from None
    return steps


def _step(
    forward: Callable[[Tensor], Tensor], parameters: Sequence[nn.Parameter], inputs: Tensor, labels: Tensor, rate: float
) -> None:
    """A function, so that gradients are gone before the next step needs memory."""
    gradients = torch.autograd.grad(task_loss(forward(inputs), labels), parameters, allow_unused=True)
    with torch.no_grad():
        for parameter, gradient in zip(parameters, gradients, strict=True):
            if gradient is not None:  # None: another task's head, say
                parameter.add_(gradient, alpha=-rate)


class _State:
    """All that changes while a task is learned, but for the values (parameters and buffers)."""

    def __init__(self, rate: float, task: str) -> None:
        self.task = torch.tensor(list(task.encode()), dtype=torch.uint8)
        self.epoch, self.rate = 0, rate
        self.best: list[Tensor] | None = None
        self.best_loss, self.waited = float("inf"), 0

    def judge(self, loss: float, values: list[Tensor], schedule: Schedule) -> None:
        if loss < self.best_loss:
            self.best_loss, self.waited = loss, 0
            self.best = [value.detach().clone() for value in values]
            return
        self.waited += 1
        if self.waited >= (schedule.patience or 1):
            self.rate, self.waited = self.rate * schedule.factor, 0

    def content(self, values: list[Tensor], random: torch.Generator | None) -> dict[str, Tensor]:
        numbers = torch.tensor([self.epoch, self.rate, self.best_loss, self.waited], dtype=torch.float64)
        content = {"task": self.task, "numbers": numbers, "dropout": torch.get_rng_state()}
        if values[0].is_cuda:
            content["dropout on GPU"] = torch.cuda.get_rng_state(values[0].device)
        if random is not None:
            content["shuffling"] = random.get_state()
        content |= {f"now.{i}": value.detach().contiguous() for i, value in enumerate(values)}
        content |= {f"best.{i}": tensor.contiguous() for i, tensor in enumerate(self.best or [])}
        return content

    def fits(self, content: dict[str, Tensor], values: list[Tensor]) -> bool:
        """Whether a checkpoint is of this task (early ones do not say) and of these values (other versions differ)."""
        if not torch.equal(content.get("task", self.task), self.task):
            return False
        kept = {name: tensor.shape for name, tensor in content.items() if name.startswith("now.")}
        if kept == {f"now.{i}": value.shape for i, value in enumerate(values)}:
            return True
        warnings.warn(
            "what is kept of this unfinished task is of another version or network; it is learned from the beginning",
            stacklevel=3,
        )
        return False

    def restore(self, content: dict[str, Tensor], values: list[Tensor], random: torch.Generator | None) -> None:
        epoch, rate, best_loss, waited = content["numbers"].tolist()
        self.epoch, self.rate, self.best_loss, self.waited = int(epoch), rate, best_loss, int(waited)
        torch.set_rng_state(content["dropout"])
        if "dropout on GPU" in content and values[0].is_cuda:
            torch.cuda.set_rng_state(content["dropout on GPU"], values[0].device)
        if random is not None:
            random.set_state(content["shuffling"])
        with torch.no_grad():
            for i, value in enumerate(values):
                value.copy_(content[f"now.{i}"])
        if "best.0" in content:
            self.best = [content[f"best.{i}"].to(value.device) for i, value in enumerate(values)]


@torch.no_grad()
def _loss(
    schedule: Schedule, network: nn.Module, forward: Callable[[Tensor], Tensor], data: tuple[Tensor, Tensor]
) -> float:
    network.eval()
    total = 0.0
    for inputs, labels in zip(*(split_batches(part, schedule.test_batch_size) for part in data), strict=True):
        total += float(task_loss(forward(inputs), labels)) * len(inputs)
    return total / len(data[0])
