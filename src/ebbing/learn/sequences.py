"""Training sequences of tasks: the tree of their prefixes, and the error matrix of each.

Sequences that begin alike share what they have learned: a prefix is trained once, however many sequences it begins.
Each prefix is a `Node`; training it needs its parent's weights and nothing else, so independent nodes may run anywhere.
`train` does one node. `train_reference` is the reference: one sequence after the other, no sharing, no storing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from ebbing._validate import Array, check_seed
from ebbing.learn.experiment import Experiment, Learner
from ebbing.learn.tasks.base import Occurrence, TaskData, Tasks, occurrences
from ebbing.learn.training._machine import retain_heap, single_thread
from ebbing.learn.training.batches import Pair, preserved_modes
from ebbing.learn.training.schedule import Checkpoint, ProgressCallback


@dataclass(frozen=True)
class Node:
    """A prefix to be trained: its last lesson, from its parent's weights; and the lessons to test it on."""

    seed: int
    path: tuple[Occurrence, ...]  # empty: the initial network
    tested: tuple[Occurrence, ...]
    has_children: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", check_seed(self.seed))

    @property
    def parent(self) -> tuple[Occurrence, ...] | None:
        """The path one lesson shorter."""
        return self.path[:-1] if self.path else None

    def key(self, settings: dict[str, Any]) -> str:
        """The hash of all that determines the weights: `Experiment.describe()`, seed and path."""
        content = settings | {"seed": self.seed, "path": [str(occurrence) for occurrence in self.path]}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class NodeResult:
    """What training a node gives: errors on the tested lessons, error on its own training data, and the weights."""

    errors: dict[str, float]
    fit: float | None  # error on the last lesson's training data; None for the initial network
    weights: bytes  # safetensors


def prefix_tree(sequences: Sequence[Sequence[str]], seed: int) -> list[Node]:
    """The prefixes of all sequences, each once, parents first.

    >>> [len(node.path) for node in prefix_tree([["a", "b"], ["a", "c"]], seed=0)]
    [0, 1, 2, 2]
    """
    tested: dict[tuple[Occurrence, ...], dict[Occurrence, None]] = {}
    children: set[tuple[Occurrence, ...]] = set()
    for sequence in sequences:
        if not sequence:
            raise ValueError("an empty sequence: give at least one task")
        whole = occurrences(sequence)
        for length in range(len(whole) + 1):
            tested.setdefault(whole[:length], {}).update(dict.fromkeys(whole))
            if length:
                children.add(whole[: length - 1])
    paths = sorted(tested, key=lambda path: (len(path), path))
    return [Node(seed, path, tuple(sorted(tested[path])), path in children) for path in paths]


def train_node(
    experiment: Experiment,
    node: Node,
    parent_weights: bytes | None,
    *,
    checkpoint: Checkpoint | None = None,
    watch: ProgressCallback | None = None,
    device: str = "cpu",
) -> NodeResult:
    """Train one node on one thread (or a GPU), and test it. With a checkpoint, interrupted training goes on."""
    retain_heap()
    with single_thread():
        learner = _learner(experiment, node.seed, device)
        if parent_weights is not None:
            learner.restore(load(parent_weights))
        fit = None
        if node.path:
            task_data = experiment.tasks.load(node.path[-1], node.seed).to(device)
            _learn(learner, node.path, task_data, node.seed, checkpoint=checkpoint, watch=watch)
            fit = _error(learner, node.path[-1], task_data.train_inputs, task_data.train_labels)
        errors = {}
        for occurrence in node.tested:
            inputs, labels = _tested(experiment.tasks, occurrence, node.seed)
            errors[str(occurrence)] = _error(learner, occurrence, inputs.to(device), labels.to(device))
        return NodeResult(errors, fit, save(learner.state()))


def train_reference(experiment: Experiment, sequence: Sequence[str], seed: int) -> tuple[Array, list[float]]:
    """The reference: one sequence from beginning to end. The error matrix (T+1, T) and the fit of every task (T,)."""
    whole, seed = occurrences(sequence), check_seed(seed)
    experiment.check(sequence)
    learner = _learner(experiment, seed)
    samples = [experiment.tasks.load(occurrence, seed) for occurrence in whole]
    matrix, fits = [], []
    for t in range(len(whole) + 1):
        if t:
            _learn(learner, whole[:t], samples[t - 1], seed)
            fits.append(_error(learner, whole[t - 1], samples[t - 1].train_inputs, samples[t - 1].train_labels))
        together = zip(whole, samples, strict=True)
        matrix.append([_error(learner, occurrence, s.test_inputs, s.test_labels) for occurrence, s in together])
    return np.array(matrix), fits


def _learner(experiment: Experiment, seed: int, device: str = "cpu") -> Learner:
    network = experiment.architecture.build(_number(seed, "initial network")).to(device)
    start = getattr(experiment.method, "start", None)
    return _Reference(network, experiment.method) if start is None else start(network)


def _learn(
    learner: Learner,
    path: tuple[Occurrence, ...],
    task_data: TaskData,
    seed: int,
    *,
    checkpoint: Checkpoint | None = None,
    watch: ProgressCallback | None = None,
) -> None:
    number = _number(seed, *map(str, path))
    random = torch.Generator().manual_seed(number)
    with torch.random.fork_rng(devices=[]):  # dropout draws from the generator that all share
        torch.manual_seed(number)
        learner.learn(str(path[-1]), task_data, random=random, checkpoint=checkpoint, watch=watch)


def _tested(tasks: Tasks, occurrence: Occurrence, seed: int) -> Pair:
    """The half of a sample to be tested on, without making the rest where that can be done."""
    if (tested := getattr(tasks, "tested", None)) is not None:
        return tested(occurrence, seed)
    task_data = tasks.load(occurrence, seed)
    return task_data.test_inputs, task_data.test_labels


def _error(learner: Learner, occurrence: Occurrence, inputs: Tensor, labels: Tensor) -> float:
    task = str(occurrence) if str(occurrence) in learner.tasks else None
    return error(learner.outputs(task, inputs), labels)


class _Reference:
    """A learner that is nothing but its network."""

    def __init__(self, network: nn.Module, method: Any) -> None:
        self.network, self.method = network, method
        self.tasks: list[str] = []

    def learn(
        self,
        task: str,
        data: TaskData,
        *,
        random: torch.Generator,
        checkpoint: Checkpoint | None,
        watch: ProgressCallback | None,
    ) -> None:
        self.method.learn(self.network, data, random)

    def outputs(self, task: str | None, inputs: Tensor) -> Tensor:
        with preserved_modes(self.network), torch.no_grad():
            return self.network.eval()(inputs)

    def state(self) -> dict[str, Tensor]:
        values = self.network.state_dict()  # of which several may be in the same memory
        return {name: value.clone(memory_format=torch.contiguous_format) for name, value in values.items()}

    def restore(self, state: dict[str, Tensor]) -> None:
        self.network.load_state_dict(state)


def error(outputs: Tensor, labels: Tensor) -> float:
    """Mean of (sigmoid of the output - label)^2 for labels between 0 and 1; share of wrong guesses for classes."""
    if labels.dtype == torch.int64:
        return float((outputs.argmax(1) != labels).to(torch.float64).mean())
    if outputs.shape != labels.shape:
        raise ValueError(f"labels of shape {tuple(labels.shape)}, outputs {tuple(outputs.shape)}: make them equal")
    return float((outputs.detach().sigmoid() - labels).square().mean())


def error_matrix(sequence: Sequence[str], outcomes: dict[tuple[Occurrence, ...], dict[str, float]]) -> Array:
    """L[t, i], the error on task i after t tasks, from the errors of the sequence's prefixes (T+1, T)."""
    whole = occurrences(sequence)
    rows = (outcomes[whole[:t]] for t in range(len(whole) + 1))
    return np.array([[row[str(occurrence)] for occurrence in whole] for row in rows])


def _number(seed: int, *words: str) -> int:
    return int.from_bytes(hashlib.sha256(json.dumps([seed, *words]).encode()).digest()[:7], "big")
