"""Evaluation of learners: it changes nothing, and uses the task-specific values of each task."""

from typing import Any

import pytest
import torch
from torch import nn
from toys import METHODS, SCHEDULE, SETTINGS, Images, assert_same, data, images, perceptron, settings, trained_learner

from ebbing.learn.methods import Copies, FineTuning, Gpm, Trgp
from ebbing.learn.tasks.base import TaskData
from ebbing.learn.training.schedule import Schedule

pytestmark = pytest.mark.usefixtures("quietly")


# Evaluation


def test_evaluation_leaves_the_learner_unchanged():
    learner = trained_learner(METHODS[1], perceptron(norm=nn.BatchNorm1d(16), dropout=0.5))
    before, inputs = learner.state(), data(0)[0]
    expected = learner.outputs("task 0", inputs)
    learner.network.train()
    learner.network[3].eval()
    modes = [module.training for module in learner.network.modules()]
    with learner.evaluating("task 0") as network:
        assert not network.training
        torch.testing.assert_close(network(inputs), expected)
    with pytest.raises(KeyError), learner.evaluating("task 1"):
        raise KeyError
    learner.accuracy("task 0", data(0))
    assert [module.training for module in learner.network.modules()] == modes
    assert_same(learner.state(), before)


def test_unlearned_task_uses_the_current_network():
    learner = trained_learner(METHODS[1], perceptron())
    learner.network.eval()
    assert torch.equal(learner.outputs(None, data(3)[0]), learner.network(data(3)[0]).detach())


def test_outputs_use_batches_of_the_test_batch_size():
    """The batch size matters for batch normalization with batch statistics."""
    schedule = Schedule(0.1, epochs=1, batch_size=6, test_batch_size=7)
    network = perceptron(norm=nn.BatchNorm1d(16, track_running_stats=False))
    learner = Gpm(**settings(schedule=schedule)).start(network)
    learner.learn("a", data(0))
    inputs = data(0)[0]
    network.eval()
    with learner.evaluating("a"), torch.no_grad():
        expected = torch.cat([network(part.clone()) for part in inputs.split(7)])
    assert torch.equal(learner.outputs("a", inputs), expected)


def test_accuracy_of_task_data_uses_its_test_part():
    random = torch.Generator().manual_seed(3)
    inputs = torch.randn(60, 4, generator=random)
    labels = (inputs[:, 0] > 0).long()
    learner = Gpm(Schedule(learning_rate=0.5, epochs=20), num_examples=20).start(nn.Sequential(nn.Linear(4, 2)))
    task_data = TaskData(inputs[:40], labels[:40], inputs[40:], 1 - labels[40:])  # the test labels are inverted
    learner.learn("a", task_data)
    right = learner.accuracy("a", (inputs[40:], labels[40:]))
    assert right > 0.7
    assert learner.accuracy("a", task_data) == pytest.approx(1 - right)


# Task-specific values


def test_per_task_modules_reset_and_biases_continue():
    network = perceptron()
    fresh = {name: value.clone() for name, value in network.state_dict().items()}
    learner = Trgp(**SETTINGS, per_task=("6",)).start(network)
    learner.learn("a", data(0))
    after = {name: value.clone() for name, value in network.state_dict().items()}
    assert not torch.equal(after["6.bias"], fresh["6.bias"])
    with learner.task("b", data(1)) as parameters:
        with torch.no_grad():
            parameters.named["4.weight"].add_(0.01)
        for name in ("6.weight", "6.bias"):
            assert torch.equal(network.state_dict()[name], fresh[name])
        assert torch.equal(network.state_dict()["0.bias"], after["0.bias"])
    with learner.evaluating("a"):
        for name in ("6.weight", "6.bias", "0.bias"):
            assert torch.equal(network.state_dict()[name], after[name])


def test_only_the_trained_head_is_stored():
    torch.manual_seed(0)
    learner = trained_learner(Gpm(**SETTINGS, per_task=("heads.*",)), Images(), make=images)
    for task in range(3):
        kept = {name for name in learner.state() if name.startswith(f"own.{task}.heads")}
        assert kept == {f"own.{task}.heads.{task}.weight", f"own.{task}.heads.{task}.bias"}


def test_norms_per_task_frozen_and_shared():
    values = {}
    for norms in ("per_task", "frozen", "shared"):
        network = perceptron(norm=nn.BatchNorm1d(16))
        learner = Trgp(**SETTINGS, norms=norms).start(network)
        for task in range(3):
            learner.learn(str(task), data(task))
            values[norms, task] = {name: value.clone() for name, value in network[1].state_dict().items()}
        for task in range(3):
            with learner.evaluating(str(task)):
                now = {name: value.clone() for name, value in network[1].state_dict().items()}
            seen = {"per_task": task, "frozen": 0, "shared": 2}[norms]
            assert_same(now, values[norms, seen])
    for norms, task in (("per_task", 1), ("shared", 1), ("per_task", 2), ("shared", 2)):
        for name in ("weight", "running_mean"):
            assert not torch.equal(values[norms, task][name], values[norms, task - 1][name])


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale, self.layers = nn.Parameter(torch.ones(())), perceptron()

    def forward(self, x):
        return self.scale * self.layers(x)


def test_root_parameters_can_be_task_specific():
    with pytest.raises(
        ValueError, match=r"the network has a parameter 'scale' outside of its layers.*per_task=\('scale',\)"
    ):
        Gpm(**settings()).start(Scaled())
    learner = trained_learner(Gpm(**settings(per_task=("scale",))), Scaled(), 2)
    scales = []
    for task in learner.tasks:
        with learner.evaluating(task) as network:
            scales.append(float(network.get_parameter("scale").detach()))
    assert 1 != scales[0] != scales[1] != 1


@pytest.mark.parametrize("norms", ["per_task", "frozen", "shared"])
@pytest.mark.parametrize("method", [Trgp, FineTuning, Copies])
def test_changes_inside_evaluating_are_undone(method, norms):
    method_settings: dict[str, Any] = SETTINGS | {"norms": norms} if method is Trgp else {"schedule": SCHEDULE}
    network = perceptron(norm=nn.BatchNorm1d(16))
    learner = method(**method_settings).start(network)
    learner.learn("a", data(0))
    learner.learn("b", data(1))
    before = learner.state()
    with learner.evaluating("a") as answering, torch.no_grad():
        answering.train()(10 * data(0)[0])
        for parameter in answering.parameters():
            parameter.mul_(2)
    assert_same(learner.state(), before)


def test_soft_labels_are_rounded_for_accuracy():
    network = nn.Sequential(nn.Linear(4, 1))
    learner = Gpm(SCHEDULE).start(network)
    inputs = torch.randn(40, 4, generator=torch.Generator().manual_seed(0))
    hard = (inputs[:, :1] > 0).float()
    learner.learn("a", (inputs, 0.1 + 0.8 * hard))
    assert learner.accuracy("a", (inputs, 0.1 + 0.8 * hard)) == learner.accuracy("a", (inputs, hard)) > 0.9
