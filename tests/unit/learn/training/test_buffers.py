"""Buffers that a network changes: they are task-specific, even if the network replaces them."""

from typing import Any

import pytest
import torch
from torch import nn
from toys import SCHEDULE, assert_same, data, perceptron, settings

from ebbing.learn.methods import Copies, FineTuning, Gpm
from ebbing.learn.projection.threshold import Threshold

pytestmark = pytest.mark.usefixtures("quietly")

METHODS = [Gpm(**settings(threshold=Threshold(1.0))), FineTuning(SCHEDULE), Copies(SCHEDULE)]
IDS = ["gpm", "plain", "copies"]


class Centered(nn.Module):
    """Subtracts the running mean of its inputs."""

    def __init__(self, persistent: bool = True) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(16), persistent=persistent)
        self.register_buffer("fixed", torch.ones(16))

    def forward(self, x):
        mean, fixed = self.get_buffer("mean"), self.get_buffer("fixed")
        if self.training:
            mean.lerp_(x.detach().mean(0), 0.1)
        return x - mean * fixed


def test_replaced_buffers_are_saved_and_restored():
    """Replaces its buffer by another tensor, as `double()` and `float()` do."""
    network = perceptron(norm=nn.BatchNorm1d(16))
    learner = METHODS[0].start(network)
    network.double()
    network.float()
    learner.learn("a", data(0, 5))
    before = learner.outputs("a", data(0, 5)[0])
    learner.learn("b", data(1, 5))
    assert (learner.outputs("a", data(0, 5)[0]) - before).abs().max() < 1e-4


@pytest.mark.parametrize("persistent", [True, False])
def test_buffers_changed_by_forward_are_task_specific(tmp_path, persistent):
    learner = METHODS[0].start(perceptron(norm=Centered(persistent)))
    learner.learn("a", data(0, 5))
    before = learner.outputs("a", data(0, 5)[0])
    inputs, labels = data(1, 5)
    learner.learn("b", (inputs + 5, labels))
    assert (learner.outputs("a", data(0, 5)[0]) - before).abs().max() < 1e-4
    assert {"own.0.1.mean", "own.1.1.mean"} <= learner.state().keys()
    assert "own.0.1.fixed" not in learner.state()
    learner.save(tmp_path / "learner")
    other = METHODS[0].start(perceptron(1, norm=Centered(persistent)))
    other.load(tmp_path / "learner")
    assert torch.equal(other.outputs("a", data(0, 5)[0]), learner.outputs("a", data(0, 5)[0]))


class Growing(nn.Module):
    """Keeps inputs in a buffer that grows, or that is None at first."""

    def __init__(self, start_from: torch.Tensor | None) -> None:
        super().__init__()
        self.register_buffer("seen", start_from)

    def forward(self, x):
        if self.training:
            self.seen = x.detach()[:1] if self.seen is None else torch.cat([self.seen, x.detach()[:1]])
        return x


@pytest.mark.parametrize("start_from", [None, torch.zeros(0, 16)], ids=["none", "empty"])
@pytest.mark.parametrize("method", METHODS, ids=IDS)
def test_buffers_that_change_shape_raise_and_are_restored(method, start_from):
    network: Any = perceptron(norm=Growing(start_from))
    learner = method.start(network)
    before = learner.state()
    was = "absent" if start_from is None else r"of shape \(0, 16\)"
    for _ in range(2):
        with pytest.raises(ValueError, match=rf"buffer '1.seen' was {was} before the task and is of shape \(\d+, 16\)"):
            learner.learn("a", data(0))
        assert network[1].seen is None if start_from is None else network[1].seen.shape == (0, 16)
        assert_same(learner.state(), before)
    inputs, labels = data(0)
    # The error of the labels, not of the buffers.
    with pytest.raises(ValueError, match=r"label \d, but the network has \d outputs?"):
        learner.learn("a", (inputs, labels + 5))
    assert_same(learner.state(), before)
