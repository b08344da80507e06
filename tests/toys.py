"""Small learners for the tests: networks, data and methods."""

from typing import Any

import torch
from torch import nn

from ebbing.learn.methods import Gpm, Trgp, TrgpFree, TrgpPlus
from ebbing.learn.projection import Threshold
from ebbing.learn.schedule import Schedule

SIZE, CLASSES = 30, 3
SCHEDULE = Schedule(0.3, epochs=4, batch_size=6)
SETTINGS: dict[str, Any] = {"schedule": SCHEDULE, "threshold": Threshold(0.9), "samples": 20}


def settings(**changes: Any) -> dict[str, Any]:
    return SETTINGS | changes


METHODS = [
    Gpm(**SETTINGS),
    Trgp(**SETTINGS, nearness=0.1),
    TrgpPlus(**SETTINGS, nearness=0.1),
    Trgp(**SETTINGS, nearness=0.1, as_published=True),
    TrgpFree(**SETTINGS, nearness=0.1),
]
IDS = ["gpm", "trgp", "trgp+", "as published", "free"]


def data(seed, rows=24, size=SIZE, dtype=torch.float32):
    """Inputs around one centre for each class."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, CLASSES, (rows,), generator=generator)
    centres = torch.randn(CLASSES, size, generator=generator)
    return (centres[labels] + 0.3 * torch.randn(rows, size, generator=generator)).to(dtype), labels


def perceptron(seed=0, dtype=torch.float32, norm=None, drop=0.0) -> nn.Sequential:
    torch.manual_seed(seed)
    norm = nn.Identity() if norm is None else norm
    hidden = [nn.Linear(SIZE, 16), norm, nn.ReLU(), nn.Dropout(drop)]
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


def taught(method, network, tasks=3, make=data, **options):
    learner = method.start(network)
    for task in range(tasks):
        learner.learn(f"task {task}", make(task, **options))
    return learner
