"""Training of planned runs, with a record of each as soon as it is finished.

A run that is recorded is not trained again, nor is one that another target has recorded. A run that was interrupted, at
whatever moment, continues from the store.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ebbing.learn import prefix_tree
from ebbing.paper._output import origin
from ebbing.paper.planned_runs import PlannedRuns
from ebbing.paper.records import Record, add_records, check_settings, read_records, recorded_targets
from ebbing.runs import LOCAL, Execution, Resources, Store, StreamRun, train_streams


def record_runs(
    planned: Sequence[PlannedRuns],
    folder: Path,
    *,
    resources: Resources = LOCAL,
    progress: Callable[[float], None] | None = None,
) -> int:
    """Train the planned runs that are not recorded yet, and add a record of each at once when it is finished.

    A run that another target has recorded with the same settings is copied from there instead.

    Args:
        planned: The runs.
        folder: The folder of the reproduction: its records/ has the records, its runs/ the trained networks.
        resources: Where to train.
        progress: Called with the finished share of the work, from 0 to 1.

    Returns:
        How many runs were recorded, the copied ones included.

    Raises:
        RecordError: If a planned run is recorded with other settings, before anything is trained; or if a finished
            run contradicts a record that another process has added meanwhile.
    """
    targets = {runs.target for runs in planned}.union(recorded_targets(folder))
    records = {target: read_records(folder, target) for target in targets}
    missing = [(runs, seeds) for runs in planned if (seeds := missing_seeds(runs, records[runs.target]))]
    known = [record for found in records.values() for record in found]
    copies = {copy.identity: copy for runs, seeds in missing for copy in records_of_same_runs(runs, seeds, known)}
    add_records(folder, [*copies.values()])
    missing = [(runs, left) for runs, seeds in missing if (left := [s for s in seeds if (runs.name, s) not in copies])]
    total, store = sum(len(seeds) for _, seeds in missing), Store(folder / "runs")
    done = 0
    for runs, seeds in missing:

        def report(share: float, _: str = "", count: int = len(seeds), done: int = done) -> None:
            if progress is not None:
                progress((done + share * count) / total)

        training = _Training(runs, seeds, folder, store, resources)
        (training.train_stream if runs.is_stream else training.train_sequences)(report)
        done += len(seeds)
    if progress is not None:
        progress(1.0)
    return done + len(copies)


def missing_seeds(runs: PlannedRuns, records: Sequence[Record]) -> list[int]:
    """Return the seeds of planned runs that are not recorded.

    Args:
        runs: The runs.
        records: All records of their target.

    Returns:
        The seeds without a record; a `RecordError` is raised if one is recorded with other settings.
    """
    recorded = {record.seed: record for record in records if record.name == runs.name}
    if found := [recorded[seed] for seed in runs.seeds if seed in recorded]:
        settings = _plain(runs.experiment.describe())
        for record in found:
            check_settings(record, settings)
    return [seed for seed in runs.seeds if seed not in recorded]


def records_of_same_runs(runs: PlannedRuns, seeds: Sequence[int], records: Sequence[Record]) -> list[Record]:
    """Return records of planned runs, copied from runs of other targets with the same settings and seed.

    Only streams are looked for: of other runs, settings do not say which sequences of tasks they learn.

    Args:
        runs: The runs.
        seeds: Those of their seeds to look for.
        records: Records of any targets.

    Returns:
        A record for each seed that was found; its provenance is that of the other run, and names it.
    """
    if not runs.is_stream:
        return []
    settings = {seed: _plain(runs.experiment.describe(seed)) for seed in seeds}
    found = {
        other.seed: replace(
            other,
            target=runs.target,
            name=runs.name,
            provenance=other.provenance | {"copied_from": f"{other.target}: {other.name}"},
        )
        for other in records
        if other.target != runs.target and "accuracies" in other.result and other.settings == settings.get(other.seed)
    }
    return [found[seed] for seed in seeds if seed in found]


@dataclass(frozen=True)
class _Training:
    """The training of runs that are not recorded yet.

    Attributes:
        runs: The runs.
        seeds: Those of their seeds that are not recorded.
        folder: The folder of the reproduction.
        store: Where trained networks are kept.
        resources: Where to train.
    """

    runs: PlannedRuns
    seeds: Sequence[int]
    folder: Path
    store: Store
    resources: Resources

    def train_sequences(self, report: Callable[[float], None]) -> None:
        """Train all sequences seed by seed, so that a seed is finished as early as possible.

        Args:
            report: Called with the finished share.
        """
        for k, seed in enumerate(self.seeds):

            def report_seed(share: float, k: int = k) -> None:
                report((k + share) / len(self.seeds))

            nodes = prefix_tree(self.runs.sequences, seed)
            execution = Execution(self.runs.experiment, nodes, self.store, report_seed)
            pending = len(execution.pending)
            execution.run(self.resources)
            result: dict[str, dict[str, Any]] = {"matrices": {}, "training_errors": {}}
            for sequence in self.runs.sequences:
                matrices, fits = execution.collect(sequence, [seed])
                result["matrices"][" ".join(sequence)] = matrices[0].tolist()
                result["training_errors"][" ".join(sequence)] = fits[0].tolist()
            self._record(seed, result, execution.seconds[seed], pending, len(nodes))

    def train_stream(self, report: Callable[[float, str], None]) -> None:
        """Train the stream with all seeds side by side.

        Args:
            report: Called with the finished share and a short message.
        """

        def record(run: StreamRun) -> None:
            result = {"accuracies": run.accuracies.tolist(), "bytes_per_task": run.bytes_per_task}
            self._record(run.seed, result, run.seconds, run.num_trained, len(run.tasks))

        (tasks,) = self.runs.sequences
        train_streams(
            self.runs.experiment,
            tasks,
            self.seeds,
            self.store,
            resources=self.resources,
            progress=report,
            finished=record,
        )

    def _record(self, seed: int, result: dict[str, Any], seconds: float, trained: int, total: int) -> None:
        settings = _plain(self.runs.experiment.describe(seed))
        made = origin("torch") | {"seconds": round(seconds), "networks": {"trained": trained, "found": total - trained}}
        add_records(self.folder, [Record(self.runs.target, self.runs.name, seed, settings, result, made)])


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as JSON gives them back: lists for tuples."""
    return json.loads(json.dumps(settings))
