"""Networks with frozen weights, such as those with adapters: each task keeps what it trains, and nothing else."""

import pytest
import torch
from torch import nn
from toys import METHODS, SCHEDULE, SIZE, assert_same, data, settings, trained_learner

from ebbing.learn import Copies, FineTuning, Gpm

pytestmark = pytest.mark.usefixtures("quietly")


class Adapted(nn.Module):
    """A frozen layer with a low-rank adapter, a frozen norm, indices that are not saved, and a head."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.base, self.norm, self.head = nn.Linear(SIZE, 40), nn.LayerNorm(40), nn.Linear(40, 3)
        self.down, self.up = nn.Linear(SIZE, 2, bias=False), nn.Linear(2, 40, bias=False)
        self.register_buffer("indices", torch.arange(1000), persistent=False)
        self.register_buffer("statistics", torch.zeros(3), persistent=False)
        for part in (self.base, self.norm):
            part.requires_grad_(False)

    def forward(self, x):
        if self.training:
            self.statistics += 1  # type: ignore[operator]
        return self.head(self.norm(self.base(x) + self.up(self.down(x))).relu())


TRAINED = {"head.weight", "head.bias", "down.weight", "up.weight"}


def stored(learner, prefix):
    return {name.removeprefix(prefix) for name in learner.state() if name.startswith(prefix)}


def test_copies_keep_only_what_is_trained():
    learner = trained_learner(Copies(SCHEDULE), Adapted(), 3)
    for task in range(3):
        assert stored(learner, f"copy.{task}.") == {*TRAINED, "statistics"}
    outputs = learner.outputs("task 0", data(0)[0])
    other = Copies(SCHEDULE).start(Adapted())
    other.restore(learner.state())
    assert torch.equal(other.outputs("task 0", data(0)[0]), outputs)
    assert_same(other.state(), learner.state())


@pytest.mark.parametrize("method", [Gpm(**settings()), METHODS[4]], ids=["gpm", "free"])
def test_projection_keeps_no_frozen_norms(method):
    learner = trained_learner(method, Adapted(), 3)
    assert [layer.name for layer in learner.layers] == ["head", "down", "up"]
    assert stored(learner, "own.1.") == {"head.bias", "statistics"}


def test_fine_tuning_keeps_nothing():
    assert not stored(trained_learner(FineTuning(SCHEDULE), Adapted(), 2), "copy.")
