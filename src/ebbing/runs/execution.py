"""What is there already, what is to be trained, and in which order.

A node needs its parent's weights and nothing else; `pools` says who trains it. Finished nodes are stored by the
caller's process as they come in, so that an interruption at any moment (Ctrl-C, kill -9, a lost worker) costs only what
was under way.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace

import numpy as np

from ebbing._validate import Array
from ebbing._versions import software_versions
from ebbing.learn.experiment import Experiment
from ebbing.learn.sequences import Node, NodeResult, error_matrix
from ebbing.learn.tasks.base import Occurrence, occurrences
from ebbing.runs._pools import LOCAL, Pool, Resources, pool
from ebbing.runs.store import Entry, Store

Path = tuple[Occurrence, ...]
Place = tuple[int, Path]
"""Of a node in the trees of all seeds: seed and path."""
Errors = dict[Place, dict[str, float]]
Progress = Callable[[float], None]


def execute(
    experiment: Experiment,
    nodes: list[Node],
    store: Store,
    *,
    workers: int = 1,
    cluster: str | None = None,
    device: str = "cpu",
    progress: Progress | None = None,
) -> tuple[Errors, dict[Place, float | None]]:
    """Errors and fit of every node: from the store where they are there, else trained and stored.

    workers, cluster, device: as in `Resources`. Results on a GPU have the same key as those on a CPU.
    """
    return Execution(experiment, nodes, store, progress).run(Resources(workers, cluster, device))


class Execution:
    """What `execute` does, for those who also want to know what was there (`found`) and what was not (`todo`)."""

    def __init__(
        self,
        experiment: Experiment,
        nodes: list[Node],
        store: Store,
        progress: Progress | None = None,
        *,
        keep: Container[Place] = (),
    ) -> None:
        """keep: nodes whose weights are wanted, and stored, though no other node needs them."""
        self.experiment, self.store, self.progress, self.keep = experiment, store, progress, keep
        self.nodes = _joined(nodes)
        experiment.check(occurrence.task for node in nodes for occurrence in (*node.path, *node.tested))
        self.settings = experiment.describe()
        self.keys = {place: node.key(self.settings) for place, node in self.nodes.items()}
        self.errors: Errors = {}
        self.fits: dict[Place, float | None] = {}
        self.weights: dict[Place, bytes] = {}
        self.todo: dict[Place, Node] = {}
        self.known: dict[Place, Entry] = {}  # entries of nodes to do: what they have is not to be lost
        self._look_up()
        self.found = len(self.nodes) - len(self.todo)  # nodes that need no training
        self.under_way = ""  # how far the node is that this process trains, in words

    def _look_up(self) -> None:
        """What is stored and of use; children first, as a node without work to do below it needs no weights."""
        parents: set[tuple[int, Path | None]] = set()
        for place in reversed(list(self.nodes)):
            node, entry = self.nodes[place], self.store.get(self.keys[place])
            complete = entry is not None and all(str(occurrence) in entry.errors for occurrence in node.tested)
            needed = place in parents or place in self.keep
            weights = self.store.weights(entry) if complete and needed and entry else None
            if not complete or entry is None or (needed and weights is None):
                self.todo[place] = node
                parents.add((node.seed, node.parent))
                if entry is not None:
                    self.known[place] = entry
                continue
            self.errors[place], self.fits[place] = entry.errors, entry.fit
            if weights is not None:
                self.weights[place] = weights
        self.todo = dict(reversed(self.todo.items()))  # parents first

    def run(self, resources: Resources = LOCAL) -> tuple[Errors, dict[Place, float | None]]:
        """Train what is to do; errors and fit of every node."""
        resources.check()
        self._report()
        if self.todo:
            self.store.sweep()
            with pool(self.experiment, resources, self._watch) as trainers:
                self._work(trainers)
        return self.errors, self.fits

    def measured(self, sequence: Sequence[str], seeds: Iterable[int]) -> tuple[Array, Array]:
        """Of a sequence that has been trained, the error matrices (seeds, T+1, T) and the fits (seeds, T)."""
        whole = occurrences(sequence)
        paths, matrices, fits = [whole[:t] for t in range(len(whole) + 1)], [], []
        for seed in seeds:
            matrices.append(error_matrix(sequence, {path: self.errors[seed, path] for path in paths}))
            fits.append([self.fits[seed, path] for path in paths[1:]])
        return np.array(matrices), np.array(fits, dtype=float)

    def _work(self, trainers: Pool) -> None:
        """Keep every ready node submitted; take results as they come."""
        waiting, running = dict(self.todo), {}
        while waiting or running:
            for place in [place for place in waiting if self._ready(place)]:
                node = waiting.pop(place)
                parent = self.weights.get((node.seed, node.path[:-1])) if node.path else None
                self._forget_parent(node, waiting)
                running[trainers.submit(node, parent, self.store.checkpoint(self.keys[place]))] = place
            faults = []
            for future in trainers.wait(list(running)):
                place = running.pop(future)
                try:
                    outcome = trainers.result(future)
                except Exception as fault:  # what others have finished meanwhile is stored all the same
                    faults.append(fault)
                    continue
                self._take(place, outcome)
            if faults:
                raise faults[0]

    def _ready(self, place: Place) -> bool:
        seed, path = place
        return not path or (seed, path[:-1]) in self.weights

    def _forget_parent(self, node: Node, waiting: Container[Place]) -> None:
        """Weights that no other node waits for need no memory any more."""
        parent = (node.seed, node.path[:-1])
        if node.path and not any(
            (other.seed, other.path[:-1]) == parent and place in waiting for place, other in self.todo.items()
        ):
            self.weights.pop(parent, None)

    def _take(self, place: Place, outcome: NodeResult) -> None:
        node = self.todo.pop(place)
        about = self.settings | {"seed": node.seed, "path": [str(occurrence) for occurrence in node.path]}
        about["made_with"] = software_versions("numpy", "torch")
        known = self.known.pop(place, None)
        had_children = known is not None and known.weights_checksum is not None
        kept = outcome.weights if node.has_children or had_children or place in self.keep else None
        errors = outcome.errors if known is None else known.errors | outcome.errors
        self.store.put(self.keys[place], errors, outcome.fit, about, kept)
        self.store.checkpoint(self.keys[place]).remove()
        self.errors[place], self.fits[place] = outcome.errors, outcome.fit
        if kept is not None:
            self.weights[place] = kept
        self.under_way = ""
        self._report()

    def _report(self, part: float = 0.0) -> None:
        """part: how much of the node under way is done, where that is known."""
        if self.progress and self.nodes:
            self.progress(1 - (len(self.todo) - part) / len(self.nodes))

    def _watch(self, part: float, words: str) -> None:
        self.under_way = words
        self._report(part)


def _joined(nodes: list[Node]) -> dict[Place, Node]:
    """Each node once, with all that is asked of it, parents first."""
    joined: dict[Place, Node] = {}
    for node in sorted(nodes, key=lambda node: len(node.path)):
        place = (node.seed, node.path)
        if node.path and (node.seed, node.path[:-1]) not in joined:
            raise ValueError(
                f"node {' '.join(map(str, node.path))} without its parent: give every prefix, as `prefix_tree` does"
            )
        other = joined.get(place, node)
        tested = tuple(sorted({*other.tested, *node.tested}))
        joined[place] = replace(node, tested=tested, has_children=other.has_children or node.has_children)
        if node.path:
            parent = (node.seed, node.path[:-1])
            joined[parent] = replace(joined[parent], has_children=True)
    return joined
