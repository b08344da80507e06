"""Training of task sequences: the tree of their prefixes, and the error matrix of each sequence.

Sequences with a common prefix share its training: a prefix is trained once, however many sequences start with it. Each
prefix is a `Node`. Training a node needs only its parent's weights, so independent nodes can be trained anywhere.
`train_node` trains one node. `train_reference` is the reference implementation: one sequence from beginning to end,
without sharing and without storing.
"""

from __future__ import annotations

import hashlib
import json
import reprlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from ebbing._modes import preserved_modes
from ebbing._validate import Array, check_seed
from ebbing.learn._errors import accuracy, error, error_matrix
from ebbing.learn._inputs import Inputs, map_inputs
from ebbing.learn._seeding import derive_seed
from ebbing.learn.experiment import Experiment, Learner
from ebbing.learn.tasks.base import Occurrence, TaskData, Tasks, check_sequence, occurrences
from ebbing.learn.training._machine import retain_heap, single_thread
from ebbing.learn.training._outputs import call_network
from ebbing.learn.training.batches import split_inputs
from ebbing.learn.training.schedule import Checkpoint, ProgressCallback

__all__ = ["Node", "NodeResult", "error", "error_matrix", "prefix_tree", "train_node", "train_reference"]

_EXAMPLES_AT_ONCE = 64
"""Examples that are tested at once, if inputs are by name or large."""

_BYTES_AT_ONCE = 2**26
"""Bytes above which inputs are large."""


@dataclass(frozen=True)
class Node:
    """A prefix of sequences: a network that learns one more task than its parent.

    Attributes:
        seed: The seed of the initial network, the data and the shuffling.
        path: The tasks learned, in order; empty for the initial network.
        test_occurrences: The tasks on which the network is tested.
        has_children: Whether another node starts from this node's weights.
    """

    seed: int
    path: tuple[Occurrence, ...]
    test_occurrences: tuple[Occurrence, ...]
    has_children: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", check_seed(self.seed))

    @property
    def parent(self) -> tuple[Occurrence, ...] | None:
        """The path of the parent, or None for the initial network."""
        return self.path[:-1] if self.path else None

    def key(self, settings: dict[str, Any]) -> str:
        """Return the key of this node's result: a hash of everything that determines the weights.

        Args:
            settings: The settings of the experiment for this seed, as `Experiment.describe` returns them.

        Returns:
            The SHA-256 of settings, seed and path, as 64 hexadecimal digits.
        """
        content = settings | {"seed": self.seed, "path": [str(occurrence) for occurrence in self.path]}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class NodeResult:
    """The result of training a node.

    Attributes:
        errors: Test error of every occurrence in `Node.test_occurrences`, by its name "task#index".
        training_error: Error on the training data of the last task; None for the initial network.
        weights: The learner's state in the safetensors format.
        accuracies: The share of right answers on the same test examples, by the same names; none for regression.
        seconds: How long training and testing took, which does not belong to the result.
    """

    errors: dict[str, float]
    training_error: float | None
    weights: bytes = field(repr=False)
    accuracies: dict[str, float] = field(default_factory=dict)
    seconds: float = field(default=0.0, compare=False)


def prefix_tree(sequences: Sequence[Sequence[str]], seed: int) -> list[Node]:
    """Return all prefixes of some sequences, each once, parents first.

    Args:
        sequences: Sequences of task names.
        seed: The seed of every node.

    Returns:
        The nodes. Each is tested on all tasks of all sequences that start with it.

    Raises:
        ValueError: If a sequence is empty, or a string instead of a list of names.

    Example:
        >>> [len(node.path) for node in prefix_tree([["a", "b"], ["a", "c"]], seed=0)]
        [0, 1, 2, 2]
    """
    tests: dict[tuple[Occurrence, ...], dict[Occurrence, None]] = {}
    parents: set[tuple[Occurrence, ...]] = set()
    for sequence in sequences:
        path = occurrences(check_sequence(sequence))
        for length in range(len(path) + 1):
            tests.setdefault(path[:length], {}).update(dict.fromkeys(path))
            if length:
                parents.add(path[: length - 1])
    paths = sorted(tests, key=lambda path: (len(path), path))
    return [Node(seed, path, tuple(sorted(tests[path])), path in parents) for path in paths]


def train_node(
    experiment: Experiment,
    node: Node,
    parent_weights: bytes | None,
    *,
    checkpoint: Checkpoint | None = None,
    progress: ProgressCallback | None = None,
    device: str = "cpu",
) -> NodeResult:
    """Train one node on one CPU thread or on a GPU, and test it.

    Args:
        experiment: Tasks, architecture and method.
        node: The node.
        parent_weights: The weights of its parent's result; None for the initial network.
        checkpoint: Where unfinished training is saved, and resumed from.
        progress: A function that is called with the share of the task that is done and a short message.
        device: The device of the tensors.

    Returns:
        Test errors and accuracies, training error and weights.
    """
    retain_heap()
    began = time.monotonic()
    with single_thread():
        learner = _start_learner(experiment, node.seed, device)
        if parent_weights is not None:
            learner.restore(load(parent_weights))
            _check_tasks(
                learner, node.path[:-1], "after restore(state)", "let state() hold them, and restore() set them"
            )
        training_error = None
        if node.path:
            data = experiment.tasks.load(node.path[-1], node.seed).to(device)
            _learn(learner, node.path, data, node.seed, checkpoint=checkpoint, progress=progress)
            training_error = _training_error(learner, node.path[-1], data)
        errors, accuracies = {}, {}
        for occurrence in node.test_occurrences:
            inputs, labels, regression = _load_test(experiment.tasks, occurrence, node.seed)
            inputs, labels = map_inputs(lambda part: part.to(device), inputs), labels.to(device)
            outputs = _outputs(learner, occurrence, inputs)
            errors[str(occurrence)] = error(outputs, labels, regression=regression)
            if not regression:
                accuracies[str(occurrence)] = accuracy(outputs, labels)
        return NodeResult(errors, training_error, save(learner.state()), accuracies, time.monotonic() - began)


def train_reference(experiment: Experiment, sequence: Sequence[str], seed: int) -> tuple[Array, list[float]]:
    """Train one sequence from beginning to end: the reference for `train_node`.

    Args:
        experiment: Tasks, architecture and method.
        sequence: Names of tasks.
        seed: The seed of the initial network, the data and the shuffling.

    Returns:
        The error matrix (T+1, T), and the training error of every task right after it was learned (T,).
    """
    path, seed = occurrences(check_sequence(sequence)), check_seed(seed)
    experiment.check(sequence)
    learner = _start_learner(experiment, seed)
    data = [experiment.tasks.load(occurrence, seed) for occurrence in path]
    matrix, training_errors = [], []
    for t in range(len(path) + 1):
        if t:
            _learn(learner, path[:t], data[t - 1], seed)
            training_errors.append(_training_error(learner, path[t - 1], data[t - 1]))
        matrix.append([_test_error(learner, occurrence, d) for occurrence, d in zip(path, data, strict=True)])
    return np.array(matrix), training_errors


def _start_learner(experiment: Experiment, seed: int, device: str = "cpu") -> Learner:
    network = experiment.initial_network(seed).to(device)
    start = getattr(experiment.method, "start", None)
    return _PlainLearner(network, experiment.method) if start is None else start(network)


def _learn(
    learner: Learner,
    path: tuple[Occurrence, ...],
    data: TaskData,
    seed: int,
    *,
    checkpoint: Checkpoint | None = None,
    progress: ProgressCallback | None = None,
) -> None:
    number = derive_seed(seed, *map(str, path))
    generator = torch.Generator().manual_seed(number)
    device = data.train_labels.device
    forked = [] if device.type == "cpu" else [device]
    with torch.random.fork_rng(forked, device_type=device.type):  # dropout uses the global generators
        torch.manual_seed(number)
        learner.learn(str(path[-1]), data, generator=generator, checkpoint=checkpoint, progress=progress)
    _check_tasks(learner, path, "after learn(task, ...)", "let learn() append the name of the task")


def _check_tasks(learner: Learner, path: tuple[Occurrence, ...], when: str, way_out: str) -> None:
    """Raise an error if a learner does not know its tasks: it would be tested as if it had not learned them."""
    expected = [str(occurrence) for occurrence in path]
    if not isinstance(learner, _PlainLearner) and list(learner.tasks) != expected:
        raise ValueError(
            f"{type(learner).__name__}.tasks is {reprlib.repr(learner.tasks)} {when}, not {reprlib.repr(expected)}, "
            f"the names of all learned tasks: {way_out}"
        )


def _load_test(tasks: Tasks, occurrence: Occurrence, seed: int) -> tuple[Inputs, Tensor, bool]:
    """Return test inputs and labels, by `tasks.load_test` if there is such a method, and whether it is regression."""
    if (load_test := getattr(tasks, "load_test", None)) is not None:
        return *load_test(occurrence, seed), False
    data = tasks.load(occurrence, seed)
    return data.test_inputs, data.test_labels, data.regression


def _training_error(learner: Learner, occurrence: Occurrence, data: TaskData) -> float:
    return error(_outputs(learner, occurrence, data.train_inputs), data.train_labels, regression=data.regression)


def _test_error(learner: Learner, occurrence: Occurrence, data: TaskData) -> float:
    return error(_outputs(learner, occurrence, data.test_inputs), data.test_labels, regression=data.regression)


def _outputs(learner: Learner, occurrence: Occurrence, inputs: Inputs) -> Tensor:
    task = str(occurrence) if str(occurrence) in learner.tasks else None
    return learner.outputs(task, inputs)


class _PlainLearner:
    """A learner that remembers nothing but its network's weights.

    Args:
        network: The network.
        method: A method with a function `learn`.
    """

    def __init__(self, network: nn.Module, method: Any) -> None:
        self.network, self.method = network, method
        self.tasks: list[str] = []

    def learn(
        self,
        task: str,
        data: TaskData,
        *,
        generator: torch.Generator,
        checkpoint: Checkpoint | None,
        progress: ProgressCallback | None,
    ) -> None:
        self.method.learn(self.network, data, generator)

    def outputs(self, task: str | None, inputs: Inputs) -> Tensor:
        # Many texts or large images at once need much memory. Other inputs stay whole: errors, and so records, keep
        # their last digit.
        is_large = isinstance(inputs, Mapping) or inputs.nbytes > _BYTES_AT_ONCE
        parts = split_inputs(inputs, _EXAMPLES_AT_ONCE) if is_large else [inputs]
        with preserved_modes(self.network), torch.no_grad():
            self.network.eval()
            return torch.cat([call_network(self.network, part) for part in parts])

    def state(self) -> dict[str, Tensor]:
        values = self.network.state_dict()  # several of which may share memory
        return {name: value.cpu().clone(memory_format=torch.contiguous_format) for name, value in values.items()}

    def restore(self, state: dict[str, Tensor]) -> None:
        self.network.load_state_dict(state)
