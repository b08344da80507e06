"""Tasks of the study of forecasts: subsets of classes, parts of a table, and steps that replay old data.

The data of a set is fixed: seeds differ in the initial network and in batches, as the runs of a user who has one data
set. Names have no spaces, as records join them by spaces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from ebbing.learn._seeding import hash_to_int
from ebbing.learn._stored_names import stored_kind, stored_settings
from ebbing.learn.tasks.base import Occurrence, TaskData, Tasks
from ebbing.paper.forecasts.pools import pool_fingerprint, read_pool


@dataclass(frozen=True)
class SubsetTasks:
    """Yes-or-no tasks "is the class in Y?" on a pool of examples; a task is a set Y of classes, written "0-1-2".

    Attributes:
        identifier: The kind under which results are stored.
        pool: The name of the pool.
        train_size: Training examples of each task, of all classes equally on average.
        test_size: Test examples of each task.
    """

    identifier: ClassVar[str] = "SubsetTasks"

    pool: str
    train_size: int
    test_size: int

    @property
    def fingerprint(self) -> str:
        """That of the pool."""
        return pool_fingerprint(self.pool)

    def load(self, occurrence: Occurrence, seed: int) -> TaskData:
        """Return examples of a task.

        Args:
            occurrence: The task.
            seed: The seed of the random choice of examples.

        Returns:
            Examples of the pool, without replacement.
        """
        pool, wanted = read_pool(self.pool), self.classes(occurrence.task)
        random = np.random.default_rng([seed, hash_to_int(occurrence.task), occurrence.index])
        parts: list[torch.Tensor] = []
        for inputs, classes, size in (
            (pool.train_inputs, pool.train_classes, self.train_size),
            (pool.test_inputs, pool.test_classes, self.test_size),
        ):
            rows = _balanced(classes, size, random)
            labels = np.isin(classes[rows], wanted).astype(np.float32)[:, None]
            parts += [torch.from_numpy(inputs[rows]), torch.from_numpy(labels)]
        return TaskData(*parts)

    @staticmethod
    def classes(task: str) -> list[int]:
        """Return the classes of a task.

        Args:
            task: Name of the task.

        Returns:
            The classes.

        Example:
            >>> SubsetTasks.classes("0-1-12")
            [0, 1, 12]
        """
        return [int(part) for part in task.split("-")]


def _balanced(classes: np.ndarray, size: int, random: np.random.Generator) -> np.ndarray:
    """Return random rows, as many of each class as of the others as far as there are enough, in random order."""
    order = random.permutation(len(classes))
    among = np.empty(len(classes), dtype=int)  # how many of the same class come earlier
    for label in np.unique(classes):
        own = order[classes[order] == label]
        among[own] = np.arange(len(own))
    chosen = order[np.argsort(among[order], kind="stable")][:size]
    return random.permutation(chosen)


@dataclass(frozen=True)
class QuantileTasks:
    """Tasks that are parts of a table, by quantiles of a feature: the same question about other cases.

    Attributes:
        identifier: The kind under which results are stored.
        pool: The name of the pool, of two classes.
        feature: The feature that parts the table.
        parts: The number of parts, which are the tasks "0", "1", ...
    """

    identifier: ClassVar[str] = "QuantileTasks"

    pool: str
    feature: int
    parts: int = 4

    @property
    def fingerprint(self) -> str:
        """That of the pool."""
        return pool_fingerprint(self.pool)

    def load(self, occurrence: Occurrence, seed: int) -> TaskData:
        """Return the examples of a part.

        Args:
            occurrence: The task.
            seed: Not used: all examples belong to the part.

        Returns:
            Training and test examples whose feature is between two quantiles of that of all training examples.
        """
        pool, part = read_pool(self.pool), int(occurrence.task)
        inner = np.quantile(pool.train_inputs[:, self.feature], np.arange(1, self.parts) / self.parts)
        tensors: list[torch.Tensor] = []
        for inputs, classes in (
            (pool.train_inputs, pool.train_classes),
            (pool.test_inputs, pool.test_classes),
        ):
            rows = np.searchsorted(inner, inputs[:, self.feature]) == part
            tensors += [torch.from_numpy(inputs[rows]), torch.from_numpy(classes[rows].astype(np.float32)[:, None])]
        return TaskData(*tensors)


@dataclass(frozen=True)
class FixedData:
    """Tasks whose data is the same for every seed, and which may replay others.

    The task "1-7/20/0-2,3-4" is "1-7" with 20 training examples each of "0-2" and "3-4"; it is tested as "1-7".

    Attributes:
        identifier: The kind under which results are stored.
        tasks: Where the data comes from.
        draw: The seed of its random choices.
    """

    identifier: ClassVar[str] = "FixedData"

    tasks: Tasks
    draw: int

    def settings(self) -> dict[str, Any]:
        """Return what results are stored under.

        Returns:
            The settings.
        """
        return {"tasks": {"kind": stored_kind(self.tasks)} | stored_settings(self.tasks), "draw": self.draw}

    @property
    def fingerprint(self) -> str:
        """That of the data."""
        return self.tasks.fingerprint

    def load(self, occurrence: Occurrence, seed: int = 0) -> TaskData:
        """Return the data of a task, and of those that it replays.

        Args:
            occurrence: The task.
            seed: Not used: the data is fixed.

        Returns:
            The data.
        """
        task, count, old = replay_parts(occurrence.task)
        new = self.tasks.load(Occurrence(task, occurrence.index), self.draw)
        if not old:
            return new
        parts = [self.tasks.load(Occurrence(name, occurrence.index), self.draw) for name in old]
        inputs = torch.cat([new.train_inputs, *(part.train_inputs[:count] for part in parts)])
        labels = torch.cat([new.train_labels, *(part.train_labels[:count] for part in parts)])
        return TaskData(inputs, labels, new.test_inputs, new.test_labels)


def replay_name(task: str, count: int, old: tuple[str, ...]) -> str:
    """Return the name of a task that replays old ones.

    Args:
        task: The new task.
        count: Training examples of each old task.
        old: The old tasks.

    Returns:
        The name; that of the task alone if nothing is replayed.

    Example:
        >>> replay_name("1-7", 20, ("0-2", "3")), replay_name("1-7", 0, ("0-2",))
        ('1-7/20/0-2,3', '1-7')
    """
    return f"{task}/{count}/{','.join(old)}" if count and old else task


def replay_parts(name: str) -> tuple[str, int, tuple[str, ...]]:
    """Return the new task, the number of examples of each old task, and the old tasks of a name.

    Args:
        name: A name, as `replay_name` returns it.

    Returns:
        The three parts.

    Example:
        >>> replay_parts("1-7/20/0-2,3"), replay_parts("1-7")
        (('1-7', 20, ('0-2', '3')), ('1-7', 0, ()))
    """
    task, *rest = name.split("/")
    return (task, int(rest[0]), tuple(rest[1].split(","))) if rest else (task, 0, ())
