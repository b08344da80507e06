"""What training consists of: tasks, a network that learns them, and a way of learning; and how each is described."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Iterable
from dataclasses import dataclass, field, is_dataclass
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor, nn

from ebbing.learn._stored_names import stored_kind, stored_settings
from ebbing.learn.methods import Sgd
from ebbing.learn.networks.five_layers import FiveLayers
from ebbing.learn.tasks.base import DigitTasks, Tasks
from ebbing.learn.training.schedule import Checkpoint, ProgressCallback


class Method(Protocol):
    """A way of learning: a frozen dataclass of settings with a version, and either of two methods.

    `learn(network, task_data, random)` trains a network in place: enough where the weights are the only memory.
    `start(network)` gives a `Learner`, which remembers more.
    """

    version: ClassVar[int]


class Learner(Protocol):
    """A network that learns lessons one after another. `protection.learner` has one that protects what it knows."""

    tasks: list[str]

    def learn(
        self,
        task: str,
        data: Any,
        *,
        random: torch.Generator,
        checkpoint: Checkpoint | None,
        watch: ProgressCallback | None,
    ) -> None:
        """Learn a task from a `TaskData`."""
        ...

    def outputs(self, task: str | None, inputs: Tensor) -> Tensor:
        """What the network says of a task's inputs; None stands for a task not learned yet."""
        ...

    def state(self) -> dict[str, Tensor]:
        """Everything that has been learned."""
        ...

    def restore(self, state: dict[str, Tensor]) -> None:
        """Take over what `state` gave."""
        ...


class Architecture(Protocol):
    """What builds the initial network."""

    def build(self, seed: int) -> nn.Module:
        """The initial network of a seed."""
        ...


@dataclass(frozen=True)
class Experiment:
    """All that determines the result of training a sequence, but for the seed and the sequence itself."""

    tasks: Tasks = field(default_factory=DigitTasks)
    architecture: Architecture = field(default_factory=FiveLayers)
    method: Method = field(default_factory=Sgd)

    def describe(self) -> dict[str, Any]:
        """Every setting by name, as it enters the key of results."""
        parts = {"tasks": self.tasks, "architecture": self.architecture, "method": self.method}
        named = {name: {"kind": stored_kind(part)} | _settings(name, part) for name, part in parts.items()}
        named["tasks"]["identity"] = self.tasks.identity
        named["method"]["version"] = self.method.version
        return named

    def check(self, tasks: Iterable[str]) -> None:
        """Refuse what the data do not know as a task, before anything is trained: what `Tasks.check`, if any, refuses.

        >>> Experiment().check(["0-1-2", "0-1-x"])
        Traceback (most recent call last):
        ValueError: task '0-1-x': write a set of digits as 0-1-2
        """
        check = getattr(self.tasks, "check", None)
        if check is not None:
            for task in dict.fromkeys(tasks):
                check(task)


def _settings(name: str, part: Any) -> dict[str, Any]:
    """What a part says of itself, or its fields: names and values that JSON can hold, as keys are hashes of JSON."""
    if callable(getattr(part, "settings", None)):
        found = part.settings()
    elif is_dataclass(part) and not isinstance(part, type):
        found = stored_settings(part)
    else:
        raise ValueError(
            f"{name}={reprlib.repr(part)}: results are stored under the settings of what made them; "
            "give a dataclass of settings, or an object with a method settings() that returns a dictionary"
        )
    for key, value in found.items():
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            raise ValueError(
                f"{key}={reprlib.repr(value)} of {name}: a setting must be something that JSON can hold (a number, a "
                f"string, a list of them); or give {type(part).__name__} a method settings() that describes it"
            ) from None
    return found
