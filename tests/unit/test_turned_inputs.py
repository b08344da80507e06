"""The shortcut for inputs that go straight into the first layer: all of a task's data turned once."""

import pytest
import torch
from torch import nn

from ebbing.learn.learner import Learner
from ebbing.learn.methods import Trgp
from toys import CLASSES, IDS, METHODS, SCHEDULE, SIZE, assert_same, data, perceptron, settings

pytestmark = pytest.mark.usefixtures("quietly")


class Skipping(nn.Module):
    """A way past the first layer; at first it may have no effect."""

    def __init__(self, zero):
        super().__init__()
        self.first, self.last, self.skip = nn.Linear(SIZE, 16), nn.Linear(16, CLASSES), nn.Linear(SIZE, CLASSES)
        if zero:
            nn.init.zeros_(self.skip.weight)
            nn.init.zeros_(self.skip.bias)

    def forward(self, x):
        return self.last(self.first(x).relu()) + self.skip(x)


def with_and_without(monkeypatch, method, make, *, dtype=torch.float64):
    """Learners after two tasks with the shortcut and without it, and whether it was taken in the second task."""
    learners, taken = [], []
    for shortcut in (True, False):
        torch.manual_seed(0)
        learner = method.start(make().to(dtype))
        with monkeypatch.context() as patch:
            if not shortcut:
                patch.setattr(Learner, "_turned", lambda self, data, examples: data)
            for task in range(2):
                torch.manual_seed(task)
                note = lambda *_, of=learner: taken.append(of.layers[0].moving[0].turned)  # noqa: E731
                learner.learn(str(task), data(task, dtype=dtype), watch=note)
        learners.append(learner)
    return *learners, taken[SCHEDULE.epochs : 2 * SCHEDULE.epochs]


@pytest.mark.parametrize("method", METHODS, ids=IDS)
@pytest.mark.parametrize("norm", [nn.Identity, lambda: nn.BatchNorm1d(16)])
def test_turning_all_inputs_at_once_gives_the_same(monkeypatch, method, norm):
    one, other, taken = with_and_without(monkeypatch, method, lambda: perceptron(norm=norm(), drop=0.2))
    assert taken == [True] * SCHEDULE.epochs
    for name, value in one.network.state_dict().items():
        torch.testing.assert_close(value, other.network.state_dict()[name], rtol=0, atol=1e-9, msg=name)
    for task in range(2):
        inputs = data(task, dtype=torch.float64)[0]
        torch.testing.assert_close(one.outputs(str(task), inputs), other.outputs(str(task), inputs), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("make", "own"),
    [
        (lambda: Skipping(zero=False), ()),
        (lambda: Skipping(zero=True), ("skip",)),  # zeros again for every task
        (lambda: nn.Sequential(nn.Dropout(0.5), *perceptron()), ()),
        (lambda: nn.Sequential(nn.BatchNorm1d(SIZE), *perceptron()), ()),
        (lambda: nn.Sequential(nn.ReLU(), *perceptron()), ()),
    ],
    ids=["skip", "skip of zeros", "dropout", "norm", "relu"],
)
def test_inputs_are_not_turned_if_more_happens_to_them(monkeypatch, make, own):
    method = Trgp(**settings(own=own), nearness=0.1)
    one, other, taken = with_and_without(monkeypatch, method, make)
    assert taken == [False] * SCHEDULE.epochs
    assert_same(one.state(), other.state())


class Choosy(nn.Module):
    """Inputs have a length that it checks, and no gradient tells so."""

    def __init__(self, how) -> None:
        super().__init__()
        self.layers, self.how = perceptron(), how

    def forward(self, x):
        if self.how == "refuses" and float(x.detach()[:, 0].abs().max()) > 0:
            raise ValueError("the first input is 0")
        return self.layers(x) + (float(x.detach()[0, 1]) if self.how == "adds" else 0.0)


@pytest.mark.parametrize("how", ["refuses", "adds"])
def test_inputs_are_not_turned_if_the_network_looks_at_them(how):
    torch.manual_seed(0)
    learner, taken = Trgp(**settings(), nearness=0.1).start(Choosy(how)), []
    for task in range(2):
        inputs, labels = data(task)
        inputs[:, 0], inputs[:, 1] = 0.0, 3.0
        learner.learn(str(task), (inputs, labels), watch=lambda *_: taken.append(learner.layers[0].moving[0].turned))
    assert taken == [False] * 2 * SCHEDULE.epochs
