"""What streams made of the images of one data set have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch

from ebbing._validate import check_seed, count
from ebbing.data import Cifar100, Mnist
from ebbing.learn.tasks.base import Occurrence, TaskData, Tasks

Images = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int64]

MNIST_MEAN, MNIST_STD = [0.1307], [0.3081]


class Stream(Tasks, Protocol):
    """Tasks in their usual sequence. The version changes whenever other samples are made of the same data."""

    version: ClassVar[int]

    @property
    def names(self) -> tuple[str, ...]:
        """The tasks in the usual order."""
        ...

    @property
    def classes(self) -> int:
        """Classes of each task."""
        ...


class ImageSelection(NamedTuple):
    """Which images a task has, in which order."""

    train: Rows
    validation: Rows
    test: Rows


class ImageStream(ABC):
    """Tasks made of the images of one data set."""

    tasks: int
    version: ClassVar[int] = 1

    @property
    def identity(self) -> str:
        """The checksum of the data set, and the version of what is made of it."""
        return f"{self._data().identity}, version {self.version}"

    @property
    def names(self) -> tuple[str, ...]:
        """ "0", "1", ..."""
        return tuple(map(str, range(self.tasks)))

    def load(self, occurrence: Occurrence | str, seed: int) -> TaskData:
        """The images of a task, given by name or as a lesson, and their classes."""
        task, data = self._place(str(getattr(occurrence, "task", occurrence))), self._data()
        selection = self._select(data, task, check_seed(seed))
        train = self._part(data.train_images, data.train_labels, selection.train, task, seed)
        test = self._part(data.test_images, data.test_labels, selection.test, task, seed)
        if not len(selection.validation):
            return TaskData(*train, *test)
        return TaskData(
            *train, *test, *self._part(data.train_images, data.train_labels, selection.validation, task, seed)
        )

    def tested(self, occurrence: Occurrence, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
        """What `task_data` has to be tested on: of Permuted MNIST, a seventh of the work."""
        task, data = self._place(occurrence.task), self._data()
        selection = self._select(data, task, check_seed(seed))
        return self._part(data.test_images, data.test_labels, selection.test, task, seed)

    def _part(
        self, images: Images, labels: Labels, rows: Rows, task: int, seed: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        classes = labels[rows].astype(np.int64) - self._first(task)
        return self._inputs(images[rows], task, seed), torch.from_numpy(classes)

    def check(self, task: str) -> None:
        """Refuse what is no task of this stream."""
        self._place(task)

    def _place(self, task: str) -> int:
        if task not in self.names:
            raise ValueError(f"task {task!r}: the tasks of this stream are {self.names[0]!r} to {self.names[-1]!r}")
        return int(task)

    @staticmethod
    @abstractmethod
    def _data() -> Mnist | Cifar100: ...

    @abstractmethod
    def _select(self, data: Mnist | Cifar100, task: int, seed: int) -> ImageSelection: ...

    @abstractmethod
    def _first(self, task: int) -> int:
        """The label that is class 0 of a task."""

    @abstractmethod
    def _inputs(self, images: Images, task: int, seed: int) -> torch.Tensor:
        """What a network sees of images, in a task."""


def scale_to_unit(images: Images) -> torch.Tensor:
    """From 0 to 1, in memory of its own."""
    return torch.from_numpy(np.ascontiguousarray(images)).to(torch.float32).div_(255)


def normalize(inputs: torch.Tensor, mean: Sequence[float], std: Sequence[float]) -> torch.Tensor:
    """(x - mean) / std, in place; of each channel its own (second axis) if there are several."""
    shape = (-1, *[1] * (inputs.ndim - 2))
    return inputs.sub_(torch.tensor(mean).reshape(shape)).div_(torch.tensor(std).reshape(shape))


def check_counts(stream: Any, *names: str) -> None:
    """Check fields of a frozen dataclass that count something."""
    for name in names:
        object.__setattr__(stream, name, count(name, getattr(stream, name)))
