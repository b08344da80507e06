"""Experiments: tasks, an architecture that learns them, and a method; and their settings as results store them."""

from __future__ import annotations

import inspect
import json
import reprlib
from collections.abc import Iterable
from dataclasses import dataclass, field, is_dataclass
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor, nn

from ebbing.learn._code_digest import code_digest
from ebbing.learn._description import digest_of
from ebbing.learn._inputs import Inputs
from ebbing.learn._network_digest import network_lines
from ebbing.learn._seeding import derive_seed
from ebbing.learn._stored_names import stored_kind, stored_settings
from ebbing.learn.methods import Sgd
from ebbing.learn.networks.five_layers import FiveLayers
from ebbing.learn.tasks.base import Tasks
from ebbing.learn.tasks.digits import DigitTasks
from ebbing.learn.training.schedule import Checkpoint, ProgressCallback


class Method(Protocol):
    """A method of continual learning: a frozen dataclass of settings with one of two functions.

    `learn(network, data, generator)` trains a network in place on a `TaskData`; this suffices if the weights are all
    that is remembered. `start(network)` returns a `Learner`, which may remember more.

    Attributes:
        version: Version of the method; it is increased whenever results change, and enters the key of results.
    """

    version: ClassVar[int]


class Learner(Protocol):
    """A network that learns tasks one after another; `ProjectionLearner` is one that protects what it has learned.

    Attributes:
        tasks: Names of the tasks learned so far, in order.
    """

    tasks: list[str]

    def learn(
        self,
        task: str,
        data: Any,
        *,
        generator: torch.Generator,
        checkpoint: Checkpoint | None,
        progress: ProgressCallback | None,
    ) -> None:
        """Learn a task, and append its name to `tasks`.

        Args:
            task: Name of the task.
            data: Its data, a `TaskData`.
            generator: The generator that shuffles the data.
            checkpoint: Where unfinished training is saved, and resumed from.
            progress: A function that is called with the share of the task that is done and a short message.
        """
        ...

    def outputs(self, task: str | None, inputs: Inputs) -> Tensor:
        """Return the network's outputs for inputs of a task.

        Args:
            task: Name of a learned task, or None for a task that has not been learned.
            inputs: Inputs, (n, ...): a tensor, or a dictionary of tensors.

        Returns:
            Outputs, (n, ...).
        """
        ...

    def state(self) -> dict[str, Tensor]:
        """Return everything that has been learned, with the names of the tasks.

        Returns:
            Tensors by name.
        """
        ...

    def restore(self, state: dict[str, Tensor]) -> None:
        """Restore a state that `state` returned, `tasks` too.

        Args:
            state: Tensors by name.
        """
        ...


class Architecture(Protocol):
    """A builder of initial networks."""

    def build(self, seed: int) -> nn.Module:
        """Build an initial network.

        Args:
            seed: The seed of the initialization.

        Returns:
            A network that depends on the seed and on the architecture's settings only.
        """
        ...


@dataclass(frozen=True)
class Experiment:
    """Everything that determines the result of training a sequence, except the seed and the sequence itself.

    Attributes:
        tasks: Where the data comes from.
        architecture: What builds the initial network.
        method: How each task is learned.

    Raises:
        ValueError: If a part is a class instead of an instance, or lacks what its role needs.

    Example:
        >>> Experiment(DigitTasks(), Sgd(), FiveLayers())
        Traceback (most recent call last):
        ValueError: architecture=Sgd(...) has no build(seed): give an Architecture, such as FiveLayers(); the order...
    """

    tasks: Tasks = field(default_factory=DigitTasks)
    architecture: Architecture = field(default_factory=FiveLayers)
    method: Method = field(default_factory=Sgd)

    def __post_init__(self) -> None:
        _check_part("tasks", self.tasks, [("load",), ("fingerprint",)], "Tasks, such as DigitTasks()")
        _check_part("architecture", self.architecture, [("build",)], "an Architecture, such as FiveLayers()")
        _check_part("method", self.method, [("learn", "start"), ("version",)], "a Method, such as Sgd()")

    def describe(self, seed: int = 0) -> dict[str, Any]:
        """Return all settings by their stored names, as they enter the key of results.

        Args:
            seed: The seed of the results. It matters only to an architecture of your own, whose initial network for
                this seed enters the settings.

        Returns:
            The settings of "tasks", "architecture" and "method", each with its "kind". Those of classes outside ebbing
            have a digest of their "code", and the architecture one of the network as "built": edit them, and the key
            of results changes.
        """
        parts = {"tasks": self.tasks, "architecture": self.architecture, "method": self.method}
        described = {name: {"kind": stored_kind(part)} | _settings(name, part) for name, part in parts.items()}
        fingerprint = self.tasks.fingerprint  # before code: what is read at the first use is then there for every seed
        built = None if code_digest(self.architecture) is None else self._built(seed)
        for name, part in parts.items():
            if (code := code_digest(part)) is not None:
                described[name]["code"] = code
        if built is not None:
            described["architecture"]["built"] = built
        described["tasks"]["identity"] = fingerprint
        described["method"]["version"] = self.method.version
        return described

    def initial_network(self, seed: int) -> nn.Module:
        """Build the network with which training starts.

        Args:
            seed: The seed of the results.

        Returns:
            A new network.
        """
        return self.architecture.build(derive_seed(seed, "initial network"))

    def _built(self, seed: int) -> str:
        """Return the digest of the initial network, after checking that it depends on the seed alone."""
        architecture = f"architecture={reprlib.repr(self.architecture)}"
        lines = []
        with torch.random.fork_rng(devices=[]):
            for _ in range(2):  # each is described before the next is built, which may change what modules read
                network = self.initial_network(seed)
                if not isinstance(network, nn.Module):
                    raise ValueError(f"{architecture}: build(seed) returned {network!r}; return a torch.nn.Module")
                lines.append(network_lines(network))
        built, again = lines
        if built != again:
            raise ValueError(
                f"{architecture}: build(seed) gave two different networks for the same seed, so results could not be "
                f"repeated; {_way_out(built, again)}"
            )
        return digest_of(built)

    def check(self, tasks: Iterable[str]) -> None:
        """Raise an error for unknown tasks before anything is trained, if `self.tasks` has a method `check`.

        Args:
            tasks: Names of tasks.

        Example:
            >>> Experiment().check(["0-1-2", "0-1-x"])
            Traceback (most recent call last):
            ValueError: task '0-1-x': write a set of digits as 0-1-2
        """
        check = getattr(self.tasks, "check", None)
        if check is not None:
            for task in dict.fromkeys(tasks):
                check(task)


def _way_out(built: list[str], again: list[str]) -> str:
    """Say in what two networks of the same seed differ, and what to do."""
    first = next((k for k, (one, other) in enumerate(zip(built, again, strict=False)) if one != other), 0)
    if any(line.startswith("module ") for line in built[:first]):  # after the weights
        return f"a value that modules read was {built[first]}, then {again[first]}; let it depend on the seed alone"
    return "call torch.manual_seed(seed) first in build()"


_SIGNATURES = {
    "load": "load(occurrence, seed)",
    "build": "build(seed)",
    "learn": "learn(network, data, generator)",
    "start": "start(network)",
}


def _check_part(name: str, part: object, needed: list[tuple[str, ...]], example: str) -> None:
    """Raise an error for a class, and for a part that has none of some alternative attributes."""
    shown = f"{name}={type(part).__name__}(...)" if not isinstance(part, type) else f"{name}={part.__name__}"
    if isinstance(part, type) and part.__module__.startswith("torch.optim"):
        raise ValueError(f"{shown} is an optimizer of PyTorch: give a method, ebbing.learn.Adam(learning_rate=1e-3)")
    if isinstance(part, type):
        raise ValueError(f"{shown} is a class: give an instance, {part.__name__}()")
    for alternatives in needed:
        if not any(_has(part, attribute) for attribute in alternatives):
            missing = " and no ".join(
                _SIGNATURES.get(attribute, f"attribute {attribute}") for attribute in alternatives
            )
            raise ValueError(
                f"{shown} has no {missing}: give {example}; the order is Experiment(tasks, architecture, method)"
            )


def _has(part: object, attribute: str) -> bool:
    """Return whether an object has an attribute, without computing it: a fingerprint may read a dataset."""
    if attribute in _SIGNATURES:
        return callable(getattr(part, attribute, None))
    missing = object()
    return inspect.getattr_static(part, attribute, missing) is not missing or hasattr(type(part), "__getattr__")


def _settings(name: str, part: Any) -> dict[str, Any]:
    """Return what `part.settings()` returns, or else the fields of the dataclass; raise an error if JSON cannot."""
    if callable(getattr(part, "settings", None)):
        settings = part.settings()
    elif is_dataclass(part) and not isinstance(part, type):
        settings = stored_settings(part)
    else:
        raise ValueError(
            f"{name}={reprlib.repr(part)}: results are stored under the settings that produced them; "
            "give a dataclass of settings, or an object with a method settings() that returns a dictionary"
        )
    for key, value in settings.items():
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            raise ValueError(
                f"{key}={reprlib.repr(value)} of {name}: a setting must be a value that JSON can hold (a number, a "
                f"string, a list of them); or give {type(part).__name__} a method settings() that describes it"
            ) from None
    return settings
