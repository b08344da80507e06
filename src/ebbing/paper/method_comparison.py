"""Methods of continual learning beside each other: the same streams, the same seeds, ACC and BWT, seed by seed.

A `Study` is a set of protocols; a `Protocol` is a stream, the `MethodVariant`s that learn it, and how many seeds. All of
them see the same tasks, the same initial network and the same shuffling for a seed, so that differences are taken seed
by seed. `table1` and `ablations` are studies.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ebbing import metrics
from ebbing._validate import Array, count
from ebbing.data import DataError
from ebbing.learn import Experiment
from ebbing.learn.presets import AnyStream, MethodName, preset
from ebbing.paper._output import provenance
from ebbing.paper._statistics import Paired, standard_error
from ebbing.runs import LOCAL, Resources, Store
from ebbing.runs.streams import StreamRun, learn_streams


@dataclass(frozen=True)
class MethodVariant:
    """A method with its published settings for the stream, some of them changed."""

    name: str
    method: MethodName
    as_published: bool = False
    changes: Mapping[str, Any] = field(default_factory=dict)  # of the method's settings


@dataclass(frozen=True)
class Protocol:
    """A stream, who learns it, how many seeds, and how long each task is learned."""

    name: str
    stream: AnyStream
    variants: tuple[MethodVariant, ...]
    pairs: tuple[tuple[str, str], ...]  # compared over the same seeds: is the first better than the second?
    seeds: int
    first_seed: int = 0
    epochs: int | None = None  # None: as published
    patience: bool = True  # whether training may stop early, as published for CIFAR-100
    reduced: str = ""  # what is less than published, in words
    printed: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # the paper's ACC and BWT, by contender

    def __post_init__(self) -> None:
        count("seeds", self.seeds)
        unknown = {name for pair in self.pairs for name in pair}.union(self.printed).difference(self.names)
        if unknown:
            raise ValueError(f"{self.name}: no contender is called {', '.join(sorted(unknown))}")

    @property
    def names(self) -> tuple[str, ...]:
        """Of the contenders."""
        return tuple(variant.name for variant in self.variants)

    def experiment(self, name: str) -> Experiment:
        """What one of the contenders trains."""
        variant = self.variants[self.names.index(name)]
        made = preset(self.stream, variant.method, as_published=variant.as_published, epochs=self.epochs)
        method: Any = replace(made.method, **variant.changes)  # type: ignore[type-var]
        if not self.patience:
            method = replace(method, schedule=replace(method.schedule, patience=None))
        return replace(made, method=method)


@dataclass(frozen=True)
class Study:
    """Protocols that belong together, and the name of the files that tell of them."""

    name: str
    title: str
    protocols: tuple[Protocol, ...]

    def with_seeds(self, seeds: int | None) -> Study:
        """Another number of seeds in every protocol; None: as it is."""
        if seeds is None:
            return self
        return replace(self, protocols=tuple(replace(protocol, seeds=seeds) for protocol in self.protocols))


@dataclass(frozen=True)
class Comparison:
    """Two contenders over the same seeds: differences in percentage points, the first minus the second."""

    first: str
    second: str
    accuracy: Paired
    transfer: Paired


@dataclass(frozen=True, eq=False)
class Result:
    """Every run of every protocol and contender."""

    study: Study
    runs: dict[tuple[str, str], list[StreamRun]]  # by protocol and contender
    provenance: dict[str, Any] = field(repr=False)

    def finished(self, protocol: Protocol, name: str) -> list[StreamRun]:
        """The runs that have learned every task."""
        return [run for run in self.runs[protocol.name, name] if run.finished]

    def accuracy(self, protocol: Protocol, name: str) -> Array:
        """ACC in percent, of every finished run."""
        runs = self.finished(protocol, name)
        return np.array([100 * metrics.average_accuracy(run.accuracies, kind="accuracy") for run in runs])

    def transfer(self, protocol: Protocol, name: str) -> Array:
        """BWT in percentage points, of every finished run."""
        runs = self.finished(protocol, name)
        return np.array([100 * metrics.backward_transfer(run.accuracies, kind="accuracy") for run in runs])

    def memory(self, protocol: Protocol, name: str) -> float | None:
        """MB that a task adds to what is kept, on average; None where the store does not have it."""
        kept = [run.kept_per_task for run in self.finished(protocol, name)]
        known = [size for size in kept if size is not None]
        return float(np.mean(known)) / 1e6 if known else None

    def comparisons(self, protocol: Protocol) -> list[Comparison]:
        """The protocol's pairs, over the seeds that both have finished."""
        found = []
        for first, second in protocol.pairs:
            places = [{run.seed: i for i, run in enumerate(self.finished(protocol, name))} for name in (first, second)]
            seeds = sorted(places[0].keys() & places[1].keys())
            if not seeds:
                continue
            differences = []
            for measure in (self.accuracy, self.transfer):
                a, b = measure(protocol, first), measure(protocol, second)
                differences.append(Paired(tuple(float(a[places[0][s]] - b[places[1][s]]) for s in seeds)))
            found.append(Comparison(first, second, *differences))
        return found


def run(
    study: Study,
    store: Store,
    *,
    resources: Resources = LOCAL,
    progress: Callable[[float], None] | None = None,
    stored_only: bool = False,
) -> Result:
    """Train what is missing (or, stored_only, nothing) and gather everything.

    Data that cannot be had are an error before anything is trained; stored_only, what needs them is left empty.
    """
    began = time.monotonic()
    wanted = [
        (protocol, name) for protocol in study.protocols if _has_data(protocol, stored_only) for name in protocol.names
    ]
    runs: dict[tuple[str, str], list[StreamRun]] = {(p.name, name): [] for p in study.protocols for name in p.names}
    for i, (protocol, name) in enumerate(wanted):

        def report(part: float, words: str, i: int = i) -> None:
            if progress is not None:
                progress((i + part) / len(wanted))

        runs[protocol.name, name] = learn_streams(
            protocol.experiment(name),
            protocol.stream.names,
            range(protocol.first_seed, protocol.first_seed + protocol.seeds),
            store,
            resources=resources,
            progress=report,
            stored_only=stored_only,
        )
    everything = [run for found in runs.values() for run in found]
    trained = sum(run.trained for run in everything)
    found = sum(max(run.learned, 0) for run in everything) - trained
    record = provenance(study, time.monotonic() - began, "torch") | {"tasks": {"trained": trained, "found": found}}
    return Result(study, runs, record)


def _has_data(protocol: Protocol, stored_only: bool) -> bool:
    try:
        return bool(protocol.stream.identity)
    except DataError:
        if not stored_only:
            raise
        return False


def spread(values: Sequence[float] | Array) -> str:
    """Mean and standard error over seeds.

    >>> spread([1.0, 3.0])
    '2.00 ± 1.00 (2 seeds)'
    """
    if len(values) == 1:
        return f"{values[0]:.2f} (1 seed)"
    return f"{np.mean(values):.2f} ± {standard_error(np.asarray(values)):.2f} ({len(values)} seeds)"
