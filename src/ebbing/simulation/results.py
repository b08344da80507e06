"""The results of a simulation: the error matrix of every run, or its metrics alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ebbing import metrics
from ebbing._tables import Table, Tabular, format_number, to_frame
from ebbing._validate import Array
from ebbing.problem import Problem
from ebbing.simulation.estimate import MeanEstimate
from ebbing.theory import expectation_if_finite
from ebbing.theory._description import describe, describe_model, learning_notes
from ebbing.theory._rates import Rates, check_two_tasks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Quantity = Literal["forgetting", "generalization"]


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Tabular):
    """The error matrices of independent runs.

    Attributes:
        problem: The tasks, in the order of learning.
        errors: L[t, i] of every run (runs, T+1, T); row 0 is the initial model.
    """

    problem: Problem
    errors: Array

    @property
    def forgetting(self) -> Array:
        """F_T of every run (runs,)."""
        return np.asarray(metrics.forgetting(self.errors, kind="error"))

    @property
    def generalization(self) -> Array:
        """G_T of every run (runs,)."""
        return np.asarray(metrics.generalization_error(self.errors, kind="error"))

    def to_frame(self) -> pd.DataFrame:
        """Return the error matrices as a tidy pandas DataFrame.

        Returns:
            One row per entry and run, runs (T+1) T in all, with the columns `run` (from 0), `step` (t, 0 for the
            initial model), `task` (name), `place` (i, from 1) and `error`.
        """
        runs, T = len(self.errors), self.problem.T
        return to_frame(
            {
                "run": np.repeat(np.arange(runs), (T + 1) * T),
                "step": np.tile(np.repeat(np.arange(T + 1), T), runs),
                "task": list(self.problem.names) * ((T + 1) * runs),
                "place": np.tile(np.arange(1, T + 1), (T + 1) * runs),
                "error": self.errors.ravel(),
            }
        )

    def plot(self, ax: Axes | None = None, *, quantity: Quantity = "forgetting") -> Axes:
        """Draw the distribution of forgetting or generalization error over the runs, beside theory.

        Args:
            ax: The axes to draw on; a new figure if None.
            quantity: Which of the two.

        Returns:
            The axes.
        """
        return _plot(self, ax, quantity)

    def _tables(self) -> Sequence[Table]:
        return _comparison(self)

    def __repr__(self) -> str:
        return f"Simulation(T={self.problem.T}, runs={len(self.errors)})"


@dataclass(frozen=True, eq=False, repr=False)
class SimulatedMetrics(Tabular):
    """The metrics of independent runs whose error matrices were not kept.

    Attributes:
        problem: The tasks, in the order of learning.
        forgetting: F_T of every run (runs,); NaN for a single task.
        generalization: G_T of every run (runs,).
        mean_errors: The mean error matrix (T+1, T).
    """

    problem: Problem
    forgetting: Array
    generalization: Array
    mean_errors: Array

    def to_frame(self) -> pd.DataFrame:
        """Return the metrics as a pandas DataFrame.

        Returns:
            One row per run, with the columns `run` (from 0), `forgetting` and `generalization`.
        """
        runs = np.arange(len(self.generalization))
        return to_frame({"run": runs, "forgetting": self.forgetting, "generalization": self.generalization})

    def plot(self, ax: Axes | None = None, *, quantity: Quantity = "forgetting") -> Axes:
        """Draw the distribution of forgetting or generalization error over the runs, beside theory.

        Args:
            ax: The axes to draw on; a new figure if None.
            quantity: Which of the two.

        Returns:
            The axes.
        """
        return _plot(self, ax, quantity)

    def _tables(self) -> Sequence[Table]:
        return _comparison(self)

    def __repr__(self) -> str:
        return f"SimulatedMetrics(T={self.problem.T}, runs={len(self.generalization)})"


def _comparison(result: Simulation | SimulatedMetrics) -> Sequence[Table]:
    """Return the sample means with their standard errors beside theory."""
    problem, runs, T = result.problem, len(result.generalization), result.problem.T
    labels = {"forgetting": f"forgetting F_{T}", "generalization": f"generalization error G_{T}"}
    if T < 2:
        del labels["forgetting"]
    estimates = {name: MeanEstimate.of(getattr(result, name)) for name in labels}
    theory = expectation_if_finite(problem)
    rows = [["mean of the runs" if runs > 1 else "the run", *(format_number(e.mean) for e in estimates.values())]]
    if runs > 1:
        rows += [
            ["standard error of the mean", *(format_number(e.standard_error, ".2g") for e in estimates.values())],
            ["standard deviation of one run", *(format_number(e.std, ".4g") for e in estimates.values())],
        ]
    notes = [] if runs > 1 else ["One run has no standard error, so there is no z-score: use more runs."]
    if theory is None:
        rows.append(["theory: expected", *("not finite" for _ in labels)])
        spread = [math.inf]
    else:
        rows.append(["theory: expected", *(format_number(getattr(theory, name)) for name in labels)])
        if theory.has_std:
            spread = [getattr(theory, f"{name}_std") for name in labels]
            rows.append(["theory: standard deviation of one run", *(format_number(std, ".4g") for std in spread)])
        else:
            spread = Rates.of(problem).noise_error_std.tolist()  # infinite where those of the metrics are
        if runs > 1:
            scores = (estimate.z_score(getattr(theory, name)) for name, estimate in estimates.items())
            rows.append(["z-score of the mean, in standard errors", *(format_number(z, "+.2f") for z in scores)])
        notes += learning_notes(problem, theory.errors, theory.forgetting if T > 1 else None)
    if runs > 1 and not all(map(math.isfinite, spread)):
        notes.append("The variance is infinite here: standard errors and z-scores are not to be trusted.")
    title = f"{describe(problem)}; {runs:,} run{'s' * (runs > 1)}\n{describe_model(problem.n, problem.p)}"
    return (Table(title, ["", *labels.values()], rows, notes),)


def _plot(result: Simulation | SimulatedMetrics, ax: Axes | None, quantity: Quantity) -> Axes:
    from ebbing.plot.samples import plot_sample_histogram

    if quantity not in ("forgetting", "generalization"):
        raise ValueError(f"quantity={quantity!r}: give 'forgetting' or 'generalization'")
    if quantity == "forgetting":
        check_two_tasks(result.problem)
    theory = expectation_if_finite(result.problem)
    mean = getattr(theory, quantity) if theory else None
    std = getattr(theory, f"{quantity}_std") if theory and theory.has_std else None
    return plot_sample_histogram(getattr(result, quantity), quantity, expected=mean, std=std, ax=ax)
