"""Interruptions of learners: every operation is completed or undone."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional
from toys import IDS, METHODS, SCHEDULE, assert_same, data, perceptron, settings, trained_learner

from ebbing.learn.methods import Copies, FineTuning, Gpm
from ebbing.learn.projection import learner as learner_module
from ebbing.learn.projection._layers import Block, Layer
from ebbing.learn.projection.learner import ProjectionLearner
from ebbing.learn.training.base_learner import BaseLearner
from ebbing.learn.training.schedule import Schedule

pytestmark = pytest.mark.usefixtures("quietly")


def fails_at(monkeypatch, owner, name, call):
    """Replace a function by one whose call of the given number is interrupted."""
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
        (ProjectionLearner, "_select_trust_region", 1),
        (Layer, "parametrize", 2),
        (Layer, "finish", 2),
        (Layer, "set_weights", 1),
        (ProjectionLearner, "_protect_latest", 1),
        (Layer, "input_columns", 1),
        (Block, "protect", 1),
        (Block, "protect", 3),
        (functional, "cross_entropy", 4),
    ],
)
@pytest.mark.parametrize("method", [METHODS[1], METHODS[3]], ids=["fast", "authors"])
def test_interrupted_learning_changes_nothing(monkeypatch, method, owner, name, call):
    learner = trained_learner(method, perceptron(norm=nn.BatchNorm1d(16)), 2)
    uninterrupted = trained_learner(method, perceptron(norm=nn.BatchNorm1d(16)), 3)
    learner.network.eval()
    learner.network[3].train()  # modules may have different modes
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
    assert_same(learner.state(), uninterrupted.state())


def test_exception_in_a_custom_loop_changes_nothing():
    learner = trained_learner(METHODS[1], perceptron(norm=nn.BatchNorm1d(16)), 1)
    before = learner.state()

    def loop():
        with learner.task("b", data(1)) as parameters, torch.no_grad():
            learner.network(data(1)[0])  # changes running statistics
            for parameter in parameters:
                parameter.add_(1.0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        loop()
    assert_same(learner.state(), before)
    learner.learn("b", data(1))
    assert learner.accuracy("b", data(1)) == 1


def test_divergence_raises_and_changes_nothing():
    method = Gpm(**settings(schedule=Schedule(1e30, epochs=2, batch_size=6)))
    learner = method.start(perceptron())
    before = learner.state()
    with pytest.raises(FloatingPointError, match=r"training diverged: .* at learning rate 1e\+30; lower it"):
        learner.learn("a", data(0))
    assert_same(learner.state(), before)
    assert learner.tasks == []


# Interruptions while the network is restored


@pytest.mark.parametrize(
    ("owner", "call"), [(Layer, call) for call in range(1, 7)] + [(BaseLearner, 1), (BaseLearner, 2)]
)
@pytest.mark.parametrize("method", METHODS, ids=IDS)
def test_interrupted_evaluation_loses_no_task(monkeypatch, method, owner, call):
    """Writing a task's weights and restoring the shared ones may be interrupted at any call."""
    learner = trained_learner(method, perceptron(norm=nn.BatchNorm1d(16)), 2)
    before, outputs = learner.state(), learner.outputs("task 0", data(0)[0])
    with monkeypatch.context() as patch:
        fails_at(patch, owner, "set_weights" if owner is Layer else "_write_values", call)
        with pytest.raises(KeyboardInterrupt):
            learner.outputs("task 1", data(1)[0])
    copied = copy.deepcopy(learner)
    for one in (learner, copied):
        assert torch.equal(one.outputs("task 0", data(0)[0]), outputs)
        assert_same(one.state(), before)


@pytest.mark.parametrize("when", ["before", "after"])
def test_interrupted_restore_is_completed(monkeypatch, when):
    """The interruption comes before or after the network's values are written."""
    state = trained_learner(METHODS[1], perceptron(), 2).state()
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
def test_interrupted_evaluation_of_copies_is_undone(monkeypatch, call):
    learner = trained_learner(Copies(SCHEDULE), perceptron(), 2)
    before = learner.state()
    with monkeypatch.context() as patch:
        fails_at(patch, BaseLearner, "_write_values", call)
        with pytest.raises(KeyboardInterrupt):
            learner.outputs("task 0", data(0)[0])
    learner.learn("task 2", data(2))
    uninterrupted = trained_learner(Copies(SCHEDULE), perceptron(), 3)
    assert_same(learner.state(), uninterrupted.state())
    assert before.keys() < uninterrupted.state().keys()


@pytest.mark.parametrize(
    ("method", "owner", "name", "call"),
    [
        (METHODS[1], Layer, "remove_parametrizations", 1),
        (METHODS[1], Layer, "remove_parametrizations", 3),
        (METHODS[1], Layer, "set_weights", 2),
        (METHODS[3], Layer, "set_weights", 3),
        (METHODS[3], BaseLearner, "_write_values", 1),
        (FineTuning(SCHEDULE), BaseLearner, "_write_values", 1),
    ],
)
def test_interrupted_undo_is_completed(monkeypatch, method, owner, name, call):
    learner, uninterrupted = trained_learner(method, perceptron(), 1), trained_learner(method, perceptron(), 2)
    before = learner.state()

    def interrupt(*_):
        fails_at(patch, owner, name, call)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        learner.learn("task 1", data(1), progress=interrupt)
    assert_same(learner.state(), before)
    learner.learn("task 1", data(1))
    assert_same(learner.state(), uninterrupted.state())
