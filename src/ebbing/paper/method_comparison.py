"""Comparisons of methods of continual learning by average accuracy (ACC) and backward transfer (BWT).

A `Study` is a set of protocols. A `Protocol` is a stream of tasks, the `MethodVariant`s that learn it, and a number of
seeds. With equal seeds all variants get the same tasks, the same initial network and the same shuffling, so differences
are taken seed by seed. `ebbing.paper.table1` and `ebbing.paper.ablations` are studies, `ebbing.paper.method_report`
writes their tables and verdicts, and `ebbing.plot.method_comparison` draws them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ebbing import metrics
from ebbing._validate import Array, check_count
from ebbing.learn import MLP, Experiment
from ebbing.learn.presets import AnyStream, MethodName, preset
from ebbing.paper._output import provenance
from ebbing.paper._statistics import PairedDifferences, standard_error
from ebbing.runs import LOCAL, Resources, Store
from ebbing.runs.streams import StreamRun, train_streams


@dataclass(frozen=True)
class MethodVariant:
    """A method with its preset for a stream, and changes of some settings.

    Attributes:
        name: The name of the variant in tables.
        method: The name of the method, as in `ebbing.learn.preset`.
        as_published: Whether the method departs from its description like the authors' code.
        changes: The settings of the method that differ from the preset, by name.
        width: The width of the network's hidden layers, as a multiple of the preset's.
        seeds: The number of seeds, if it is not that of the protocol.
    """

    name: str
    method: MethodName
    as_published: bool = False
    changes: Mapping[str, Any] = field(default_factory=dict)
    width: float = 1.0
    seeds: int | None = None


@dataclass(frozen=True)
class Protocol:
    """A stream, the variants that learn it, and how long and how often they do.

    Attributes:
        name: The name of the protocol in tables.
        stream: The stream of tasks.
        variants: The methods that are compared.
        pairs: Names of variants to compare over the same seeds: is the first better than the second?
        seeds: The number of seeds of every variant that does not have its own.
        first_seed: The first seed.
        epochs: The number of epochs per task; None as published.
        early_stopping: Whether training may stop early, as published for CIFAR-100.
        reduction: How the protocol is smaller than the published one, in words; empty if it is not.
        paper_values: ACC and BWT that the paper prints, by name of the variant.
    """

    name: str
    stream: AnyStream
    variants: tuple[MethodVariant, ...]
    pairs: tuple[tuple[str, str], ...]
    seeds: int
    first_seed: int = 0
    epochs: int | None = None
    early_stopping: bool = True
    reduction: str = ""
    paper_values: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_count("seeds", self.seeds)
        unknown = {name for pair in self.pairs for name in pair}.union(self.paper_values).difference(self.names)
        if unknown:
            raise ValueError(
                f"{self.name}: no variant is called {', '.join(sorted(unknown))}; give some of {', '.join(self.names)}"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variants."""
        return tuple(variant.name for variant in self.variants)

    def seed_numbers(self, name: str) -> tuple[int, ...]:
        """Return the seeds with which a variant is trained.

        Args:
            name: The name of the variant.

        Returns:
            The seeds, in a row from the first one on.
        """
        count = self.variants[self.names.index(name)].seeds or self.seeds
        return tuple(range(self.first_seed, self.first_seed + count))

    def experiment(self, name: str) -> Experiment:
        """Return the experiment that a variant trains.

        Args:
            name: The name of the variant.

        Returns:
            Tasks, architecture and method.
        """
        variant = self.variants[self.names.index(name)]
        made = preset(self.stream, variant.method, as_published=variant.as_published, epochs=self.epochs)
        method: Any = replace(made.method, **variant.changes)  # type: ignore[type-var]
        if not self.early_stopping:
            method = replace(method, schedule=replace(method.schedule, patience=None))
        return replace(made, method=method, architecture=_with_width(made.architecture, variant.width))


def _with_width(architecture: Any, width: float) -> Any:
    """Return an architecture of a preset with other widths of its hidden layers."""
    if width == 1:
        return architecture
    if isinstance(architecture, MLP):
        first, *hidden, last = architecture.widths
        return replace(architecture, widths=(first, *(round(width * units) for units in hidden), last))
    return replace(architecture, width=width)


@dataclass(frozen=True)
class Study:
    """Protocols that belong together.

    Attributes:
        name: The name of the files that report the study.
        title: The title of the study in tables.
        protocols: The protocols.
    """

    name: str
    title: str
    protocols: tuple[Protocol, ...]

    def with_seeds(self, seeds: int | None) -> Study:
        """Return the study with another number of seeds.

        Args:
            seeds: The number of seeds of every protocol; None keeps the numbers as they are.

        Returns:
            The changed study.
        """
        if seeds is None:
            return self
        protocols = []
        for protocol in self.protocols:
            variants = tuple(replace(variant, seeds=None) for variant in protocol.variants)
            protocols.append(replace(protocol, seeds=seeds, variants=variants))
        return replace(self, protocols=tuple(protocols))


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
