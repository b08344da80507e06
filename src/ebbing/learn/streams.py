"""Streams: the sequences of classification tasks on which continual learning is usually measured.

A stream has tasks named "0", "1", ... (`names`), each with the same number of `classes`, counted from 0 within the
task. Inputs are float32 and normalised, labels int64.

The data of a task depend on the seed and the task's name and on nothing else: a task that occurs again has the same
data again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import affine_grid, grid_sample

from ebbing import validate
from ebbing.data import Cifar100, Mnist, cifar100
from ebbing.learn.tasks import Lesson, Sample, Tasks, _mnist, _number
from ebbing.validate import count, number

Images = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int64]

MOST_TASKS = 10_000
"""Of streams that could go on for ever."""

MNIST_MEAN, MNIST_STD = [0.1307], [0.3081]
CIFAR_MEAN, CIFAR_STD = [125.3 / 255, 123.0 / 255, 113.9 / 255], [63.0 / 255, 62.1 / 255, 66.7 / 255]


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


class _Choice(NamedTuple):
    """Which images a task has, in which order."""

    train: Rows
    validation: Rows
    test: Rows


class _Images(ABC):
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

    def sample(self, lesson: Lesson | str, seed: int) -> Sample:
        """The images of a task, given by name or as a lesson, and their classes."""
        task, data = self._place(str(getattr(lesson, "task", lesson))), self._data()
        choice = self._choice(data, task, validate.seed(seed))
        train = self._part(data.train_images, data.train_labels, choice.train, task, seed)
        test = self._part(data.test_images, data.test_labels, choice.test, task, seed)
        if not len(choice.validation):
            return Sample(*train, *test)
        return Sample(*train, *test, *self._part(data.train_images, data.train_labels, choice.validation, task, seed))

    def tested(self, lesson: Lesson, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
        """What `sample` has to be tested on: of Permuted MNIST, a seventh of the work."""
        task, data = self._place(lesson.task), self._data()
        choice = self._choice(data, task, validate.seed(seed))
        return self._part(data.test_images, data.test_labels, choice.test, task, seed)

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
    def _choice(self, data: Mnist | Cifar100, task: int, seed: int) -> _Choice: ...

    @abstractmethod
    def _first(self, task: int) -> int:
        """The label that is class 0 of a task."""

    @abstractmethod
    def _inputs(self, images: Images, task: int, seed: int) -> torch.Tensor:
        """What a network sees of images, in a task."""


# -------------------------------------------------------------------- all of MNIST in every task


@dataclass(frozen=True)
class _WholeMnist(_Images):
    """Every task has all ten digits, and the same images in another guise.

    The seed puts the 60,000 training images into a random order: its first `validation_images` are for validation, the
    next `train_images` for training. Of the 10,000 test images it chooses `test_images`.
    """

    tasks: int = 10
    train_images: int = 54_000
    test_images: int = 10_000
    validation_images: int = 6_000

    def __post_init__(self) -> None:
        _set_counts(self, "tasks", "train_images", "test_images")
        if type(self.validation_images) is not int or self.validation_images != 0:  # 0: without
            _set_counts(self, "validation_images")
        if self.tasks > MOST_TASKS:
            raise ValueError(f"tasks={self.tasks}: give at most {MOST_TASKS:,}")
        if self.train_images + self.validation_images > 60_000:
            raise ValueError(
                f"train_images={self.train_images}, validation_images={self.validation_images}: MNIST has 60,000 "
                "training images for both; ask for fewer"
            )
        if self.test_images > 10_000:
            raise ValueError(f"test_images={self.test_images}: MNIST has 10,000 test images; ask for fewer")

    @property
    def classes(self) -> int:
        """The ten digits."""
        return 10

    @staticmethod
    def _data() -> Mnist:
        return _mnist()

    def _choice(self, data: Mnist | Cifar100, task: int, seed: int) -> _Choice:
        random = np.random.default_rng([seed, _number("split")])
        order = random.permutation(len(data.train_labels))
        validation, train = np.split(order, [self.validation_images])
        test = random.permutation(len(data.test_labels))[: self.test_images]
        return _Choice(np.sort(train[: self.train_images]), np.sort(validation), np.sort(test))

    def _first(self, task: int) -> int:
        return 0


@dataclass(frozen=True)
class PermutedMnist(_WholeMnist):
    """Every task moves the pixels by its own random permutation, the first task too. Inputs (n, 784).

    >>> PermutedMnist(tasks=3).names
    ('0', '1', '2')
    """

    def permutation(self, task: str, seed: int) -> Rows:
        """Of a task and a seed: pixel i of its images is pixel `permutation[i]` of MNIST's, row by row.

        >>> sorted(PermutedMnist().permutation("0", seed=0).tolist()) == list(range(784))
        True
        """
        words = _number(f"permutation {self._place(task)}")
        return np.random.default_rng([validate.seed(seed), words]).permutation(28 * 28)

    def _inputs(self, images: Images, task: int, seed: int) -> torch.Tensor:
        pixels = images.reshape(-1, 28 * 28)[:, self.permutation(str(task), seed)]
        return _normalised(_brightness(pixels), MNIST_MEAN, MNIST_STD)


@dataclass(frozen=True)
class RotatedMnist(_WholeMnist):
    """Task k turns every image counter-clockwise about its centre, by k * 180 / tasks degrees. Inputs (n, 1, 28, 28).

    Between pixels brightness is interpolated linearly in both directions; outside of the image it is black.
    """

    def angle(self, task: str) -> float:
        """By how many degrees a task turns its images.

        >>> RotatedMnist(tasks=4).angle("3")
        135.0
        """
        return self._place(task) * 180 / self.tasks

    def _inputs(self, images: Images, task: int, seed: int) -> torch.Tensor:
        turned = _turned(_brightness(images), self.angle(str(task)))
        return _normalised(turned.unsqueeze(1), MNIST_MEAN, MNIST_STD)


# -------------------------------------------------------------------- some classes in each task


@dataclass(frozen=True)
class _Split(_Images):
    """Task k has the labels k * classes, ..., (k + 1) * classes - 1.

    The seed and the task's name put the task's training images into a random order: its first `validation_share`,
    rounded, is for validation, the next `train_images` (None: the rest) for training. Another random order of its test
    images begins with the `test_images` (None: all) that are taken. Images stay in these orders: a data set may be
    sorted by class, and a network that normalises by the statistics of a batch must not see one class.
    """

    tasks: int
    validation_share: float
    train_images: int | None = None
    test_images: int | None = None
    classes: int = 10

    source: ClassVar[str]
    labels: ClassVar[int]

    def __post_init__(self) -> None:
        _set_counts(self, "tasks", "classes")
        _set_counts(self, *(name for name in ("train_images", "test_images") if getattr(self, name) is not None))
        object.__setattr__(self, "validation_share", number("validation_share", self.validation_share))
        if self.validation_share >= 1:
            raise ValueError(f"validation_share={self.validation_share:g}: give less than 1, to leave some to train")
        if self.tasks * self.classes > self.labels:
            raise ValueError(
                f"tasks={self.tasks} of classes={self.classes} each are {self.tasks * self.classes} classes, but "
                f"{self.source} has {self.labels}; ask for fewer tasks or classes"
            )

    def _choice(self, data: Mnist | Cifar100, task: int, seed: int) -> _Choice:
        random = np.random.default_rng([seed, _number(f"split {task}")])
        train = random.permutation(np.flatnonzero(data.train_labels // self.classes == task))
        test = random.permutation(np.flatnonzero(data.test_labels // self.classes == task))
        validation, rest = np.split(train, [round(self.validation_share * len(train))])
        if not 1 <= (self.train_images or len(rest)) <= len(rest):
            raise ValueError(
                f"train_images={self.train_images}, validation_share={self.validation_share:g}: task {task} has "
                f"{len(train):,} training images, of which {len(rest):,} are left; ask for less"
            )
        if (self.test_images or 0) > len(test):
            raise ValueError(f"test_images={self.test_images}: task {task} has {len(test):,} test images; ask for less")
        return _Choice(rest[: self.train_images], validation, test[: self.test_images])

    def _first(self, task: int) -> int:
        return task * self.classes


@dataclass(frozen=True)
class SplitMnist(_Split):
    """Two digits in each task: 0 and 1, 2 and 3, ... Inputs (n, 1, 28, 28).

    >>> SplitMnist().names, SplitMnist().classes
    (('0', '1', '2', '3', '4'), 2)
    """

    tasks: int = 5
    validation_share: float = 0.1
    classes: int = 2

    source: ClassVar[str] = "MNIST"
    labels: ClassVar[int] = 10

    @staticmethod
    def _data() -> Mnist:
        return _mnist()

    def _inputs(self, images: Images, task: int, seed: int) -> torch.Tensor:
        return _normalised(_brightness(images).unsqueeze(1), MNIST_MEAN, MNIST_STD)


@dataclass(frozen=True)
class SplitCifar100(_Split):
    """Ten classes of CIFAR-100 in each task, in the order of their labels. Inputs (n, 3, 32, 32).

    >>> SplitCifar100(tasks=20, classes=5).names[-1]
    '19'
    """

    tasks: int = 10
    validation_share: float = 0.05

    source: ClassVar[str] = "CIFAR-100"
    labels: ClassVar[int] = 100

    @staticmethod
    def _data() -> Cifar100:
        return _cifar100()

    def _inputs(self, images: Images, task: int, seed: int) -> torch.Tensor:
        return _normalised(_brightness(images.transpose(0, 3, 1, 2)), CIFAR_MEAN, CIFAR_STD)


STREAMS: dict[str, type[PermutedMnist] | type[RotatedMnist] | type[SplitMnist] | type[SplitCifar100]] = {
    "pmnist": PermutedMnist,
    "rmnist": RotatedMnist,
    "smnist": SplitMnist,
    "cifar100": SplitCifar100,
}
"""Every stream by its short name."""


# -------------------------------------------------------------------- images


@lru_cache(maxsize=1)
def _cifar100() -> Cifar100:
    """Read and checked once per process."""
    return cifar100()


def _brightness(images: Images) -> torch.Tensor:
    """From 0 to 1, in memory of its own."""
    return torch.from_numpy(np.ascontiguousarray(images)).to(torch.float32).div_(255)


def _normalised(inputs: torch.Tensor, mean: Sequence[float], std: Sequence[float]) -> torch.Tensor:
    """(x - mean) / std, in place; of each channel its own (second axis) if there are several."""
    shape = (-1, *[1] * (inputs.ndim - 2))
    return inputs.sub_(torch.tensor(mean).reshape(shape)).div_(torch.tensor(std).reshape(shape))


def _turned(images: torch.Tensor, degrees: float) -> torch.Tensor:
    """Images (n, h, w) turned counter-clockwise about their centre.

    They pass as n channels of one image: where each pixel comes from is then found out once, not n times.
    """
    if not degrees:
        return images
    cos, sin = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    back = torch.tensor([[[cos, -sin, 0.0], [sin, cos, 0.0]]], dtype=torch.float32)  # x to the right, y down
    grid = affine_grid(back, [1, 1, *images.shape[1:]], align_corners=False)
    return grid_sample(images[None], grid, mode="bilinear", padding_mode="zeros", align_corners=False)[0]


# -------------------------------------------------------------------- checks


def _set_counts(stream: Any, *names: str) -> None:
    for name in names:
        object.__setattr__(stream, name, count(name, getattr(stream, name)))
