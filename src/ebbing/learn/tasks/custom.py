"""Tasks from custom data: tensors, arrays or PyTorch datasets, by name.

The data is read once, copied, and hashed. Stored results are found by that hash: the same data finds them again,
wherever it comes from, and other data never does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset

from ebbing._validate import check_count
from ebbing.learn._inputs import Inputs, select_inputs
from ebbing.learn._seeding import hash_to_int
from ebbing.learn.tasks.base import Occurrence, TaskData

Numbers = torch.Tensor | np.ndarray
"""A tensor or an array."""

Data = Dataset[Any] | tuple[Numbers | Mapping[str, Numbers], Numbers]
"""A pair (inputs, labels), or a dataset with a length whose items are such pairs."""

_READ_TWICE = 10
"""Number of items of a dataset that are read twice, to detect random transforms."""


@dataclass(frozen=True, eq=False)
class CustomTasks:
    """Tasks with custom training and test data, by name.

    Inputs are one tensor, or several in a dictionary by the names of the network's arguments, as a tokenizer returns
    them. Floating-point inputs are converted to float32. Labels are as in `TaskData`: numbers from 0 to 1 in one column
    for binary tasks, or whole numbers without a column for classes. A task that occurs again has the same data again.
    With `train_size`, each occurrence draws that many training examples randomly without replacement, as `DigitTasks`
    does.

    Attributes:
        identifier: The kind under which results are stored.
        train: Training data by task: a pair (inputs, labels) of tensors or arrays, or a dataset of such pairs.
        test: Test data by task, for the same tasks.
        train_size: Training examples that each occurrence draws, or None for all.
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
    fingerprint: str = field(init=False)
    _data: dict[str, TaskData] = field(init=False, repr=False)

    def __post_init__(self, train: Mapping[str, Data], test: Mapping[str, Data]) -> None:
        _check_names(train, test)
        data = {name: TaskData(*_read(name, "train", train[name]), *_read(name, "test", test[name])) for name in train}
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
        return f"CustomTasks({', '.join(map(repr, self.names))}{size})"

    def settings(self) -> dict[str, Any]:
        """Return the settings that enter the key of results in addition to `fingerprint`.

        Returns:
            The settings by their stored names.
        """
        return {"train_size": self.train_size}

    def check(self, task: str) -> None:
        """Check that there is data for a task.

        Args:
            task: Name of the task.

        Raises:
            ValueError: If there is none.
        """
        if task not in self._data:
            raise ValueError(f"task {task!r}: there is data for {', '.join(self._data)}")

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
        return TaskData(
            select_inputs(data.train_inputs, chosen), data.train_labels[chosen], data.test_inputs, data.test_labels
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
    labels = [part.dtype for part in (data.train_labels, data.test_labels)]
    if inputs[0] != inputs[1] or labels[0] != labels[1]:
        raise ValueError(
            f"task {name!r}: an input is {inputs[0]} with {labels[0]} labels in train, "
            f"{inputs[1]} with {labels[1]} labels in test; make them equal"
        )


def _describe(inputs: Inputs) -> str:
    if isinstance(inputs, Mapping):
        return ", ".join(f"{name}: {_describe(part)}" for name, part in sorted(inputs.items()))
    return f"{inputs.dtype} of shape {tuple(inputs.shape[1:])}"


def _read(name: str, split: str, data: Any, *, masks: bool = False) -> tuple[Inputs, torch.Tensor]:
    """Copy inputs and labels, so that later changes by the caller do not change results."""
    where = f"task {name!r}, {split}"
    if isinstance(data, IterableDataset):
        raise ValueError(f"{where}: an IterableDataset has no length; give a dataset with a length, or tensors")
    if isinstance(data, Dataset):
        inputs, labels = _stack_items(where, data)
    elif isinstance(data, tuple | list) and len(data) == 2 and isinstance(data[0], Mapping):
        return _read_by_name(name, split, *data)
    elif isinstance(data, tuple | list) and len(data) == 2:
        inputs, labels = (
            _tensor(f"{where}: {what}", part) for what, part in zip(("inputs", "labels"), data, strict=True)
        )
    else:
        raise ValueError(
            f"{where}: {type(data).__name__}; give a pair (inputs, labels) of tensors or arrays, or a Dataset"
        )
    if not inputs.ndim or not labels.ndim or len(inputs) != len(labels):
        shapes = f"inputs of shape {tuple(inputs.shape)}, labels {tuple(labels.shape)}"
        raise ValueError(f"{where}: {shapes}; give as many labels as inputs, one row each")
    if not inputs.numel():
        raise ValueError(f"{where}: no data (inputs of shape {tuple(inputs.shape)}); give at least one input")
    return inputs if masks and inputs.dtype == torch.bool else _inputs(where, inputs), _labels(where, labels)


def _read_by_name(name: str, split: str, inputs: Mapping[str, Any], labels: Any) -> tuple[Inputs, torch.Tensor]:
    if not inputs or not all(isinstance(key, str) for key in inputs):
        raise ValueError(
            f"task {name!r}, {split}: inputs by the names {list(inputs)}; give at least one input, by the name of an "
            "argument of the network"
        )
    read = {key: _read(name, f"{split}, {key}", (value, labels), masks=True) for key, value in inputs.items()}
    return {key: cast(torch.Tensor, pair[0]) for key, pair in read.items()}, next(iter(read.values()))[1]


def _stack_items(where: str, dataset: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Stack all items of a dataset."""
    try:
        length = len(dataset)
    except (TypeError, NotImplementedError):
        raise ValueError(f"{where}: the dataset has no length; give it a method __len__, or give tensors") from None
    if not length:
        raise ValueError(f"{where}: no data (a dataset of length 0); give at least one input")
    items = [_item(f"{where}, item {i}", dataset[i]) for i in range(length)]
    for i, (inputs, labels) in enumerate(items):
        if inputs.shape != items[0][0].shape or labels.shape != items[0][1].shape:
            shapes = [(tuple(x.shape), tuple(y.shape)) for x, y in (items[0], (inputs, labels))]
            raise ValueError(f"{where}: input and label of item 0 have shapes {shapes[0]}, of item {i} {shapes[1]}")
    for i in range(min(length, _READ_TWICE)):
        again = _item(where, dataset[i])
        if not all(torch.equal(one, other) for one, other in zip(items[i], again, strict=True)):
            raise ValueError(f"{where}: item {i} changes whenever it is read; switch off random transforms")
    inputs, labels = zip(*items, strict=True)
    return torch.stack(inputs), torch.stack(labels)


def _item(where: str, item: Any) -> tuple[torch.Tensor, torch.Tensor]:
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise ValueError(f"{where}: {type(item).__name__}; a dataset must yield pairs (input, label)")
    return _tensor(f"{where}, input", item[0]), _tensor(f"{where}, label", item[1])


def _tensor(where: str, value: Any) -> torch.Tensor:
    """Copy a tensor, an array or a number to a tensor."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().clone(memory_format=torch.contiguous_format)
    try:
        if not isinstance(value, np.ndarray | np.generic | int | float):
            raise TypeError
        return torch.tensor(np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value)
    except TypeError:
        kind = f"array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
        raise ValueError(
            f"{where}: {kind}; give a tensor or an array of numbers (a dataset may need ToTensor)"
        ) from None


def _inputs(where: str, inputs: torch.Tensor) -> torch.Tensor:
    if inputs.dtype in (torch.int64, torch.int32):
        return inputs
    if not inputs.is_floating_point():
        raise ValueError(
            f"{where}: inputs are {inputs.dtype}; give floating-point numbers (for images of bytes, divide by 255), "
            "or int64 for token indices"
        )
    inputs = inputs.to(torch.float32)
    bad = ~inputs.isfinite()
    if bad.any():
        index = bad.nonzero()[0].tolist()
        raise ValueError(f"{where}: inputs{index} = {inputs[tuple(index)]:g}; every input must be finite in float32")
    return inputs


def _labels(where: str, labels: torch.Tensor) -> torch.Tensor:
    integer = not (labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool)
    if integer and labels.ndim == 1 and int(labels.to(torch.int64).min()) >= 0:
        return labels.to(torch.int64)
    if labels.is_floating_point() and labels.shape[1:] == (1,) and bool(((labels >= 0) & (labels <= 1)).all()):
        return labels.to(torch.float32)
    raise ValueError(
        f"{where}: labels are {labels.dtype} of shape {tuple(labels.shape)}, {_range(labels)}; give floating-point "
        "numbers from 0 to 1 in one column (labels[:, None]) for binary tasks, or whole numbers >= 0 without a column "
        "for classes"
    )


def _range(labels: torch.Tensor) -> str:
    if labels.is_complex():
        return "complex"
    return f"from {labels.min().item():g} to {labels.max().item():g}"


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
