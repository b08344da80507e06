"""What would go wrong in silence is met or refused, and changes nothing."""

import copy
import pickle
import threading
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from toys import CLASSES, METHODS, SCHEDULE, SIZE, assert_same, data, perceptron, settings, taught

from ebbing.learn.methods import Copies, FineTuning, Gpm, Trgp
from ebbing.learn.projection.method import Threshold

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
    own = Trgp(**settings(per_task=("layer",))).start(network)
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


@pytest.mark.parametrize("method", [METHODS[0], METHODS[3]], ids=["fast", "authors"])
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


# Threads, copies, wrappers


@pytest.mark.parametrize("method", [METHODS[4], Copies(SCHEDULE)], ids=["free", "copies"])
def test_threads_that_ask_at_once_are_answered_one_after_the_other(method):
    learner = taught(method, perceptron(), 2)
    inputs, before, wrong = torch.randn(640, SIZE), learner.state(), []
    expected = {task: learner.outputs(task, inputs) for task in learner.tasks}
    start = threading.Barrier(3)

    def ask(task):
        start.wait()
        wrong.extend(True for _ in range(30) if not torch.equal(learner.outputs(task, inputs), expected[task]))

    def answer():
        start.wait()
        for _ in range(30):
            with learner.answering("task 0") as network:
                wrong.extend([True] if not torch.equal(network(inputs[:64]), expected["task 0"][:64]) else [])

    threads = [threading.Thread(target=ask, args=(task,)) for task in learner.tasks] + [threading.Thread(target=answer)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert_same(learner.state(), before)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda learner: pickle.loads(pickle.dumps(learner))])
@pytest.mark.parametrize("method", [METHODS[1], FineTuning(SCHEDULE)], ids=["trgp", "fine-tuning"])
def test_copies_of_a_learner_go_on_by_themselves(method, copied):
    learner = taught(method, perceptron(), 2)
    other, before = copied(learner), learner.state()
    other.learn("more", data(5))
    assert_same(learner.state(), before)
    learner.learn("more", data(5))
    assert_same(learner.state(), other.state())


@pytest.mark.parametrize("method", [METHODS[1], FineTuning(SCHEDULE)], ids=["trgp", "fine-tuning"])
def test_a_learner_in_the_middle_of_something_is_not_copied(method):
    learner = taught(method, perceptron(), 1)
    words = r"a learner cannot be copied just now: .*leave the context"
    with learner.answering("task 0"), pytest.raises(RuntimeError, match=words):
        copy.deepcopy(learner)
    with pytest.raises(RuntimeError, match=words), learner.task("more", data(5)):
        pickle.dumps(learner)
    assert learner.tasks == ["task 0"]
    assert copy.deepcopy(learner).accuracy("task 0", data(0)) == learner.accuracy("task 0", data(0))


@pytest.mark.parametrize("method", [METHODS[1], FineTuning(SCHEDULE)], ids=["trgp", "fine-tuning"])
def test_wrapped_networks_are_refused(method):
    compiled: Any = torch.compile(perceptron(), backend="eager")
    for network, kind in ((nn.DataParallel(perceptron()), "DataParallel"), (compiled, "OptimizedModule")):
        with pytest.raises(ValueError, match=f"the network is wrapped in {kind}: give the learner what it wraps"):
            method.start(network)
    with pytest.raises(ValueError, match="module '1' is wrapped in OptimizedModule"):
        method.start(nn.Sequential(nn.Linear(SIZE, SIZE), compiled))


def test_a_network_of_another_kind_than_at_the_start_is_refused():
    learner = taught(METHODS[1], perceptron(), 1)
    learner.network.double()
    with pytest.raises(ValueError, match=r"is torch.float64 on cpu and was torch.float32 on cpu at start\(\)"):
        learner.learn("more", data(1, dtype=torch.float64))


# Modes of PyTorch


@pytest.mark.parametrize("method", [METHODS[1], FineTuning(SCHEDULE)], ids=["trgp", "fine-tuning"])
def test_learning_without_gradients_all_around(method):
    one, other = method.start(perceptron()), method.start(perceptron())
    for task in range(2):
        one.learn(str(task), data(task))
        with torch.no_grad():
            other.learn(str(task), data(task))
    assert_same(one.state(), other.state())
    with torch.inference_mode(), pytest.raises(RuntimeError):
        other.learn("more", data(3))
    assert_same(one.state(), other.state())


class Mixed(nn.Module):
    """Convolutions and linear layers."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.layer, self.head = nn.Conv2d(1, 4, 3), nn.Linear(4 * 3 * 4, 40), nn.Linear(40, CLASSES)

    def forward(self, x):
        return self.head(self.layer(self.conv(x.view(-1, 1, 5, 6)).relu().flatten(1)).relu())


@pytest.mark.parametrize("number", [0, 1, 3, 4], ids=["gpm", "trgp", "as published", "free"])
def test_mixed_precision_around_everything_does_not_weaken_protection(number):
    method = replace(METHODS[number], threshold=Threshold(1.0))
    learner = method.start(Mixed())
    learner.learn("a", data(0, 5))
    before = learner.outputs("a", data(0, 5)[0])
    with torch.autocast("cpu", torch.bfloat16):
        learner.learn("b", data(1, 5))
    assert (learner.outputs("a", data(0, 5)[0]) - before).abs().max() < 1e-5


def test_a_loss_of_ones_own_decides_whom_to_trust(monkeypatch):
    """Its gradient is asked for, piece by piece, once there is an old task."""
    asked = []

    def squared(outputs, targets):
        asked.append(len(outputs))
        return (outputs - targets).square().mean()

    monkeypatch.setattr("ebbing.learn.projection._activations.PASS_SIZE", 10)
    learner = Trgp(**settings(), trust_threshold=0.0).start(Mixed())
    for task in range(2):
        inputs, targets = data(task)[0], torch.randn(24, CLASSES)
        with learner.task(str(task), (inputs, targets), loss=squared) as parameters:
            optimizer = torch.optim.SGD(parameters, 0.01)
            squared(learner.network(inputs), targets).backward()
            optimizer.step()
    assert asked == [24, 10, 10, 24]  # of the second task's 24 examples the 20 that are wanted


def test_examples_may_pass_in_pieces(monkeypatch):
    """The same directions and the same trust, whatever passes through the network at once."""
    states = []
    for at_once in (7, 10**6):
        monkeypatch.setattr("ebbing.learn.projection._activations.PASS_SIZE", at_once)
        learner = Trgp(**settings(num_examples=(9, 20, 15)), trust_threshold=0.1).start(Mixed().double())
        for task in range(3):
            learner.learn(str(task), data(task, dtype=torch.float64))
        states.append(learner)
    for task in range(3):
        inputs = data(task, dtype=torch.float64)[0]
        one, other = (learner.outputs(str(task), inputs) for learner in states)
        torch.testing.assert_close(one, other, rtol=0, atol=1e-8)


# What is asked


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.heads = nn.Linear(SIZE, 8), nn.ModuleList(nn.Linear(8, CLASSES) for _ in range(3))

    def forward(self, x, task=0):
        return self.heads[task](self.body(x).relu())


@pytest.mark.parametrize("method", [Gpm(**settings(per_task=("heads",))), Copies(SCHEDULE)], ids=["gpm", "copies"])
def test_a_network_that_answers_is_told_the_task(method):
    learner = taught(method, Heads(), 2)
    inputs = data(0)[0]
    for number, task in enumerate(learner.tasks):
        with learner.answering(task) as network:
            found = network(inputs)
            assert torch.equal(found, network(inputs, task=number))
        torch.testing.assert_close(found, learner.outputs(task, inputs), rtol=0, atol=1e-6)
    assert "forward" not in vars(learner.network)


def test_other_data_than_tensors_and_labels_without_meaning():
    learner = taught(METHODS[1], perceptron(), 1)
    with pytest.raises(ValueError, match="inputs of type ndarray: give a tensor"):
        learner.outputs("task 0", data(0)[0].numpy())
    single = nn.Sequential(nn.Linear(SIZE, 1))
    for given in ((data(0)[0], 5 + torch.randn(24, 1)), [(data(0)[0], torch.full((24, 1), -1.0))]):
        with pytest.raises(ValueError, match="labels that are not all between 0 and 1"):
            Trgp(**settings()).start(single).learn("a", given)


def test_the_state_of_the_authors_behaviour_is_not_taken_over_by_the_other():
    state = taught(METHODS[3], perceptron(), 2).state()
    with pytest.raises(ValueError, match="'as_published'"):
        METHODS[1].start(perceptron()).restore(state)
