"""The shortcut for inputs of the first layer: all inputs of a task are rotated once."""

import pytest
import torch
from torch import nn
from toys import CLASSES, IDS, METHODS, SCHEDULE, SIZE, data, perceptron, settings

from ebbing.learn.methods import Gpm, Trgp
from ebbing.learn.projection import Threshold
from ebbing.learn.projection._rotated_batch import RotatedBatch
from ebbing.learn.projection.learner import ProjectionLearner
from ebbing.learn.training.batches import epoch_batches

pytestmark = pytest.mark.usefixtures("quietly")


def with_and_without(monkeypatch, method, make, *, make_data=data, dtype=torch.float64):
    """Return learners after two tasks with and without the shortcut, and which calls in the second task used it."""
    learners, taken, matches = [], [], RotatedBatch.matches

    def recording(rotated_batch, input):
        taken.append(matches(rotated_batch, input))
        return taken[-1]

    def plain_batches(learner, data, random, *, any_labels):
        return epoch_batches(data, method.schedule.batch_size, random, torch.device("cpu"))

    monkeypatch.setattr(RotatedBatch, "matches", recording)
    for shortcut in (True, False):
        torch.manual_seed(0)
        learner = method.start(make().to(dtype))
        with monkeypatch.context() as patch:
            if not shortcut:
                patch.setattr(ProjectionLearner, "_batches", plain_batches)
            for task in range(2):
                torch.manual_seed(task)
                learner.learn(str(task), make_data(task, dtype=dtype))
        learners.append(learner)
    return *learners, taken


STEPS = SCHEDULE.epochs * 24 // SCHEDULE.batch_size


@pytest.mark.parametrize("method", METHODS, ids=IDS)
@pytest.mark.parametrize("norm", [nn.Identity, lambda: nn.BatchNorm1d(16)])
def test_rotating_all_inputs_at_once_gives_the_same(monkeypatch, method, norm):
    one, other, taken = with_and_without(monkeypatch, method, lambda: perceptron(norm=norm(), dropout=0.2))
    assert taken == [True] * STEPS
    for name, value in one.network.state_dict().items():
        torch.testing.assert_close(value, other.network.state_dict()[name], rtol=0, atol=1e-9, msg=name)
    for task in range(2):
        inputs = data(task, dtype=torch.float64)[0]
        torch.testing.assert_close(one.outputs(str(task), inputs), other.outputs(str(task), inputs), rtol=0, atol=1e-9)


class Changing(nn.Module):
    """Changes its inputs, or uses them elsewhere than in the first layer."""

    def __init__(self, how) -> None:
        super().__init__()
        self.how, self.layers, self.skip = how, perceptron(), nn.Linear(SIZE, CLASSES)

    def forward(self, x):
        skip = self.skip(x) if self.how == "skip" else 0.0
        if self.how == "checks" and float(x[:, 0].abs().max()) > 0:
            raise ValueError("the first input is 0")
        if self.how == "in place":
            x.mul_(2.0)
        if self.how == "at times" and self.training and torch.rand(()) < 0.5:
            x = torch.cat([torch.zeros_like(x[:, :3]), x[:, 3:]], dim=1)
        if self.how == "gradient":
            x.requires_grad_()
        return self.layers(x) + skip + (float(x[0, 1]) if self.how == "adds" else 0.0)


def data_with_constants(task, **options):
    inputs, labels = data(task, **options)
    inputs[:, 0], inputs[:, 1] = 0.0, 3.0
    return inputs, labels


@pytest.mark.parametrize(
    ("make", "taken"),
    [
        (lambda: Changing("skip"), {True}),
        (lambda: Changing("checks"), {True}),
        (lambda: Changing("adds"), {True}),
        (lambda: Changing("at times"), {True, False}),
        (lambda: Changing("in place"), {False}),
        (lambda: Changing("gradient"), {False}),
        (lambda: nn.Sequential(nn.Dropout(0.5), *perceptron()), {False}),
        (lambda: nn.Sequential(nn.BatchNorm1d(SIZE), *perceptron()), {False}),
        (lambda: nn.Sequential(nn.ReLU(), *perceptron()), {False}),
    ],
    ids=["skip", "checks", "adds", "at times", "in place", "gradient", "dropout", "norm", "relu"],
)
def test_rotated_batch_is_used_only_for_unchanged_inputs(monkeypatch, make, taken):
    """The layer uses the rotated batch only if its input is the batch itself, unchanged."""
    one, other, calls = with_and_without(
        monkeypatch, Trgp(**settings(), trust_threshold=0.1), make, make_data=data_with_constants
    )
    assert set(calls) == taken
    state, expected = one.state(), other.state()
    assert state.keys() == expected.keys()
    for name, value in state.items():
        torch.testing.assert_close(value, expected[name], rtol=0, atol=1e-9, msg=name)


def test_network_is_correct_while_a_task_is_learned():
    network, seen = perceptron(), []
    learner = Gpm(**settings(threshold=Threshold(0.5))).start(network)
    learner.learn("a", data(0))
    inputs, labels = data(1)
    learner.learn("b", (inputs, labels), progress=lambda *_: seen.append(network.eval()(inputs).detach()))
    torch.testing.assert_close(seen[-1], learner.outputs("b", inputs), rtol=0, atol=1e-5)
    assert len(seen) == SCHEDULE.epochs
