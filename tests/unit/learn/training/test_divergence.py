"""Training that diverges without infinite weights: a warning, and none where all is well."""

import warnings

import pytest
import torch
from torch import nn
from torch.optim import SGD
from toys import CLASSES, METHODS, SCHEDULE, SIZE, assert_same, data, perceptron

from ebbing.learn import Copies, FineTuning, Gpm, LowRank, Schedule
from ebbing.learn.training._divergence import LossRecord

pytestmark = pytest.mark.usefixtures("quietly")

WILD = Schedule(100.0, epochs=2, batch_size=6)
MESSAGE = r"training of task 'a' diverged at learning rate 100: the loss was .* and is .*; lower the learning rate"


def shallow():
    """Return a network whose weights stay finite for a while: infinite ones raise an error instead."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(SIZE, 16), nn.ReLU(), nn.Linear(16, CLASSES))


@pytest.mark.parametrize("method", [FineTuning, Copies, Gpm, LowRank])
def test_a_rate_far_too_high_warns_once(method):
    learner = method(WILD).start(shallow())
    with pytest.warns(UserWarning, match=MESSAGE) as caught:
        learner.learn("a", data(0))
    assert [warning.filename for warning in caught] == [__file__]
    assert learner.tasks == ["a"]


def test_an_optimizer_that_diverges_warns():
    learner = FineTuning(SCHEDULE).start(shallow())
    with pytest.warns(UserWarning, match=MESSAGE):
        learner.learn("a", data(0), optimizer=lambda parameters: SGD(parameters, lr=100.0), accumulate=2)


def test_with_patience_the_values_that_are_kept_count():
    schedule = Schedule(100.0, epochs=2, batch_size=6, patience=1)
    with pytest.warns(UserWarning, match=MESSAGE):
        FineTuning(schedule).start(shallow()).learn("a", data(0), validation=data(0))
    record = LossRecord()
    for value in (1.0, 1e9):
        record.add(torch.tensor(value))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record.warn_if_diverged("a", 0.1, best=0.5)  # an early epoch was good


@pytest.mark.parametrize("method", [FineTuning(SCHEDULE), METHODS[1]], ids=["fine-tuning", "trgp"])
def test_training_that_goes_well_does_not_warn(method):
    learner = method.start(perceptron())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for task in range(2):
            learner.learn(str(task), data(task))


@pytest.mark.parametrize(
    ("losses", "diverged"),
    [
        ([1.0, 10.0, 10.0], False),
        ([1.0, 10.1, 10.1], True),
        ([4.0, 30.0, 30.0], False),
        ([1e-6, 5.0, 5.0], False),  # the task was known before
        ([1.0, 1.0, 1.0, 1e9], False),  # one batch of outliers
        ([1.0, float("inf"), float("inf")], True),
        ([1.0, float("nan")], False),  # a batch without labels that count has no loss
        ([float("nan"), 1e9, 1e9], False),
        ([], False),
    ],
)
def test_rule_of_divergence(losses, diverged):
    record = LossRecord()
    for value in losses:
        record.add(torch.tensor(value))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        record.warn_if_diverged("", 0.1, None)
    assert len(caught) == diverged


def test_only_the_last_epoch_counts():
    record = LossRecord()
    for value in (1.0, 1e9, 1e9):
        record.add(torch.tensor(value))
    record.start_epoch()
    record.add(torch.tensor(0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record.warn_if_diverged("a", 0.1, None)


def test_recording_changes_no_number(monkeypatch):
    plain = FineTuning(SCHEDULE).start(perceptron(dropout=0.2))
    torch.manual_seed(1)
    plain.learn("a", data(0))
    monkeypatch.setattr(LossRecord, "add", lambda self, loss: None)
    other = FineTuning(SCHEDULE).start(perceptron(dropout=0.2))
    torch.manual_seed(1)
    other.learn("a", data(0))
    assert_same(plain.state(), other.state())
