"""Tasks from data of your own: tensors, arrays or PyTorch datasets, by name.

The data is read once, copied, and fingerprinted. Results are stored under the fingerprint: the same data finds them
again, wherever it comes from, and other data never does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset

from ebbing._validate import count
from ebbing.learn.networks._seeding import hash_to_int
from ebbing.learn.tasks.base import Occurrence, TaskData

Data = Dataset[Any] | tuple[torch.Tensor | np.ndarray, torch.Tensor | np.ndarray]
"""Inputs and labels: a pair of them, or a dataset of such pairs that has a length."""

_READ_TWICE = 10
"""So many items of a dataset are read twice, to notice one that changes whenever it is read."""


@dataclass(frozen=True, eq=False)
class CustomTasks:
    """One task per name, with data to learn from and data to be tested on.

    Inputs that are floating-point numbers become float32. Labels are as in `TaskData`: numbers from 0 to 1, one column,
    for yes or no; or whole numbers, without a column, for classes. A task that occurs again has the same data again.
    With `train_images` each occurrence learns from that many of them, drawn without repetition, as in `DigitTasks`.

    >>> inputs, labels = np.eye(4), np.array([[0.0], [0.0], [1.0], [1.0]])
    >>> tasks = CustomTasks(train={"a": (inputs, labels)}, test={"a": (inputs[:1], labels[:1])}, train_images=3)
    >>> tasks.load(Occurrence("a", 0), seed=0).train_inputs.shape
    torch.Size([3, 4])
    >>> tasks.identity[:8]
    '24b5a521'
    """

    identifier: ClassVar[str] = "OwnTasks"

    train: InitVar[Mapping[str, Data]]
    test: InitVar[Mapping[str, Data]]
    train_images: int | None = None
    identity: str = field(init=False)  # a hash of all names, types, shapes and bytes
    _samples: dict[str, TaskData] = field(init=False, repr=False)

    def __post_init__(self, train: Mapping[str, Data], test: Mapping[str, Data]) -> None:
        _check_names(train, test)
        samples = {
            name: TaskData(*_read(name, "train", train[name]), *_read(name, "test", test[name])) for name in train
        }
        for name, task_data in samples.items():
            _check_halves(name, task_data)
        object.__setattr__(self, "_samples", samples)
        object.__setattr__(self, "identity", _fingerprint(samples))
        if self.train_images is not None:
            object.__setattr__(self, "train_images", count("train_images", self.train_images))
            fewest = min(samples, key=lambda name: len(samples[name].train_inputs))
            there = len(samples[fewest].train_inputs)
            if self.train_images > there:
                raise ValueError(f"train_images={self.train_images}: task {fewest!r} has {there}; ask for fewer")

    def settings(self) -> dict[str, Any]:
        """What enters the key of results besides `identity`."""
        return {"train_images": self.train_images}

    def check(self, task: str) -> None:
        """Refuse a name without data."""
        if task not in self._samples:
            raise ValueError(f"task {task!r}: there is data of {', '.join(self._samples)}")

    def load(self, occurrence: Occurrence, seed: int) -> TaskData:
        """The data of the task; with `train_images` a choice that depends on seed, name and occurrence."""
        self.check(occurrence.task)
        whole = self._samples[occurrence.task]
        if self.train_images is None:
            return whole
        random = np.random.default_rng([seed, hash_to_int(occurrence.task), occurrence.index])
        chosen = torch.from_numpy(random.choice(len(whole.train_inputs), self.train_images, replace=False))
        return TaskData(whole.train_inputs[chosen], whole.train_labels[chosen], whole.test_inputs, whole.test_labels)


def _check_names(train: Mapping[str, Data], test: Mapping[str, Data]) -> None:
    for half, given in (("train", train), ("test", test)):
        if not isinstance(given, Mapping) or not given:
            raise ValueError(f"{half}={type(given).__name__}: give a dictionary from names of tasks to data, not empty")
        for name in given:
            if not isinstance(name, str) or not name or "#" in name:
                raise ValueError(f"task {name!r} in {half}: a name is a string, not empty, without #")
    only = sorted(set(train) ^ set(test))
    if only:
        raise ValueError(f"{', '.join(only)}: in one of train and test only; give every task data in both")


def _check_halves(name: str, task_data: TaskData) -> None:
    """What is learned and what is tested must be of one kind."""
    inputs = [(tuple(half.shape[1:]), half.dtype) for half in (task_data.train_inputs, task_data.test_inputs)]
    labels = [half.dtype for half in (task_data.train_labels, task_data.test_labels)]
    if inputs[0] != inputs[1] or labels[0] != labels[1]:
        raise ValueError(
            f"task {name!r}: an input is {_shown(inputs[0])} with {labels[0]} labels in train, "
            f"{_shown(inputs[1])} with {labels[1]} labels in test; make them equal"
        )


def _shown(kind: tuple[tuple[int, ...], torch.dtype]) -> str:
    shape, dtype = kind
    return f"{dtype} of shape {shape}"


def _read(name: str, half: str, data: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and labels of one half of a task, copied: what its owner changes later must not change results."""
    where = f"task {name!r}, {half}"
    if isinstance(data, IterableDataset):
        raise ValueError(
            f"{where}: an IterableDataset has no end to be known by; give a dataset with a length, or tensors"
        )
    if isinstance(data, Dataset):
        inputs, labels = _unrolled(where, data)
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
    return _inputs(where, inputs), _labels(where, labels)


def _unrolled(where: str, dataset: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """All items of a dataset, stacked."""
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
            raise ValueError(f"{where}: item {i} changes whenever it is read; switch random transforms off")
    inputs, labels = zip(*items, strict=True)
    return torch.stack(inputs), torch.stack(labels)


def _item(where: str, item: Any) -> tuple[torch.Tensor, torch.Tensor]:
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise ValueError(f"{where}: {type(item).__name__}; a dataset is to give pairs (input, label)")
    return _tensor(f"{where}, input", item[0]), _tensor(f"{where}, label", item[1])


def _tensor(where: str, value: Any) -> torch.Tensor:
    """A copy of a tensor, an array or a number."""
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
            "or int64 for words by number"
        )
    inputs = inputs.to(torch.float32)
    bad = ~inputs.isfinite()
    if bad.any():
        place = bad.nonzero()[0].tolist()
        raise ValueError(f"{where}: inputs{place} = {inputs[tuple(place)]:g}; every input must be finite in float32")
    return inputs


def _labels(where: str, labels: torch.Tensor) -> torch.Tensor:
    whole = not (labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool)
    if whole and labels.ndim == 1 and int(labels.to(torch.int64).min()) >= 0:
        return labels.to(torch.int64)
    if labels.is_floating_point() and labels.shape[1:] == (1,) and bool(((labels >= 0) & (labels <= 1)).all()):
        return labels.to(torch.float32)
    raise ValueError(
        f"{where}: labels are {labels.dtype} of shape {tuple(labels.shape)}, {_extent(labels)}; give floating-point "
        "numbers from 0 to 1 in one column (labels[:, None]) for yes or no, or whole numbers >= 0 without a column for "
        "classes"
    )


def _extent(labels: torch.Tensor) -> str:
    if labels.is_complex():
        return "complex"
    return f"from {labels.min().item():g} to {labels.max().item():g}"


def _fingerprint(samples: dict[str, TaskData]) -> str:
    digest = hashlib.sha256()
    for name, task_data in sorted(samples.items()):
        for what in ("train_inputs", "train_labels", "test_inputs", "test_labels"):
            tensor: torch.Tensor = getattr(task_data, what)
            digest.update(json.dumps([name, what, str(tensor.dtype), list(tensor.shape)]).encode())
            digest.update(tensor.numpy().data)
    return digest.hexdigest()
