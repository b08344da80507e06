"""A whole stream learned in its usual order: the accuracy matrix, from the store as far as it is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from safetensors.torch import load

from ebbing._validate import Array
from ebbing.learn.experiment import Experiment
from ebbing.learn.sequences import prefix_tree
from ebbing.learn.tasks.base import occurrences
from ebbing.learn.training._state_file import decode_json, dump, encode_json
from ebbing.runs._pools import LOCAL, Resources
from ebbing.runs.execution import Execution
from ebbing.runs.store import Store

Report = Callable[[float, str], None]
"""Told the share that is done, and how it goes."""


@dataclass(frozen=True, eq=False)
class StreamRun:
    """What came out: A[t, i], the accuracy on task i after t tasks (t = 0: the initial network); NaN: not trained."""

    seed: int
    tasks: tuple[str, ...]
    accuracies: Array  # (T+1, T)
    trained: int  # tasks learned by this call; the others were in the store
    kept: tuple[int | None, ...] = ()  # bytes of all that is kept after t tasks, the network included; None: not stored
    learner: bytes | None = None  # the state of the learner at the end, if it was asked for, as its `save` writes it

    @property
    def kept_per_task(self) -> float | None:
        """Bytes that a task adds to what is kept, on average over those that others follow.

        Of the last one nothing needs to be protected any more, and unless it is asked for it is not stored.
        """
        known = [(t, size) for t, size in enumerate(self.kept[:-1]) if size is not None]
        if len(known) < 2 or known[0][0] != 0:
            return None
        (_, first), (t, last) = known[0], known[-1]
        return (last - first) / t

    @property
    def learned(self) -> int:
        """Tasks that have been learned, one after the other, so far."""
        rows = np.append(np.isfinite(self.accuracies).all(axis=1), False)
        return int(np.argmin(rows)) - 1

    @property
    def finished(self) -> bool:
        """Whether every task has been learned."""
        return self.learned == len(self.tasks)


def learn_streams(
    experiment: Experiment,
    tasks: Sequence[str],
    seeds: Sequence[int],
    store: Store,
    *,
    resources: Resources = LOCAL,
    progress: Report | None = None,
    stored_only: bool = False,
    keep: bool = False,
    keep_new: bool = False,
) -> list[StreamRun]:
    """One run for each seed. stored_only: train nothing, and take what the store has.

    keep: also the learner, for which the last task is learned once more if it was not kept. keep_new: if the last task
    is learned now, store the learner for later.
    """
    nodes = [node for seed in seeds for node in prefix_tree([tasks], seed)]

    def report(fraction: float) -> None:
        if progress is not None:
            progress(fraction, _words(execution, seeds, tasks))

    ends = {(seed, occurrences(tasks)) for seed in seeds}
    execution = Execution(experiment, nodes, store, report, keep=ends if keep else ())
    if keep_new:
        execution.keep = ends
    to_do = {seed: sum(1 for place in execution.todo if place[0] == seed and place[1]) for seed in seeds}
    if not stored_only:
        execution.run(resources)
    found = []
    for seed in seeds:
        matrix, kept = _matrix(execution, seed, tasks), _kept(execution, seed, tasks)
        learner = _named(execution.weights[seed, occurrences(tasks)]) if keep else None
        found.append(StreamRun(seed, tuple(tasks), matrix, 0 if stored_only else to_do[seed], kept, learner))
    return found


def _named(learner: bytes) -> bytes:
    """The state of a learner in which each task has its plain name: in a stream it occurs once."""

    def plain(names: list[str]) -> list[str]:
        return [name.partition("#")[0] for name in names]

    state = load(learner)
    state["tasks"] = encode_json(plain(decode_json(state["tasks"])))
    if "trusted" in state:
        by_task = decode_json(state["trusted"])
        state["trusted"] = encode_json([{layer: plain(names) for layer, names in found.items()} for found in by_task])
    return dump(state)


def _kept(execution: Execution, seed: int, tasks: Sequence[str]) -> tuple[int | None, ...]:
    whole, store = occurrences(tasks), execution.store
    entries = [store.get(execution.keys[seed, whole[:t]]) for t in range(len(whole) + 1)]
    return tuple(None if entry is None else store.weights_size(entry) for entry in entries)


def _matrix(execution: Execution, seed: int, tasks: Sequence[str]) -> Array:
    whole = occurrences(tasks)
    matrix = np.full((len(whole) + 1, len(whole)), np.nan)
    for t in range(len(whole) + 1):
        place = (seed, whole[:t])
        errors = execution.errors.get(place)
        if errors is None and place in execution.known:
            errors = execution.known[place].errors  # stored, if without weights
        if errors is not None:
            matrix[t] = [1 - errors.get(str(occurrence), np.nan) for occurrence in whole]
    return matrix


def _words(execution: Execution, seeds: Sequence[int], tasks: Sequence[str]) -> str:
    """How many tasks are learned, and how well the network knows them now."""
    parts = []
    for seed in seeds:
        run = StreamRun(seed, tuple(tasks), _matrix(execution, seed, tasks), 0)
        if run.learned > 0:
            accuracy = run.accuracies[run.learned, : run.learned].mean()
            who = f"seed {seed}: " if len(seeds) > 1 else ""
            parts.append(f"{who}{run.learned} of {len(tasks)} tasks, accuracy {accuracy:.1%}")
    return "; ".join([*(parts or ["first task"]), *([execution.under_way] if execution.under_way else [])])
