"""What would go wrong in silence is met or refused, and changes nothing."""

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from ebbing.learn.methods import Copies, FineTuning, Gpm, Trgp
from ebbing.learn.projection import Threshold
from toys import CLASSES, METHODS, SCHEDULE, SIZE, assert_same, data, perceptron, settings, taught

pytestmark = pytest.mark.usefixtures("quietly")


class Tied(nn.Module):
    """Uses a layer's weight a second time, without the layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.Linear(SIZE, SIZE, bias=False), nn.Linear(SIZE, 3)

    def forward(self, inputs):
        return self.head(functional.relu(self.layer(inputs)) @ self.layer.weight)


def test_a_weight_used_outside_of_its_layer_is_refused():
    network = Tied()
    learner, before = Trgp(**settings()).start(network), copy.deepcopy(network.state_dict())
    with pytest.raises(ValueError, match="weight of layer 'layer' is used outside of the layer's own forward"):
        learner.learn("a", data(0))
    assert_same(dict(network.state_dict()), before)
    own = Trgp(**settings(own=("layer",))).start(network)
    own.learn("a", data(0))
    assert own.tasks == ["a"]


class Overflowing(nn.Module):
    """In evaluation mode the second layer is given infinities."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.Linear(SIZE, 4), nn.Linear(4, 3)

    def forward(self, inputs):
        hidden = functional.relu(self.layer(inputs))
        return self.head(hidden if self.training else hidden / 0)


def test_inputs_of_a_layer_that_are_not_finite_are_not_taken_for_nothing():
    learner = Trgp(**settings()).start(Overflowing())
    with pytest.raises(FloatingPointError, match="inputs of layer 'head' are not all finite"):
        learner.learn("a", data(0))
    assert learner.tasks == []


@pytest.mark.parametrize("method", [METHODS[1], METHODS[4], Copies(SCHEDULE)], ids=["trgp", "free", "copies"])
def test_while_the_network_answers_for_one_task_nothing_else_can_be_asked(method):
    learner = taught(method, perceptron(), 2)
    before = learner.state()
    with learner.answering("task 0"):
        for ask in (
            learner.state,
            lambda: learner.outputs("task 1", data(1)[0]),
            lambda: learner.accuracy("task 1", data(1)),
            lambda: learner.learn("more", data(2)),
            lambda: learner.restore(before),
        ):
            with pytest.raises(RuntimeError, match="leave the context of answering"):
                ask()
    assert_same(learner.state(), before)


def test_a_dominant_direction_is_protected():
    """Inputs far from zero have nearly all energy in one direction."""
    learner = Gpm(**settings(threshold=Threshold(0.9))).start(perceptron())
    inputs, labels = data(0)
    learner.learn("a", (inputs + 20, labels))
    assert learner.layers[0].blocks[0].basis.shape[1] == 1


def test_buffers_that_a_network_replaces_are_found():
    """As `double()` and `float()` do."""
    network = perceptron(norm=nn.BatchNorm1d(16))
    learner = Gpm(**settings(threshold=Threshold(1.0))).start(network)
    network.double()
    network.float()
    learner.learn("a", data(0, 5))
    before = learner.outputs("a", data(0, 5)[0])
    learner.learn("b", data(1, 5))
    assert (learner.outputs("a", data(0, 5)[0]) - before).abs().max() < 1e-4


@pytest.mark.parametrize(
    "change",
    [
        lambda network: network.append(nn.Linear(CLASSES, CLASSES)),
        lambda network: network.__setitem__(6, nn.Linear(12, CLASSES)),
        lambda network: network[0].requires_grad_(False),
    ],
    ids=["added", "replaced", "frozen"],
)
def test_a_network_that_has_changed_since_the_start_is_refused(change):
    network = perceptron()
    learner = Trgp(**settings()).start(network)
    learner.learn("a", data(0))
    change(network)
    with pytest.raises(ValueError, match=r"parameter '\d\.bias' has been added, removed, replaced, frozen or set free"):
        learner.learn("b", data(1))
    assert learner.tasks == ["a"]


@pytest.mark.parametrize("method", [METHODS[0], METHODS[3]], ids=["fast", "leaking"])
def test_weights_changed_behind_the_learners_back_are_refused(method):
    learner = taught(method, perceptron(), 1)
    before = learner.state()
    complaint = pytest.raises(ValueError, match="the weight of layer '0' was changed directly")
    with complaint, learner.task("b", data(1)), torch.no_grad():
        for parameter in learner.network.parameters():
            parameter.clamp_(-0.05, 0.05)
    assert_same(learner.state(), before)


def test_a_layer_with_a_forward_of_its_own_is_refused():
    network: Any = perceptron()
    network[4].forward = forward = lambda x: x @ network[4].weight.T
    learner = Gpm(**settings()).start(network)
    for _ in range(2):
        with pytest.raises(ValueError, match="layer '4' has a forward of its own"):
            learner.learn("a", data(0))
        assert network[4].forward is forward


def test_other_refusals():
    for method in (METHODS[1], FineTuning(SCHEDULE)):
        learner = method.start(perceptron())
        with pytest.raises(ValueError, match="task 1: give a name, as text"):
            learner.learn(1, data(0))  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="validation data are for a schedule with patience"):
            learner.learn("a", data(0), validation=data(1))
    with pytest.raises(ValueError, match="no parameter to be trained"):
        FineTuning(SCHEDULE).start(nn.ReLU())
    network: Any = perceptron()
    network.forward = lambda x: (x, x)
    for method in (METHODS[1], FineTuning(SCHEDULE)):
        with pytest.raises(ValueError, match="the network returns a tuple: let it return one tensor"):
            method.start(network).learn("a", data(0))
