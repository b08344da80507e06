"""Comparisons of methods of continual learning by average accuracy (ACC) and backward transfer (BWT).

`ebbing.paper.method_study` says what is trained: a `Study` is a set of protocols; a `Protocol` is a stream of tasks,
the `MethodVariant`s that learn it, and a number of seeds. With equal seeds all variants get the same tasks, the same
initial network and the same shuffling, so differences are taken seed by seed. `ebbing.paper.table1` and
`ebbing.paper.ablations` are studies, `ebbing.paper.method_report` writes their tables and verdicts, and
`ebbing.paper.figures.method_comparison` draws them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ebbing import metrics
from ebbing._validate import Array
from ebbing.paper._output import provenance
from ebbing.paper._statistics import PairedDifferences, standard_error
from ebbing.paper.method_study import Protocol, Study
from ebbing.runs import LOCAL, Resources, Store
from ebbing.runs.streams import StreamRun, train_streams


@dataclass(frozen=True)
class Comparison:
    """The differences of two variants over the same seeds, in percentage points, the first minus the second.

    Attributes:
        first: The name of the first variant.
        second: The name of the second variant.
        accuracy: The differences in ACC.
        backward_transfer: The differences in BWT.
    """

    first: str
    second: str
    accuracy: PairedDifferences
    backward_transfer: PairedDifferences


@dataclass(frozen=True, eq=False)
class Result:
    """The runs of a study.

    Attributes:
        study: The study.
        runs: The runs of each protocol and variant, by their names.
        provenance: Code, settings, versions and machine.
    """

    study: Study
    runs: dict[tuple[str, str], list[StreamRun]]
    provenance: dict[str, Any] = field(repr=False)

    def finished_runs(self, protocol: Protocol, name: str) -> list[StreamRun]:
        """Return the runs that have learned every task.

        Args:
            protocol: The protocol.
            name: The name of the variant.

        Returns:
            The runs, by increasing seed.
        """
        return [run for run in self.runs[protocol.name, name] if run.finished]

    def accuracy(self, protocol: Protocol, name: str) -> Array:
        """Return the average accuracy (ACC) of every finished run.

        Args:
            protocol: The protocol.
            name: The name of the variant.

        Returns:
            ACC in percent (runs,).
        """
        runs = self.finished_runs(protocol, name)
        return np.array([100 * metrics.average_accuracy(run.accuracies, kind="accuracy") for run in runs])

    def backward_transfer(self, protocol: Protocol, name: str) -> Array:
        """Return the backward transfer (BWT) of every finished run.

        Args:
            protocol: The protocol.
            name: The name of the variant.

        Returns:
            BWT in percentage points (runs,).
        """
        runs = self.finished_runs(protocol, name)
        return np.array([100 * metrics.backward_transfer(run.accuracies, kind="accuracy") for run in runs])

    def memory_per_task(self, protocol: Protocol, name: str) -> float | None:
        """Return how much memory each task adds to the state of the method, on average.

        Args:
            protocol: The protocol.
            name: The name of the variant.

        Returns:
            Megabytes per task; None if the store does not have them.
        """
        kept = [run.bytes_per_task for run in self.finished_runs(protocol, name)]
        known = [size for size in kept if size is not None]
        return float(np.mean(known)) / 1e6 if known else None

    def comparisons(self, protocol: Protocol) -> list[Comparison]:
        """Return the comparisons of the protocol's pairs over the seeds that both variants have finished.

        Args:
            protocol: The protocol.

        Returns:
            One comparison for each pair with a common seed.
        """
        found = []
        for first, second in protocol.pairs:
            places = [
                {run.seed: i for i, run in enumerate(self.finished_runs(protocol, name))} for name in (first, second)
            ]
            seeds = sorted(places[0].keys() & places[1].keys())
            if not seeds:
                continue
            differences = []
            for measure in (self.accuracy, self.backward_transfer):
                a, b = measure(protocol, first), measure(protocol, second)
                differences.append(PairedDifferences(tuple(float(a[places[0][s]] - b[places[1][s]]) for s in seeds)))
            found.append(Comparison(first, second, *differences))
        return found


def run(
    study: Study,
    store: Store,
    *,
    resources: Resources = LOCAL,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Train the runs that the store does not have yet, and collect all runs.

    Args:
        study: The study.
        store: Where trained networks and their accuracies are kept.
        resources: Where to train.
        progress: Called with the finished share of the work, from 0 to 1.

    Returns:
        The runs of the study. Missing data raise a `DataError` before any training.
    """
    began = time.monotonic()
    for protocol in study.protocols:
        _ = protocol.stream.fingerprint  # raises a DataError
    wanted = [(protocol, name) for protocol in study.protocols for name in protocol.names]
    runs: dict[tuple[str, str], list[StreamRun]] = {(p.name, name): [] for p in study.protocols for name in p.names}
    for i, (protocol, name) in enumerate(wanted):

        def report(part: float, words: str, i: int = i) -> None:
            if progress is not None:
                progress((i + part) / len(wanted))

        runs[protocol.name, name] = train_streams(
            protocol.experiment(name),
            protocol.stream.names,
            protocol.seed_numbers(name),
            store,
            resources=resources,
            progress=report,
        )
    everything = [run for found in runs.values() for run in found]
    trained = sum(run.num_trained for run in everything)
    found = sum(max(run.num_learned, 0) for run in everything) - trained
    record = provenance(study, time.monotonic() - began, "torch") | {"tasks": {"trained": trained, "found": found}}
    return Result(study, runs, record)


def format_mean(values: Sequence[float] | Array) -> str:
    """Return mean and standard error over seeds as text.

    Args:
        values: One value for each seed.

    Returns:
        The text; without a standard error for a single seed.

    Example:
        >>> format_mean([1.0, 3.0])
        '2.00 ± 1.00 (2 seeds)'
    """
    if len(values) == 1:
        return f"{values[0]:.2f} (1 seed)"
    return f"{np.mean(values):.2f} ± {standard_error(np.asarray(values)):.2f} ({len(values)} seeds)"
