"""Execution of prefix trees: which nodes are stored, which are to be trained, and in which order.

A node needs only its parent's weights. Results are stored by the calling process as soon as they arrive, so that an
interruption at any moment (Ctrl-C, kill -9, a lost worker) costs only the nodes that are being trained.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace

import numpy as np

from ebbing._progress import Progress
from ebbing._validate import Array
from ebbing._versions import software_versions
from ebbing.learn.experiment import Experiment
from ebbing.learn.sequences import Node, NodeResult, error_matrix
from ebbing.learn.tasks.base import Occurrence, occurrences
from ebbing.runs._pools import LOCAL, Pool, Resources, open_pool
from ebbing.runs.store import Entry, Store

Path = tuple[Occurrence, ...]
"""The tasks that a node has learned, in order."""

NodeId = tuple[int, Path]
"""A node in the trees of all seeds: seed and path."""

Errors = dict[NodeId, dict[str, float]]
"""Test errors of every node, by the occurrence "task#index"."""


def execute(
    experiment: Experiment,
    nodes: list[Node],
    store: Store,
    *,
    workers: int = 1,
    cluster: str | None = None,
    device: str = "cpu",
    progress: Progress | None = None,
) -> tuple[Errors, dict[NodeId, float | None]]:
    """Return the errors of nodes: from the store, or else by training and storing them.

    Args:
        experiment: Tasks, architecture and method.
        nodes: The nodes, each with its parent, as `prefix_tree` returns them.
        store: Where results are found and stored. Results from a GPU have the same key as those from a CPU.
        workers: The number of worker processes; 1 trains in this process.
        cluster: The address of a Dask scheduler, or None.
        device: The device of the tensors.
        progress: A function that is called with the share of nodes that is done.

    Returns:
        The test errors, and the training error, of every node by (seed, path).
    """
    return Execution(experiment, nodes, store, progress).run(Resources(workers, cluster, device))


class Execution:
    """The execution of nodes in two steps: creation looks up what is stored, `run` trains the rest.

    After creation, `num_stored` is the number of nodes that need no training, `pending` has those that do, and
    `partial_entries` has the entries of pending nodes that lack some errors or weights. `errors`, `accuracies`,
    `training_errors` and `weights` have the results so far, by (seed, path); `seconds` is the time that training took,
    by seed; `status` is a message about the node that this process is training.

    Args:
        experiment: Tasks, architecture and method.
        nodes: The nodes, each with its parent.
        store: Where results are found and stored.
        progress: A function that is called with the share of nodes that is done.
        keep_weights: Nodes whose weights are stored although no other node needs them.
        needs_accuracies: Whether stored results without accuracies, of early versions, are computed again.
        finished: A function that `run` calls with a seed as soon as all of its nodes are done.
    """

    def __init__(
        self,
        experiment: Experiment,
        nodes: list[Node],
        store: Store,
        progress: Progress | None = None,
        *,
        keep_weights: Container[NodeId] = (),
        needs_accuracies: bool = False,
        finished: Callable[[int], None] | None = None,
    ) -> None:
        self.experiment, self.store, self.progress, self.keep_weights = experiment, store, progress, keep_weights
        self.nodes = _merge(nodes)
        experiment.check(occurrence.task for node in nodes for occurrence in (*node.path, *node.test_occurrences))
        self.settings = {seed: experiment.describe(seed) for seed in sorted({seed for seed, _ in self.nodes})}
        self.keys = {node_id: node.key(self.settings[node.seed]) for node_id, node in self.nodes.items()}
        self.finished, self.needs_accuracies = finished, needs_accuracies
        self.seconds = dict.fromkeys(self.settings, 0.0)
        self.errors: Errors = {}
        self.accuracies: Errors = {}
        self.training_errors: dict[NodeId, float | None] = {}
        self.weights: dict[NodeId, bytes] = {}
        self.pending: dict[NodeId, Node] = {}
        self.partial_entries: dict[NodeId, Entry] = {}
        self._look_up()
        self.num_stored = len(self.nodes) - len(self.pending)
        self.status = ""

    def _look_up(self) -> None:
        """Find stored results, children first: a node without pending children needs no weights."""
        parents: set[tuple[int, Path | None]] = set()
        for node_id in reversed(list(self.nodes)):
            node, entry = self.nodes[node_id], self.store.get(self.keys[node_id])
            complete = entry is not None and all(
                str(occurrence) in (entry.accuracies if self.needs_accuracies else entry.errors)
                for occurrence in node.test_occurrences
            )
            needed = node_id in parents or node_id in self.keep_weights
            weights = self.store.weights(entry) if complete and needed and entry else None
            if not complete or entry is None or (needed and weights is None):
                self.pending[node_id] = node
                parents.add((node.seed, node.parent))
                if entry is not None:
                    self.partial_entries[node_id] = entry
                continue
            self.errors[node_id], self.accuracies[node_id] = entry.errors, entry.accuracies
            self.training_errors[node_id] = entry.training_error
            if weights is not None:
                self.weights[node_id] = weights
        self.pending = dict(reversed(self.pending.items()))  # parents first

    def run(self, resources: Resources = LOCAL) -> tuple[Errors, dict[NodeId, float | None]]:
        """Train the pending nodes.

        Args:
            resources: Where to train.

        Returns:
            The test errors, and the training error, of every node by (seed, path), parents first: in the same order
            whether they were trained or stored.
        """
        resources.check()
        self._report()
        for seed in self.settings:
            self._report_finished(seed)
        if self.pending:
            self.store.remove_stale_files(self.store.check_writable())
            with open_pool(self.experiment, resources, self._node_progress) as pool:
                self._train_pending(pool)
        self.errors = {node_id: dict(sorted(self.errors[node_id].items())) for node_id in self.nodes}
        self.training_errors = {node_id: self.training_errors[node_id] for node_id in self.nodes}
        return self.errors, self.training_errors

    def collect(self, sequence: Sequence[str], seeds: Iterable[int]) -> tuple[Array, Array]:
        """Return the results of a sequence that has been trained.

        Args:
            sequence: Names of tasks.
            seeds: The seeds.

        Returns:
            The error matrices (seeds, T+1, T), and the training errors (seeds, T).
        """
        seeds, prefixes = list(seeds), _prefixes(sequence)
        training_errors = [[self.training_errors[seed, prefix] for prefix in prefixes[1:]] for seed in seeds]
        return _matrices(self.errors, sequence, seeds), np.array(training_errors, dtype=float)

    def collect_accuracies(self, sequence: Sequence[str], seeds: Iterable[int]) -> Array:
        """Return the test accuracies of a sequence that has been trained, if the execution needs accuracies.

        Args:
            sequence: Names of tasks.
            seeds: The seeds.

        Returns:
            The accuracy matrices (seeds, T+1, T).
        """
        return _matrices(self.accuracies, sequence, seeds)

    def _train_pending(self, pool: Pool) -> None:
        """Submit every node as soon as its parent is trained, and store results as they arrive."""
        waiting, running = dict(self.pending), {}
        while waiting or running:
            for node_id in [node_id for node_id in waiting if self._ready(node_id)]:
                node = waiting.pop(node_id)
                parent = self.weights.get((node.seed, node.path[:-1])) if node.path else None
                self._release_parent(node, waiting)
                running[pool.submit(node, parent, self.store.checkpoint(self.keys[node_id]))] = node_id
            errors = []
            for future in pool.wait(list(running)):
                node_id = running.pop(future)
                try:
                    result = pool.result(future)
                except Exception as error:  # results that others have finished meanwhile are still stored
                    errors.append(error)
                    continue
                self._store_result(node_id, result)
            if errors:
                raise errors[0]

    def _ready(self, node_id: NodeId) -> bool:
        seed, path = node_id
        return not path or (seed, path[:-1]) in self.weights

    def _release_parent(self, node: Node, waiting: Container[NodeId]) -> None:
        """Free the memory of the parent's weights if no other node waits for them."""
        parent = (node.seed, node.path[:-1])
        if node.path and not any(
            (other.seed, other.path[:-1]) == parent and node_id in waiting for node_id, other in self.pending.items()
        ):
            self.weights.pop(parent, None)

    def _store_result(self, node_id: NodeId, result: NodeResult) -> None:
        node = self.pending.pop(node_id)
        about = self.settings[node.seed] | {"seed": node.seed, "path": [str(occurrence) for occurrence in node.path]}
        about["made_with"] = software_versions("numpy", "torch")
        partial = self.partial_entries.pop(node_id, None)
        had_weights = partial is not None and partial.weights_checksum is not None
        weights = result.weights if node.has_children or had_weights or node_id in self.keep_weights else None
        errors, accuracies = result.errors, result.accuracies
        if partial is not None:
            errors, accuracies = partial.errors | errors, partial.accuracies | accuracies
        self.store.put(self.keys[node_id], errors, result.training_error, about, weights, accuracies=accuracies)
        self.store.checkpoint(self.keys[node_id]).remove()
        self.errors[node_id], self.accuracies[node_id] = result.errors, result.accuracies
        self.training_errors[node_id] = result.training_error
        self.seconds[node.seed] += result.seconds
        if weights is not None:
            self.weights[node_id] = weights
        self.status = ""
        self._report()
        self._report_finished(node.seed)

    def _report(self, share: float = 0.0) -> None:
        """Report the progress, including the share of the current node that is done."""
        if self.progress and self.nodes:
            self.progress(1 - (len(self.pending) - share) / len(self.nodes))

    def _report_finished(self, seed: int) -> None:
        if self.finished and not any(other == seed for other, _ in self.pending):
            self.finished(seed)

    def _node_progress(self, share: float, message: str) -> None:
        self.status = message
        self._report(share)


def _prefixes(sequence: Sequence[str]) -> list[Path]:
    path = occurrences(sequence)
    return [path[:t] for t in range(len(path) + 1)]


def _matrices(rows: Errors, sequence: Sequence[str], seeds: Iterable[int]) -> Array:
    """Return what was measured in a sequence (seeds, T+1, T), from its rows by (seed, path)."""
    prefixes = _prefixes(sequence)
    return np.array([error_matrix(sequence, {prefix: rows[seed, prefix] for prefix in prefixes}) for seed in seeds])


def _merge(nodes: list[Node]) -> dict[NodeId, Node]:
    """Return each node once, with all tests that are requested of it, parents first."""
    merged: dict[NodeId, Node] = {}
    for node in sorted(nodes, key=lambda node: len(node.path)):
        node_id = (node.seed, node.path)
        if node.path and (node.seed, node.path[:-1]) not in merged:
            raise ValueError(
                f"node {' '.join(map(str, node.path))} without its parent: give every prefix, as `prefix_tree` does"
            )
        other = merged.get(node_id, node)
        tests = tuple(sorted({*other.test_occurrences, *node.test_occurrences}))
        merged[node_id] = replace(node, test_occurrences=tests, has_children=other.has_children or node.has_children)
        if node.path:
            parent = (node.seed, node.path[:-1])
            merged[parent] = replace(merged[parent], has_children=True)
    return merged
