"""Training on another device than the CPU: the same numbers, and no tensor on the wrong device.

`test_devices` runs these tests in a process of their own, with the device in the variable DEVICE: PyTorch learns of the
fake device only before its first gradient.
"""

import contextlib
import os
from dataclasses import replace

import fake_device
import numpy as np
import pytest
import torch
from torch import nn
from toys import IDS, METHODS, SCHEDULE, SIZE, Images, assert_same, data, images, perceptron, settings, trained_learner

from ebbing.learn import MLP, Copies, Experiment, FineTuning, Gpm, Sgd, TaskData, TrgpFree, prefix_tree, train_node
from ebbing.learn.training.schedule import CHECKPOINT_SECONDS, Schedule
from ebbing.runs import Store, execute

pytestmark = pytest.mark.usefixtures("quietly")

ONCE = Schedule(0.3, epochs=1, batch_size=6)
ALL = [replace(method, schedule=ONCE) for method in (*METHODS, FineTuning(SCHEDULE), Copies(SCHEDULE))]
ALL_IDS = [*IDS, "fine-tuning", "copies"]


DEVICE = os.environ.get("DEVICE", "cpu")
if DEVICE == "fake":
    fake_device.register()


@pytest.fixture
def device():
    return DEVICE


def assert_equal(device, state, other):
    """Bits on the fake device; numbers up to rounding on a GPU."""
    if device == "fake":
        assert_same(state, other)
    else:
        torch.testing.assert_close(state, other, rtol=1e-3, atol=1e-3)


def test_device_is_strict(device):
    """So that the tests below can fail."""
    there = torch.ones(2, 2, device=device)
    for wrong in (
        lambda: there @ torch.ones(2, 2),
        lambda: torch.cat([there, torch.ones(2, 2)]),
        lambda: there.bernoulli_(0.5, generator=torch.Generator()),
    ):
        with pytest.raises(RuntimeError, match=r"[Ee]xpected"):
            wrong()
    with pytest.raises(TypeError, match="numpy"):
        there.numpy()


@pytest.mark.parametrize("method", ALL, ids=ALL_IDS)
def test_learner_gives_the_same_on_another_device(device, method):
    def network():
        return perceptron(norm=nn.BatchNorm1d(16))

    learner, expected = (trained_learner(method, net, 2, rows=12) for net in (network().to(device), network()))
    assert learner.outputs("task 0", data(0)[0]).device.type == device
    assert {value.device.type for value in learner.state().values()} == {"cpu"}
    assert_equal(device, learner.state(), expected.state())
    inputs, labels = data(1)
    for given in ((inputs, labels), (inputs.to(device), labels.to(device)), [(inputs, labels)]):
        assert learner.accuracy("task 1", given) == expected.accuracy("task 1", (inputs, labels))
    other = method.start(network().to(device))
    other.restore(expected.state())
    other.learn("more", tuple(part.to(device) for part in data(5, rows=12)))
    expected.learn("more", data(5, rows=12))
    assert_equal(device, other.state(), expected.state())


@pytest.mark.parametrize("method", [Gpm(**settings(per_task=("heads",))), TrgpFree(**settings(per_task=("heads",)))])
def test_convolutions_and_custom_loops_on_another_device(device, method):
    states = []
    for where in (device, "cpu"):
        torch.manual_seed(0)
        learner = replace(method, schedule=ONCE).start(Images().to(where))
        learner.learn("a", [images(0)])  # as a loader
        examples = [tuple(part.to(where) for part in images(1))]
        with learner.task("b", examples) as parameters:
            optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
            for inputs, labels in examples * 3:
                optimizer.zero_grad()
                nn.functional.cross_entropy(learner.network(inputs), labels).backward()
                optimizer.step()
        with learner.evaluating("a") as network:
            assert network(images(0)[0].to(where)).device.type == where
        states.append(learner.state())
    assert_equal(device, *states)


class Memory:
    """A checkpoint in memory, which stops training when it is saved."""

    content = None

    def load(self):
        return self.content

    def save(self, content):
        self.content = {name: value.cpu().clone() for name, value in content.items()}
        raise KeyboardInterrupt


def test_checkpoint_resumes_on_another_device(device, monkeypatch):
    """With dropout, whose masks are drawn on the device."""
    schedule, states = Schedule(0.1, epochs=3, batch_size=6, patience=2), []
    (inputs, labels), (more, others) = data(0), data(1)
    task = TaskData(inputs, labels, more, others, more, others).to(device)
    for interrupted in (False, True):
        learner, memory = Gpm(**settings(schedule=schedule)).start(perceptron(dropout=0.5).to(device)), Memory()
        torch.manual_seed(7)
        if interrupted:
            with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
                patch.setattr("ebbing.learn.training.schedule.CHECKPOINT_SECONDS", -1)
                learner.learn("a", task, checkpoint=memory)
            assert memory.content is not None
            torch.manual_seed(99)  # the state comes from the checkpoint
        learner.learn("a", task, checkpoint=memory)
        states.append(learner.state())
    assert CHECKPOINT_SECONDS > 0
    assert_equal(device, *states)


class Blobs:
    """Tasks of points around three centers."""

    fingerprint = "blobs"

    def settings(self):
        return {}

    def load(self, occurrence, seed):
        number = seed + sum(occurrence.task.encode())
        return TaskData(*data(number), *data(number + 1))


@pytest.mark.parametrize("method", [Sgd(epochs=2, batch_size=6), *METHODS[1:2]], ids=["sgd", "trgp"])
def test_executed_sequences_are_the_same_on_another_device(device, method, tmp_path):
    experiment, nodes = Experiment(Blobs(), MLP((SIZE, 8, 3)), method), prefix_tree([["a", "b"]], seed=0)  # type: ignore[arg-type]
    torch.manual_seed(3)
    before = torch.get_rng_state()
    (here, fits), (there, others) = (
        execute(experiment, nodes, Store(tmp_path / where), device=where) for where in ("cpu", device)
    )
    assert torch.equal(torch.get_rng_state(), before)
    for path in here:
        assert list(there[path].values()) == pytest.approx(
            list(here[path].values()), abs=0 if device == "fake" else 0.1
        )
    assert np.allclose([*others.values()][1:], [*fits.values()][1:], atol=0 if device == "fake" else 0.1)  # type: ignore[arg-type]
    first = train_node(experiment, nodes[0], None, device=device)
    assert train_node(experiment, nodes[1], first.weights, device=device).training_error is not None


@pytest.mark.skipif(DEVICE == "fake", reason="PyTorch makes no generator for the fake device")
def test_generator_of_another_device_raises(device):
    with pytest.raises(ValueError, match=r"a generator on cuda.*: give one of the CPU"):
        Gpm().start(perceptron().to(device)).learn("a", data(0), generator=torch.Generator(device))
