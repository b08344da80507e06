"""How the conclusions from Figure 2 depend on settings that the paper does not print: batch size, widths, loss.

Each variant changes one setting of Figure 2. Some of the figure's sequences are trained with every variant:

    (a) two tasks with 0, 2 and 5 digits in common
    (b) four tasks, the first two with 0 and with 3 digits in common (forgetting_0)
    (d) two categories of two tasks, alternating and one category after the other (forgetting_0)

Every variant takes the same number of gradient steps per task, so smaller batches mean fewer epochs: the noise of the
steps changes, not their number. The baseline is the experiment of Figure 2: in one store the two share their results.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ebbing import metrics
from ebbing._validate import Array, check_count
from ebbing.learn import DigitTasks, Experiment, FiveLayers, Sgd
from ebbing.paper import fig2
from ebbing.paper._decisions import decide, describe_power, format_seeds
from ebbing.paper._output import Verdict, write_csv, write_json
from ebbing.paper._statistics import PairedDifferences, slopes, standard_error

Panel = Literal["a", "b", "d"]
Order = tuple[str, ...]

BASELINE = "as in Figure 2"
"""The name of the variant without a change."""

SEQUENCES: dict[Panel, dict[str, Order]] = {
    "a": {str(x): fig2.SETUPS["a"]["forgetting"][x] for x in (0, 2, 5)},
    "b": {str(x): fig2.SETUPS["b"]["forgetting_0"][x] for x in (0, 3)},
    "d": {"A B A B": fig2.SETUPS["d"]["forgetting_0"][0], "A A B B": fig2.SETUPS["d"]["forgetting_0"][2]},
}
"""The sequences that are trained, by panel and by label on the horizontal axis."""


@dataclass(frozen=True)
class Config:
    """The settings of the study: the variants of Figure 2 that are trained.

    Attributes:
        seeds: The number of seeds.
        steps: The number of gradient steps per task; in Figure 2, 600 epochs of one step each.
        batch_sizes: The batch sizes to try.
        width_factors: The factors to try on the widths of all layers.
        losses: The training losses to try.
        tasks: The binary tasks on MNIST digits.
        architecture: The network of the baseline.
    """

    seeds: int = 3
    steps: int = 600
    batch_sizes: tuple[int, ...] = (50, 10)
    width_factors: tuple[float, ...] = (0.5, 2.0)
    losses: tuple[Literal["cross-entropy", "squared"], ...] = ("squared",)
    tasks: DigitTasks = field(default_factory=DigitTasks)
    architecture: FiveLayers = field(default_factory=FiveLayers)

    def __post_init__(self) -> None:
        for name in ("seeds", "steps"):
            check_count(name, getattr(self, name))

    @property
    def variants(self) -> dict[str, Experiment]:
        """The experiments that are trained, by name; the baseline first."""
        found = {BASELINE: Experiment(self.tasks, self.architecture, Sgd(epochs=self.steps))}
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
        """Return how many epochs take `steps` gradient steps.

        Args:
            batch_size: The number of images of a batch.

        Returns:
            The number of epochs, at least one.

        Example:
            >>> Config().epochs(50), Config().epochs(10)
            (150, 30)
        """
        batches = -(-self.tasks.train_images // batch_size)
        return max(1, self.steps // batches)


@dataclass(frozen=True, eq=False)
class Result:
    """The measured error matrix of every variant, sequence and seed.

    Attributes:
        config: The settings.
        matrices: The error matrices (seeds, T+1, T) of each variant and sequence.
        fits: The squared training error (seeds, T) of each task right after it was learned, by variant and sequence.
        provenance: Code, settings, versions and machine.
        seeds: The seeds of each variant, in the order of the matrices; 0, 1, 2 and so on if left out.
    """

    config: Config
    matrices: dict[str, dict[Order, Array]]
    fits: dict[str, dict[Order, Array]]
    provenance: dict[str, Any] = field(repr=False)
    seeds: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def forgetting(self, variant: str, panel: Panel) -> Array:
        """Return the forgetting F_T of every sequence of a panel.

        Args:
            variant: The name of the variant.
            panel: The panel's letter.

        Returns:
            The forgetting (seeds, sequences).
        """
        matrices = (self.matrices[variant][s] for s in SEQUENCES[panel].values())
        return np.stack([metrics.forgetting(matrix, kind="error") for matrix in matrices], axis=1)

    def count_fitted(self, variant: str) -> tuple[int, int]:
        """Count the tasks that were fitted: those of a squared training error below 0.05, as in Figure 2.

        Args:
            variant: The name of the variant.

        Returns:
            The number of fitted tasks and the number of all tasks.
        """
        fits = np.concatenate([values.ravel() for values in self.fits[variant].values()])
        return int(np.count_nonzero(fits < fig2.FIT_THRESHOLD)), fits.size

    def verdicts(self) -> list[Verdict]:
        """Return the verdicts on the paper's conclusions for each variant.

        Returns:
            Four verdicts for each variant: all tasks are fitted, and one for each panel, corrected for their number.
        """
        found = []
        for variant, experiment in self.config.variants.items():
            method = experiment.method
            assert isinstance(method, Sgd)
            F = {panel: self.forgetting(variant, panel) for panel in SEQUENCES}
            seeds = format_seeds(len(F["a"]), self.config.seeds)
            procedure = f"{variant}, {seeds}, {method.epochs} epochs"
            fitted, total = self.count_fitted(variant)
            text = f"{fitted} of {total}"
            found.append(Verdict("every task was fitted", "sensitivity", procedure, text, fitted == total))
            common = np.array([int(mark) for mark in SEQUENCES["a"]])
            effects: dict[Panel, PairedDifferences] = {
                "a": slopes(-F["a"], common),
                "b": _more(F["b"]),
                "d": _more(F["d"]),
            }
            for (panel, effect), decision in zip(effects.items(), decide(list(effects.values())), strict=True):
                source = f"sensitivity, Figure 2 ({panel})"
                power = describe_power(effect, self.config.seeds, len(effects), decimals=4)
                words = f"{procedure}; {power}" if power else procedure
                text = f"{_means(F[panel])}; {_EFFECTS[panel]}: {decision.to_text(4)}"
                found.append(Verdict(_CLAIMS[panel], source, words, text, decision.holds, decision.bounds(4)))
        return found


_CLAIMS: dict[Panel, str] = {
    "a": "forgetting falls with the overlap of two tasks",
    "b": "forgetting rises with the overlap of the first two of four tasks",
    "d": "alternating categories forgets less than one after the other",
}
_EFFECTS: dict[Panel, str] = {"a": "fall per digit in common", "b": "rise", "d": "more"}


def _more(F: Array) -> PairedDifferences:
    """By how much the second sequence forgets more than the first."""
    return PairedDifferences(tuple((F[:, 1] - F[:, 0]).tolist()))


def _means(F: Array) -> str:
    pairs = zip(F.mean(axis=0), standard_error(F), strict=True)
    return ", ".join(f"{mean:.4f} ± {error:.4f}" for mean, error in pairs)


def save(result: Result, folder: Path) -> None:
    """Write sensitivity.csv (forgetting by variant, sequence and seed) and sensitivity.json (all matrices).

    Args:
        result: What to write.
        folder: The folder of the files.
    """
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
                    (*settings, panel, mark, " ".join(sequence), seed, F[k, x], worst[k])
                    for k, seed in enumerate(result.seeds.get(variant, range(len(F))))
                ]
    header = ("variant", "batch_size", "widths", "loss", "epochs", "panel", "mark", "sequence", "seed", "forgetting")
    write_csv(folder / "sensitivity.csv", (*header, "largest_training_error"), rows)
    content = {
        "provenance": result.provenance,
        "fitted": {variant: result.count_fitted(variant) for variant in result.matrices},
        "matrices": {v: {" ".join(s): matrix for s, matrix in some.items()} for v, some in result.matrices.items()},
        "fits": {v: {" ".join(s): fits for s, fits in some.items()} for v, some in result.fits.items()},
    }
    write_json(folder / "sensitivity.json", content)
