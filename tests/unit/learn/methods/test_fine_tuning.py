"""Methods without protection: fine-tuning, and a copy of the network for every task."""

import copy
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load, save
from torch import nn
from torch.nn import functional
from toys import SCHEDULE, assert_same, data, perceptron, trained_learner

from ebbing.learn.methods import Copies, FineTuning

pytestmark = pytest.mark.usefixtures("quietly")


def test_fine_tuning_is_plain_gradient_descent(tmp_path):
    learner, network = FineTuning(SCHEDULE).start(perceptron()), perceptron()
    for task in range(2):
        inputs, labels = data(task)
        learner.learn(str(task), (inputs, labels), generator=torch.Generator().manual_seed(task))
        generator = torch.Generator().manual_seed(task)
        steps = torch.optim.SGD(network.parameters(), 0.3)
        for _ in range(4):
            for rows in torch.randperm(24, generator=generator).split(6):
                steps.zero_grad()
                functional.cross_entropy(network(inputs[rows]), labels[rows]).backward()
                steps.step()
    assert_same(dict(learner.network.state_dict()), dict(network.state_dict()))
    other = FineTuning(SCHEDULE).start(perceptron(1))
    state = learner.state()
    other.restore(load(save(state)))
    then = copy.deepcopy(state)
    for one in (learner, other):
        one.learn("2", data(2))
    assert_same(learner.state(), other.state())
    assert_same(state, then)
    learner.network.train()
    assert torch.equal(learner.outputs("0", data(0)[0]), learner.outputs(None, data(0)[0]))
    assert learner.network.training
    with pytest.raises(ValueError, match="task 'x' has not been learned; learned tasks: '0', '1', '2'"):
        learner.outputs("x", data(0)[0])
    with pytest.raises(ValueError, match="task '0' has already been learned"):
        learner.learn("0", data(0))
    with pytest.raises(ValueError, match="no batches in epoch 2"):
        learner.learn("3", (pair for pair in [data(3)]))


def test_fine_tuning_evaluates_and_saves(tmp_path):
    learner = FineTuning(SCHEDULE).start(perceptron())
    learner.learn("a", data(0))
    right = (learner.outputs("a", data(0)[0]).argmax(1) == data(0)[1]).double().mean()
    assert learner.accuracy("a", data(0)) == pytest.approx(float(right), abs=1e-12)
    with learner.evaluating("a") as network:
        assert network is learner.network
        assert not network.training
    learner.save(tmp_path / "learner.safetensors")
    other = FineTuning(SCHEDULE).start(perceptron(1))
    other.load(tmp_path / "learner.safetensors")
    assert_same(other.state(), learner.state())
    with pytest.raises(ValueError, match="not the state of a learner with this network"):
        FineTuning(SCHEDULE).start(nn.Linear(2, 2)).restore(learner.state())


def test_fine_tuning_with_patience_and_interruption():
    schedule = replace(SCHEDULE, patience=1, min_learning_rate=0.2)
    learner = FineTuning(schedule).start(perceptron())
    with pytest.raises(ValueError, match="patience=1: give validation data"):
        learner.learn("a", data(0))
    before = learner.state()

    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learner.learn("a", data(0), validation=data(1), progress=interrupt)
    assert_same(learner.state(), before)
    learner.learn("a", data(0), validation=data(1))
    assert learner.tasks == ["a"]


def test_copies_keep_old_outputs_exactly(tmp_path):
    learner = Copies(SCHEDULE).start(perceptron(norm=nn.BatchNorm1d(16)))
    first = {}
    for task in range(3):
        learner.learn(str(task), data(task))
        first[task] = learner.outputs(str(task), data(task)[0])
    for task, outputs in first.items():
        assert torch.equal(learner.outputs(str(task), data(task)[0]), outputs)
    assert torch.equal(learner.outputs(None, data(2)[0]), first[2])
    plain = trained_learner(FineTuning(SCHEDULE), perceptron(norm=nn.BatchNorm1d(16)))
    assert not torch.equal(plain.outputs("task 0", data(0)[0]), first[0])  # the same training without copies forgets

    learner.save(tmp_path / "copies.safetensors")
    other = Copies(SCHEDULE).start(perceptron(1, norm=nn.BatchNorm1d(16)))
    other.load(tmp_path / "copies.safetensors")
    for one in (learner, other):
        one.learn("3", data(3))
    assert_same(learner.state(), other.state())
    assert torch.equal(other.outputs("0", data(0)[0]), first[0])
    without = {name: value for name, value in learner.state().items() if name != "copy.1.0.weight"}
    with pytest.raises(ValueError, match=r"task 1 has no task-specific '0\.weight'"):
        other.restore(without)
    with pytest.raises(
        ValueError, match=r"it is a state of {'kind': 'FineTuning', .* this learner is {'kind': 'Copies'"
    ):
        other.restore(plain.state())


def _break(parameters):
    with torch.no_grad():
        parameters[0].zero_()
    raise RuntimeError("no gradient")


@pytest.mark.parametrize("method", [FineTuning(SCHEDULE), Copies(SCHEDULE)], ids=["fine-tuning", "copies"])
def test_unprotected_methods_support_custom_loops(method):
    learner = method.start(perceptron())
    for task in range(2):
        inputs, labels = data(task)
        with learner.task(str(task), (inputs, labels)) as parameters:
            optimizer = torch.optim.Adam(parameters, 0.01)
            for _ in range(20):
                optimizer.zero_grad()
                functional.cross_entropy(learner.network(inputs), labels).backward()
                optimizer.step()
        assert learner.accuracy(str(task), data(task)) > 0.9
    before = learner.state()
    with pytest.raises(RuntimeError, match="no gradient"), learner.task("more", data(3)) as parameters:
        _break(parameters)
    assert_same(learner.state(), before)


# Task-specific heads


@pytest.mark.parametrize("kind", [FineTuning, Copies])
def test_per_task_head_resets_and_serves_its_task(kind, tmp_path):
    """Every task trains a copy of the last layer, "6", from the same initial values."""
    learner, starts = kind(SCHEDULE, per_task=("6",)).start(perceptron()), []
    for task in range(3):
        inputs, labels = data(task)
        with learner.task(str(task)) as parameters:
            starts.append(learner.network[6].weight.detach().clone())
            optimizer = torch.optim.SGD(parameters, 0.1)
            for _ in range(10):
                optimizer.zero_grad()
                functional.cross_entropy(learner.network(inputs), labels).backward()
                optimizer.step()
    assert all(torch.equal(start, perceptron().state_dict()["6.weight"]) for start in starts)
    heads = []
    for task in range(3):
        with learner.evaluating(str(task)) as network:
            heads.append(network[6].weight.detach().clone())
            shared = network[0].weight.detach().clone()
        assert torch.equal(shared, learner.state()["network.0.weight"]) == (kind is FineTuning or task == 2)
    assert not torch.equal(heads[0], heads[1])
    assert torch.equal(learner.network[6].weight, heads[2])  # of the latest task

    learner.save(tmp_path / "learner.safetensors")
    other = kind(SCHEDULE, per_task=("6",)).start(perceptron(1))
    other.load(tmp_path / "learner.safetensors")
    for one in (learner, other):
        one.learn("more", data(3))
    assert_same(learner.state(), other.state())
    for per_task in ((), ("2",)):
        with pytest.raises(ValueError, match="not the state of a learner with this network and method"):
            kind(SCHEDULE, per_task=per_task).start(perceptron()).load(tmp_path / "learner.safetensors")


@pytest.mark.parametrize("kind", [FineTuning, Copies])
def test_per_task_is_checked_and_stored_if_given(kind):
    """Results from before the setting existed keep their key."""
    with pytest.raises(ValueError, match=r"per_task='6': give a tuple of names, as \('6',\)"):
        kind(SCHEDULE, per_task="6")
    with pytest.raises(ValueError, match=r"per_task=\['head'\]: the network has no such module or parameter"):
        kind(SCHEDULE, per_task=("head",)).start(perceptron())
    assert "own" not in kind(SCHEDULE).settings()
    assert kind(SCHEDULE, per_task=("6",)).settings()["own"] == ("6",)


@pytest.mark.parametrize("kind", [FineTuning, Copies])
def test_interruption_restores_per_task_values(kind):
    learner = kind(SCHEDULE, per_task=("6",)).start(perceptron())
    learner.learn("a", data(0))
    before = learner.state()
    with pytest.raises(RuntimeError, match="no gradient"), learner.task("b") as parameters:
        _break(parameters)
    assert_same(learner.state(), before)


class _Interrupting(list):
    def append(self, value):
        raise KeyboardInterrupt


@pytest.mark.parametrize("kind", [FineTuning, Copies])
def test_interruption_while_storing_changes_nothing(kind):
    learner = kind(SCHEDULE, per_task=("6",)).start(perceptron())
    learner.learn("a", data(0))
    before, learner.tasks = learner.state(), _Interrupting(learner.tasks)
    with pytest.raises(KeyboardInterrupt):
        learner.learn("b", data(1))
    learner.tasks = list(learner.tasks)
    assert_same(learner.state(), before)
    learner.learn("b", data(1))
    again = trained_learner(kind(SCHEDULE, per_task=("6",)), perceptron(), 2)
    assert torch.equal(learner.outputs("b", data(1)[0]), again.outputs("task 1", data(1)[0]))
