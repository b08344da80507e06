"""How far the runs at paper scale are: recorded, running, begun or to come, and how much training is left."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ebbing.data import DataError
from ebbing.learn import prefix_tree
from ebbing.paper.planned_runs import PlannedRuns, planned_runs
from ebbing.paper.records import Record, read_records
from ebbing.runs import Store

State = Literal["recorded", "running", "begun", "to come"]

RECENT = 1800.0
"""Seconds since something of a run was last written, up to which the run counts as running."""


@dataclass(frozen=True)
class RunProgress:
    """How far a planned run is.

    Attributes:
        target: The target of `ebbing reproduce` that it belongs to.
        name: Its name in records.
        seed: Its seed.
        state: "recorded", "running" (something was written within the last half hour), "begun" or "to come".
        trained: How many of its networks are trained.
        networks: How many networks it trains.
        seconds_left: How long the others take on one core, by the recorded times of runs of the same name, or else of
            the same protocol; None if no time is recorded.
    """

    target: str
    name: str
    seed: int
    state: State
    trained: int
    networks: int
    seconds_left: float | None


def run_progress(targets: Sequence[str], folder: Path, seeds: int | None = None) -> list[RunProgress]:
    """Say of each planned run how far it is; nothing is trained.

    Args:
        targets: Targets with planned runs: some of "fig2", "table1", "sensitivity", "ablations", "frontier" and
            "forecast".
        folder: The folder of the reproduction, with records/ and runs/.
        seeds: The number of seeds; None for the planned numbers.

    Returns:
        One entry for each run, in the order in which they are trained.
    """
    found = []
    for target in targets:
        records = read_records(folder, target)
        for runs in planned_runs(target, seeds):
            recorded = {record.seed for record in records if record.name == runs.name}
            count = len(prefix_tree(runs.sequences, 0)) - 1
            rate = _seconds_per_network(runs, records, count)
            for seed in runs.seeds:
                state, trained = (
                    ("recorded", count) if seed in recorded else _stored(runs, seed, Store(folder / "runs"))
                )
                left = 0.0 if seed in recorded else None if rate is None else rate * (count - trained)
                found.append(RunProgress(target, runs.name, seed, state, trained, count, left))
    return found


def _stored(runs: PlannedRuns, seed: int, store: Store) -> tuple[State, int]:
    """The state of a run that is not recorded, and how many of its networks the store has."""
    trained, latest = 0, 0.0
    try:
        settings = runs.experiment.describe(seed)
    except DataError:  # results are found by their data
        return "to come", 0
    for node in prefix_tree(runs.sequences, seed):
        key = node.key(settings)
        entry = store.get(key)
        trained += entry is not None and bool(node.path)
        for path in (store.checkpoint(key).path, store.checkpoint(key).path.with_suffix(".json")):
            with suppress(FileNotFoundError):
                latest = max(latest, path.stat().st_mtime)
    if not latest:
        return "to come", 0
    return ("running" if time.time() - latest < RECENT else "begun"), trained


def _seconds_per_network(runs: PlannedRuns, records: Sequence[Record], count: int) -> float | None:
    """The recorded time of a network: of runs of this name, else of the same protocol."""
    protocol = runs.name.partition(" / ")[0]
    same = [record for record in records if record.name == runs.name]
    similar = [record for record in records if record.name.partition(" / ")[0] == protocol]
    for some in (same, similar):
        times = [
            (made["seconds"], _trained(made, count)) for record in some if (made := record.provenance).get("seconds")
        ]
        if networks := sum(trained for _, trained in times):
            return sum(seconds for seconds, _ in times) / networks
    return None


def _trained(made: dict, count: int) -> int:
    """How many networks a record's time was spent on; at the beginning records did not say, and had trained all."""
    return made["networks"]["trained"] if "networks" in made else count
