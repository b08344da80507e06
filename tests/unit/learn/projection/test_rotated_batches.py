"""The shortcut for inputs that go straight into the first layer: all of a task's data turned once."""

import pytest
import torch
from torch import nn
from toys import CLASSES, IDS, METHODS, SCHEDULE, SIZE, data, perceptron, settings

from ebbing.learn.methods import Gpm, Trgp
from ebbing.learn.projection._layers import RotatedBatch
from ebbing.learn.projection.learner import Learner
from ebbing.learn.projection.method import Threshold
from ebbing.learn.training.batches import epoch_batches

pytestmark = pytest.mark.usefixtures("quietly")


def with_and_without(monkeypatch, method, make, *, make_data=data, dtype=torch.float64):
    """Learners after two tasks with the shortcut and without it, and at which calls in the second task it was taken."""
    learners, taken, matches = [], [], RotatedBatch.matches

    def noting(known, input):
        taken.append(matches(known, input))
        return taken[-1]

    def plainly(learner, data, random):
        return epoch_batches(data, method.schedule.batch_size, random, torch.device("cpu"))

    monkeypatch.setattr(RotatedBatch, "matches", noting)
    for shortcut in (True, False):
        torch.manual_seed(0)
        learner = method.start(make().to(dtype))
        with monkeypatch.context() as patch:
            if not shortcut:
                patch.setattr(Learner, "_batches", plainly)
            for task in range(2):
                torch.manual_seed(task)
                learner.learn(str(task), make_data(task, dtype=dtype))
        learners.append(learner)
    return *learners, taken


STEPS = SCHEDULE.epochs * 24 // SCHEDULE.batch_size


@pytest.mark.parametrize("method", METHODS, ids=IDS)
@pytest.mark.parametrize("norm", [nn.Identity, lambda: nn.BatchNorm1d(16)])
def test_turning_all_inputs_at_once_gives_the_same(monkeypatch, method, norm):
    one, other, taken = with_and_without(monkeypatch, method, lambda: perceptron(norm=norm(), drop=0.2))
    assert taken == [True] * STEPS
    for name, value in one.network.state_dict().items():
        torch.testing.assert_close(value, other.network.state_dict()[name], rtol=0, atol=1e-9, msg=name)
    for task in range(2):
        inputs = data(task, dtype=torch.float64)[0]
        torch.testing.assert_close(one.outputs(str(task), inputs), other.outputs(str(task), inputs), rtol=0, atol=1e-9)


class Changing(nn.Module):
    """Does something to its inputs, or with them, besides giving them to the first layer."""

    def __init__(self, how) -> None:
        super().__init__()
        self.how, self.layers, self.skip = how, perceptron(), nn.Linear(SIZE, CLASSES)

    def forward(self, x):
        skip = self.skip(x) if self.how == "skip" else 0.0
        if self.how == "refuses" and float(x[:, 0].abs().max()) > 0:
            raise ValueError("the first input is 0")
        if self.how == "in place":
            x.mul_(2.0)
        if self.how == "at times" and self.training and torch.rand(()) < 0.5:
            x = torch.cat([torch.zeros_like(x[:, :3]), x[:, 3:]], dim=1)
        if self.how == "gradient":
            x.requires_grad_()
        return self.layers(x) + skip + (float(x[0, 1]) if self.how == "adds" else 0.0)


def apart(task, **options):
    inputs, labels = data(task, **options)
    inputs[:, 0], inputs[:, 1] = 0.0, 3.0
    return inputs, labels


@pytest.mark.parametrize(
    ("make", "taken"),
    [
        (lambda: Changing("skip"), {True}),
        (lambda: Changing("refuses"), {True}),
        (lambda: Changing("adds"), {True}),
        (lambda: Changing("at times"), {True, False}),
        (lambda: Changing("in place"), {False}),
        (lambda: Changing("gradient"), {False}),
        (lambda: nn.Sequential(nn.Dropout(0.5), *perceptron()), {False}),
        (lambda: nn.Sequential(nn.BatchNorm1d(SIZE), *perceptron()), {False}),
        (lambda: nn.Sequential(nn.ReLU(), *perceptron()), {False}),
    ],
    ids=["skip", "refuses", "adds", "at times", "in place", "gradient", "dropout", "norm", "relu"],
)
def test_whatever_a_network_does_with_its_inputs_they_are_what_they_are(monkeypatch, make, taken):
    """Only a layer that is given the very batch takes what it would make of it as known."""
    one, other, calls = with_and_without(monkeypatch, Trgp(**settings(), trust_threshold=0.1), make, make_data=apart)
    assert set(calls) == taken
    state, expected = one.state(), other.state()
    assert state.keys() == expected.keys()
    for name, value in state.items():
        torch.testing.assert_close(value, expected[name], rtol=0, atol=1e-9, msg=name)


def test_while_a_task_is_learnt_the_network_answers_rightly():
    network, seen = perceptron(), []
    learner = Gpm(**settings(threshold=Threshold(0.5))).start(network)
    learner.learn("a", data(0))
    inputs, labels = data(1)
    learner.learn("b", (inputs, labels), watch=lambda *_: seen.append(network.eval()(inputs).detach()))
    torch.testing.assert_close(seen[-1], learner.outputs("b", inputs), rtol=0, atol=1e-5)
    assert len(seen) == SCHEDULE.epochs
