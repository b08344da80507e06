"""Tasks, their data, and their occurrences in a sequence.

A task may occur several times in a sequence. The data of an occurrence depends on the seed, the task's name and the
occurrence's index, and on nothing else: the third "0-1-2" of a sequence has the same data as the third "0-1-2" of every
other sequence with that seed, at any position. Sequences can therefore share trained prefixes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch

from ebbing.learn._inputs import input_tensors, map_inputs

TaskInputs = Any
"""A tensor (n, ...), or a dictionary of them; not said as a union, since whoever has tensors indexes them."""


@dataclass(frozen=True, order=True)
class Occurrence:
    """One occurrence of a task in a sequence, written "task#index".

    Attributes:
        task: Name of the task.
        index: How many times the task has occurred before, from 0.

    Raises:
        ValueError: If `task` is not a string.
    """

    task: str
    index: int

    def __post_init__(self) -> None:
        if not isinstance(self.task, str):
            raise ValueError(f"task {self.task!r}: give the name of a task, a string")

    def __str__(self) -> str:
        return f"{self.task}#{self.index}"

    @staticmethod
    def of(task: Occurrence | str) -> Occurrence:
        """Return an occurrence, or the first one of a task that is given by its name.

        Args:
            task: The task, by name or as an occurrence.

        Returns:
            The occurrence.

        Example:
            >>> Occurrence.of("cats")
            Occurrence(task='cats', index=0)
        """
        return task if isinstance(task, Occurrence) else Occurrence(task, 0)


@dataclass(frozen=True, eq=False)
class TaskData:
    """Inputs and labels of a task, for training, testing and (optionally) validation.

    Labels of binary tasks are floating-point numbers from 0 to 1 in one column, (n, 1). Labels of classification tasks
    are int64 class indices, (n,). Labels of regression are any floating-point numbers, one for each output, (n, C).
    Inputs are a tensor, or a dictionary of tensors by the names of the network's arguments, as a tokenizer returns
    them.

    Attributes:
        train_inputs: Training inputs, (n, ...).
        train_labels: Training labels, (n, 1), (n,) or (n, C).
        test_inputs: Test inputs, (m, ...).
        test_labels: Test labels, in the same form.
        validation_inputs: Validation inputs, (k, ...), or None.
        validation_labels: Validation labels, in the same form, or None.
        regression: Whether outputs are learned, and tested, by their squared distance from the labels.
    """

    train_inputs: TaskInputs
    train_labels: torch.Tensor
    test_inputs: TaskInputs
    test_labels: torch.Tensor
    validation_inputs: TaskInputs | None = None
    validation_labels: torch.Tensor | None = None
    regression: bool = field(default=False, kw_only=True)

    def to(self, device: torch.device | str) -> TaskData:
        """Return the same data on another device.

        Args:
            device: The target device.

        Returns:
            Data whose tensors are all on that device.
        """
        return replace(
            self, **{name: map_inputs(lambda tensor: tensor.to(device), part) for name, part in self._parts.items()}
        )

    @property
    def _parts(self) -> dict[str, TaskInputs]:
        """The inputs and labels that there are, by name."""
        return {name: part for name, part in vars(self).items() if part is not None and name != "regression"}

    def __repr__(self) -> str:
        parts = self._parts.items()
        shapes = {name: " and ".join(str(tuple(x.shape)) for x in input_tensors(part)) for name, part in parts}
        described = [f"{name}: {shape}" for name, shape in shapes.items()] + ["regression"] * self.regression
        return f"TaskData({', '.join(described)})"


class Tasks(Protocol):
    """A source of task data.

    Two methods are optional. `check(task)` is called for every task before training starts, and raises a ValueError if
    the name is unknown. `load_test(occurrence, seed)` returns only the test inputs and labels of an occurrence, for
    tasks where that is faster than `load`; these are not tasks of regression.
    """

    @property
    def fingerprint(self) -> str:
        """A string that changes whenever the underlying data changes; it enters the key of every result."""
        ...

    def load(self, occurrence: Occurrence, seed: int) -> TaskData:
        """Return the data of an occurrence of a task.

        Args:
            occurrence: The task and the index of its occurrence.
            seed: The seed of random choices.

        Returns:
            Data that is the same in every call with the same arguments.
        """
        ...


def occurrences(sequence: Sequence[str]) -> tuple[Occurrence, ...]:
    """Return the tasks of a sequence with their occurrences counted.

    Args:
        sequence: Names of tasks, in the order in which they are learned.

    Returns:
        One occurrence for each element of the sequence.

    Example:
        >>> [str(occurrence) for occurrence in occurrences(["a", "b", "a"])]
        ['a#0', 'b#0', 'a#1']
    """
    return tuple(Occurrence(task, sequence[:i].count(task)) for i, task in enumerate(sequence))


def check_sequence(sequence: object) -> Sequence[str]:
    """Return a sequence of task names that is a list or a tuple, and not empty.

    Args:
        sequence: Names of tasks.

    Returns:
        The same sequence.

    Raises:
        ValueError: If it is a string, whose characters would be taken for tasks, or something else.

    Example:
        >>> check_sequence("cats")
        Traceback (most recent call last):
        ValueError: sequence 'cats': give a list of names of tasks, such as ['cats']
    """
    if isinstance(sequence, str):
        raise ValueError(f"sequence {sequence!r}: give a list of names of tasks, such as [{sequence!r}]")
    if not isinstance(sequence, list | tuple):
        raise ValueError(f"sequence {sequence!r}: give a list of names of tasks")
    if not sequence:
        raise ValueError("an empty sequence: give at least one task")
    return sequence
