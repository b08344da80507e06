"""Tasks from custom data: tensors, arrays or PyTorch datasets, by name.

The data is read once, copied, and hashed. Stored results are found by that hash: the same data finds them again,
wherever it comes from, and other data never does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch.utils.data import Dataset

from ebbing._validate import check_count
from ebbing.learn._inputs import Inputs, select_inputs
from ebbing.learn._seeding import hash_to_int
from ebbing.learn.tasks._custom_data import read_data
from ebbing.learn.tasks.base import Occurrence, TaskData

Numbers = torch.Tensor | np.ndarray
"""A tensor or an array."""

Data = Dataset[Any] | tuple[Numbers | Mapping[str, Numbers], Numbers]
"""A pair (inputs, labels), or a dataset with a length whose items are such pairs."""


@dataclass(frozen=True, eq=False)
class CustomTasks:
    """Tasks with custom training and test data, by name.

    Inputs are one tensor, or several in a dictionary by the names of the network's arguments, as a tokenizer returns
    them. Floating-point inputs are converted to float32. Labels are as in `TaskData`: numbers from 0 to 1 in one column
    for binary tasks, whole numbers without a column for classes, or with `regression` any floating-point numbers in
    columns. A task that occurs again has the same data again. With `train_size`, each occurrence draws that many
    training examples randomly without replacement, as `DigitTasks` does.

    Attributes:
        identifier: The kind under which results are stored.
        train: Training data by task: a pair (inputs, labels) of tensors or arrays, or a dataset of such pairs.
        test: Test data by task, for the same tasks.
        train_size: Training examples that each occurrence draws, or None for all.
        regression: Whether labels are numbers that outputs should equal, with a column for each output.
        fingerprint: A SHA-256 of all names, types, shapes and bytes.

    Raises:
        ValueError: If the data cannot be read as inputs and labels, or a task has too few training examples.

    Example:
        >>> inputs, labels = np.eye(4), np.array([[0.0], [0.0], [1.0], [1.0]])
        >>> tasks = CustomTasks(train={"a": (inputs, labels)}, test={"a": (inputs[:1], labels[:1])}, train_size=3)
        >>> tasks.names, tasks.load("a", seed=0).train_inputs.shape
        (('a',), torch.Size([3, 4]))
        >>> tasks.fingerprint[:8]
        '24b5a521'
    """

    identifier: ClassVar[str] = "CustomTasks"

    train: InitVar[Mapping[str, Data]]
    test: InitVar[Mapping[str, Data]]
    train_size: int | None = None
    regression: bool = False
    fingerprint: str = field(init=False)
    _data: dict[str, TaskData] = field(init=False, repr=False)

    def __post_init__(self, train: Mapping[str, Data], test: Mapping[str, Data]) -> None:
        _check_names(train, test)
        data = {
            name: TaskData(
                *read_data(name, "train", train[name], regression=self.regression),
                *read_data(name, "test", test[name], regression=self.regression),
                regression=self.regression,
            )
            for name in train
        }
        for name, task_data in data.items():
            _check_splits(name, task_data)
        object.__setattr__(self, "_data", data)
        object.__setattr__(self, "fingerprint", _fingerprint(data))
        if self.train_size is not None:
            object.__setattr__(self, "train_size", check_count("train_size", self.train_size))
            smallest = min(data, key=lambda name: len(data[name].train_labels))
            available = len(data[smallest].train_labels)
            if self.train_size > available:
                raise ValueError(
                    f"train_size={self.train_size}: task {smallest!r} has {available} training examples; ask for fewer"
                )

    def __repr__(self) -> str:
        size = "" if self.train_size is None else f", train_size={self.train_size}"
        return f"CustomTasks({', '.join(map(repr, self.names))}{size}{', regression=True' * self.regression})"

    def settings(self) -> dict[str, Any]:
        """Return the settings that enter the key of results in addition to `fingerprint`.

        Early versions had no `regression`: without it, it is left out, so that their results are still found.

        Returns:
            The settings by their stored names.
        """
        return {"train_size": self.train_size} | ({"regression": True} if self.regression else {})

    def check(self, task: str) -> None:
        """Check that there is data for a task.

        Args:
            task: Name of the task.

        Raises:
            ValueError: If there is none.
        """
        if task not in self._data:
            raise ValueError(f"task {task!r}: there is data for {', '.join(map(repr, self._data))}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tasks, in the order in which they were given."""
        return tuple(self._data)

    def load(self, occurrence: Occurrence | str, seed: int) -> TaskData:
        """Return the data of an occurrence of a task.

        Args:
            occurrence: The task, by name or as an occurrence.
            seed: The seed of the random choice of training examples, if `train_size` is given.

        Returns:
            The task's data, with `train_size` training examples if that is given.
        """
        occurrence = Occurrence.of(occurrence)
        self.check(occurrence.task)
        data = self._data[occurrence.task]
        if self.train_size is None:
            return data
        random = np.random.default_rng([seed, hash_to_int(occurrence.task), occurrence.index])
        chosen = torch.from_numpy(random.choice(len(data.train_labels), self.train_size, replace=False))
        return replace(
            data, train_inputs=select_inputs(data.train_inputs, chosen), train_labels=data.train_labels[chosen]
        )


def _check_names(train: Mapping[str, Data], test: Mapping[str, Data]) -> None:
    for split, data in (("train", train), ("test", test)):
        if not isinstance(data, Mapping) or not data:
            raise ValueError(f"{split}={type(data).__name__}: give a non-empty dictionary from names of tasks to data")
        for name in data:
            if not isinstance(name, str) or not name or "#" in name:
                raise ValueError(f"task {name!r} in {split}: a name is a non-empty string without #")
    unpaired = sorted(set(train) ^ set(test))
    if unpaired:
        raise ValueError(f"{', '.join(unpaired)}: only in one of train and test; give every task data in both")


def _check_splits(name: str, data: TaskData) -> None:
    """Raise an error if training and test data differ in shape or type."""
    inputs = [_describe(part) for part in (data.train_inputs, data.test_inputs)]
    labels = [_describe(part) for part in (data.train_labels, data.test_labels)]
    if inputs[0] != inputs[1] or labels[0] != labels[1]:
        raise ValueError(
            f"task {name!r}: an input is {inputs[0]} with a label {labels[0]} in train, "
            f"{inputs[1]} with a label {labels[1]} in test; make them equal"
        )


def _describe(inputs: Inputs) -> str:
    if isinstance(inputs, Mapping):
        return ", ".join(f"{name}: {_describe(part)}" for name, part in sorted(inputs.items()))
    return f"{inputs.dtype} of shape {tuple(inputs.shape[1:])}"


def _fingerprint(data: dict[str, TaskData]) -> str:
    digest = hashlib.sha256()
    for name, task_data in sorted(data.items()):
        for part in ("train_inputs", "train_labels", "test_inputs", "test_labels"):
            value: Inputs = getattr(task_data, part)
            for key, tensor in sorted(value.items()) if isinstance(value, Mapping) else [("", value)]:
                place = [name, part, key] if key else [name, part]
                digest.update(json.dumps([*place, str(tensor.dtype), list(tensor.shape)]).encode())
                digest.update(tensor.numpy().data)
    return digest.hexdigest()
