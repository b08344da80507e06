"""The steps of an optimizer, with accumulation, mixed precision and clipping; and its state as tensors."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import SGD, Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from ebbing.learn._inputs import Inputs
from ebbing.learn.training._state_file import decode_json, encode_json
from ebbing.learn.training.batches import Pair
from ebbing.learn.training.optimization import Optimization

Objective = Callable[[Inputs, Tensor], Tensor]
"""The mean loss of the network as a function of inputs and labels."""


class Steps:
    """Steps of an optimizer, with everything that `Optimization` sets.

    Args:
        optimization: The settings.
        parameters: The parameters to train.
        learning_rate: The learning rate of plain gradient descent, if there is no optimizer.

    Attributes:
        optimizer: The optimizer.

    Raises:
        ValueError: If the functions do not return an optimizer and a scheduler of it.
    """

    def __init__(self, optimization: Optimization, parameters: Sequence[nn.Parameter], learning_rate: float) -> None:
        self.settings, self.parameters = optimization, parameters
        make = optimization.optimizer or (lambda some: SGD(some, learning_rate))
        self.optimizer = _checked_optimizer(make(parameters), parameters)  # type: ignore[arg-type]
        self._scheduler = None
        if optimization.scheduler is not None:
            self._scheduler = _checked_scheduler(optimization.scheduler(self.optimizer), self.optimizer)
        device = next((parameter.device.type for parameter in parameters), "cpu")
        self._device, half = device, optimization.mixed_precision == torch.float16
        self._scaler = torch.amp.GradScaler(device, enabled=half)  # float16 underflows without; others need no scaling

    def autocast(self) -> AbstractContextManager[Any]:
        """Return the context of the forward pass and the loss."""
        dtype = self.settings.mixed_precision
        return nullcontext() if dtype is None else torch.autocast(self._device, dtype)

    def run(self, objective: Objective, batches: Iterable[Pair]) -> int:
        """Make the steps of an epoch.

        Args:
            objective: The loss as a function of inputs and labels.
            batches: The batches.

        Returns:
            The number of steps.
        """
        count = 0
        for group in _groups(batches, self.settings.accumulate):
            self.optimizer.zero_grad(set_to_none=True)
            total = sum(len(labels) for _, labels in group)
            for inputs, labels in group:
                with self.autocast():
                    value = objective(inputs, labels)
                self._scaler.scale(value * (len(labels) / total)).backward()
            self._step()
            count += 1
        return count

    def _step(self) -> None:
        if self.settings.clip_norm is not None:
            self._scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.parameters, self.settings.clip_norm)
        self._scaler.step(self.optimizer)
        self._scaler.update()
        if self._scheduler is not None:
            self._scheduler.step()

    def scale_rates(self, factor: float) -> None:
        """Multiply all learning rates by a factor."""
        for group in self.optimizer.param_groups:
            group["lr"] *= factor

    @property
    def rate(self) -> float:
        """The largest of the current learning rates."""
        return max(float(group["lr"]) for group in self.optimizer.param_groups)

    def tensors(self) -> dict[str, Tensor]:
        """Return the state of optimizer and scheduler as tensors by name.

        Raises:
            ValueError: If a state has other values than tensors and what JSON can hold.
        """
        content, numbers = {}, {}
        state = self.optimizer.state_dict()
        for index, values in state["state"].items():
            for name, value in values.items():
                if isinstance(value, Tensor):
                    content[f"optimizer.{index}.{name}"] = value.detach().contiguous()
                else:
                    numbers[f"{index}.{name}"] = value
        parts = [numbers, state["param_groups"], self._scheduler and self._scheduler.state_dict()]
        try:
            described = json.dumps([type(self.optimizer).__name__, *parts, self._scaler.state_dict()])
        except TypeError as error:
            raise ValueError(
                f"the state of this {type(self.optimizer).__name__} or of its scheduler cannot be saved ({error}): "
                "learn without a checkpoint"
            ) from None
        return content | {"optimizer": encode_json(json.loads(described))}

    def matches(self, content: dict[str, Tensor]) -> bool:
        """Return whether a checkpoint is of the same kind of optimizer."""
        return "optimizer" in content and decode_json(content["optimizer"])[0] == type(self.optimizer).__name__

    def restore(self, content: dict[str, Tensor]) -> None:
        """Restore what `tensors` returned."""
        _, numbers, groups, scheduler, scaler = decode_json(content["optimizer"])
        state: dict[int, dict[str, Any]] = {}
        saved = {name: value for name, value in content.items() if name.startswith("optimizer.")}
        for name, value in (*numbers.items(), *((name.removeprefix("optimizer."), v) for name, v in saved.items())):
            index, _, key = name.partition(".")
            state.setdefault(int(index), {})[key] = value
        self.optimizer.load_state_dict({"state": state, "param_groups": groups})
        if self._scheduler is not None and scheduler is not None:
            self._scheduler.load_state_dict(scheduler)
        self._scaler.load_state_dict(scaler)


def _groups(batches: Iterable[Pair], size: int) -> Iterator[list[Pair]]:
    remaining = iter(batches)
    while group := [*islice(remaining, size)]:
        yield group


def _checked_optimizer(optimizer: object, parameters: Sequence[nn.Parameter]) -> Optimizer:
    if not isinstance(optimizer, Optimizer):
        raise ValueError(f"optimizer= returned a {type(optimizer).__name__}: return a torch.optim.Optimizer")
    closure = inspect.signature(type(optimizer).step).parameters.get("closure")
    if closure is not None and closure.default is closure.empty:
        raise ValueError(
            f"{type(optimizer).__name__} evaluates the loss several times in a step: write a loop inside task() for it"
        )
    known = {id(parameter) for parameter in parameters}
    given = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    if any(id(parameter) not in known for parameter in given):
        raise ValueError(
            "optimizer= returned an optimizer of other parameters than those that it was given: return one of these "
            "alone, such as AdamW(parameters); .named has them by name, for groups"
        )
    return optimizer


def _checked_scheduler(scheduler: object, optimizer: Optimizer) -> LRScheduler:
    if isinstance(scheduler, ReduceLROnPlateau):
        raise ValueError("ReduceLROnPlateau needs a validation loss: give the schedule a patience, which does the same")
    if not isinstance(scheduler, LRScheduler) or scheduler.optimizer is not optimizer:
        raise ValueError(
            f"scheduler= returned a {type(scheduler).__name__}: return a scheduler of torch.optim.lr_scheduler for the "
            "optimizer that it was given"
        )
    return scheduler
