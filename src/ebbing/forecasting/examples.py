"""The examples of all tasks in one array, and which rows train and test each task: `Examples`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ebbing._validate import check_count, check_seed
from ebbing.forecasting._reading import Inputs, join, num_rows, read_examples, shape_of, take
from ebbing.forecasting.targets import is_binary

HELD_OUT = 0.25
"""The share of a task's data that is held out for testing if no test data is given, where data is scarce."""


@dataclass(frozen=True, eq=False)
class Examples:
    """The examples of all tasks: one row for each training and test example.

    Attributes:
        names: Names of the tasks (T,).
        inputs: Inputs of all rows (N, ...), or arrays by name.
        labels: Labels of all rows (N, ...).
        train: The rows that train each task, in random order.
        test: The rows that test each task.
    """

    names: tuple[str, ...]
    inputs: Inputs
    labels: np.ndarray
    train: tuple[np.ndarray, ...]
    test: tuple[np.ndarray, ...]

    @classmethod
    def read(cls, tasks: Mapping[str, Any], *, train_size: int = 200, test_size: int = 200, seed: int = 0) -> Examples:
        """Read the data of tasks, and keep a random part of it.

        Args:
            tasks: Data by task: {"train": data, "test": data}, or data alone, of which a part is then held out. Data
                is a pair (inputs, labels) of tensors or arrays, a Dataset or a DataLoader.
            train_size: Training examples of each task to keep, at most.
            test_size: Test examples of each task to keep, at most.
            seed: The seed of the choice, which is the same for tasks with equally many examples.

        Returns:
            The examples.

        Raises:
            ValueError: If a task's data cannot be read, or differs in shape from that of another.

        Example:
            >>> x, y = np.eye(8), np.arange(8) % 2
            >>> examples = Examples.read({"a": (x, y), "b": {"train": (x, y), "test": (x[:3], y[:3])}}, train_size=5)
            >>> [(len(train), len(test)) for train, test in zip(examples.train, examples.test)]
            [(5, 2), (5, 3)]
        """
        train_size, test_size = check_count("train_size", train_size), check_count("test_size", test_size)
        seed = check_seed(seed)
        if not isinstance(tasks, Mapping) or not tasks:
            shown = f"{type(tasks).__name__}" if not isinstance(tasks, Mapping) else "empty"
            raise ValueError(
                f"tasks is {shown}: give a dictionary from names of tasks to their data, such as {{'news': (inputs, "
                "labels), 'mail': (inputs, labels)}"
            )
        inputs: list[Inputs] = []
        labels: list[np.ndarray] = []
        train, test, start = [], [], 0
        for name, data in tasks.items():
            if not isinstance(name, str) or not name:
                raise ValueError(f"task {name!r}: a name is a non-empty string")
            random = np.random.default_rng(seed)  # tasks with the same data keep the same examples
            for rows, (x, y) in zip((train, test), _read_task(name, data, train_size, test_size, random), strict=True):
                if labels:
                    _check_same_form(name, (x, y), next(iter(tasks)), (inputs[0], labels[0]))
                inputs.append(x)
                labels.append(y.astype(labels[0].dtype) if labels and is_binary(y) else y)
                rows.append(np.arange(start, start := start + len(y)))
        return cls(tuple(tasks), join(inputs), np.concatenate(labels), tuple(train), tuple(test))

    @property
    def T(self) -> int:
        """The number of tasks."""
        return len(self.names)

    @property
    def rows(self) -> int:
        """The number of rows N."""
        return len(self.labels)


def _read_task(
    name: str, data: Any, train_size: int, test_size: int, random: np.random.Generator
) -> tuple[tuple[Inputs, np.ndarray], tuple[Inputs, np.ndarray]]:
    where = f"task {name!r}"
    if isinstance(data, Mapping):
        unknown = sorted(map(str, set(data) - {"train", "test"}))
        if "labels" in unknown or "label" in unknown:  # a batch of a tokenizer
            raise ValueError(
                f"{where}: a dictionary with {', '.join(map(str, data))}; inputs by name and their labels are a pair: "
                "give ({'input_ids': ...}, labels)"
            )
        if "train" not in data or unknown:
            raise ValueError(
                f"{where}: a dictionary with {', '.join(map(str, data)) or 'nothing'}; give {{'train': data, 'test': "
                "data}, or {'train': data} alone"
            )
        if data.get("test") is not None:
            first = read_examples(f"{where}, train", data["train"], train_size, random)
            return first, read_examples(f"{where}, test", data["test"], test_size, random)
        data = data["train"]
    inputs, labels = read_examples(where, data, train_size + test_size, random)
    total = num_rows(inputs)
    if total < 2:
        raise ValueError(f"{where}: one example; give two at least, one to train and one to test")
    held_out = test_size if total == train_size + test_size else max(1, min(test_size, round(HELD_OUT * total)))
    last = total - held_out
    trained = slice(0, min(last, train_size))
    return (take(inputs, trained), labels[trained]), (take(inputs, slice(last, None)), labels[last:])


def _check_same_form(name: str, new: tuple[Inputs, np.ndarray], first: str, old: tuple[Inputs, np.ndarray]) -> None:
    """Raise an error if examples have other shapes, or another kind of labels, than those of the first task."""
    (x, y), (inputs, labels) = new, old
    forms = [(shape_of(inputs), labels.shape[1:]), (shape_of(x), y.shape[1:])]
    if forms[0] != forms[1]:
        raise ValueError(
            f"task {name!r}: an input has shape {forms[1][0]} and a label {forms[1][1]}, but in task {first!r} "
            f"{forms[0][0]} and {forms[0][1]}; make them equal"
        )
    if (y.dtype.kind == "f") != (labels.dtype.kind == "f") and not (is_binary(y) and is_binary(labels)):
        raise ValueError(
            f"task {name!r}: labels are {y.dtype}, but in task {first!r} {labels.dtype}; give whole numbers in all "
            "tasks for classes (labels.astype(int)), or floating-point numbers in all for regression"
        )
