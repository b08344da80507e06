"""Table 1: GPM, TRGP and TRGP+ on Permuted MNIST and Split CIFAR-100 (Section 5.3 and its appendix).

Beside the paper's two methods stand plain fine-tuning and GPM, TRGP and TRGP+ as their authors' code has them and as
they are meant (docs/methods.md), and TRGP+ with the weights that the theory gives. All of a protocol's methods see the
same tasks, the same initial network and the same shuffling for a seed, so that they are compared seed by seed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import stats

from ebbing import metrics
from ebbing.learn import PermutedMnist, SplitCifar100, Training
from ebbing.learn.presets import AnyStream, preset
from ebbing.paper.record import provenance
from ebbing.runs import Store
from ebbing.runs.stream import StreamRun, learn_streams
from ebbing.validate import Array, count

PAPER: dict[str, dict[str, tuple[float, float]]] = {
    "pmnist": {"TRGP": (96.34, -0.80), "TRGP+": (96.75, -0.46)},
    "cifar100": {"TRGP": (74.46, -0.90), "TRGP+": (75.31, 0.13)},
}
"""ACC and BWT as printed in the paper, in percent. They come from code that does what "as published" does here."""

METHODS = ("SGD", "GPM", "TRGP as published", "TRGP", "TRGP+ as published", "TRGP+", "TRGP+ theory")

PAIRS = (
    ("TRGP+ as published", "TRGP as published"),
    ("TRGP+", "TRGP"),
    ("TRGP+ theory", "TRGP"),
    ("TRGP", "TRGP as published"),
    ("TRGP", "GPM"),
)
"""Comparisons over the same seeds: does the first beat the second?"""


@dataclass(frozen=True)
class Protocol:
    """A stream, the methods to run on it, how many seeds, and how long each task is learnt."""

    name: str
    benchmark: str
    stream: AnyStream
    seeds: int
    methods: tuple[str, ...] = METHODS
    epochs: int | None = None  # None: as published
    patience: bool = True  # whether training may stop early, as published for CIFAR-100
    reduced: str = ""  # what is less than published, in words

    def __post_init__(self) -> None:
        count("seeds", self.seeds)

    def training(self, method: str) -> Training:
        """What one of the methods trains."""
        name = method.split(maxsplit=1)[0].lower()
        published, theory = method.endswith("as published"), method.endswith("theory")
        recency = self.recency if theory else None
        made = preset(self.stream, name, as_published=published, recency=recency, epochs=self.epochs)  # type: ignore[arg-type]
        if not self.patience:
            schedule = replace(made.method.schedule, patience=None)  # type: ignore[attr-defined]
            made = replace(made, method=replace(made.method, schedule=schedule))  # type: ignore[type-var]
        return made

    @property
    def recency(self) -> float:
        """r = 1 - n/p as the theory has it: n examples of a task, p weights that it trains (of heads, its own)."""
        if isinstance(self.stream, SplitCifar100):
            examples = 500 * self.stream.classes
            return round(1 - (examples - round(examples * self.stream.validation_share)) / 6_528_896, 4)
        return round(1 - min(self.stream.train_images or 0, 54_000) / 89_400, 3)


PMNIST = Protocol("pmnist", "pmnist", PermutedMnist(), seeds=5)
CIFAR100 = Protocol("cifar100", "cifar100", SplitCifar100(), seeds=1, methods=("TRGP", "TRGP+"))
CIFAR100_SHORT = Protocol(
    "cifar100 short",
    "cifar100",
    SplitCifar100(),
    seeds=3,
    epochs=5,
    patience=False,
    reduced="5 epochs a task instead of up to 200",
)
QUICK = Protocol(
    "pmnist quick",
    "pmnist",
    PermutedMnist(tasks=4, train_images=4_000, test_images=2_000, validation_images=0),
    seeds=2,
    epochs=2,
    reduced="4 of 10 tasks, 4,000 of 54,000 training images, 2 of 5 epochs, 2,000 of 10,000 test images",
)


@dataclass(frozen=True)
class Config:
    """The protocols to run."""

    protocols: tuple[Protocol, ...] = (PMNIST, CIFAR100_SHORT, CIFAR100)


@dataclass(frozen=True)
class Comparison:
    """Two methods over the same seeds: differences in percentage points, the first minus the second."""

    better: str
    worse: str
    accuracy: tuple[float, ...]  # by seed
    transfer: tuple[float, ...]

    def text(self, what: str) -> str:
        """The mean difference, how surely it is not zero, and in how many seeds it is positive.

        >>> Comparison("b", "a", (0.1, 0.3, 0.2), (0.0, 0.0, 0.0)).text("accuracy")
        '+0.20 (standard error 0.06, p = 0.074, positive in 3 of 3 seeds)'
        """
        values = np.array(getattr(self, what))
        if len(values) < 2:
            return f"{values.mean():+.2f} (one seed: how surely cannot be told)"
        error = values.std(ddof=1) / np.sqrt(len(values))
        wins = int((values > 0).sum())
        sure = f"p = {self.p_value(what):.2g}" if error > 0 else "no spread"
        return f"{values.mean():+.2f} (standard error {error:.2f}, {sure}, positive in {wins} of {len(values)} seeds)"

    def p_value(self, what: str) -> float:
        """Of a paired t-test, two-sided; 1 for a single seed."""
        values = np.array(getattr(self, what))
        if len(values) < 2 or not values.any():
            return 1.0
        error = values.std(ddof=1) / np.sqrt(len(values))
        return float(2 * stats.t.sf(abs(values.mean()) / error, len(values) - 1)) if error > 0 else 0.0

    def supported(self, what: str) -> bool:
        """Whether the first is better, surely enough."""
        return bool(np.mean(getattr(self, what)) > 0 and self.p_value(what) < 0.05)


@dataclass(frozen=True, eq=False)
class Result:
    """Every run of every protocol and method."""

    config: Config
    runs: dict[tuple[str, str], list[StreamRun]]  # by protocol and method
    provenance: dict[str, Any] = field(repr=False)

    def finished(self, protocol: Protocol, method: str) -> list[StreamRun]:
        """The runs that have learnt every task."""
        return [run for run in self.runs[protocol.name, method] if run.finished]

    def accuracy(self, protocol: Protocol, method: str) -> Array:
        """ACC in percent, of every finished run."""
        runs = self.finished(protocol, method)
        return np.array([100 * metrics.average_accuracy(run.accuracies, kind="accuracy") for run in runs])

    def transfer(self, protocol: Protocol, method: str) -> Array:
        """BWT in percentage points, of every finished run."""
        runs = self.finished(protocol, method)
        return np.array([100 * metrics.backward_transfer(run.accuracies, kind="accuracy") for run in runs])

    def comparisons(self, protocol: Protocol) -> list[Comparison]:
        """Pairs of methods over the seeds that both have finished."""
        found = []
        for better, worse in PAIRS:
            if better not in protocol.methods or worse not in protocol.methods:
                continue
            first = {run.seed: i for i, run in enumerate(self.finished(protocol, better))}
            second = {run.seed: i for i, run in enumerate(self.finished(protocol, worse))}
            seeds = sorted(first.keys() & second.keys())
            if not seeds:
                continue
            differences = []
            for measure in (self.accuracy, self.transfer):
                a, b = measure(protocol, better), measure(protocol, worse)
                differences.append(tuple(float(a[first[s]] - b[second[s]]) for s in seeds))
            found.append(Comparison(better, worse, *differences))
        return found


def run(
    config: Config,
    store: Store,
    *,
    workers: int = 1,
    cluster: str | None = None,
    device: str = "cpu",
    progress: Callable[[float], None] | None = None,
    stored_only: bool = False,
) -> Result:
    """Train what is missing (or, stored_only, nothing) and gather everything."""
    began = time.monotonic()
    wanted = [(protocol, method) for protocol in config.protocols for method in protocol.methods]
    runs: dict[tuple[str, str], list[StreamRun]] = {}
    for i, (protocol, method) in enumerate(wanted):

        def report(part: float, words: str, i: int = i) -> None:
            if progress is not None:
                progress((i + part) / len(wanted))

        runs[protocol.name, method] = learn_streams(
            protocol.training(method),
            protocol.stream.names,
            range(protocol.seeds),
            store,
            workers=workers,
            cluster=cluster,
            device=device,
            progress=report,
            stored_only=stored_only,
        )
    return Result(config, runs, provenance(config, time.monotonic() - began))


def spread(values: Sequence[float] | Array) -> str:
    """Mean and standard error over seeds.

    >>> spread([1.0, 3.0])
    '2.00 ± 1.00 (2 seeds)'
    """
    if len(values) == 1:
        return f"{values[0]:.2f} (1 seed)"
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):.2f} ± {error:.2f} ({len(values)} seeds)"
