"""Situations that would silently weaken protection: they are handled, or raise an error and change nothing."""

import copy
import pickle
import threading
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from toys import CLASSES, METHODS, SCHEDULE, SIZE, assert_same, data, perceptron, settings, trained_learner

from ebbing.learn.methods import Copies, FineTuning, Gpm, Trgp
from ebbing.learn.projection import Threshold

pytestmark = pytest.mark.usefixtures("quietly")


class Tied(nn.Module):
    """Uses a layer's weight a second time, without the layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.Linear(SIZE, SIZE, bias=False), nn.Linear(SIZE, 3)

    def forward(self, inputs):
        return self.head(functional.relu(self.layer(inputs)) @ self.layer.weight)


def test_weight_used_outside_of_its_layer_raises():
    network = Tied()
    learner, before = Trgp(**settings()).start(network), copy.deepcopy(network.state_dict())
    with pytest.raises(ValueError, match="the network uses the weight of layer 'layer' outside of the layer"):
        learner.learn("a", data(0))
    assert_same(dict(network.state_dict()), before)
    per_task = Trgp(**settings(per_task=("layer",))).start(network)
    per_task.learn("a", data(0))
    assert per_task.tasks == ["a"]


class Repeated(nn.Module):
    """Blocks that all use their weights a second time, and a layer that is fine."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(SIZE, SIZE) for _ in range(3))
        self.fine, self.head = nn.Linear(SIZE, SIZE), nn.Linear(SIZE, 3)

    def forward(self, inputs):
        for block in self.blocks:
            assert isinstance(block, nn.Linear)
            inputs = functional.relu(block(inputs)) @ block.weight
        return self.head(self.fine(inputs))


def test_all_weights_used_outside_are_listed_with_the_line():
    learner = Gpm(**settings(per_task=("head",))).start(Repeated())
    with pytest.raises(ValueError, match=r"layer 'blocks.\*' outside of the layer \(3 times\)") as caught:
        learner.learn("a", data(0))
    assert "per_task=('head', 'blocks.*')" in str(caught.value)
    learner = Gpm(**settings(per_task=("head", "blocks.*"))).start(Repeated())
    learner.learn("a", data(0))
    assert list(learner.protected) == ["fine"]


class Overflowing(nn.Module):
    """In evaluation mode the inputs of the second layer are infinite."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.Linear(SIZE, 4), nn.Linear(4, 3)

    def forward(self, inputs):
        hidden = functional.relu(self.layer(inputs))
        return self.head(hidden if self.training else hidden / 0)


def test_nonfinite_layer_inputs_raise():
    learner = Trgp(**settings()).start(Overflowing())
    with pytest.raises(FloatingPointError, match="inputs of layer 'head' are not all finite"):
        learner.learn("a", data(0))
    assert learner.tasks == []


@pytest.mark.parametrize("method", [METHODS[1], METHODS[4], Copies(SCHEDULE)], ids=["trgp", "free", "copies"])
def test_other_calls_raise_inside_evaluating(method):
    learner = trained_learner(method, perceptron(), 2)
    before = learner.state()
    with learner.evaluating("task 0"):
        for call in (
            learner.state,
            lambda: learner.outputs("task 1", data(1)[0]),
            lambda: learner.accuracy("task 1", data(1)),
            lambda: learner.learn("more", data(2)),
            lambda: learner.restore(before),
        ):
            with pytest.raises(RuntimeError, match="leave the context of evaluating"):
                call()
    assert_same(learner.state(), before)


def test_a_dominant_direction_is_protected():
    """Inputs far from zero have nearly all their energy in one direction."""
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
def test_network_changed_since_start_raises(change):
    network = perceptron()
    learner = Trgp(**settings()).start(network)
    learner.learn("a", data(0))
    change(network)
    with pytest.raises(ValueError, match=r"parameter '\d\.bias' was added, removed, replaced, frozen or unfrozen"):
        learner.learn("b", data(1))
    assert learner.tasks == ["a"]


@pytest.mark.parametrize("method", [METHODS[0], METHODS[3]], ids=["fast", "authors"])
def test_weights_changed_directly_in_a_task_raise(method):
    learner = trained_learner(method, perceptron(), 1)
    before = learner.state()
    error = pytest.raises(ValueError, match="the weight of layer '0' was changed directly")
    with error, learner.task("b", data(1)), torch.no_grad():
        for parameter in learner.network.parameters():
            parameter.clamp_(-0.05, 0.05)
    assert_same(learner.state(), before)


def test_layer_with_a_custom_forward_raises():
    network: Any = perceptron()
    network[4].forward = forward = lambda x: x @ network[4].weight.T
    learner = Gpm(**settings()).start(network)
    for _ in range(2):
        with pytest.raises(ValueError, match="layer '4' has a custom forward"):
            learner.learn("a", data(0))
        assert network[4].forward is forward


def test_invalid_names_data_and_networks_raise():
    for method in (METHODS[1], FineTuning(SCHEDULE)):
        learner = method.start(perceptron())
        with pytest.raises(ValueError, match="task 1: give a name, a string"):
            learner.learn(1, data(0))  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="validation data is used only by a schedule with patience"):
            learner.learn("a", data(0), validation=data(1))
    with pytest.raises(ValueError, match="no trainable parameter"):
        FineTuning(SCHEDULE).start(nn.ReLU())
    network: Any = perceptron()
    network.forward = lambda x: ({"x": x}, x)
    for method in (METHODS[1], FineTuning(SCHEDULE)):
        with pytest.raises(ValueError, match="the network returns a tuple: return a tensor, a tuple that starts with"):
            method.start(network).learn("a", data(0))
    network.forward = lambda x: x[:, :3]
    with pytest.raises(ValueError, match="the loss depends on no parameter that is trained"):
        FineTuning(SCHEDULE).start(network).learn("a", data(0))


# Threads, copies, wrappers


@pytest.mark.parametrize("method", [METHODS[4], Copies(SCHEDULE)], ids=["free", "copies"])
def test_concurrent_threads_get_correct_outputs(method):
    learner = trained_learner(method, perceptron(), 2)
    inputs, before, wrong = torch.randn(640, SIZE), learner.state(), []
    expected = {task: learner.outputs(task, inputs) for task in learner.tasks}
    start = threading.Barrier(3)

    def ask(task):
        start.wait()
        wrong.extend(True for _ in range(30) if not torch.equal(learner.outputs(task, inputs), expected[task]))

    def answer():
        start.wait()
        for _ in range(30):
            with learner.evaluating("task 0") as network:
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
def test_copied_learners_are_independent(method, copied):
    learner = trained_learner(method, perceptron(), 2)
    other, before = copied(learner), learner.state()
    other.learn("more", data(5))
    assert_same(learner.state(), before)
    learner.learn("more", data(5))
    assert_same(learner.state(), other.state())


@pytest.mark.parametrize("method", [METHODS[1], FineTuning(SCHEDULE)], ids=["trgp", "fine-tuning"])
def test_copying_a_busy_learner_raises(method):
    learner = trained_learner(method, perceptron(), 1)
    message = r"the learner cannot be copied now: .*leave the context"
    with learner.evaluating("task 0"), pytest.raises(RuntimeError, match=message):
        copy.deepcopy(learner)
    with pytest.raises(RuntimeError, match=message), learner.task("more", data(5)):
        pickle.dumps(learner)
    assert learner.tasks == ["task 0"]
    assert copy.deepcopy(learner).accuracy("task 0", data(0)) == learner.accuracy("task 0", data(0))


@pytest.mark.parametrize("method", [METHODS[1], FineTuning(SCHEDULE)], ids=["trgp", "fine-tuning"])
def test_wrapped_networks_raise(method):
    compiled: Any = torch.compile(perceptron(), backend="eager")
    for network, kind in ((nn.DataParallel(perceptron()), "DataParallel"), (compiled, "OptimizedModule")):
        with pytest.raises(ValueError, match=f"the network is wrapped in {kind}: give the learner the module inside"):
            method.start(network)
    with pytest.raises(ValueError, match="module '1' is wrapped in OptimizedModule"):
        method.start(nn.Sequential(nn.Linear(SIZE, SIZE), compiled))


def test_network_converted_since_start_raises():
    learner = trained_learner(METHODS[1], perceptron(), 1)
    learner.network.double()
    with pytest.raises(ValueError, match=r"is torch.float64 on cpu and was torch.float32 on cpu at start\(\)"):
        learner.learn("more", data(1, dtype=torch.float64))


# Modes of PyTorch


@pytest.mark.parametrize("method", [METHODS[1], FineTuning(SCHEDULE)], ids=["trgp", "fine-tuning"])
def test_learning_inside_no_grad_gives_the_same(method):
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
def test_autocast_around_learn_keeps_protection(number):
    method = replace(METHODS[number], threshold=Threshold(1.0))
    learner = method.start(Mixed())
    learner.learn("a", data(0, 5))
    before = learner.outputs("a", data(0, 5)[0])
    with torch.autocast("cpu", torch.bfloat16):
        learner.learn("b", data(1, 5))
    assert (learner.outputs("a", data(0, 5)[0]) - before).abs().max() < 1e-5


def test_custom_loss_determines_the_trust_region(monkeypatch):
    """Its gradient is computed in batches as soon as there is an old task."""
    batch_sizes = []

    def squared(outputs, targets):
        batch_sizes.append(len(outputs))
        return (outputs - targets).square().mean()

    monkeypatch.setattr("ebbing.learn.projection._activations.FORWARD_BATCH_SIZE", 10)
    learner = Trgp(**settings(), trust_threshold=0.0).start(Mixed())
    for task in range(2):
        inputs, targets = data(task)[0], torch.randn(24, CLASSES)
        with learner.task(str(task), (inputs, targets), loss=squared) as parameters:
            optimizer = torch.optim.SGD(parameters, 0.01)
            squared(learner.network(inputs), targets).backward()
            optimizer.step()
    assert batch_sizes == [24, 10, 10, 24]  # before the second task, 20 of its 24 examples in batches of 10


def test_forward_batch_size_does_not_change_results(monkeypatch):
    """Directions and trusted tasks are the same for any batch size."""
    states = []
    for size in (7, 10**6):
        monkeypatch.setattr("ebbing.learn.projection._activations.FORWARD_BATCH_SIZE", size)
        learner = Trgp(**settings(num_examples=(9, 20, 15)), trust_threshold=0.1).start(Mixed().double())
        for task in range(3):
            learner.learn(str(task), data(task, dtype=torch.float64))
        states.append(learner)
    for task in range(3):
        inputs = data(task, dtype=torch.float64)[0]
        one, other = (learner.outputs(str(task), inputs) for learner in states)
        torch.testing.assert_close(one, other, rtol=0, atol=1e-8)


# Evaluation


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.heads = nn.Linear(SIZE, 8), nn.ModuleList(nn.Linear(8, CLASSES) for _ in range(3))

    def forward(self, x, task=0):
        return self.heads[task](self.body(x).relu())


@pytest.mark.parametrize("method", [Gpm(**settings(per_task=("heads",))), Copies(SCHEDULE)], ids=["gpm", "copies"])
def test_evaluating_binds_the_task_argument(method):
    learner = trained_learner(method, Heads(), 2)
    inputs = data(0)[0]
    for number, task in enumerate(learner.tasks):
        with learner.evaluating(task) as network:
            found = network(inputs)
            assert torch.equal(found, network(inputs, task=number))
        torch.testing.assert_close(found, learner.outputs(task, inputs), rtol=0, atol=1e-6)
    assert "forward" not in vars(learner.network)


def test_lists_and_invalid_labels_raise():
    learner = trained_learner(METHODS[1], perceptron(), 1)
    with pytest.raises(ValueError, match="inputs of type list: give a tensor"):
        learner.outputs("task 0", data(0)[0].tolist())
    single = nn.Sequential(nn.Linear(SIZE, 1))
    for given in ((data(0)[0], 5 + torch.randn(24, 1)), [(data(0)[0], torch.full((24, 1), -1.0))]):
        with pytest.raises(ValueError, match="labels that are not all between 0 and 1"):
            Trgp(**settings()).start(single).learn("a", given)


def test_state_with_authors_deviations_does_not_load():
    state = trained_learner(METHODS[3], perceptron(), 2).state()
    with pytest.raises(ValueError, match="'as_published'"):
        METHODS[1].start(perceptron()).restore(state)
