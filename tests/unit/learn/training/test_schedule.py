"""Training on one task: reductions of the learning rate, the best values, and exact checkpoints."""

import contextlib
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from ebbing.learn.methods import FineTuning, Trgp
from ebbing.learn.projection.threshold import Threshold
from ebbing.learn.tasks.base import TaskData
from ebbing.learn.training import schedule as schedule_module
from ebbing.learn.training.schedule import Schedule, fit, task_loss
from ebbing.runs import Store

SIZE, CLASSES = 12, 3


pytestmark = pytest.mark.usefixtures("quietly")


def data(seed, rows=20):
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(rows, SIZE, generator=generator)
    return inputs, (inputs @ torch.randn(SIZE, CLASSES, generator=generator)).argmax(1)


def network(seed=0):
    torch.manual_seed(seed)
    hidden = [nn.Linear(SIZE, 10), nn.BatchNorm1d(10), nn.ReLU(), nn.Dropout(0.3)]
    return nn.Sequential(*hidden, nn.Linear(10, CLASSES))


def assert_same(state, other):
    assert state.keys() == other.keys()
    for name, value in state.items():
        assert torch.equal(value, other[name]), name


# The learning rate


def restated(losses, schedule):
    """The rate of every epoch, and the epoch whose values are kept."""
    rates, rate, best, kept, left = [], schedule.learning_rate, float("inf"), None, schedule.patience
    for epoch, loss in zip(range(schedule.epochs), losses, strict=False):
        rates.append(rate)
        if loss < best:
            best, kept, left = loss, epoch, schedule.patience
            continue
        left -= 1
        if left == 0:
            rate, left = rate * schedule.factor, schedule.patience
            if rate < schedule.min_learning_rate:
                break
    return rates, kept


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(0.1, epochs=40, patience=3, factor=0.5, min_learning_rate=0.01),
        Schedule(0.1, epochs=40, patience=1, factor=0.3, min_learning_rate=0.01),
        Schedule(0.1, epochs=6, patience=2),
    ],
)
def test_patience_reduces_the_rate_and_keeps_the_best_values(monkeypatch, schedule, seed):
    random = torch.Generator().manual_seed(seed)
    losses = (torch.rand(40, generator=random) + 2 / (1 + torch.arange(40))).tolist()
    expected, kept = restated(losses, schedule)
    value, rates, left = nn.Parameter(torch.zeros(1)), [], iter(losses)

    def epoch(objective, parameters, batches, rate):
        rates.append(rate)
        parameters[0].data += 1
        return 1

    monkeypatch.setattr(schedule_module, "run_epoch", epoch)
    monkeypatch.setattr(schedule_module, "_mean_loss", lambda *_: next(left))
    fit(schedule, nn.Identity(), lambda x: cast(Tensor, x), [value], list, validation=data(0))
    assert rates == pytest.approx(expected, rel=1e-12)
    assert kept is not None
    assert value.item() == kept + 1  # as it was after that epoch
    assert len(set(rates)) > 1 or schedule.epochs == 6


def test_equal_loss_is_no_improvement(monkeypatch):
    value, rates = nn.Parameter(torch.zeros(1)), []

    def epoch(objective, parameters, batches, rate):
        rates.append(rate)
        parameters[0].data += 1
        return 1

    monkeypatch.setattr(schedule_module, "run_epoch", epoch)
    monkeypatch.setattr(schedule_module, "_mean_loss", lambda *_: 1.0)
    fit(
        Schedule(1.0, 9, patience=2, min_learning_rate=0.4),
        nn.Identity(),
        lambda x: cast(Tensor, x),
        [value],
        list,
        validation=data(0),
    )
    assert rates == [1, 1, 1, 0.5, 0.5]
    assert value.item() == 1


def test_without_patience_the_rate_is_constant():
    """However small it is: min_learning_rate applies only with patience."""
    module = nn.Linear(SIZE, CLASSES)
    before = module.weight.detach().clone()
    fit(Schedule(1e-6, epochs=2), module, module, list(module.parameters()), lambda: [data(0)], validation=data(1))
    assert 0 < (module.weight - before).abs().max() < 1e-5


def test_epoch_is_gradient_descent():
    torch.manual_seed(0)
    module, spare = nn.Linear(SIZE, CLASSES), nn.Parameter(torch.ones(2))
    weight, bias = (value.detach().clone().requires_grad_() for value in module.parameters())
    batches = [data(0), data(1)]
    fit(Schedule(0.1, epochs=2), module, module, [*module.parameters(), spare], lambda: batches)
    for _ in range(2):
        for inputs, labels in batches:
            loss = functional.cross_entropy(inputs @ weight.T + bias, labels)
            for value, gradient in zip((weight, bias), torch.autograd.grad(loss, (weight, bias)), strict=True):
                value.data -= 0.1 * gradient
    torch.testing.assert_close(module.weight, weight, rtol=0, atol=1e-6)
    torch.testing.assert_close(module.bias, bias, rtol=0, atol=1e-6)
    assert torch.equal(spare, torch.ones(2))


def test_validation_loss_is_the_mean_over_all_examples():
    """In evaluation mode, and with the last batch weighted by its size."""
    module, (inputs, labels) = network(), data(0, rows=10)
    module.train()

    def objective(inputs, labels):
        return functional.cross_entropy(module(inputs), labels)

    found = schedule_module._mean_loss(Schedule(test_batch_size=4), module, objective, (inputs, labels))
    module.eval()
    with torch.no_grad():
        assert found == pytest.approx(float(functional.cross_entropy(module(inputs), labels)), rel=1e-6)


def test_task_loss_of_classes_and_of_binary_labels():
    outputs = torch.tensor([[1.0], [-2.0]])
    assert float(task_loss(outputs, torch.tensor([[1.0], [0.0]]))) == pytest.approx(
        float(-(outputs * torch.tensor([[1.0], [-1.0]])).sigmoid().log().mean())
    )
    outputs = torch.tensor([[1.0, 0.0], [3.0, 1.0]])
    chosen = outputs.softmax(1)[torch.arange(2), torch.tensor([1, 0])]
    assert float(task_loss(outputs, torch.tensor([1, 0]))) == pytest.approx(float(-chosen.log().mean()))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs=0"),
        ({"batch_size": 1.5}, "batch_size=1.5"),
        ({"test_batch_size": -1}, "test_batch_size=-1"),
        ({"patience": 0}, "patience=0"),
        ({"learning_rate": 0}, "learning_rate=0: give a number between 0 and inf"),
        ({"learning_rate": "fast"}, "learning_rate='fast'"),
        ({"factor": 1.0}, "factor=1.0: give a number between 0 and 1"),
        ({"min_learning_rate": float("nan")}, "min_learning_rate=nan"),
        ({"learning_rate": 1e-6, "patience": 2}, "learning_rate=1e-06, min_learning_rate=1e-05: with patience"),
    ],
)
def test_bad_settings_raise(settings, message):
    with pytest.raises(ValueError, match=message):
        Schedule(**settings)


def test_integral_floats_are_accepted_as_counts():
    assert Schedule(epochs=5.0, batch_size=10.0, patience=6.0) == Schedule(patience=6)  # type: ignore[arg-type]


# Checkpoints


class Memory:
    """A checkpoint in memory, as bytes."""

    def __init__(self):
        self.content, self.saved = None, 0

    def load(self):
        return None if self.content is None else {name: value.clone() for name, value in self.content.items()}

    def save(self, content):
        self.content, self.saved = {name: value.clone() for name, value in content.items()}, self.saved + 1


class StoppedError(Exception):
    pass


def stopping(epoch):
    def progress(share, message):
        if message.startswith(f"epoch {epoch} "):
            raise StoppedError

    return progress


PATIENT = Schedule(0.3, epochs=12, batch_size=6, patience=2, min_learning_rate=0.01)
STEADY = Schedule(0.3, epochs=12, batch_size=6)


def learner_of(method):
    """A learner that has learned a task."""
    learner = method.start(network())
    torch.manual_seed(0)
    learner.learn("a", task_data(0))
    return learner


def task_data(seed):
    inputs, labels = data(seed)
    validation, answers = data(seed + 50, rows=8)
    return TaskData(inputs, labels, inputs, labels, validation, answers)


@pytest.mark.parametrize("schedule", [PATIENT, STEADY], ids=["patient", "steady"])
@pytest.mark.parametrize("kind", ["trgp", "as published", "fine-tuning"])
@pytest.mark.parametrize("stops", [(2,), (5,), (3, 4, 9)])
def test_resumed_training_is_identical_to_the_bit(monkeypatch, tmp_path, schedule, kind, stops):
    """Dropout, shuffling, running statistics, the rate and the best values so far: all are part of a checkpoint."""
    settings: dict[str, Any] = {"threshold": Threshold(0.8), "num_examples": 15, "trust_threshold": 0.1}
    method = {
        "trgp": Trgp(schedule, **settings),
        "as published": Trgp(schedule, **settings, as_published=True),
        "fine-tuning": FineTuning(schedule),
    }[kind]
    monkeypatch.setattr(schedule_module, "CHECKPOINT_SECONDS", -1.0)
    whole, parts = learner_of(method), learner_of(method)
    torch.manual_seed(1)
    whole.learn("b", task_data(1), generator=torch.Generator().manual_seed(1))
    checkpoint = Store(tmp_path).checkpoint("0" * 64)
    for number, epoch in enumerate(stops):
        torch.manual_seed(1 if number == 0 else 100 + number)  # only the first one matters
        with pytest.raises(StoppedError):
            parts.learn(
                "b",
                task_data(1),
                generator=torch.Generator().manual_seed(1),
                checkpoint=checkpoint,
                progress=stopping(epoch),
            )
    seen = []
    torch.manual_seed(99)
    random = torch.Generator().manual_seed(1)
    parts.learn(
        "b", task_data(1), generator=random, checkpoint=checkpoint, progress=lambda _, words: seen.append(words)
    )
    assert seen[0].startswith(f"epoch {stops[-1]} ")  # the interrupted epoch, not the first one
    assert_same(parts.state(), whole.state())


@pytest.mark.parametrize("stop", range(1, 12))
def test_resumed_training_keeps_the_rate_and_the_best_values(monkeypatch, stop):
    """After an interruption at any epoch, the rate, the patience and the best loss and value are restored."""
    losses = [5.0, 4.0, 6.0, 3.0, 6.0, 6.0, 3.5, 3.2, 6.0, 2.0, 6.0, 6.0, 6.0, 6.0]
    schedule = Schedule(1.0, epochs=len(losses), patience=3)
    value, rates, checkpoint = nn.Parameter(torch.zeros(1)), [], Memory()

    def epoch(objective, parameters, batches, rate):
        rates.append(rate)
        parameters[0].data += 1
        return 1

    def learn(progress=None):
        given = {"validation": data(0), "checkpoint": checkpoint, "progress": progress}
        fit(schedule, nn.Identity(), lambda x: cast(Tensor, x), [value], list, **given)

    monkeypatch.setattr(schedule_module, "CHECKPOINT_SECONDS", -1.0)
    monkeypatch.setattr(schedule_module, "run_epoch", epoch)
    monkeypatch.setattr(schedule_module, "_mean_loss", lambda *_: losses[int(value) - 1])
    with pytest.raises(StoppedError):
        learn(stopping(stop + 1))
    rates.pop()  # the rate of the lost epoch
    value.data.fill_(-1.0)
    learn()
    expected, kept = restated(losses, schedule)
    assert len(set(expected)) == 3
    assert rates == expected
    assert kept == 9
    assert value.item() == kept + 1


def test_best_values_include_running_statistics(monkeypatch):
    module, losses, seen = network(), iter([3.0, 1.0, 2.0, 2.0, 2.0]), []

    def loss(*_):
        seen.append({name: value.clone() for name, value in module.state_dict().items()})
        return next(losses)

    monkeypatch.setattr(schedule_module, "_mean_loss", loss)
    schedule = Schedule(0.1, epochs=5, patience=3)
    fit(schedule, module, module, list(module.parameters()), lambda: [data(0)], validation=data(1))
    assert_same(dict(module.state_dict()), seen[1])


def test_checkpoints_are_written_at_intervals(monkeypatch):
    module, checkpoint = nn.Linear(SIZE, CLASSES), Memory()
    parameters = list(module.parameters())
    fit(Schedule(epochs=5), module, module, parameters, lambda: [data(0)], checkpoint=checkpoint)
    assert checkpoint.saved == 0
    monkeypatch.setattr(schedule_module, "CHECKPOINT_SECONDS", -1.0)
    fit(Schedule(epochs=5), module, module, parameters, lambda: [data(0)], checkpoint=checkpoint)
    assert checkpoint.saved == 5


def test_damaged_checkpoint_is_ignored_with_a_warning(monkeypatch, tmp_path):
    monkeypatch.setattr(schedule_module, "CHECKPOINT_SECONDS", -1.0)
    method, checkpoint = Trgp(STEADY, num_examples=15), Store(tmp_path).checkpoint("0" * 64)
    whole, parts = learner_of(method), learner_of(method)
    torch.manual_seed(1)
    whole.learn("b", task_data(1))
    torch.manual_seed(1)
    with pytest.raises(StoppedError):
        parts.learn("b", task_data(1), checkpoint=checkpoint, progress=stopping(4))
    content = bytearray(checkpoint.path.read_bytes())
    content[len(content) // 2] ^= 1
    checkpoint.path.write_bytes(bytes(content))
    torch.manual_seed(1)
    with pytest.warns(UserWarning, match="is damaged; training of its task starts from the beginning"):
        parts.learn("b", task_data(1), checkpoint=checkpoint)
    assert_same(parts.state(), whole.state())


@pytest.mark.parametrize("other", [nn.Linear(SIZE, CLASSES, bias=False), nn.Linear(SIZE, CLASSES + 1)])
def test_checkpoint_with_other_shapes_is_ignored(monkeypatch, other):
    """Another version of a method may have written it."""
    monkeypatch.setattr(schedule_module, "CHECKPOINT_SECONDS", -1.0)
    checkpoint, schedule = Memory(), Schedule(epochs=3)
    fit(schedule, other, other, list(other.parameters()), lambda: [data(0)], checkpoint=checkpoint)
    results = []
    for kept in (None, checkpoint):
        torch.manual_seed(0)
        module, seen = nn.Linear(SIZE, CLASSES), []
        arguments = (schedule, module, module, list(module.parameters()), lambda: [data(0)])
        with contextlib.nullcontext() if kept is None else pytest.warns(UserWarning, match="another version"):
            fit(*arguments, checkpoint=kept, progress=lambda _, words, seen=seen: seen.append(words))
        assert len(seen) == 3
        results.append(dict(module.state_dict()))
    assert_same(*results)
