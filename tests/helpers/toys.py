"""Small networks, data, methods and tasks for the tests."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from ebbing.learn import (
    Experiment,
    FiveLayers,
    Occurrence,
    Sgd,
    TaskData,
    prefix_tree,
)
from ebbing.learn.methods import Gpm, Trgp, TrgpFree, TrgpPlus
from ebbing.learn.projection import Threshold
from ebbing.learn.training.schedule import Schedule

SIZE, CLASSES = 30, 3
SCHEDULE = Schedule(0.3, epochs=4, batch_size=6)
SETTINGS: dict[str, Any] = {"schedule": SCHEDULE, "threshold": Threshold(0.9), "num_examples": 20}


def settings(**changes: Any) -> dict[str, Any]:
    return SETTINGS | changes


METHODS = [
    Gpm(**SETTINGS),
    Trgp(**SETTINGS, trust_threshold=0.1),
    TrgpPlus(**SETTINGS, trust_threshold=0.1),
    Trgp(**SETTINGS, trust_threshold=0.1, as_published=True),
    TrgpFree(**SETTINGS, trust_threshold=0.1),
]
IDS = ["gpm", "trgp", "trgp+", "as published", "free"]


def data(seed, rows=24, size=SIZE, dtype=torch.float32):
    """Return inputs around one center for each class, and labels."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, CLASSES, (rows,), generator=generator)
    centers = torch.randn(CLASSES, size, generator=generator)
    return (centers[labels] + 0.3 * torch.randn(rows, size, generator=generator)).to(dtype), labels


def perceptron(seed=0, dtype=torch.float32, norm=None, dropout=0.0) -> nn.Sequential:
    torch.manual_seed(seed)
    norm = nn.Identity() if norm is None else norm
    hidden = [nn.Linear(SIZE, 16), norm, nn.ReLU(), nn.Dropout(dropout)]
    return nn.Sequential(*hidden, nn.Linear(16, 12, bias=False), nn.ReLU(), nn.Linear(12, CLASSES)).to(dtype)


class Images(nn.Module):
    """A convolution, a grouped one, a norm, and a head for each task."""

    def __init__(self, tasks=4):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.grouped = nn.Conv2d(4, 6, 2, groups=2, bias=False)
        self.heads = nn.ModuleList(nn.Linear(6 * 9, CLASSES) for _ in range(tasks))

    def forward(self, images, task):
        return self.heads[task](self.grouped(self.norm(self.conv(images)).relu()).relu().flatten(1))


def images(seed):
    inputs, labels = data(seed, size=2 * 4 * 4)
    return inputs.view(-1, 2, 4, 4), labels


def assert_same(state, other):
    assert state.keys() == other.keys()
    for name, value in state.items():
        assert torch.equal(value, other[name]), name


def trained_learner(method, network, tasks=3, make=data, **options):
    learner = method.start(network)
    for task in range(tasks):
        learner.learn(f"task {task}", make(task, **options))
    return learner


# Tasks for the sequence engine


@dataclass(frozen=True)
class ToyTasks:
    """User-defined tasks: random images, half of them brighter in a corner that depends on the task."""

    images: int = 20
    data: str = "toy"

    @property
    def fingerprint(self) -> str:
        return self.data

    def load(self, occurrence: Occurrence, seed: int) -> TaskData:
        random = np.random.default_rng([seed, *occurrence.task.encode(), occurrence.index])
        return TaskData(*self._half(occurrence, random), *self._half(occurrence, random))

    def _half(self, occurrence: Occurrence, random: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        labels = random.integers(0, 2, self.images)
        images = random.random((self.images, 1, 28, 28), np.float32)
        corner = sum(occurrence.task.encode()) % 4
        images[:, :, 14 * (corner // 2) :, 14 * (corner % 2) :] += labels[:, None, None, None]
        return torch.from_numpy(images), torch.from_numpy(labels[:, None].astype(np.float32))


@dataclass(frozen=True)
class Points:
    """User-defined tasks without images: random points."""

    fingerprint: str = "points"

    def load(self, occurrence: Occurrence, seed: int) -> TaskData:
        random = torch.Generator().manual_seed(seed + sum(occurrence.task.encode()) + 1000 * occurrence.index)
        inputs = torch.randn(10, 4, generator=random)
        labels = (inputs[:, :1] > 0).to(torch.float32)
        return TaskData(inputs, labels, inputs.flip(0), labels.flip(0))


TINY = FiveLayers(widths=(2, 3, 4, 5))
TRAINING = Experiment(ToyTasks(), TINY, Sgd(epochs=2))
NODE = prefix_tree([["a", "b"]], seed=0)[2]


def flat(network):
    return torch.cat([parameter.detach().flatten() for parameter in network.parameters()])
