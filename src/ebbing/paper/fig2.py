"""Figure 2: how the similarity and order of tasks change what a network forgets (Sections 5.1, 5.2, appendix).

(a) two tasks with 0 to 5 digits in common; (b) four tasks, the first two with 0 to 3 digits in common; (c) one special
task among five equal ones, in every place; (d) two categories of two tasks, in every order. All setups are those of the
appendix. Every prefix that sequences share is trained once: 171 trainings per seed instead of 240.

`ebbing.paper.fig2_verdicts` tests what the paper concludes from the figure, and `ebbing.paper.figures.fig2` draws it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ebbing import metrics
from ebbing._validate import Array, check_count
from ebbing.learn import DigitTasks, Experiment, FiveLayers, Sgd, prefix_tree
from ebbing.paper._output import provenance, write_csv, write_json
from ebbing.runs import LOCAL, Execution, Resources, Store

Panel = Literal["a", "b", "c", "d"]

FIT_THRESHOLD = 0.05
"""The squared training error above which a task counts as not fitted; guessing gives about 0.2."""


def _four_tasks(first: str, seconds: str, third: str, fourth: str) -> list[tuple[str, ...]]:
    return [(first, second, third, fourth) for second in seconds.split()]


def _special(task: str, other: str) -> list[tuple[str, ...]]:
    return [tuple(task if place == i else other for place in range(6)) for i in range(6)]


def _two_categories(A: str, B: str) -> list[tuple[str, ...]]:
    return [(A, B, A, B), (B, A, B, A), (A, A, B, B), (B, B, A, A), (A, B, B, A), (B, A, A, B)]


SETUPS: dict[Panel, dict[str, list[tuple[str, ...]]]] = {
    "a": {
        "forgetting": [
            ("0-1-2-3-4", second)
            for second in "5-6-7-8-9 4-5-6-7-8 3-4-5-6-7 2-3-4-5-6 1-2-3-4-5 0-1-2-3-4".split()  # noqa: SIM905
        ],
    },
    "b": {
        "forgetting_0": _four_tasks("0-1-2", "3-4-5 2-3-4 1-2-3 0-1-2", "7-8-9", "7-8-9"),
        "forgetting_1": _four_tasks("3-4-5", "0-1-2 1-2-3 2-3-4 3-4-5", "6-7-8", "7-8-9"),
        "forgetting_2": _four_tasks("0-1-2", "7-8-9 2-7-8 1-2-7 0-1-2", "4-5-6", "4-5-6"),
    },
    "c": {
        "forgetting_0": _special("4-5-6-7", "0-1-2-3"),
        "forgetting_1": _special("0-1-2-3", "5-6-7-8"),
        "forgetting_2": _special("3-4-5-6", "1-2-7-8"),
    },
    "d": {
        "forgetting_0": _two_categories("4-5-6-7", "1-2-4-5"),
        "forgetting_1": _two_categories("4-5-6-7", "2-3-4-5"),
        "forgetting_2": _two_categories("6-7-8-9", "3-4-5-6"),
    },
}
"""The sequences of tasks by panel and setup, as the appendix lists them, in the order of the horizontal axis."""


@dataclass(frozen=True)
class Config:
    """The settings of Figure 2: the paper's values.

    The paper does not print widths, batch size and training loss; `ebbing.learn` documents the choices made here, and
    `ebbing.paper.sensitivity` varies them.

    Attributes:
        seeds: The number of seeds.
        tasks: The binary tasks on MNIST digits.
        architecture: The network.
        method: How each task is trained.
    """

    seeds: int = 12
    tasks: DigitTasks = field(default_factory=DigitTasks)
    architecture: FiveLayers = field(default_factory=FiveLayers)
    method: Sgd = field(default_factory=Sgd)

    def __post_init__(self) -> None:
        check_count("seeds", self.seeds)

    @property
    def experiment(self) -> Experiment:
        """The experiment that is trained: tasks, architecture and method."""
        return Experiment(self.tasks, self.architecture, self.method)


def sequences() -> list[tuple[str, ...]]:
    """Return the sequences of tasks of the figure.

    Returns:
        The 54 sequences, each once.
    """
    return list(dict.fromkeys(s for setups in SETUPS.values() for setup in setups.values() for s in setup))


@dataclass(frozen=True, eq=False)
class Result:
    """The measured error matrix of every sequence and seed.

    Attributes:
        config: The settings.
        matrices: The error matrices (seeds, T+1, T) of each sequence.
        fits: The squared training error (seeds, T) of each task right after it was learned, for each sequence.
        provenance: Code, settings, versions and machine.
        seeds: The seeds, in the order of the matrices; empty for 0, 1, 2 and so on.
    """

    config: Config
    matrices: dict[tuple[str, ...], Array]
    fits: dict[tuple[str, ...], Array]
    provenance: dict[str, Any] = field(repr=False)
    seeds: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "seeds", self.seeds or tuple(range(self.config.seeds)))

    def forgetting(self, panel: Panel, setup: str) -> Array:
        """Return the forgetting F_T of every sequence of a setup.

        Args:
            panel: The panel's letter.
            setup: The name of the setup, a key of `SETUPS[panel]`.

        Returns:
            The forgetting (seeds, sequences).
        """
        return np.stack([metrics.forgetting(self.matrices[s], kind="error") for s in SETUPS[panel][setup]], axis=1)

    @property
    def unfitted_tasks(self) -> list[tuple[tuple[str, ...], int, int, float]]:
        """The tasks that were not fitted: sequence, seed, place and training error. The theory does not cover them."""
        return [
            (sequence, self.seeds[k], int(place), float(fits[k, place]))
            for sequence, fits in self.fits.items()
            for k, place in np.argwhere(~(fits <= FIT_THRESHOLD))  # NaN: training diverged
        ]

    def generalization(self, panel: Panel, setup: str) -> Array:
        """Return the generalization error G_T of every sequence of a setup.

        Args:
            panel: The panel's letter.
            setup: The name of the setup, a key of `SETUPS[panel]`.

        Returns:
            The generalization error (seeds, sequences).
        """
        matrices = (self.matrices[s] for s in SETUPS[panel][setup])
        return np.stack([metrics.generalization_error(matrix, kind="error") for matrix in matrices], axis=1)


def run(
    config: Config,
    store: Store,
    *,
    resources: Resources = LOCAL,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Train the networks that the store does not have yet, and collect the error matrices.

    Args:
        config: The settings.
        store: Where trained networks and their errors are kept.
        resources: Where to train.
        progress: Called with the finished share of the work, from 0 to 1.

    Returns:
        The error matrices of all sequences and seeds.
    """
    began = time.monotonic()
    wanted = sequences()
    nodes = [node for seed in range(config.seeds) for node in prefix_tree(wanted, seed)]
    execution = Execution(config.experiment, nodes, store, progress)
    execution.run(resources)
    measured = {sequence: execution.collect(sequence, range(config.seeds)) for sequence in wanted}
    matrices, fitted = ({sequence: found[i] for sequence, found in measured.items()} for i in (0, 1))
    record = provenance(config, time.monotonic() - began, "torch")
    record["networks"] = {"trained": len(execution.nodes) - execution.num_stored, "found": execution.num_stored}
    return Result(config, matrices, fitted, record)


def save(result: Result, folder: Path) -> None:
    """Write fig2.csv (forgetting and generalization error by point and seed) and fig2.json (all matrices).

    Args:
        result: What to write.
        folder: The folder of both files.
    """
    rows = []
    for panel, setups in SETUPS.items():
        for setup, members in setups.items():
            F, G = result.forgetting(panel, setup), result.generalization(panel, setup)
            rows += [
                (panel, setup, x, " ".join(sequence), seed, F[k, x], G[k, x])
                for x, sequence in enumerate(members)
                for k, seed in enumerate(result.seeds)
            ]
    header = ("panel", "setup", "x", "sequence", "seed", "forgetting", "generalization_error")
    write_csv(folder / "fig2.csv", header, rows)
    content = {
        "provenance": result.provenance,
        "matrices": {" ".join(sequence): matrix for sequence, matrix in result.matrices.items()},
        "fits": {" ".join(sequence): fits for sequence, fits in result.fits.items()},
        "not_fitted": result.unfitted_tasks,
    }
    write_json(folder / "fig2.json", content)
