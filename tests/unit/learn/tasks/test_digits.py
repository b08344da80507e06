"""Digit tasks on a toy MNIST whose images encode their row numbers, and bad settings."""

import dataclasses
import re

import numpy as np
import pytest
import torch
from toys import TINY

from ebbing.data import Mnist
from ebbing.learn import (
    DigitTasks,
    Experiment,
    FiveLayers,
    Occurrence,
    Sgd,
    occurrences,
    prefix_tree,
    train_node,
)
from ebbing.learn.tasks import _datasets
from ebbing.paper import fig2


def numbered(images):
    """Toy images whose first 3 pixels are their row number in base 256."""
    numbers = np.arange(images, dtype=np.uint32)
    return np.stack([numbers >> 16, numbers >> 8 & 255, numbers & 255], axis=1).astype(np.uint8).reshape(images, 1, 3)


LABELS = np.random.default_rng(0).integers(0, 10, 70_000).astype(np.uint8)


@pytest.fixture
def _stand_in(monkeypatch):
    data = Mnist(numbered(60_000), LABELS[:60_000], numbered(10_000), LABELS[60_000:], fingerprint="stand-in")
    monkeypatch.setattr(_datasets, "mnist", lambda: data)


def which(images):
    """The row numbers of toy images."""
    pixels = (images * 255).round().to(torch.int64).flatten(1)
    return (pixels @ torch.tensor([65536, 256, 1])).numpy()


@pytest.mark.usefixtures("_stand_in")
def test_load_draws_distinct_images_with_their_labels():
    task_data = DigitTasks().load(Occurrence("0-3-7", 0), seed=1)
    train_numbers, test_numbers = which(task_data.train_inputs), which(task_data.test_inputs)
    assert len(set(train_numbers)) == len(train_numbers) == 200
    assert len(set(test_numbers)) == len(test_numbers) == 1000
    assert train_numbers.max() > 10_000 > test_numbers.max()  # rows of the training set and of the test set
    for labels, numbers, known in (
        (task_data.train_labels, train_numbers, LABELS[:60_000]),
        (task_data.test_labels, test_numbers, LABELS[60_000:]),
    ):
        expected = [[float(known[number] in (0, 3, 7))] for number in numbers]
        assert labels.dtype == torch.float32
        assert labels.tolist() == expected
        assert {0.0, 1.0} == set(labels.flatten().tolist())
    assert task_data.train_inputs.shape == (200, 1, 1, 3)
    assert task_data.train_inputs.dtype == torch.float32
    assert task_data.train_inputs.min() >= 0
    assert task_data.train_inputs.max() <= 1


@pytest.mark.usefixtures("_stand_in")
def test_load_depends_on_seed_task_and_occurrence_only():
    tasks = DigitTasks(train_images=50, test_images=60)
    same = tasks.load(Occurrence("0-1", 2), seed=3)
    tasks.load(Occurrence("4", 0), seed=9)  # earlier calls have no effect
    np.random.seed(5)  # noqa: NPY002 (the global generators)
    torch.manual_seed(5)
    again = DigitTasks(train_images=50, test_images=60).load(occurrences(["0-1", "2", "0-1", "0-1"])[-1], seed=3)
    for name in ("train_inputs", "train_labels", "test_inputs", "test_labels"):
        assert torch.equal(getattr(same, name), getattr(again, name))
    for occurrence, seed in (
        (Occurrence("0-1", 2), 4),
        (Occurrence("0-1", 1), 3),
        (Occurrence("0-2", 2), 3),
        (Occurrence("0-1", 3), 2),  # seed and occurrence do not add up
    ):
        other = tasks.load(occurrence, seed)
        assert not np.array_equal(which(same.train_inputs), which(other.train_inputs))
        assert not np.array_equal(which(same.test_inputs), which(other.test_inputs))


@pytest.mark.usefixtures("_stand_in")
def test_load_can_return_all_images():
    task_data = DigitTasks(train_images=60_000, test_images=10_000).load(Occurrence("5", 0), seed=0)
    assert sorted(which(task_data.train_inputs)) == list(range(60_000))
    assert sorted(which(task_data.test_inputs)) == list(range(10_000))
    assert float(task_data.test_labels.sum()) == (LABELS[60_000:] == 5).sum()


@pytest.mark.parametrize("task", ["", "a", "10", "0-10", "0-", "-1", "0--1", "0,1", "012", "1-1", "0 1", "½"])
def test_bad_task_names_raise(task):
    with pytest.raises(ValueError, match="write a set of digits as 0-1-2") as caught:
        DigitTasks.digits(task)
    assert repr(task) in str(caught.value)


@pytest.mark.usefixtures("_stand_in")
def test_bad_task_names_raise_in_training():
    node = prefix_tree([["zero"]], seed=0)[1]
    with pytest.raises(ValueError, match="task 'zero': write a set of digits"):
        train_node(Experiment(DigitTasks(), TINY, Sgd(epochs=1)), node, None)


def test_digits_parses_a_task_name():
    assert DigitTasks.digits("7") == [7]
    assert DigitTasks.digits("0-1-2-3-4-5-6-7-8-9") == list(range(10))


# Settings


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: DigitTasks(train_images=0), "train_images=0"),
        (lambda: DigitTasks(test_images=-1), "test_images=-1"),
        (lambda: DigitTasks(train_images=2.5), "train_images=2.5"),  # type: ignore[arg-type]
        (lambda: DigitTasks(train_images=60_001), "60,000 training and 10,000 test images"),
        (lambda: DigitTasks(test_images=10_001), "60,000 training and 10,000 test images"),
        (lambda: FiveLayers(widths=(6, 16, 120)), "give four"),  # type: ignore[arg-type]
        (lambda: FiveLayers(widths=(6, 16, 120, 0)), "width=0"),
        (lambda: FiveLayers(widths=(6, 16, 120, "84")), "width='84'"),  # type: ignore[arg-type]
        (lambda: Sgd(epochs=0), "epochs=0"),
        (lambda: Sgd(epochs=1.5), "epochs=1.5"),  # type: ignore[arg-type]
        (lambda: Sgd(epochs=True), "epochs=True"),
        (lambda: Sgd(batch_size=0), "batch_size=0"),
        (lambda: Sgd(learning_rate=0), "learning_rate=0: give a positive number"),
        (lambda: Sgd(learning_rate=-0.1), "learning_rate=-0.1: give a positive number"),
        (lambda: Sgd(learning_rate=float("nan")), "learning_rate=nan"),
        (lambda: Sgd(learning_rate=float("inf")), "learning_rate=inf"),
        (lambda: Sgd(loss="mse"), "loss='mse': give 'cross-entropy' or 'squared'"),  # type: ignore[arg-type]
        (lambda: fig2.Config(seeds=0), "seeds=0"),
    ],
)
def test_bad_settings_raise(make, named):
    with pytest.raises(ValueError, match=re.escape(named)):
        make()


def test_defaults_are_those_of_the_paper():
    assert (Sgd().learning_rate, Sgd().epochs) == (0.1, 600)
    assert (DigitTasks().train_images, DigitTasks().test_images) == (200, 1000)
    assert (Sgd().batch_size, Sgd().loss, FiveLayers().widths) == (None, "cross-entropy", (6, 16, 120, 84))


def test_settings_are_immutable():
    for settings, name in ((Sgd(), "epochs"), (FiveLayers(), "widths"), (DigitTasks(), "train_images")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(settings, name, 1)


@pytest.mark.usefixtures("_stand_in")
def test_integral_floats_are_accepted_as_counts():
    task_data = DigitTasks(train_images=3.0, test_images=2.0).load(Occurrence("1", 0), seed=0)  # type: ignore[arg-type]
    assert (len(task_data.train_inputs), len(task_data.test_inputs)) == (3, 2)


@pytest.mark.usefixtures("_stand_in")
def test_key_depends_on_the_checksum_of_mnist(monkeypatch):
    def key(**settings):
        return prefix_tree([["a"]], seed=0)[1].key(Experiment(DigitTasks(**settings), TINY, Sgd(epochs=2)).describe())

    before = key()
    data = _datasets.mnist()
    monkeypatch.setattr(_datasets, "mnist", lambda: dataclasses.replace(data, fingerprint="newer"))
    assert key() != before
    assert key() == key(train_images=200)
