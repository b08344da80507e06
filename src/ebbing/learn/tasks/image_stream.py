"""Streams of tasks that are made of the images of one dataset."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch

from ebbing._validate import check_count, check_seed
from ebbing.data import Cifar100, Mnist
from ebbing.learn.tasks.base import Occurrence, TaskData, Tasks

Images = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int64]

MNIST_MEAN, MNIST_STD = [0.1307], [0.3081]


class Stream(Tasks, Protocol):
    """Classification tasks with a usual order.

    Attributes:
        version: Version of the code that makes the task data; it is increased whenever that data changes.
    """

    version: ClassVar[int]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tasks in their usual order."""
        ...

    @property
    def classes(self) -> int:
        """The number of classes of each task."""
        ...


class ImageSelection(NamedTuple):
    """The rows of a dataset that a task uses, in order.

    Attributes:
        train: Rows of the dataset's training set for training, (n,).
        validation: Rows of the dataset's training set for validation, (k,).
        test: Rows of the dataset's test set, (m,).
    """

    train: Rows
    validation: Rows
    test: Rows


class ImageStream(ABC):
    """Base class of streams whose tasks are made of the images of one dataset.

    Attributes:
        tasks: The number of tasks.
        version: Version of the code that makes the task data; it is increased whenever that data changes.
    """

    tasks: int
    version: ClassVar[int] = 1

    @property
    def fingerprint(self) -> str:
        """The checksum of the dataset and the version of the stream."""
        return f"{self._data().fingerprint}, version {self.version}"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tasks: "0", "1", ..."""
        return tuple(map(str, range(self.tasks)))

    def load(self, occurrence: Occurrence | str, seed: int) -> TaskData:
        """Return the images of a task and their classes.

        Args:
            occurrence: The task, by name or as an occurrence.
            seed: The seed of random choices.

        Returns:
            Inputs (n, ...) as the class of the stream describes them, and int64 labels (n,).
        """
        task, data = self._index(Occurrence.of(occurrence).task), self._data()
        selection = self._select(data, task, check_seed(seed))
        train = self._part(data.train_images, data.train_labels, selection.train, task, seed)
        test = self._part(data.test_images, data.test_labels, selection.test, task, seed)
        if not len(selection.validation):
            return TaskData(*train, *test)
        return TaskData(
            *train, *test, *self._part(data.train_images, data.train_labels, selection.validation, task, seed)
        )

    def load_test(self, occurrence: Occurrence | str, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return only the test data of a task: for Permuted MNIST a seventh of the work of `load`.

        Args:
            occurrence: The task, by name or as an occurrence.
            seed: The seed of random choices.

        Returns:
            The test inputs (m, ...) and labels (m,) that `load` returns.
        """
        task, data = self._index(Occurrence.of(occurrence).task), self._data()
        selection = self._select(data, task, check_seed(seed))
        return self._part(data.test_images, data.test_labels, selection.test, task, seed)

    def check(self, task: str) -> None:
        """Raise a ValueError if a name is not a task of this stream.

        Args:
            task: Name of the task.
        """
        self._index(task)

    def _part(
        self, images: Images, labels: Labels, rows: Rows, task: int, seed: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        classes = labels[rows].astype(np.int64) - self._first_label(task)
        return self._inputs(images[rows], task, seed), torch.from_numpy(classes)

    def _index(self, task: str) -> int:
        if task not in self.names:
            raise ValueError(f"task {task!r}: the tasks of this stream are {self.names[0]!r} to {self.names[-1]!r}")
        return int(task)

    @staticmethod
    @abstractmethod
    def _data() -> Mnist | Cifar100: ...

    @abstractmethod
    def _select(self, data: Mnist | Cifar100, task: int, seed: int) -> ImageSelection: ...

    @abstractmethod
    def _first_label(self, task: int) -> int:
        """Return the label that is class 0 of a task."""

    @abstractmethod
    def _inputs(self, images: Images, task: int, seed: int) -> torch.Tensor:
        """Return a task's network inputs for images of the dataset."""


def scale_to_unit(images: Images) -> torch.Tensor:
    """Convert bytes to floating-point numbers from 0 to 1.

    Args:
        images: Unsigned bytes of any shape.

    Returns:
        A new float32 tensor of the same shape.
    """
    return torch.from_numpy(np.ascontiguousarray(images)).to(torch.float32).div_(255)


def normalize(inputs: torch.Tensor, mean: Sequence[float], std: Sequence[float]) -> torch.Tensor:
    """Compute (x - mean) / std in place.

    Args:
        inputs: A tensor whose second axis is the channel if there are several means.
        mean: One mean, or one for each channel.
        std: One standard deviation, or one for each channel.

    Returns:
        The same tensor.
    """
    shape = (-1, *[1] * (inputs.ndim - 2))
    return inputs.sub_(torch.tensor(mean).reshape(shape)).div_(torch.tensor(std).reshape(shape))


def check_count_fields(stream: Any, *names: str) -> None:
    """Check that fields of a frozen dataclass are positive integers, and convert them to int.

    Args:
        stream: The dataclass.
        *names: Names of the fields.
    """
    for name in names:
        object.__setattr__(stream, name, check_count(name, getattr(stream, name)))
