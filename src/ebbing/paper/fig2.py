"""Figure 2: how similarity and order of tasks change what a network forgets (Sections 5.1, 5.2 and their appendix).

(a) two tasks with 0 to 5 digits in common; (b) four tasks, the first two with 0 to 3 digits in common; (c) one special
task among five equal ones, in every place; (d) two categories of two tasks, in every order. All setups are those of the
appendix. Every prefix that sequences share is trained once: 171 trainings per seed instead of 240.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ebbing import metrics
from ebbing._validate import Array, count
from ebbing.learn import DigitTasks, Experiment, FiveLayers, Sgd, prefix_tree
from ebbing.paper._output import provenance, write_csv, write_json
from ebbing.runs import LOCAL, Execution, Resources, Store

Panel = Literal["a", "b", "c", "d"]

NOT_FITTED = 0.05
"""Squared training error above which a task counts as not learned; guessing gives about 0.2."""


def _overlap_b(first: str, seconds: str, third: str, fourth: str) -> list[tuple[str, ...]]:
    return [(first, second, third, fourth) for second in seconds.split()]


def _special(task: str, other: str) -> list[tuple[str, ...]]:
    return [tuple(task if place == i else other for place in range(6)) for i in range(6)]


def _two_kinds(A: str, B: str) -> list[tuple[str, ...]]:
    return [(A, B, A, B), (B, A, B, A), (A, A, B, B), (B, B, A, A), (A, B, B, A), (B, A, A, B)]


SETUPS: dict[Panel, dict[str, list[tuple[str, ...]]]] = {
    "a": {
        "forgetting": [
            ("0-1-2-3-4", second)
            for second in "5-6-7-8-9 4-5-6-7-8 3-4-5-6-7 2-3-4-5-6 1-2-3-4-5 0-1-2-3-4".split()  # noqa: SIM905
        ],
    },
    "b": {
        "forgetting_0": _overlap_b("0-1-2", "3-4-5 2-3-4 1-2-3 0-1-2", "7-8-9", "7-8-9"),
        "forgetting_1": _overlap_b("3-4-5", "0-1-2 1-2-3 2-3-4 3-4-5", "6-7-8", "7-8-9"),
        "forgetting_2": _overlap_b("0-1-2", "7-8-9 2-7-8 1-2-7 0-1-2", "4-5-6", "4-5-6"),
    },
    "c": {
        "forgetting_0": _special("4-5-6-7", "0-1-2-3"),
        "forgetting_1": _special("0-1-2-3", "5-6-7-8"),
        "forgetting_2": _special("3-4-5-6", "1-2-7-8"),
    },
    "d": {
        "forgetting_0": _two_kinds("4-5-6-7", "1-2-4-5"),
        "forgetting_1": _two_kinds("4-5-6-7", "2-3-4-5"),
        "forgetting_2": _two_kinds("6-7-8-9", "3-4-5-6"),
    },
}
"""The appendix's sequences, by panel and setup, in the order of the horizontal axis."""


@dataclass(frozen=True)
class Config:
    """The paper's values. Widths, batch size and training loss are not printed there; see `learn`."""

    seeds: int = 3
    tasks: DigitTasks = field(default_factory=DigitTasks)
    architecture: FiveLayers = field(default_factory=FiveLayers)
    method: Sgd = field(default_factory=Sgd)

    def __post_init__(self) -> None:
        count("seeds", self.seeds)

    @property
    def experiment(self) -> Experiment:
        """What is trained."""
        return Experiment(self.tasks, self.architecture, self.method)


def sequences() -> list[tuple[str, ...]]:
    """The 54 sequences of the figure, each once."""
    return list(dict.fromkeys(s for setups in SETUPS.values() for setup in setups.values() for s in setup))


@dataclass(frozen=True, eq=False)
class Result:
    """The measured error matrix of every sequence and seed."""

    config: Config
    matrices: dict[tuple[str, ...], Array]  # (seeds, T+1, T)
    fits: dict[tuple[str, ...], Array]  # (seeds, T) squared error on the training data, just learned
    provenance: dict[str, Any] = field(repr=False)

    def forgetting(self, panel: Panel, setup: str) -> Array:
        """F_T of every sequence of a setup, for every seed (seeds, sequences)."""
        return np.stack([metrics.forgetting(self.matrices[s], kind="error") for s in SETUPS[panel][setup]], axis=1)

    @property
    def not_fitted(self) -> list[tuple[tuple[str, ...], int, int, float]]:
        """Sequence, seed, place and training error of every task that was not learned: theory says nothing of those."""
        return [
            (sequence, int(seed), int(place), float(fits[seed, place]))
            for sequence, fits in self.fits.items()
            for seed, place in np.argwhere(~(fits <= NOT_FITTED))  # NaN: it diverged
        ]

    def generalization(self, panel: Panel, setup: str) -> Array:
        """G_T of every sequence of a setup, for every seed (seeds, sequences)."""
        matrices = (self.matrices[s] for s in SETUPS[panel][setup])
        return np.stack([metrics.generalization_error(matrix, kind="error") for matrix in matrices], axis=1)


def run(
    config: Config,
    store: Store,
    *,
    resources: Resources = LOCAL,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Train what the store does not have yet, and gather the matrices."""
    began = time.monotonic()
    wanted = sequences()
    nodes = [node for seed in range(config.seeds) for node in prefix_tree(wanted, seed)]
    execution = Execution(config.experiment, nodes, store, progress)
    execution.run(resources)
    measured = {sequence: execution.measured(sequence, range(config.seeds)) for sequence in wanted}
    matrices, fitted = ({sequence: found[i] for sequence, found in measured.items()} for i in (0, 1))
    record = provenance(config, time.monotonic() - began, "torch")
    record["networks"] = {"trained": len(execution.nodes) - execution.found, "found": execution.found}
    return Result(config, matrices, fitted, record)


def save(result: Result, folder: Path) -> None:
    """Every measured number: fig2.csv (forgetting and generalization error by point and seed), fig2.json (matrices)."""
    rows = []
    for panel, setups in SETUPS.items():
        for setup, members in setups.items():
            F, G = result.forgetting(panel, setup), result.generalization(panel, setup)
            rows += [
                (panel, setup, x, " ".join(sequence), seed, F[seed, x], G[seed, x])
                for x, sequence in enumerate(members)
                for seed in range(result.config.seeds)
            ]
    header = ("panel", "setup", "x", "sequence", "seed", "forgetting", "generalization_error")
    write_csv(folder / "fig2.csv", header, rows)
    content = {
        "provenance": result.provenance,
        "matrices": {" ".join(sequence): matrix for sequence, matrix in result.matrices.items()},
        "fits": {" ".join(sequence): fits for sequence, fits in result.fits.items()},
        "not_fitted": result.not_fitted,
    }
    write_json(folder / "fig2.json", content)
