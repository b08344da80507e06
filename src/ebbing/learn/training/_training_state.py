"""The state of unfinished training: what a checkpoint saves, and what training is resumed from."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from ebbing._warnings import warn
from ebbing.learn.training._optimizer_steps import Steps


class PatienceSettings(Protocol):
    """The settings of a schedule that reduces its learning rate."""

    @property
    def patience(self) -> int | None: ...
    @property
    def factor(self) -> float: ...


class TrainingState:
    """Everything that changes during training except the values (parameters and buffers).

    Args:
        rate: The initial learning rate.
        task: Name of the task.
        steps: The steps of an optimizer, if there is one.
    """

    def __init__(self, rate: float, task: str, steps: Steps | None = None) -> None:
        self.initial_rate, self.steps = rate, steps
        self.task = torch.tensor(list(task.encode()), dtype=torch.uint8)
        self.epoch, self.rate = 0, rate
        self.best: list[Tensor] | None = None
        self.best_loss, self.epochs_waited = float("inf"), 0

    def update_rate(self, loss: float, values: list[Tensor], schedule: PatienceSettings) -> None:
        """Keep the best values; reduce the learning rate if the validation loss has not improved for long."""
        if loss < self.best_loss:
            self.best_loss, self.epochs_waited = loss, 0
            self.best = [value.detach().clone() for value in values]
            return
        self.epochs_waited += 1
        if self.epochs_waited >= (schedule.patience or 1):
            self.rate, self.epochs_waited = self.rate * schedule.factor, 0
            if self.steps is not None:
                self.steps.scale_rates(schedule.factor)

    def tensors(self, values: list[Tensor], generator: torch.Generator | None) -> dict[str, Tensor]:
        """Return everything as tensors by name."""
        numbers = torch.tensor([self.epoch, self.rate, self.best_loss, self.epochs_waited], dtype=torch.float64)
        content = {"task": self.task, "numbers": numbers, "dropout": torch.get_rng_state()}
        if (device := values[0].device).type != "cpu":
            content["dropout on GPU"] = getattr(torch, device.type).get_rng_state(device)
        if generator is not None:
            content["shuffling"] = generator.get_state()
        content |= {f"now.{i}": value.detach().contiguous() for i, value in enumerate(values)}
        content |= {f"best.{i}": tensor.contiguous() for i, tensor in enumerate(self.best or [])}
        return content if self.steps is None else content | self.steps.tensors()

    def matches(self, content: dict[str, Tensor], values: list[Tensor]) -> bool:
        """Return whether a checkpoint is of this task and has values of these shapes.

        Args:
            content: The tensors of the checkpoint.
            values: The values to restore.

        Returns:
            Whether it can be restored.
        """
        if not torch.equal(content["task"], self.task):
            return False
        saved = {name: tensor.shape for name, tensor in content.items() if name.startswith("now.")}
        same_steps = "optimizer" not in content if self.steps is None else self.steps.matches(content)
        if same_steps and saved == {f"now.{i}": value.shape for i, value in enumerate(values)}:
            return True
        warn("the checkpoint of this task is of another version or network; training starts from the beginning")
        return False

    def restore(self, content: dict[str, Tensor], values: list[Tensor], generator: torch.Generator | None) -> None:
        """Restore what `tensors` returned."""
        epoch, rate, best_loss, epochs_waited = content["numbers"].tolist()
        self.epoch, self.rate, self.best_loss, self.epochs_waited = int(epoch), rate, best_loss, int(epochs_waited)
        torch.set_rng_state(content["dropout"])
        if "dropout on GPU" in content and (device := values[0].device).type != "cpu":
            getattr(torch, device.type).set_rng_state(content["dropout on GPU"], device)
        if generator is not None:
            generator.set_state(content["shuffling"])
        with torch.no_grad():
            for i, value in enumerate(values):
                value.copy_(content[f"now.{i}"])
        if "best.0" in content:
            self.best = [content[f"best.{i}"].to(value.device) for i, value in enumerate(values)]
        if self.steps is not None:
            self.steps.restore(content)
