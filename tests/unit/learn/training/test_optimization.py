"""Optimizers, schedulers, mixed precision, accumulation and clipping: what they do, and that protection holds."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.optim import LBFGS, SGD, Adam, AdamW, RMSprop
from torch.optim.lr_scheduler import ExponentialLR, LambdaLR, ReduceLROnPlateau
from toys import IDS, METHODS, SCHEDULE, assert_same, data, perceptron, settings, trained_learner

from ebbing.learn import Copies, FineTuning, Gpm, LowRank, Schedule
from ebbing.learn.projection import Threshold
from ebbing.learn.training import schedule as schedule_module
from ebbing.learn.training.optimization import Optimization

pytestmark = pytest.mark.usefixtures("quietly")


def adamw(parameters):
    return AdamW(parameters, lr=0.01, weight_decay=0.1)


OPTIMIZERS: dict[str, Any] = {
    "momentum": lambda parameters: SGD(parameters, 0.1, momentum=0.9, weight_decay=0.1),
    "adamw": adamw,
    "rmsprop": lambda parameters: RMSprop(parameters, 0.003, weight_decay=0.1),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("number", range(len(METHODS)), ids=IDS)
def test_protected_directions_do_not_move(number, optimizer):
    """W M is what it was, column by column, although weight decay and adaptive steps move every other number."""
    method = replace(METHODS[number], threshold=Threshold(0.95))
    learner = method.start(perceptron(dtype=torch.float64))
    learner.learn("a", data(0, dtype=torch.float64), optimizer=optimizer)
    bases = [layer.blocks[0].basis for layer in learner.layers]
    before = [layer.weights[0].clone() for layer in learner.layers]
    learner.learn("b", data(1, dtype=torch.float64), optimizer=optimizer)
    for layer, basis, weight in zip(learner.layers, bases, before, strict=True):
        change = layer.weights[0] - weight
        torch.testing.assert_close(change @ basis, torch.zeros_like(change @ basis), rtol=0, atol=1e-12)
        assert change.abs().max() > 1e-3
    assert learner.accuracy("b", data(1, dtype=torch.float64)) > 0.9


@pytest.mark.parametrize("method", [METHODS[1], FineTuning(SCHEDULE), Copies(SCHEDULE), LowRank(SCHEDULE, rank=2)])
def test_learn_equals_a_loop_with_the_same_optimizer(method):
    batches = list(zip(*(part.split(6) for part in data(1)), strict=True))
    learners = [trained_learner(method, perceptron(), 1) for _ in range(2)]
    torch.manual_seed(5)  # low-rank updates start at random
    learners[0].learn("b", batches, optimizer=adamw, scheduler=lambda steps: ExponentialLR(steps, 0.9), clip_norm=0.5)
    torch.manual_seed(5)
    with learners[1].task("b", batches) as parameters:
        optimizer = adamw(parameters)
        scheduler = ExponentialLR(optimizer, 0.9)
        for _ in range(SCHEDULE.epochs):
            for inputs, labels in batches:
                optimizer.zero_grad()
                functional.cross_entropy(learners[1].network(inputs), labels).backward()
                assert nn.utils.clip_grad_norm_(parameters, 0.5) > 0
                optimizer.step()
                scheduler.step()
    assert_same(learners[0].state(), learners[1].state())


def test_accumulated_batches_equal_larger_ones():
    """Of 24 examples, batches of 7 in pairs make steps of 14 and 10 examples, whatever the last batch's size."""
    inputs, labels = data(0, dtype=torch.float64)

    def learned(sizes, **options):
        learner = FineTuning(SCHEDULE).start(perceptron(dtype=torch.float64))
        learner.learn("a", [*zip(inputs.split(sizes), labels.split(sizes), strict=True)], **options)
        return learner.outputs("a", inputs)

    torch.testing.assert_close(learned(7, accumulate=2), learned([14, 10]), rtol=0, atol=1e-12)
    torch.testing.assert_close(learned(24, clip_norm=1e9), learned(24), rtol=0, atol=1e-12)
    assert not torch.allclose(learned(24, clip_norm=0.1), learned(24), rtol=0, atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("number", [0, 1, 3, 4], ids=["gpm", "trgp", "as published", "free"])
def test_mixed_precision_learns_and_protects(number, dtype):
    seen = []
    network = perceptron()
    network[2].register_forward_hook(lambda _, given, __: seen.append(given[0].dtype) if network.training else None)
    learner = replace(METHODS[number], threshold=Threshold(1.0)).start(network)
    learner.learn("a", data(0, 5), optimizer=lambda p: Adam(p, 0.02), mixed_precision=dtype)
    before = learner.outputs("a", data(0, 5)[0])
    assert before.dtype == torch.float32
    learner.learn("b", data(1, 5), optimizer=lambda p: Adam(p, 0.02), mixed_precision=dtype)
    assert (learner.outputs("a", data(0, 5)[0]) - before).abs().max() < 1e-5
    assert learner.accuracy("b", data(1, 5)) == 1
    assert {*seen} <= {dtype, torch.float32}


def test_mixed_precision_is_used():
    learner, seen = FineTuning(SCHEDULE).start(perceptron()), []
    learner.network.get_submodule("2").register_forward_hook(lambda _, given, __: seen.append(given[0].dtype))
    learner.learn("a", data(0), mixed_precision=torch.bfloat16)
    assert {*seen} == {torch.bfloat16}


def test_custom_loss_is_minimized():
    inputs, targets = data(0)[0], torch.randn(24, 3)
    learner = METHODS[1].start(perceptron())
    before = functional.mse_loss(learner.outputs(None, inputs), targets)
    for task in ("a", "b"):
        learner.learn(task, (inputs, targets), loss=functional.mse_loss, optimizer=lambda p: Adam(p, 0.01))
    assert functional.mse_loss(learner.outputs("b", inputs), targets) < 0.7 * before
    with pytest.raises(ValueError, match="learned with a loss of your own"):
        learner.accuracy("a", (inputs, targets))
    with pytest.raises(ValueError, match="for another loss give it as loss="):
        learner.learn("c", (inputs, targets))


def test_patience_reduces_the_rate_of_an_optimizer():
    rates: list[float] = []

    class Recording(SGD):
        def step(self, closure=None):  # type: ignore[override]
            rates.append(self.param_groups[0]["lr"])
            return super().step(closure)

    method = Gpm(**settings(schedule=Schedule(1.0, epochs=12, batch_size=24, patience=1, min_learning_rate=0.3)))
    learner = method.start(perceptron())
    learner.learn("a", data(0), validation=data(5), optimizer=lambda p: Recording(p, 1.0))
    assert rates[0] == 1.0
    assert {*rates} == {1.0, 0.5}  # 0.25 is below the smallest rate
    with pytest.raises(ValueError, match=r"an optimizer of learning rate 0\.1, min_learning_rate=0\.3: .* never start"):
        learner.learn("b", data(0), validation=data(5), optimizer=lambda p: SGD(p, 0.1))
    with pytest.raises(ValueError, match="patience=1 and a scheduler both set the learning rate: give one"):
        learner.learn(
            "b", data(0), validation=data(5), optimizer=adamw, scheduler=lambda steps: ExponentialLR(steps, 0.9)
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimizer": SGD([nn.Parameter(torch.ones(1))])}, r"optimizer=SGD\(...\): .* give a function of them"),
        ({"optimizer": "adam"}, r"optimizer=str\(...\)"),
        ({"optimizer": lambda parameters: None}, "optimizer= returned a NoneType: return a torch.optim.Optimizer"),
        ({"optimizer": LBFGS}, "LBFGS evaluates the loss several times in a step: write a loop inside task"),
        ({"optimizer": lambda _: SGD([nn.Parameter(torch.ones(1))], 0.1)}, "an optimizer of other parameters"),
        ({"scheduler": lambda steps: ExponentialLR(steps, 0.9)}, "a scheduler without an optimizer"),
        ({"optimizer": adamw, "scheduler": 3}, r"scheduler=int\(...\): give a function of the optimizer"),
        ({"optimizer": adamw, "scheduler": lambda steps: steps}, "scheduler= returned a AdamW: return a scheduler"),
        ({"optimizer": adamw, "scheduler": ReduceLROnPlateau}, "needs a validation loss: give the schedule a patience"),
        ({"mixed_precision": "bf16"}, "mixed_precision='bf16': give torch.bfloat16 or torch.float16"),
        ({"accumulate": 0}, "accumulate=0"),
        ({"clip_norm": -1.0}, r"clip_norm=-1\.0: give the largest norm"),
        ({"clip_norm": True}, "clip_norm=True"),
    ],
)
def test_wrong_settings_raise_and_change_nothing(options, message):
    for method in (METHODS[1], FineTuning(SCHEDULE)):
        learner = method.start(perceptron())
        before = learner.state()
        with pytest.raises(ValueError, match=message):
            learner.learn("a", data(0), **options)
        assert_same(learner.state(), before)


def test_default_settings_are_plain():
    assert Optimization().is_plain
    assert not Optimization(accumulate=2).is_plain


# Checkpoints


class Memory:
    """A checkpoint in memory; everything is copied, as a file does."""

    content: dict[str, torch.Tensor] | None = None

    def load(self):
        return self.content

    def save(self, content):
        self.content = {name: value.clone() for name, value in content.items()}


class StoppedError(Exception):
    pass


def stop_after(epochs):
    def progress(share, message):
        if share >= epochs / SCHEDULE.epochs:
            raise StoppedError

    return progress


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_resumed_training_continues_the_optimizer(monkeypatch, optimizer):
    monkeypatch.setattr(schedule_module, "CHECKPOINT_SECONDS", -1.0)
    options = {"optimizer": optimizer, "scheduler": lambda steps: LambdaLR(steps, lambda step: 0.95**step)}
    whole, parts = (trained_learner(METHODS[1], perceptron(), 1) for _ in range(2))
    whole.learn("b", data(1), **options)
    checkpoint = Memory()
    for stop in (2, 3):
        with pytest.raises(StoppedError):
            parts.learn("b", data(1), **options, checkpoint=checkpoint, progress=stop_after(stop))
    parts.learn("b", data(1), **options, checkpoint=checkpoint)
    assert_same(parts.state(), whole.state())


def test_checkpoint_of_another_optimizer_is_ignored(monkeypatch):
    monkeypatch.setattr(schedule_module, "CHECKPOINT_SECONDS", -1.0)
    checkpoint, learner = Memory(), FineTuning(SCHEDULE).start(perceptron())
    with pytest.raises(StoppedError):
        learner.learn("a", data(0), optimizer=adamw, checkpoint=checkpoint, progress=stop_after(2))
    for options in ({}, {"optimizer": OPTIMIZERS["momentum"]}):
        other, expected = (FineTuning(SCHEDULE).start(perceptron()) for _ in range(2))
        with pytest.warns(UserWarning, match="the checkpoint of this task is of another version or network"):
            other.learn("a", data(0), **options, checkpoint=checkpoint)
        expected.learn("a", data(0), **options)
        assert_same(other.state(), expected.state())
