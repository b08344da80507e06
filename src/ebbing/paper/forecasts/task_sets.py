"""The task sets of the study of forecasts, fixed before any of them was trained.

Of each set every order is trained (of eight tasks, random orders), with several seeds; seeds differ in the initial
network, or in its head where it is pretrained, and in batches. Sets of MNIST and Fashion-MNIST also replay old data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np

from ebbing.learn import MLP, DigitTasks, Experiment, FiveLayers, PermutedMnist, RotatedMnist, Sgd
from ebbing.learn._seeding import hash_to_int
from ebbing.learn.experiment import Architecture, Method
from ebbing.learn.tasks.base import Tasks
from ebbing.paper.forecasts.networks import Perceptron, PretrainedConvNet, SentenceClassifier, SmallResNet
from ebbing.paper.forecasts.pools import TOPICS
from ebbing.paper.forecasts.tasks import FixedData, QuantileTasks, SubsetTasks, replay_name

Order = tuple[str, ...]

ALL_ORDERS_UP_TO = 5
"""Tasks up to which every order is trained."""

SAMPLED = 30
"""Random orders of more tasks."""

QUICK = ("wine / 1", "wine / 2")
"""The sets that are trained in a minute."""

REPLAYED = (10, 40, 100)
"""Examples of each old task that replay curves replay, of 200."""


@dataclass(frozen=True, eq=False)
class TaskSet:
    """Tasks that are learned in many orders by one network.

    Attributes:
        family: What sets have in common: the data and the network.
        number: The number of the set within its family, from 1.
        names: The tasks.
        experiment: What is trained.
        seeds: The planned seeds.
        vectors: The labels of each task over classes, 1 or -1, where tasks are subsets of common classes (T, classes).
        replays: Whether sequences with replay are trained, too.
    """

    family: str
    number: int
    names: Order
    experiment: Experiment
    seeds: tuple[int, ...]
    vectors: np.ndarray | None = None
    replays: bool = False

    @property
    def name(self) -> str:
        """The name of its runs in records."""
        return f"{self.family} / {self.number}"

    @cached_property
    def orders(self) -> tuple[Order, ...]:
        """The orders that are trained.

        Returns:
            Names of tasks, in the order of learning.
        """
        if len(self.names) <= ALL_ORDERS_UP_TO:
            return tuple(permutations(self.names))
        random = np.random.default_rng(self.number)
        return tuple(tuple(self.names[k] for k in random.permutation(len(self.names))) for _ in range(SAMPLED))

    @property
    def replay_sequences(self) -> dict[int, Order]:
        """The tasks as given with replay, by the number of examples of each old task."""
        if not self.replays:
            return {}
        return {
            count: tuple(replay_name(name, count, self.names[:k]) for k, name in enumerate(self.names))
            for count in REPLAYED
        }

    @property
    def sequences(self) -> tuple[Order, ...]:
        """All sequences that are trained."""
        return (*self.orders, *self.replay_sequences.values())

    @property
    def is_pretrained(self) -> bool:
        """Whether the network is pretrained, and is trained for a few epochs only."""
        return isinstance(self.experiment.architecture, PretrainedConvNet | SentenceClassifier)

    @property
    def has_classes(self) -> bool:
        """Whether tasks tell ten digits apart; the others answer yes or no."""
        data = self.experiment.tasks
        return isinstance(data, FixedData) and isinstance(data.tasks, PermutedMnist | RotatedMnist)


def subsets(classes: int, T: int, most: int, name: str) -> Order:
    """Draw different tasks, each a random set of one class or more.

    Args:
        classes: The number of classes.
        T: The number of tasks.
        most: The most classes of a task.
        name: The name of the set, which seeds the draw.

    Returns:
        Names of the tasks.

    Example:
        >>> subsets(10, 4, 5, "MNIST / 1")
        ('0-1-7-9', '4', '2', '2-5')
    """
    random = np.random.default_rng(hash_to_int(name))
    found: list[str] = []
    while len(found) < T:
        chosen = random.choice(classes, random.integers(1, most + 1), replace=False)
        if (task := "-".join(map(str, sorted(chosen.tolist())))) not in found:
            found.append(task)
    return tuple(found)


@dataclass(frozen=True)
class _Family:
    """Sets of subset tasks that share data, network and training.

    Attributes:
        name: Its name.
        tasks: Where the data of a set comes from, by its number.
        architecture: The network.
        method: How each task is learned.
        sets: The number of sets.
        seeds: The number of seeds of each.
        classes: The number of classes that tasks are subsets of.
        T: The number of tasks of a set.
        most: The most classes of a task.
        replays: Whether sequences with replay are trained, too.
    """

    name: str
    tasks: Callable[[int], Tasks]
    architecture: Architecture
    method: Method
    sets: int
    seeds: int
    classes: int = 10
    T: int = 4
    most: int = 5
    replays: bool = False

    def task_sets(self) -> list[TaskSet]:
        found = []
        for number in range(1, self.sets + 1):
            names = subsets(self.classes, self.T, self.most, f"{self.name} / {number}")
            vectors = np.array(
                [[1 if str(c) in name.split("-") else -1 for c in range(self.classes)] for name in names]
            )
            experiment = Experiment(FixedData(self.tasks(number), number), self.architecture, self.method)
            seeds = tuple(range(self.seeds))
            found.append(TaskSet(self.name, number, names, experiment, seeds, vectors, self.replays))
        return found


_IMAGES = Sgd(epochs=30, batch_size=25)
_FASHION = Sgd(learning_rate=0.2, epochs=30, batch_size=25)
_TABLES = Sgd(epochs=30, batch_size=20)
_SMALL_TABLES = Sgd(epochs=40, batch_size=10)


def _fashion(number: int) -> Tasks:
    return SubsetTasks("fashion-mnist", 200, 500)


def _texts(number: int) -> Tasks:
    return SubsetTasks("texts", 48, 60)


FAMILIES = (
    _Family("MNIST", lambda k: DigitTasks(200, 500), FiveLayers(), _IMAGES, 6, 3, replays=True),
    _Family("Fashion-MNIST", _fashion, FiveLayers(), _FASHION, 6, 3, replays=True),
    _Family(
        *("CIFAR-100, pretrained", lambda k: SubsetTasks(f"cifar-100 {40 + 10 * k}-{49 + 10 * k}", 200, 300)),
        *(PretrainedConvNet(), Sgd(learning_rate=0.05, epochs=12, batch_size=25), 4, 3),
    ),
    _Family("ResNet", _fashion, SmallResNet(), Sgd(epochs=15, batch_size=25), 4, 3),
    _Family("8x8 digits", lambda k: SubsetTasks("digits", 200, 300), Perceptron(64), _TABLES, 4, 3, T=5),
    _Family("8x8 digits, 8 tasks", lambda k: SubsetTasks("digits", 200, 300), Perceptron(64), _TABLES, 2, 3, T=8),
    _Family("MNIST, 8 tasks", lambda k: DigitTasks(200, 500), FiveLayers(), _IMAGES, 2, 2, T=8),
    _Family("wine", lambda k: SubsetTasks("wine", 60, 50), Perceptron(13), _SMALL_TABLES, 2, 3, 3, most=2),
    _Family(
        *("texts", _texts, SentenceClassifier(), Sgd(learning_rate=0.1, epochs=3, batch_size=16), 2, 2, len(TOPICS)),
        T=3,  # 22 million parameters: fewer orders
        most=4,
    ),
    _Family(
        *("texts, LoRA", _texts, SentenceClassifier(lora_rank=8), Sgd(learning_rate=0.2, epochs=3, batch_size=16)),
        *(2, 2, len(TOPICS)),
        T=3,
        most=4,
    ),
)


def _transformed() -> list[TaskSet]:
    """Return sets of permuted and of rotated images, and of parts of a table: the same classes, other inputs."""
    found = []
    sizes = {"train_images": 200, "test_images": 500, "validation_images": 0}
    for number in range(1, 4):
        tasks = PermutedMnist(tasks=4, **sizes)
        experiment = Experiment(FixedData(tasks, number), MLP(), _TABLES)
        found.append(TaskSet("permuted", number, tasks.names, experiment, (0, 1, 2)))
    angles = (("0", "2", "4", "6"), ("0", "1", "2", "5"), ("0", "1", "3", "4"))  # of 22.5 degrees each
    for number, names in enumerate(angles, 1):
        experiment = Experiment(FixedData(RotatedMnist(tasks=8, **sizes), number), MLP(), _TABLES)
        found.append(TaskSet("rotated", number, names, experiment, (0, 1, 2)))
    for number, feature in enumerate((0, 1), 1):  # mean radius, mean texture
        cases = QuantileTasks("breast cancer", feature)
        experiment = Experiment(FixedData(cases, number), Perceptron(30), _SMALL_TABLES)
        found.append(TaskSet("breast cancer", number, ("0", "1", "2", "3"), experiment, (0, 1, 2)))
    return found


def task_sets() -> list[TaskSet]:
    """Return all task sets of the study.

    Returns:
        The sets, family by family.

    Example:
        >>> sets = task_sets()
        >>> len(sets), sets[0].name, len(sets[0].orders)
        (42, 'MNIST / 1', 24)
    """
    return [one for family in FAMILIES for one in family.task_sets()] + _transformed()
