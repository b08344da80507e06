"""Learners: nothing happens by halves, whatever interrupts it."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional
from toys import IDS, METHODS, SCHEDULE, assert_same, data, perceptron, settings, taught

from ebbing.learn.methods import Copies, FineTuning, Gpm
from ebbing.learn.projection import learner as learner_module
from ebbing.learn.projection._layers import Block, Layer
from ebbing.learn.projection.learner import Learner
from ebbing.learn.training.base_learner import BaseLearner
from ebbing.learn.training.schedule import Schedule

pytestmark = pytest.mark.usefixtures("quietly")


def fails_at(monkeypatch, owner, name, call):
    """The method, but for its call of that number, which is interrupted."""
    original, calls = getattr(owner, name), []

    def failing(*arguments, **named):
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        return original(*arguments, **named)

    monkeypatch.setattr(owner, name, failing)


@pytest.mark.parametrize(
    ("owner", "name", "call"),
    [
        (Learner, "_trusted", 1),
        (Layer, "start", 2),
        (Layer, "finish", 2),
        (Layer, "set_weights", 1),
        (Learner, "_remember", 1),
        (Layer, "inputs", 1),
        (Block, "protect", 1),
        (Block, "protect", 3),
        (functional, "cross_entropy", 4),
    ],
)
@pytest.mark.parametrize("method", [METHODS[1], METHODS[3]], ids=["fast", "authors"])
def test_an_interruption_changes_nothing(monkeypatch, method, owner, name, call):
    learner = taught(method, perceptron(norm=nn.BatchNorm1d(16)), 2)
    never = taught(method, perceptron(norm=nn.BatchNorm1d(16)), 3)
    learner.network.eval()
    learner.network[3].train()  # some modules are not as the others
    before = learner.state()
    modes = [module.training for module in learner.network.modules()]
    with monkeypatch.context() as patch:
        fails_at(patch, owner, name, call)
        with pytest.raises(KeyboardInterrupt):
            learner.learn("task 2", data(2))
    assert_same(learner.state(), before)
    assert [module.training for module in learner.network.modules()] == modes
    assert not any("forward" in vars(module) for module in learner.network.modules())
    assert learner.tasks == ["task 0", "task 1"]
    learner.learn("task 2", data(2))
    assert_same(learner.state(), never.state())


def test_an_exception_in_an_own_loop_changes_nothing():
    learner = taught(METHODS[1], perceptron(norm=nn.BatchNorm1d(16)), 1)
    before = learner.state()

    def loop():
        with learner.task("b", data(1)) as parameters, torch.no_grad():
            learner.network(data(1)[0])  # running statistics move
            for parameter in parameters:
                parameter.add_(1.0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        loop()
    assert_same(learner.state(), before)
    learner.learn("b", data(1))
    assert learner.accuracy("b", data(1)) == 1


def test_divergence_is_an_error_and_changes_nothing():
    method = Gpm(**settings(schedule=Schedule(1e30, epochs=2, batch_size=6)))
    learner = method.start(perceptron())
    before = learner.state()
    with pytest.raises(FloatingPointError, match=r"training diverged: .* at learning rate 1e\+30; lower it"):
        learner.learn("a", data(0))
    assert_same(learner.state(), before)
    assert learner.tasks == []


# Interrupted once more, while everything is put back


@pytest.mark.parametrize(
    ("owner", "call"), [(Layer, call) for call in range(1, 7)] + [(BaseLearner, 1), (BaseLearner, 2)]
)
@pytest.mark.parametrize("method", METHODS, ids=IDS)
def test_an_interruption_while_answering_costs_no_task_anything(monkeypatch, method, owner, call):
    """A task's weights are put into the network, and then the shared ones: that may be interrupted anywhere."""
    learner = taught(method, perceptron(norm=nn.BatchNorm1d(16)), 2)
    before, outputs = learner.state(), learner.outputs("task 0", data(0)[0])
    with monkeypatch.context() as patch:
        fails_at(patch, owner, "set_weights" if owner is Layer else "_write", call)
        with pytest.raises(KeyboardInterrupt):
            learner.outputs("task 1", data(1)[0])
    copied = copy.deepcopy(learner)  # first of all, or after others
    for one in (learner, copied):
        assert torch.equal(one.outputs("task 0", data(0)[0]), outputs)
        assert_same(one.state(), before)


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_is_taken_over_is_taken_over_whole(monkeypatch, when):
    """Interrupted before or after the network's values have been written."""
    state = taught(METHODS[1], perceptron(), 2).state()
    learner = METHODS[1].start(perceptron(1))
    with monkeypatch.context() as patch:
        if when == "before":
            fails_at(patch, nn.Module, "load_state_dict", 1)
        else:
            fails_at(patch, learner_module, "fingerprint", 1)
        with pytest.raises(KeyboardInterrupt):
            learner.restore(state)
    assert_same(learner.state(), state)


@pytest.mark.parametrize("call", [1, 2])
def test_copies_are_put_back_as_well(monkeypatch, call):
    learner = taught(Copies(SCHEDULE), perceptron(), 2)
    before = learner.state()
    with monkeypatch.context() as patch:
        fails_at(patch, BaseLearner, "_write", call)
        with pytest.raises(KeyboardInterrupt):
            learner.outputs("task 0", data(0)[0])
    learner.learn("task 2", data(2))
    never = taught(Copies(SCHEDULE), perceptron(), 3)
    assert_same(learner.state(), never.state())
    assert before.keys() < never.state().keys()


@pytest.mark.parametrize(
    ("method", "owner", "name", "call"),
    [
        (METHODS[1], Layer, "stop", 1),
        (METHODS[1], Layer, "stop", 3),
        (METHODS[1], Layer, "set_weights", 2),
        (METHODS[3], Layer, "set_weights", 3),
        (METHODS[3], BaseLearner, "_write", 1),
        (FineTuning(SCHEDULE), BaseLearner, "_write", 1),
    ],
)
def test_an_interruption_while_a_task_is_undone(monkeypatch, method, owner, name, call):
    learner, never = taught(method, perceptron(), 1), taught(method, perceptron(), 2)
    before = learner.state()

    def interrupt(*_):
        fails_at(patch, owner, name, call)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        learner.learn("task 1", data(1), watch=interrupt)
    assert_same(learner.state(), before)
    learner.learn("task 1", data(1))
    assert_same(learner.state(), never.state())
