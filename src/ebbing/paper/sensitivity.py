"""How much of Figure 2 depends on what the paper does not print: batch size, widths, training loss.

One choice at a time is changed, around the choices of Figure 2. Some of the figure's sequences are trained again:

    (a) two tasks with 0, 2 and 5 digits in common
    (b) four tasks, the first two with 0 and with 3 digits in common (forgetting_0)
    (d) two categories of two tasks, alternating and one category after the other (forgetting_0)

Every variant takes the same number of gradient steps per task, so smaller batches mean fewer epochs: the noise of the
steps changes, not their number. The unchanged variant is Figure 2's own: in one store the two share their results.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ebbing import metrics
from ebbing._validate import Array, count
from ebbing.learn import DigitTasks, Experiment, FiveLayers, Sgd, prefix_tree
from ebbing.paper import fig2
from ebbing.paper._output import STYLE, Verdict, provenance, save_figure, write_csv, write_json
from ebbing.paper._statistics import Paired, standard_error, trend
from ebbing.runs import LOCAL, Execution, Resources, Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Panel = Literal["a", "b", "d"]
Tasks = tuple[str, ...]

UNCHANGED = "as in Figure 2"

SEQUENCES: dict[Panel, dict[str, Tasks]] = {
    "a": {str(x): fig2.SETUPS["a"]["forgetting"][x] for x in (0, 2, 5)},
    "b": {str(x): fig2.SETUPS["b"]["forgetting_0"][x] for x in (0, 3)},
    "d": {"A B A B": fig2.SETUPS["d"]["forgetting_0"][0], "A A B B": fig2.SETUPS["d"]["forgetting_0"][2]},
}
"""What is trained, by panel and by its mark on the horizontal axis."""


@dataclass(frozen=True)
class Config:
    """The study. Everything but one choice at a time is as in Figure 2."""

    seeds: int = 3
    steps: int = 600  # gradient steps per task: Figure 2's 600 epochs of one step each
    batch_sizes: tuple[int, ...] = (50, 10)
    width_factors: tuple[float, ...] = (0.5, 2.0)
    losses: tuple[Literal["cross-entropy", "squared"], ...] = ("squared",)
    tasks: DigitTasks = field(default_factory=DigitTasks)
    architecture: FiveLayers = field(default_factory=FiveLayers)

    def __post_init__(self) -> None:
        for name in ("seeds", "steps"):
            count(name, getattr(self, name))

    @property
    def variants(self) -> dict[str, Experiment]:
        """What is trained, by name; the unchanged one first."""
        found = {UNCHANGED: Experiment(self.tasks, self.architecture, Sgd(epochs=self.steps))}
        for size in self.batch_sizes:
            method = Sgd(epochs=self.epochs(size), batch_size=size)
            found[f"batches of {size}"] = Experiment(self.tasks, self.architecture, method)
        for factor in self.width_factors:
            one, two, three, four = (max(1, round(factor * width)) for width in self.architecture.widths)
            wider = FiveLayers((one, two, three, four))
            found[f"widths x {factor:g}"] = Experiment(self.tasks, wider, Sgd(epochs=self.steps))
        for loss in self.losses:
            found[f"{loss} loss"] = Experiment(self.tasks, self.architecture, Sgd(epochs=self.steps, loss=loss))
        return found

    def epochs(self, batch_size: int) -> int:
        """As many as give the number of steps, and at least one.

        >>> Config().epochs(50), Config().epochs(10)
        (150, 30)
        """
        batches = -(-self.tasks.train_images // batch_size)
        return max(1, self.steps // batches)


@dataclass(frozen=True, eq=False)
class Result:
    """The measured error matrix of every variant, sequence and seed."""

    config: Config
    matrices: dict[str, dict[Tasks, Array]]  # (seeds, T+1, T)
    fits: dict[str, dict[Tasks, Array]]  # (seeds, T) squared error on the training data, just learned
    provenance: dict[str, Any] = field(repr=False)

    def forgetting(self, variant: str, panel: Panel) -> Array:
        """F_T of every sequence of a panel, for every seed (seeds, sequences)."""
        matrices = (self.matrices[variant][s] for s in SEQUENCES[panel].values())
        return np.stack([metrics.forgetting(matrix, kind="error") for matrix in matrices], axis=1)

    def fitted(self, variant: str) -> tuple[int, int]:
        """How many tasks were learned, of how many: squared training error below 0.05, as in Figure 2."""
        fits = np.concatenate([values.ravel() for values in self.fits[variant].values()])
        return int(np.count_nonzero(fits < fig2.NOT_FITTED)), fits.size

    def verdicts(self) -> list[Verdict]:
        """Which conclusions hold in each variant."""
        found = []
        for variant, experiment in self.config.variants.items():
            method = experiment.method
            assert isinstance(method, Sgd)
            ran = f"{variant}, {self.config.seeds} seed{'s' * (self.config.seeds > 1)}, {method.epochs} epochs"
            few, all_ = self.fitted(variant)
            found.append(Verdict("every task was fitted", "sensitivity", ran, f"{few} of {all_}", few == all_))
            found.append(_falls(self.forgetting(variant, "a"), ran))
            claim = "forgetting rises with the overlap of the first two of four tasks"
            found.append(_more(claim, "(b)", self.forgetting(variant, "b"), ran))
            claim = "alternating categories forgets less than one after the other"
            found.append(_more(claim, "(d)", self.forgetting(variant, "d"), ran))
        return found


def _falls(F: Array, ran: str) -> Verdict:
    falls = (np.diff(F, axis=1) < 0).all(axis=1)
    p, holds = trend(-F)
    text = f"{_listed(F)}; at every step in {falls.sum()} of {len(F)} seeds; Page's test p = {p:.2g}"
    return Verdict("forgetting falls with the overlap of two tasks", "sensitivity, Figure 2 (a)", ran, text, holds)


def _more(claim: str, where: str, F: Array, ran: str) -> Verdict:
    """Does the second sequence forget more than the first?"""
    more = Paired(tuple((F[:, 1] - F[:, 0]).tolist()))
    return Verdict(claim, f"sensitivity, Figure 2 {where}", ran, f"{_listed(F)}; {more.text(4)}", more.positive)


def _listed(F: Array) -> str:
    pairs = zip(F.mean(axis=0), standard_error(F), strict=True)
    return ", ".join(f"{mean:.4f} ± {error:.4f}" for mean, error in pairs)


def run(
    config: Config,
    store: Store,
    *,
    resources: Resources = LOCAL,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Train what the store does not have yet, one variant after the other, and gather the matrices."""
    began = time.monotonic()
    wanted = [sequence for marks in SEQUENCES.values() for sequence in marks.values()]
    nodes = [node for seed in range(config.seeds) for node in prefix_tree(wanted, seed)]
    matrices, fits = {}, {}
    networks = {"trained": 0, "found": 0}
    for k, (variant, experiment) in enumerate(config.variants.items()):

        def report(share: float, k: int = k) -> None:
            if progress:
                progress((k + share) / len(config.variants))

        execution = Execution(experiment, nodes, store, report)
        execution.run(resources)
        networks["found"] += execution.found
        networks["trained"] += len(execution.nodes) - execution.found
        matrices[variant], fits[variant] = {}, {}
        for sequence in wanted:
            measured = execution.measured(sequence, range(config.seeds))
            matrices[variant][sequence], fits[variant][sequence] = measured
    record = provenance(config, time.monotonic() - began, "torch")
    return Result(config, matrices, fits, record | {"networks": networks})


def save(result: Result, folder: Path) -> None:
    """sensitivity.csv (forgetting by variant, sequence and seed), .json (matrices, fits, provenance), .png and .svg."""
    rows = []
    for variant, experiment in result.config.variants.items():
        method, architecture = experiment.method, experiment.architecture
        assert isinstance(method, Sgd)
        assert isinstance(architecture, FiveLayers)
        widths = " ".join(map(str, architecture.widths))
        settings = (variant, method.batch_size or "all", widths, method.loss, method.epochs)
        for panel, marks in SEQUENCES.items():
            F = result.forgetting(variant, panel)
            for x, (mark, sequence) in enumerate(marks.items()):
                worst = result.fits[variant][sequence].max(axis=1)
                rows += [
                    (*settings, panel, mark, " ".join(sequence), seed, F[seed, x], worst[seed])
                    for seed in range(result.config.seeds)
                ]
    header = ("variant", "batch_size", "widths", "loss", "epochs", "panel", "mark", "sequence", "seed", "forgetting")
    write_csv(folder / "sensitivity.csv", (*header, "largest_training_error"), rows)
    content = {
        "provenance": result.provenance,
        "fitted": {variant: result.fitted(variant) for variant in result.matrices},
        "matrices": {v: {" ".join(s): matrix for s, matrix in some.items()} for v, some in result.matrices.items()},
        "fits": {v: {" ".join(s): fits for s, fits in some.items()} for v, some in result.fits.items()},
    }
    write_json(folder / "sensitivity.json", content)
    figure = plot(result)
    save_figure(figure, folder, "sensitivity")


_COLORS = ("#000000", "#0072B2", "#56B4E9", "#009E73", "#CC79A7", "#D55E00")  # Okabe-Ito
_MARKERS = "osD^vX"


def plot(result: Result) -> Figure:
    """Forgetting of every variant, a panel each: means over seeds with standard errors, side by side."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    titles = {"a": "two tasks", "b": "four tasks", "d": "two categories"}
    below = {"a": "digits in common", "b": "digits tasks 1, 2 share", "d": "order of tasks"}
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.4, 3.2), layout="constrained")
        axes: Any = figure.subplots(1, 3, width_ratios=(3, 2.4, 2.4))
        for ax, (panel, marks) in zip(axes, SEQUENCES.items(), strict=True):
            for k, variant in enumerate(result.matrices):
                F = result.forgetting(variant, panel)
                few, all_ = result.fitted(variant)
                label = variant if few == all_ else f"{variant} ({few} of {all_} tasks fitted)"
                x = np.arange(len(marks)) + 0.07 * (k - (len(result.matrices) - 1) / 2)
                look = {"color": _COLORS[k % 6], "marker": _MARKERS[k % 6], "ms": 4, "lw": 1, "capsize": 2}
                ax.errorbar(x, F.mean(axis=0), yerr=standard_error(F), label=label, **look)
            ax.set_title(f"({panel}) {titles[panel]}", loc="left")
            ax.set_xticks(range(len(marks)), marks)
            ax.set_xlabel(below[panel])
            ax.set_xlim(-0.4, len(marks) - 0.6)
        axes[0].set_ylabel("forgetting")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return figure
