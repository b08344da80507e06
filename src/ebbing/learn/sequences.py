"""Training sequences of tasks: the tree of their prefixes, and the error matrix of each.

Sequences that begin alike share what they have learnt: a prefix is trained once, however many sequences it begins.
Each prefix is a `Node`; training it needs its parent's weights and nothing else, so independent nodes may run anywhere.
`train` does one node. `train_plainly` is the reference: one sequence after the other, no sharing, no storing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from safetensors.torch import load, save
from torch import nn

from ebbing.learn.methods import Sgd
from ebbing.learn.network import FiveLayers
from ebbing.learn.tasks import DigitTasks, Lesson, Sample, Tasks, lessons
from ebbing.validate import Array


class Method(Protocol):
    """A way of learning: a frozen dataclass of settings with a version."""

    version: ClassVar[int]

    def learn(self, network: nn.Module, sample: Sample, random: torch.Generator) -> None:
        """Train the network on the sample, in place."""
        ...


class Architecture(Protocol):
    """What builds the initial network."""

    def build(self, seed: int) -> nn.Module:
        """The initial network of a seed."""
        ...


@dataclass(frozen=True)
class Training:
    """All that determines the result of training a sequence, but for the seed and the sequence itself."""

    tasks: Tasks = field(default_factory=DigitTasks)
    architecture: Architecture = field(default_factory=FiveLayers)
    method: Method = field(default_factory=Sgd)

    def describe(self) -> dict[str, Any]:
        """Every setting by name, as it enters the key of results."""
        parts = {"tasks": self.tasks, "architecture": self.architecture, "method": self.method}
        named = {name: {"kind": type(part).__name__} | asdict(part) for name, part in parts.items()}  # type: ignore[call-overload]
        named["tasks"]["identity"] = self.tasks.identity
        named["method"]["version"] = self.method.version
        return named


@dataclass(frozen=True)
class Node:
    """A prefix to be trained: its last lesson, from its parent's weights; and the lessons to test it on."""

    seed: int
    path: tuple[Lesson, ...]  # empty: the initial network
    tested: tuple[Lesson, ...]
    has_children: bool

    @property
    def parent(self) -> tuple[Lesson, ...] | None:
        """The path one lesson shorter."""
        return self.path[:-1] if self.path else None

    def key(self, settings: dict[str, Any]) -> str:
        """The hash of all that determines the weights: `Training.describe()`, seed and path."""
        content = settings | {"seed": self.seed, "path": [str(lesson) for lesson in self.path]}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Outcome:
    """What training a node gives: errors on the tested lessons, error on its own training data, and the weights."""

    errors: dict[str, float]
    fit: float | None  # squared error on the last lesson's training data; None for the initial network
    weights: bytes  # safetensors


def tree(sequences: Sequence[Sequence[str]], seed: int) -> list[Node]:
    """The prefixes of all sequences, each once, parents first.

    >>> [len(node.path) for node in tree([["a", "b"], ["a", "c"]], seed=0)]
    [0, 1, 2, 2]
    """
    tested: dict[tuple[Lesson, ...], dict[Lesson, None]] = {}
    children: set[tuple[Lesson, ...]] = set()
    for sequence in sequences:
        if not sequence:
            raise ValueError("an empty sequence: give at least one task")
        whole = lessons(sequence)
        for length in range(len(whole) + 1):
            tested.setdefault(whole[:length], {}).update(dict.fromkeys(whole))
            if length:
                children.add(whole[: length - 1])
    paths = sorted(tested, key=lambda path: (len(path), path))
    return [Node(seed, path, tuple(sorted(tested[path])), path in children) for path in paths]


def train(training: Training, node: Node, parent_weights: bytes | None) -> Outcome:
    """Train one node on one thread, and test it."""
    with one_thread():
        network = training.architecture.build(_number(node.seed, "initial network"))
        if parent_weights is not None:
            network.load_state_dict(load(parent_weights))
        fit = None
        if node.path:
            sample = training.tasks.sample(node.path[-1], node.seed)
            random = torch.Generator().manual_seed(_number(node.seed, *map(str, node.path)))
            training.method.learn(network, sample, random)
            fit = squared_error(network, sample.train_inputs, sample.train_labels)
        errors = {}
        for lesson in node.tested:
            sample = training.tasks.sample(lesson, node.seed)
            errors[str(lesson)] = squared_error(network, sample.test_inputs, sample.test_labels)
        weights = {name: tensor.contiguous() for name, tensor in network.state_dict().items()}
        return Outcome(errors, fit, save(weights))


def train_plainly(training: Training, sequence: Sequence[str], seed: int) -> tuple[Array, list[float]]:
    """The reference: one sequence from beginning to end. The error matrix (T+1, T) and the fit of every task (T,)."""
    whole = lessons(sequence)
    network = training.architecture.build(_number(seed, "initial network"))
    samples = [training.tasks.sample(lesson, seed) for lesson in whole]
    matrix, fits = [], []
    for t in range(len(whole) + 1):
        if t:
            random = torch.Generator().manual_seed(_number(seed, *map(str, whole[:t])))
            training.method.learn(network, samples[t - 1], random)
            fits.append(squared_error(network, samples[t - 1].train_inputs, samples[t - 1].train_labels))
        matrix.append([squared_error(network, s.test_inputs, s.test_labels) for s in samples])
    return np.array(matrix), fits


def squared_error(network: nn.Module, inputs: torch.Tensor, labels: torch.Tensor) -> float:
    """Mean of (sigmoid of the output - label)^2."""
    with torch.no_grad():
        outputs = network(inputs)
        if outputs.shape != labels.shape:
            raise ValueError(f"labels of shape {tuple(labels.shape)}, outputs {tuple(outputs.shape)}: make them equal")
        return float((outputs.sigmoid() - labels).square().mean())


def error_matrix(sequence: Sequence[str], outcomes: dict[tuple[Lesson, ...], dict[str, float]]) -> Array:
    """L[t, i], the error on task i after t tasks, from the errors of the sequence's prefixes (T+1, T)."""
    whole = lessons(sequence)
    rows = (outcomes[whole[:t]] for t in range(len(whole) + 1))
    return np.array([[row[str(lesson)] for lesson in whole] for row in rows])


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread inside operations: two nodes side by side beat two threads in one, and bits depend on neither."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _number(seed: int, *words: str) -> int:
    return int.from_bytes(hashlib.sha256(json.dumps([seed, *words]).encode()).digest()[:7], "big")
