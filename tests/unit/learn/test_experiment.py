"""Training of nodes: equal to the reference, independent of threads, and with custom parts."""

import dataclasses
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import nn
from toys import NODE, TINY, TRAINING, Points, ToyTasks, flat

from ebbing.learn import (
    Experiment,
    FiveLayers,
    Occurrence,
    Sgd,
    TaskData,
    error_matrix,
    occurrences,
    prefix_tree,
    train_node,
    train_reference,
)
from ebbing.learn.training._machine import single_thread

TOLERANCE = 1e-5
"""Tolerance of the error matrix of `train_node` (one thread) against a reference with several threads.

After a few epochs, that is: threads round differently, and training magnifies it (on these tasks 1e-8 after 6 epochs,
1e-5 after 30, 0.2 after 100). On one thread the two agree to the bit, however long.
"""


def grown(experiment, sequences, seed=0):
    """The results of a tree trained node by node, by path."""
    outcomes = {}
    for node in prefix_tree(sequences, seed):
        parent = None if node.parent is None else outcomes[node.parent].weights
        outcomes[node.path] = train_node(experiment, node, parent)
    return outcomes


SEQUENCES = [("a", "b", "a"), ("a", "b", "c"), ("b", "b")]


@pytest.mark.parametrize("method", [Sgd(epochs=3), Sgd(epochs=2, batch_size=6, loss="squared")], ids=["full", "small"])
def test_train_node_equals_reference_to_the_bit_on_one_thread(method):
    experiment = Experiment(ToyTasks(), TINY, method)
    outcomes = grown(experiment, SEQUENCES)
    for sequence in SEQUENCES:
        with single_thread():
            matrix, fits = train_reference(experiment, sequence, seed=0)
        whole = occurrences(sequence)
        rows = {path: outcome.errors for path, outcome in outcomes.items()}
        assert matrix.shape == (len(sequence) + 1, len(sequence))
        np.testing.assert_array_equal(error_matrix(sequence, rows), matrix)
        assert [outcomes[whole[:t]].training_error for t in range(1, len(whole) + 1)] == fits
        assert np.unique(matrix).size > len(sequence)  # not all equal


def test_train_node_agrees_with_multithreaded_reference():
    experiment = Experiment(ToyTasks(images=100), FiveLayers(), Sgd(epochs=6))
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        matrix, fits = train_reference(experiment, ("a", "b"), seed=1)
    finally:
        torch.set_num_threads(before)
    outcomes = grown(experiment, [("a", "b")], seed=1)
    np.testing.assert_allclose(
        error_matrix(("a", "b"), {path: outcome.errors for path, outcome in outcomes.items()}), matrix, atol=TOLERANCE
    )
    assert [outcomes[occurrences(("a", "b"))[:t]].training_error for t in (1, 2)] == pytest.approx(fits, abs=TOLERANCE)
    assert np.abs(np.diff(matrix, axis=0)).max() > 100 * TOLERANCE  # training changes far more than the tolerance


def test_train_node_is_deterministic_for_any_thread_count():
    node = prefix_tree([["a", "b"]], seed=0)[1]
    first = train_node(TRAINING, node, None)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        second = train_node(TRAINING, node, None)
        assert torch.get_num_threads() == 3  # restored
    finally:
        torch.set_num_threads(before)
    assert first == second
    assert first.weights != train_node(TRAINING, dataclasses.replace(node, seed=1), None).weights


def test_train_node_is_thread_safe():
    nodes = [prefix_tree([[task]], seed=0)[1] for task in "abcd"]
    weights, together = initial_weights(), {}
    alone = [train_node(TRAINING, node, weights) for node in nodes]

    def work(i):
        together[i] = train_node(TRAINING, nodes[i], weights)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[i] for i in range(4)] == alone


def initial_weights():
    return train_node(TRAINING, prefix_tree([["a"]], seed=0)[0], None).weights


@pytest.mark.skipif(
    not hasattr(os, "confstr") or "glibc" not in (os.confstr("CS_GNU_LIBC_VERSION") or ""), reason="of glibc"
)
def test_retain_heap_keeps_memory_between_steps():
    """Blocks as large as a layer's activations: their pages are allocated once, not every time."""
    code = """
import resource, torch
from ebbing.learn.training._machine import retain_heap
retain_heap()
def step(blocks):
    return sum(float(block[-1]) for block in [torch.ones(4_000_000) for _ in range(blocks)])
step(12)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for blocks in (2, 4, 6, 8, 10, 12):
    step(blocks)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # 42 blocks of 16 MB have 164,000 pages; without retain_heap at least 43,000 are allocated again. Some may move.
    assert int(done.stdout) < 25_000


def test_number_of_threads_is_restored_after_an_error():
    @dataclass(frozen=True)
    class Broken(ToyTasks):
        def load(self, occurrence: Occurrence, seed: int) -> TaskData:
            raise RuntimeError(f"{torch.get_num_threads()} threads")

    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    try:
        with pytest.raises(RuntimeError, match=r"^1 threads"):
            train_node(Experiment(Broken(), TINY, Sgd(epochs=1)), NODE, initial_weights())
        assert torch.get_num_threads() == before + 1
    finally:
        torch.set_num_threads(before)


def test_initial_network_has_no_training_error():
    outcome = train_node(TRAINING, prefix_tree([["a", "b"]], seed=0)[0], None)
    assert outcome.training_error is None
    assert set(outcome.errors) == {"a#0", "b#0"}
    assert all(0 < error < 1 for error in outcome.errors.values())


def test_training_starts_from_the_parents_weights():
    child = prefix_tree([["a", "b"]], seed=0)[2]
    right, wrong = grown(TRAINING, [("a", "b")])[occurrences(["a"])], initial_weights()
    assert train_node(TRAINING, child, right.weights).errors != train_node(TRAINING, child, wrong).errors


@dataclass(frozen=True)
class Linear:
    """A custom network."""

    inputs: int

    def build(self, seed: int) -> nn.Module:
        network = nn.Sequential(nn.Flatten(), nn.Linear(self.inputs, 1))
        random = torch.Generator().manual_seed(seed)
        for parameter in network.parameters():
            nn.init.normal_(parameter, generator=random)
        return network


@dataclass(frozen=True)
class Weighted:
    """A custom method without gradients."""

    version: ClassVar[int] = 3
    factor: float = 0.5

    def learn(self, network: nn.Module, task_data: TaskData, generator: torch.Generator) -> None:
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.mul_(self.factor)


def test_custom_tasks_architectures_and_methods():
    experiment = Experiment(Points(), Linear(4), Sgd(epochs=3))
    matrix, _ = train_reference(experiment, ["x", "y", "x"], seed=0)
    rows = {path: outcome.errors for path, outcome in grown(experiment, [("x", "y", "x")]).items()}
    np.testing.assert_allclose(error_matrix(["x", "y", "x"], rows), matrix, atol=TOLERANCE)

    shrunk = Experiment(Points(), Linear(4), Weighted())
    network = Linear(4).build(0)
    Weighted().learn(network, Points().load(Occurrence("x", 0), 0), torch.Generator())
    torch.testing.assert_close(flat(network), flat(Linear(4).build(0)) / 2)
    described = shrunk.describe()["method"]
    assert {name: described[name] for name in ("kind", "factor", "version")} == {
        "kind": "Weighted",
        "factor": 0.5,
        "version": 3,
    }
    assert train_reference(shrunk, ["x"], seed=0)[0].shape == (2, 1)


def test_labels_of_another_shape_than_outputs_raise():
    @dataclass(frozen=True)
    class Flat(Points):
        def load(self, occurrence: Occurrence, seed: int) -> TaskData:
            task_data = super().load(occurrence, seed)
            return dataclasses.replace(task_data, test_labels=task_data.test_labels.flatten())

    with pytest.raises(ValueError, match="labels"):
        train_node(Experiment(Flat(), Linear(4), Sgd(epochs=1)), prefix_tree([["x"]], seed=0)[1], None)


@pytest.mark.parametrize(
    ("tasks", "method"),
    [(ToyTasks(), Sgd(epochs=2.0)), (ToyTasks(), Sgd(epochs=2, batch_size=5.0))],  # type: ignore[arg-type]
)
def test_integral_floats_are_accepted_as_counts(tasks, method):
    exact = Sgd(epochs=2, batch_size=None if method.batch_size is None else 5)
    node = prefix_tree([["a"]], seed=0)[1]
    assert node.key(Experiment(tasks, TINY, method).describe()) == node.key(Experiment(tasks, TINY, exact).describe())
    assert train_node(Experiment(tasks, TINY, method), node, None) == train_node(
        Experiment(tasks, TINY, exact), node, None
    )
