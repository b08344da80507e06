"""The sequence engine on made-up tasks of a few images: the tree, samples, the network, SGD, training and keys.

Nothing here needs MNIST: where its sampling is tested, the images of a stand-in show their own numbers.
"""

import dataclasses
import json
import os
import re
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from ebbing.data import Mnist
from ebbing.learn import (
    DigitTasks,
    FiveLayers,
    Lesson,
    Node,
    Sample,
    Sgd,
    Training,
    error_matrix,
    lessons,
    train,
    train_plainly,
    tree,
)
from ebbing.learn import tasks as tasks_module
from ebbing.learn.sequences import error, one_thread
from ebbing.learn.tasks import Tasks
from ebbing.paper import fig2

TOLERANCE = 1e-5
"""How far the error matrix of the engine (one thread) may be from the plain loop's with threads inside operations.

After a few epochs, that is: threads round differently, and training magnifies it (on these tasks 1e-8 after 6 epochs,
1e-5 after 30, 0.2 after 100). On one thread the two agree to the bit, however long.
"""


@dataclass(frozen=True)
class Toy:
    """A user's own tasks: random images, half of them brighter in a corner that depends on the task."""

    images: int = 20
    data: str = "toy"

    @property
    def identity(self) -> str:
        return self.data

    def sample(self, lesson: Lesson, seed: int) -> Sample:
        random = np.random.default_rng([seed, *lesson.task.encode(), lesson.occurrence])
        return Sample(*self._half(lesson, random), *self._half(lesson, random))

    def _half(self, lesson: Lesson, random: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        labels = random.integers(0, 2, self.images)
        images = random.random((self.images, 1, 28, 28), np.float32)
        corner = sum(lesson.task.encode()) % 4
        images[:, :, 14 * (corner // 2) :, 14 * (corner % 2) :] += labels[:, None, None, None]
        return torch.from_numpy(images), torch.from_numpy(labels[:, None].astype(np.float32))


TINY = FiveLayers(widths=(2, 3, 4, 5))
TRAINING = Training(Toy(), TINY, Sgd(epochs=2))


def flat(network):
    return torch.cat([parameter.detach().flatten() for parameter in network.parameters()])


# The tree


def test_a_prefix_stands_once_and_after_its_parent():
    nodes = tree([["a", "b", "c"], ["a", "b", "a"], ["b"], ["a", "b", "c"]], seed=7)
    paths = [tuple(map(str, node.path)) for node in nodes]
    assert sorted(paths) == [
        (),
        ("a#0",),
        ("a#0", "b#0"),
        ("a#0", "b#0", "a#1"),
        ("a#0", "b#0", "c#0"),
        ("b#0",),
    ]
    for i, node in enumerate(nodes):
        assert node.parent is None if i == 0 else node.parent in {other.path for other in nodes[:i]}
    assert {node.seed for node in nodes} == {7}
    assert [path for path, node in zip(paths, nodes, strict=True) if node.has_children] == [
        (),
        ("a#0",),
        ("a#0", "b#0"),
    ]


def test_a_node_is_tested_on_the_lessons_of_the_sequences_through_it():
    nodes = {node.path: set(map(str, node.tested)) for node in tree([["a", "b"], ["a", "c", "a"], ["d"]], seed=0)}
    assert nodes[()] == {"a#0", "a#1", "b#0", "c#0", "d#0"}
    assert nodes[lessons(["a"])] == {"a#0", "a#1", "b#0", "c#0"}
    assert nodes[lessons(["a", "b"])] == {"a#0", "b#0"}
    assert nodes[lessons(["a", "c", "a"])] == {"a#0", "a#1", "c#0"}
    assert nodes[lessons(["d"])] == {"d#0"}


def test_the_tree_does_not_depend_on_the_order_of_sequences():
    sequences = [["a", "b"], ["b", "a"], ["a", "a", "c"]]
    assert tree(sequences, 0) == tree(sequences[::-1], 0)


def test_figure_2_has_240_lessons_and_171_trainings_and_an_initial_network_per_seed():
    drawn = [sequence for setups in fig2.SETUPS.values() for setup in setups.values() for sequence in setup]
    assert sum(map(len, drawn)) == 240
    assert set(drawn) == set(fig2.sequences())
    nodes = tree(fig2.sequences(), seed=0)
    assert len(nodes) == 1 + 171
    prefixes = {lessons(sequence)[:t] for sequence in drawn for t in range(len(sequence) + 1)}
    assert {node.path for node in nodes} == prefixes
    assert len({node.key(TRAINING.describe()) for seed in range(2) for node in tree(drawn, seed)}) == 2 * 172


def test_an_empty_sequence_is_refused():
    with pytest.raises(ValueError, match="an empty sequence: give at least one task"):
        tree([["a"], []], seed=0)


def test_occurrences_count_from_0():
    assert lessons(("a", "b", "a", "a", "b")) == (
        Lesson("a", 0),
        Lesson("b", 0),
        Lesson("a", 1),
        Lesson("a", 2),
        Lesson("b", 1),
    )
    assert lessons([]) == ()
    assert str(Lesson("0-1", 3)) == "0-1#3"


# Samples of MNIST


def numbered(images):
    """Stand-ins of 3 pixels that write their own number to base 256."""
    numbers = np.arange(images, dtype=np.uint32)
    return np.stack([numbers >> 16, numbers >> 8 & 255, numbers & 255], axis=1).astype(np.uint8).reshape(images, 1, 3)


LABELS = np.random.default_rng(0).integers(0, 10, 70_000).astype(np.uint8)


@pytest.fixture
def _stand_in(monkeypatch):
    data = Mnist(numbered(60_000), LABELS[:60_000], numbered(10_000), LABELS[60_000:], identity="stand-in")
    monkeypatch.setattr(tasks_module, "_mnist", lambda: data)


def which(images):
    """The numbers of stand-ins."""
    pixels = (images * 255).round().to(torch.int64).flatten(1)
    return (pixels @ torch.tensor([65536, 256, 1])).numpy()


@pytest.mark.usefixtures("_stand_in")
def test_a_sample_has_no_image_twice_and_the_right_labels():
    sample = DigitTasks().sample(Lesson("0-3-7", 0), seed=1)
    train_numbers, test_numbers = which(sample.train_inputs), which(sample.test_inputs)
    assert len(set(train_numbers)) == len(train_numbers) == 200
    assert len(set(test_numbers)) == len(test_numbers) == 1000
    assert train_numbers.max() > 10_000 > test_numbers.max()  # of the training set, of the test set
    for labels, numbers, known in (
        (sample.train_labels, train_numbers, LABELS[:60_000]),
        (sample.test_labels, test_numbers, LABELS[60_000:]),
    ):
        expected = [[float(known[number] in (0, 3, 7))] for number in numbers]
        assert labels.dtype == torch.float32
        assert labels.tolist() == expected
        assert {0.0, 1.0} == set(labels.flatten().tolist())
    assert sample.train_inputs.shape == (200, 1, 1, 3)
    assert sample.train_inputs.dtype == torch.float32
    assert sample.train_inputs.min() >= 0
    assert sample.train_inputs.max() <= 1


@pytest.mark.usefixtures("_stand_in")
def test_a_sample_depends_on_seed_identity_and_occurrence_only():
    tasks = DigitTasks(train_images=50, test_images=60)
    same = tasks.sample(Lesson("0-1", 2), seed=3)
    tasks.sample(Lesson("4", 0), seed=9)  # what was asked before
    np.random.seed(5)  # noqa: NPY002 (the global generators)
    torch.manual_seed(5)
    again = DigitTasks(train_images=50, test_images=60).sample(lessons(["0-1", "2", "0-1", "0-1"])[-1], seed=3)
    for name in ("train_inputs", "train_labels", "test_inputs", "test_labels"):
        assert torch.equal(getattr(same, name), getattr(again, name))
    for lesson, seed in (
        (Lesson("0-1", 2), 4),
        (Lesson("0-1", 1), 3),
        (Lesson("0-2", 2), 3),
        (Lesson("0-1", 3), 2),  # seed and occurrence do not add up
    ):
        other = tasks.sample(lesson, seed)
        assert not np.array_equal(which(same.train_inputs), which(other.train_inputs))
        assert not np.array_equal(which(same.test_inputs), which(other.test_inputs))


@pytest.mark.usefixtures("_stand_in")
def test_all_images_may_be_asked_for():
    sample = DigitTasks(train_images=60_000, test_images=10_000).sample(Lesson("5", 0), seed=0)
    assert sorted(which(sample.train_inputs)) == list(range(60_000))
    assert sorted(which(sample.test_inputs)) == list(range(10_000))
    assert float(sample.test_labels.sum()) == (LABELS[60_000:] == 5).sum()


@pytest.mark.parametrize("task", ["", "a", "10", "0-10", "0-", "-1", "0--1", "0,1", "012", "1-1", "0 1", "½"])
def test_what_is_no_set_of_digits_is_refused(task):
    with pytest.raises(ValueError, match="write a set of digits as 0-1-2") as caught:
        DigitTasks.digits(task)
    assert repr(task) in str(caught.value)


@pytest.mark.usefixtures("_stand_in")
def test_bad_task_names_are_refused_by_training_as_well():
    node = tree([["zero"]], seed=0)[1]
    with pytest.raises(ValueError, match="task 'zero': write a set of digits"):
        train(Training(DigitTasks(), TINY, Sgd(epochs=1)), node, None)


def test_digits_of_a_task():
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
def test_impossible_settings_are_refused(make, named):
    with pytest.raises(ValueError, match=re.escape(named)):
        make()


def test_defaults_are_the_papers_values():
    assert (Sgd().learning_rate, Sgd().epochs) == (0.1, 600)
    assert (DigitTasks().train_images, DigitTasks().test_images) == (200, 1000)
    assert (Sgd().batch_size, Sgd().loss, FiveLayers().widths) == (None, "cross-entropy", (6, 16, 120, 84))


def test_settings_cannot_change_after_construction():
    for settings, name in ((Sgd(), "epochs"), (FiveLayers(), "widths"), (DigitTasks(), "train_images")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(settings, name, 1)


# The network


def test_shapes_of_the_network():
    network = FiveLayers(widths=(3, 5, 7, 9)).build(seed=0)
    shapes = [tuple(parameter.shape) for parameter in network.parameters() if parameter.ndim > 1]
    assert shapes == [(3, 1, 5, 5), (5, 3, 5, 5), (7, 5 * 8 * 8), (9, 7), (1, 9)]
    assert network(torch.zeros(4, 1, 28, 28)).shape == (4, 1)
    assert sum(parameter.numel() for parameter in FiveLayers().build(0).parameters()) == 135_821  # LeNet's widths


def test_the_network_computes_what_the_paper_draws():
    network = FiveLayers(widths=(2, 3, 4, 5)).build(seed=1)
    layers = dict(network.named_children())
    drawn = nn.Sequential(
        *(layers["conv1"], nn.ReLU(), nn.MaxPool2d(2), layers["conv2"], nn.ReLU(), nn.Flatten()),
        *(layers["linear1"], nn.ReLU(), layers["linear2"], nn.ReLU(), layers["linear3"], nn.Sigmoid()),
    )
    images = torch.randn(6, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(network(images).sigmoid(), drawn(images))


def test_the_network_is_determined_by_the_seed_and_leaves_the_global_generator_alone():
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    first = flat(TINY.build(seed=5))
    assert torch.equal(torch.rand(4), expected)
    assert torch.equal(flat(TINY.build(seed=5)), first)
    assert not torch.equal(flat(TINY.build(seed=6)), first)


def test_initial_networks_are_pytorchs_default():
    torch.manual_seed(11)
    expected = torch.cat(
        [
            torch.cat([parameter.detach().flatten() for parameter in layer.parameters()])
            for layer in (nn.Conv2d(1, 2, 5), nn.Conv2d(2, 3, 5), nn.Linear(192, 4), nn.Linear(4, 5), nn.Linear(5, 1))
        ]
    )
    built = torch.cat([parameter.detach().contiguous().flatten() for parameter in TINY.build(11).parameters()])
    assert torch.equal(built, expected)


def test_networks_built_in_two_threads_are_those_built_alone(monkeypatch):
    """A Dask worker has several threads by default. Here the second build begins in the middle of the first."""
    alone, built, reset = [flat(TINY.build(seed)) for seed in range(2)], {}, nn.Linear.reset_parameters
    midway, finished = threading.Event(), threading.Event()

    def build_second():
        built[1] = flat(TINY.build(1))

    second = threading.Thread(target=build_second)

    def reset_parameters(layer):
        if layer.in_features == 192 and threading.current_thread() is second:
            midway.set()
            finished.wait(5)
        elif layer.in_features == 192:
            second.start()
            midway.wait(1)  # in vain, if builds wait for each other
        reset(layer)

    monkeypatch.setattr(nn.Linear, "reset_parameters", reset_parameters)
    built[0] = flat(TINY.build(0))
    finished.set()
    second.join()
    assert [torch.equal(built[seed], alone[seed]) for seed in range(2)] == [True, True]


# SGD


class Line(nn.Module):
    """One weight per input and a bias, in double precision."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([[0.3], [-0.2], [0.5]], dtype=torch.float64))
        self.bias = nn.Parameter(torch.tensor([0.1], dtype=torch.float64))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs @ self.weight + self.bias


def line_sample(n=8):
    random = np.random.default_rng(1)
    inputs = torch.from_numpy(random.standard_normal((n, 3)))
    labels = torch.from_numpy(random.integers(0, 2, (n, 1)).astype(float))
    return Sample(inputs, labels, inputs, labels)


def derivative(loss, logits, labels):
    """Of the mean loss in the logits, by hand."""
    p = 1 / (1 + np.exp(-logits))
    slope = p - labels if loss == "cross-entropy" else 2 * (p - labels) * p * (1 - p)
    return slope / len(labels)


@pytest.mark.parametrize("loss", ["cross-entropy", "squared"])
def test_steps_are_those_of_the_formula(loss):
    sample, network = line_sample(), Line()
    Sgd(learning_rate=0.7, epochs=3, loss=loss).learn(network, sample, torch.Generator())
    inputs, labels = sample.train_inputs.numpy(), sample.train_labels.numpy()
    weight, bias = np.array([[0.3], [-0.2], [0.5]]), np.array([0.1])
    for _ in range(3):
        slope = derivative(loss, inputs @ weight + bias, labels)
        weight, bias = weight - 0.7 * inputs.T @ slope, bias - 0.7 * slope.sum(0)
    np.testing.assert_allclose(network.weight.detach().numpy(), weight, rtol=1e-13)
    np.testing.assert_allclose(network.bias.detach().numpy(), bias, rtol=1e-13)


def test_small_batches_are_steps_on_a_random_order_of_the_sample():
    sample, network = line_sample(n=7), Line()
    Sgd(learning_rate=0.4, epochs=2, batch_size=3).learn(network, sample, torch.Generator().manual_seed(5))
    random = torch.Generator().manual_seed(5)
    expected = Line()
    for _ in range(2):
        order = torch.randperm(7, generator=random)
        for batch in (order[:3], order[3:6], order[6:]):
            part = Sample(sample.train_inputs[batch], sample.train_labels[batch], *2 * [torch.empty(0)])
            Sgd(learning_rate=0.4, epochs=1).learn(expected, part, torch.Generator())
    assert torch.equal(flat(network), flat(expected))
    other = Line()
    Sgd(learning_rate=0.4, epochs=2, batch_size=3).learn(other, sample, torch.Generator().manual_seed(6))
    assert not torch.equal(flat(network), flat(other))


@pytest.mark.parametrize("size", [20, 21, 10**6])
def test_a_batch_as_large_as_the_sample_is_the_full_batch(size):
    """To 1e-6: the order of summation would be free, though today even the bits agree."""
    node = tree([["a"]], seed=0)[1]
    full = train(TRAINING, node, None)
    other = train(Training(Toy(), TINY, Sgd(epochs=2, batch_size=size)), node, None)
    assert other.errors == pytest.approx(full.errors, abs=1e-6)
    assert other.fit == pytest.approx(full.fit, abs=1e-6)


def test_the_loss_matters_and_small_batches_too():
    node = tree([["a"]], seed=0)[1]
    weights = {
        train(Training(Toy(), TINY, method), node, None).weights
        for method in (Sgd(epochs=2), Sgd(epochs=2, loss="squared"), Sgd(epochs=2, batch_size=5), Sgd(epochs=3))
    }
    assert len(weights) == 4


def test_enough_training_fits_a_task_and_changes_the_others():
    outcome = train(Training(Toy(), FiveLayers(), Sgd(epochs=100)), tree([["a", "b"]], seed=0)[1], None)
    assert outcome.fit is not None
    assert outcome.fit < 0.01
    assert outcome.errors["a#0"] < 0.01
    assert outcome.errors["b#0"] > 0.2


def test_learning_leaves_no_gradients_and_only_touches_the_network():
    sample, network = line_sample(), Line()
    inputs, labels = sample.train_inputs.clone(), sample.train_labels.clone()
    Sgd(epochs=1).learn(network, sample, torch.Generator())
    assert torch.equal(sample.train_inputs, inputs)
    assert torch.equal(sample.train_labels, labels)
    assert all(parameter.grad is None for parameter in network.parameters())


# Training


def test_squared_error_is_the_mean_square_after_the_sigmoid():
    sample, network = line_sample(), Line()
    p = 1 / (1 + np.exp(-(network(sample.test_inputs).detach().numpy())))
    expected = np.mean((p - sample.test_labels.numpy()) ** 2)
    assert error(network(sample.test_inputs), sample.test_labels) == pytest.approx(expected, rel=1e-12)


def grown(training, sequences, seed=0):
    """The tree trained node by node: (errors, fits, weights) by path."""
    outcomes = {}
    for node in tree(sequences, seed):
        parent = None if node.parent is None else outcomes[node.parent].weights
        outcomes[node.path] = train(training, node, parent)
    return outcomes


SEQUENCES = [("a", "b", "a"), ("a", "b", "c"), ("b", "b")]


@pytest.mark.parametrize("method", [Sgd(epochs=3), Sgd(epochs=2, batch_size=6, loss="squared")], ids=["full", "small"])
def test_the_tree_equals_the_plain_loop_to_the_bit_on_one_thread(method):
    training = Training(Toy(), TINY, method)
    outcomes = grown(training, SEQUENCES)
    for sequence in SEQUENCES:
        with one_thread():
            matrix, fits = train_plainly(training, sequence, seed=0)
        whole = lessons(sequence)
        rows = {path: outcome.errors for path, outcome in outcomes.items()}
        assert matrix.shape == (len(sequence) + 1, len(sequence))
        np.testing.assert_array_equal(error_matrix(sequence, rows), matrix)
        assert [outcomes[whole[:t]].fit for t in range(1, len(whole) + 1)] == fits
        assert np.unique(matrix).size > len(sequence)  # not all the same


def test_after_six_epochs_the_tree_equals_the_plain_loop_to_1e_5_with_threads_inside_operations():
    training = Training(Toy(images=100), FiveLayers(), Sgd(epochs=6))
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        matrix, fits = train_plainly(training, ("a", "b"), seed=1)
    finally:
        torch.set_num_threads(before)
    outcomes = grown(training, [("a", "b")], seed=1)
    np.testing.assert_allclose(
        error_matrix(("a", "b"), {path: outcome.errors for path, outcome in outcomes.items()}), matrix, atol=TOLERANCE
    )
    assert [outcomes[lessons(("a", "b"))[:t]].fit for t in (1, 2)] == pytest.approx(fits, abs=TOLERANCE)
    assert np.abs(np.diff(matrix, axis=0)).max() > 100 * TOLERANCE  # training did far more than the tolerance


def test_training_twice_gives_the_same_bytes_whatever_the_threads():
    node = tree([["a", "b"]], seed=0)[1]
    first = train(TRAINING, node, None)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        second = train(TRAINING, node, None)
        assert torch.get_num_threads() == 3  # as it was
    finally:
        torch.set_num_threads(before)
    assert first == second
    assert first.weights != train(TRAINING, dataclasses.replace(node, seed=1), None).weights


def test_nodes_trained_in_threads_are_those_trained_alone():
    nodes = [tree([[task]], seed=0)[1] for task in "abcd"]
    weights, together = initial_weights(), {}
    alone = [train(TRAINING, node, weights) for node in nodes]

    def work(i):
        together[i] = train(TRAINING, nodes[i], weights)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[i] for i in range(4)] == alone


def initial_weights():
    return train(TRAINING, tree([["a"]], seed=0)[0], None).weights


def test_threads_are_given_back_after_an_error():
    @dataclass(frozen=True)
    class Broken(Toy):
        def sample(self, lesson: Lesson, seed: int) -> Sample:
            raise RuntimeError(f"{torch.get_num_threads()} threads")

    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    try:
        with pytest.raises(RuntimeError, match=r"^1 threads"):
            train(Training(Broken(), TINY, Sgd(epochs=1)), NODE, initial_weights())
        assert torch.get_num_threads() == before + 1
    finally:
        torch.set_num_threads(before)


def test_the_initial_network_has_errors_but_no_fit():
    outcome = train(TRAINING, tree([["a", "b"]], seed=0)[0], None)
    assert outcome.fit is None
    assert set(outcome.errors) == {"a#0", "b#0"}
    assert all(0 < error < 1 for error in outcome.errors.values())


def test_the_weights_of_the_parent_are_where_training_starts():
    child = tree([["a", "b"]], seed=0)[2]
    right, wrong = grown(TRAINING, [("a", "b")])[lessons(["a"])], initial_weights()
    assert train(TRAINING, child, right.weights).errors != train(TRAINING, child, wrong).errors


@dataclass(frozen=True)
class Linear:
    """A user's own network."""

    inputs: int

    def build(self, seed: int) -> nn.Module:
        network = nn.Sequential(nn.Flatten(), nn.Linear(self.inputs, 1))
        random = torch.Generator().manual_seed(seed)
        for parameter in network.parameters():
            nn.init.normal_(parameter, generator=random)
        return network


@dataclass(frozen=True)
class Points:
    """A user's own tasks without images: random points, made from tensors."""

    identity: str = "points"

    def sample(self, lesson: Lesson, seed: int) -> Sample:
        random = torch.Generator().manual_seed(seed + sum(lesson.task.encode()) + 1000 * lesson.occurrence)
        inputs = torch.randn(10, 4, generator=random)
        labels = (inputs[:, :1] > 0).to(torch.float32)
        return Sample(inputs, labels, inputs.flip(0), labels.flip(0))


@dataclass(frozen=True)
class Weighted:
    """A user's own way to learn: no gradient at all."""

    version: ClassVar[int] = 3
    factor: float = 0.5

    def learn(self, network: nn.Module, sample: Sample, random: torch.Generator) -> None:
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.mul_(self.factor)


def test_tasks_networks_and_methods_of_users():
    training = Training(Points(), Linear(4), Sgd(epochs=3))
    matrix, _ = train_plainly(training, ["x", "y", "x"], seed=0)
    rows = {path: outcome.errors for path, outcome in grown(training, [("x", "y", "x")]).items()}
    np.testing.assert_allclose(error_matrix(["x", "y", "x"], rows), matrix, atol=TOLERANCE)

    shrunk = Training(Points(), Linear(4), Weighted())
    network = Linear(4).build(0)
    Weighted().learn(network, Points().sample(Lesson("x", 0), 0), torch.Generator())
    torch.testing.assert_close(flat(network), flat(Linear(4).build(0)) / 2)
    assert shrunk.describe()["method"] == {"kind": "Weighted", "factor": 0.5, "version": 3}
    assert train_plainly(shrunk, ["x"], seed=0)[0].shape == (2, 1)


def test_labels_of_another_shape_than_outputs_are_refused():
    @dataclass(frozen=True)
    class Flat(Points):
        def sample(self, lesson: Lesson, seed: int) -> Sample:
            sample = super().sample(lesson, seed)
            return dataclasses.replace(sample, test_labels=sample.test_labels.flatten())

    with pytest.raises(ValueError, match="labels"):
        train(Training(Flat(), Linear(4), Sgd(epochs=1)), tree([["x"]], seed=0)[1], None)


@pytest.mark.parametrize(
    ("tasks", "method"),
    [(Toy(), Sgd(epochs=2.0)), (Toy(), Sgd(epochs=2, batch_size=5.0))],  # type: ignore[arg-type]
)
def test_whole_floats_count_as_whole_numbers(tasks, method):
    exact = Sgd(epochs=2, batch_size=None if method.batch_size is None else 5)
    node = tree([["a"]], seed=0)[1]
    assert node.key(Training(tasks, TINY, method).describe()) == node.key(Training(tasks, TINY, exact).describe())
    assert train(Training(tasks, TINY, method), node, None) == train(Training(tasks, TINY, exact), node, None)


@pytest.mark.usefixtures("_stand_in")
def test_whole_floats_count_as_whole_numbers_of_images():
    sample = DigitTasks(train_images=3.0, test_images=2.0).sample(Lesson("1", 0), seed=0)  # type: ignore[arg-type]
    assert (len(sample.train_inputs), len(sample.test_inputs)) == (3, 2)


# Keys


NODE = tree([["a", "b"]], seed=0)[2]


def key(tasks: Tasks = Toy(), architecture=TINY, method=Sgd(epochs=2), node=NODE):  # noqa: B008 (frozen)
    return node.key(Training(tasks, architecture, method).describe())


@dataclass(frozen=True)
class OtherSgd(Sgd):
    """The same settings by another method."""


@dataclass(frozen=True)
class Newer(Sgd):
    version: ClassVar[int] = 2


Newer.__name__ = "Sgd"


def test_a_key_changes_with_all_that_determines_the_weights():
    keys = [
        key(),
        key(tasks=Toy(images=21)),
        key(tasks=Toy(data="other data")),
        key(architecture=FiveLayers(widths=(2, 3, 4, 6))),
        key(architecture=FiveLayers(widths=(3, 2, 4, 5))),
        key(method=Sgd(epochs=3)),
        key(method=Sgd(epochs=2, learning_rate=0.2)),
        key(method=Sgd(epochs=2, batch_size=20)),
        key(method=Sgd(epochs=2, loss="squared")),
        key(method=OtherSgd(epochs=2)),
        key(method=Newer(epochs=2)),
        key(tasks=Points()),
        key(node=dataclasses.replace(NODE, seed=1)),
        key(node=dataclasses.replace(NODE, path=NODE.path[::-1])),
        key(node=dataclasses.replace(NODE, path=NODE.path[:1])),
        key(node=dataclasses.replace(NODE, path=())),
        key(node=dataclasses.replace(NODE, path=(Lesson("a", 0), Lesson("b", 1)))),
        key(node=dataclasses.replace(NODE, path=(Lesson("a", 1), Lesson("b", 0)))),
        key(node=dataclasses.replace(NODE, path=(Lesson("a#0", 0), Lesson("b", 0)))),
    ]
    assert len(set(keys)) == len(keys)
    assert all(len(key) == 64 and set(key) <= set("0123456789abcdef") for key in keys)


@pytest.mark.usefixtures("_stand_in")
def test_the_checksum_of_mnist_is_part_of_the_key(monkeypatch):
    before = key(tasks=DigitTasks())
    data = tasks_module._mnist()
    monkeypatch.setattr(tasks_module, "_mnist", lambda: dataclasses.replace(data, identity="newer"))
    assert key(tasks=DigitTasks()) != before
    assert key(tasks=DigitTasks()) == key(tasks=DigitTasks(train_images=200))


def test_a_key_depends_on_nothing_else():
    assert key() == key(tasks=Toy(), architecture=FiveLayers(widths=(2, 3, 4, 5)), method=Sgd(0.1, 2))
    assert key() == key(node=dataclasses.replace(NODE, tested=(), has_children=True))
    reordered = {name: dict(reversed(part.items())) for name, part in reversed(TRAINING.describe().items())}
    assert list(reordered) != list(TRAINING.describe())
    assert key() == NODE.key(reordered)


def test_settings_by_name():
    assert TRAINING.describe() == {
        "tasks": {"kind": "Toy", "images": 20, "data": "toy", "identity": "toy"},
        "architecture": {"kind": "FiveLayers", "widths": (2, 3, 4, 5), "version": FiveLayers().version},
        "method": {
            "kind": "Sgd",
            "learning_rate": 0.1,
            "epochs": 2,
            "batch_size": None,
            "loss": "cross-entropy",
            "version": Sgd.version,
        },
    }
    json.dumps(TRAINING.describe())


def test_keys_are_the_same_in_every_process():
    """Python orders sets and hashes strings differently from process to process unless told otherwise."""
    program = "import test_learn; print(test_learn.key(), *test_learn.shown())"
    seen = set()
    for hash_seed in ("1", "2"):
        found_in = os.pathsep.join([str(Path(__file__).parent), *sys.path])
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": found_in}
        finished = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=True
        )
        seen.add(finished.stdout.strip())
    assert seen == {" ".join([key(), *shown()])}


def shown() -> list[str]:
    """The tree and its order, to be compared between processes."""
    nodes = tree([("b", "a"), ("a", "c", "a"), ("c",), ("b", "b")], seed=3)
    return [node.key(TRAINING.describe()) + ",".join(map(str, node.tested)).replace(" ", "") for node in nodes]


# The error matrix


def test_an_error_matrix_picks_the_rows_of_its_prefixes():
    whole = lessons(["a", "b", "a"])
    rows = {whole[:t]: {str(lesson): 10.0 * t + i for i, lesson in enumerate(whole)} | {"z#0": -1.0} for t in range(4)}
    assert error_matrix(["a", "b", "a"], rows).tolist() == [[10.0 * t + i for i in range(3)] for t in range(4)]


def test_nodes_are_values():
    assert tree([["a"]], 0) == tree([["a"]], 0)
    assert isinstance(hash(NODE), int)
    assert Node(0, (), (), False).parent is None
