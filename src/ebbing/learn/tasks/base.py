"""Tasks that networks learn. A task has an identity, and each time it occurs in a sequence a fresh sample.

The sample depends on (seed, identity, occurrence) and nothing else: the third "0-1-2" of a sequence is the third
"0-1-2" of every other sequence with that seed, wherever it stands, so sequences can share what they have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import torch

from ebbing._validate import count
from ebbing.learn.networks._seeding import hash_to_int
from ebbing.learn.tasks import _datasets


@dataclass(frozen=True, order=True)
class Occurrence:
    """One occurrence of a task in a sequence; occurrences count from 0."""

    task: str
    index: int

    def __post_init__(self) -> None:
        if not isinstance(self.task, str):
            raise ValueError(f"task {self.task!r}: give the name of a task, a string")

    def __str__(self) -> str:
        return f"{self.task}#{self.index}"


@dataclass(frozen=True, eq=False)
class TaskData:
    """What a network sees of a task: inputs and labels, to learn from, to be tested on, perhaps to watch learning with.

    Labels that are floating-point numbers between 0 and 1, one column, are for yes-or-no tasks; whole numbers (int64),
    without a column, are classes.
    """

    train_inputs: torch.Tensor
    train_labels: torch.Tensor
    test_inputs: torch.Tensor
    test_labels: torch.Tensor
    validation_inputs: torch.Tensor | None = None
    validation_labels: torch.Tensor | None = None

    def to(self, device: torch.device | str) -> TaskData:
        """The same on another device."""
        parts = {name: None if part is None else part.to(device) for name, part in vars(self).items()}
        return TaskData(**parts)  # type: ignore[arg-type]


class Tasks(Protocol):
    """Where samples come from. `identity` stands for all the data behind them: it enters the key of every result.

    If there is a method `check(task)` as well, it is called for every task before anything is trained, and raises a
    ValueError for a name that it does not know. If there is a method `tested(occurrence, seed)`, it gives what `task_data` has
    to be tested on, inputs and labels, and spares making the rest.
    """

    @property
    def identity(self) -> str:
        """Changes whenever the data do."""
        ...

    def load(self, occurrence: Occurrence, seed: int) -> TaskData:
        """The sample of a lesson, the same whenever it is asked for."""
        ...


def occurrences(sequence: Sequence[str]) -> tuple[Occurrence, ...]:
    """The tasks of a sequence with their occurrences counted.

    >>> [str(occurrence) for occurrence in occurrences(["a", "b", "a"])]
    ['a#0', 'b#0', 'a#1']
    """
    return tuple(Occurrence(task, sequence[:i].count(task)) for i, task in enumerate(sequence))


@dataclass(frozen=True)
class DigitTasks:
    """ "Is the image in Y?" on MNIST: a task is a set of digits, written "0-1-2" (Section 5.1 and its appendix)."""

    identifier: ClassVar[str] = "DigitTasks"

    train_images: int = 200
    test_images: int = 1000

    def __post_init__(self) -> None:
        object.__setattr__(self, "train_images", count("train_images", self.train_images))
        object.__setattr__(self, "test_images", count("test_images", self.test_images))
        if self.train_images > 60_000 or self.test_images > 10_000:
            raise ValueError("MNIST has 60,000 training and 10,000 test images; ask for fewer")

    @property
    def identity(self) -> str:
        """The checksum of MNIST."""
        return _datasets.mnist().identity

    def load(self, occurrence: Occurrence, seed: int) -> TaskData:
        """Random images without repetition: of the training set to learn from, of the test set to be tested on."""
        data, digits = _datasets.mnist(), self.digits(occurrence.task)
        random = np.random.default_rng([seed, hash_to_int(occurrence.task), occurrence.index])
        train = random.choice(60_000, self.train_images, replace=False)
        test = random.choice(10_000, self.test_images, replace=False)
        return TaskData(
            _images(data.train_images[train]),
            _labels(data.train_labels[train], digits),
            _images(data.test_images[test]),
            _labels(data.test_labels[test], digits),
        )

    def check(self, task: str) -> None:
        """Refuse what is no set of digits."""
        self.digits(task)

    @staticmethod
    def digits(task: str) -> list[int]:
        """The digits of a task.

        >>> DigitTasks.digits("0-1-2")
        [0, 1, 2]
        """
        parts = task.split("-")
        if not all(len(part) == 1 and part.isdecimal() for part in parts) or len(set(parts)) < len(parts):
            raise ValueError(f"task {task!r}: write a set of digits as 0-1-2")
        return [int(part) for part in parts]


def _images(images: np.ndarray) -> torch.Tensor:
    tensor = torch.from_numpy(images).unsqueeze(1).to(torch.float32) / 255
    return tensor.contiguous(memory_format=torch.channels_last)


def _labels(labels: np.ndarray, digits: list[int]) -> torch.Tensor:
    return torch.from_numpy(np.isin(labels, digits)).to(torch.float32).unsqueeze(1)
