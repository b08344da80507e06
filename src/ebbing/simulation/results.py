"""The results of a simulation: the error matrix of every run, or its metrics alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ebbing._pages import Page, Picture
from ebbing._tables import Table, Tabular, format_number, to_frame
from ebbing._validate import Array
from ebbing.curriculum import Curriculum
from ebbing.learners import LinearLearner, MinimumNorm
from ebbing.problem import Problem
from ebbing.simulation import _steps
from ebbing.simulation.estimate import MeanEstimate
from ebbing.theory import Expectation, InfiniteExpectationError, UnknownExpectationError, expect, expectation_if_finite
from ebbing.theory._description import describe, describe_curriculum, describe_model, learning_notes
from ebbing.theory._rates import Rates

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Quantity = Literal["forgetting", "generalization"]


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Tabular):
    """The error matrices of independent runs.

    Attributes:
        problem: The tasks, in the order of learning.
        errors: L[s, i] of every run (runs, S+1, T); row 0 is the initial model.
        curriculum: What was learned at each step; None for one task after another.
        learner: How each step was learned.
    """

    problem: Problem
    errors: Array
    curriculum: Curriculum | None = None
    learner: LinearLearner = MinimumNorm()  # noqa: RUF009  (frozen)

    @property
    def forgetting(self) -> Array:
        """F of every run (runs,): the mean of L[S, i] - L[first_i, i] over tasks first learned before the last step."""
        return _steps.forgetting(self.problem, self.curriculum, self.errors)

    @property
    def generalization(self) -> Array:
        """G of every run (runs,): the mean of the last row."""
        return _steps.generalization(self.errors)

    def to_frame(self) -> pd.DataFrame:
        """Return the error matrices as a tidy pandas DataFrame.

        Returns:
            One row per entry and run, runs (S+1) T in all, with the columns `run` (from 0), `step` (s, 0 for the
            initial model), `task` (name), `place` (i, from 1) and `error`.
        """
        runs, rows, T = self.errors.shape
        return to_frame(
            {
                "run": np.repeat(np.arange(runs), rows * T),
                "step": np.tile(np.repeat(np.arange(rows), T), runs),
                "task": list(self.problem.names) * (rows * runs),
                "place": np.tile(np.arange(1, T + 1), rows * runs),
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

    def _page(self) -> Page:
        return _page(self)

    def _answer(self) -> str:
        return _sentence(self)

    def _tables(self) -> Sequence[Table]:
        return _comparison(self)

    def __repr__(self) -> str:
        return f"Simulation(T={self.problem.T}, runs={len(self.errors)})"


@dataclass(frozen=True, eq=False, repr=False)
class SimulatedMetrics(Tabular):
    """The metrics of independent runs whose error matrices were not kept.

    Attributes:
        problem: The tasks, in the order of learning.
        forgetting: F of every run (runs,); NaN where no task is learned before the last step.
        generalization: G of every run (runs,).
        mean_errors: The mean error matrix (S+1, T).
        curriculum: What was learned at each step; None for one task after another.
        learner: How each step was learned.
    """

    problem: Problem
    forgetting: Array
    generalization: Array
    mean_errors: Array
    curriculum: Curriculum | None = None
    learner: LinearLearner = MinimumNorm()  # noqa: RUF009  (frozen)

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

    def _page(self) -> Page:
        return _page(self)

    def _answer(self) -> str:
        return _sentence(self)

    def _tables(self) -> Sequence[Table]:
        return _comparison(self)

    def __repr__(self) -> str:
        return f"SimulatedMetrics(T={self.problem.T}, runs={len(self.generalization)})"


def _page(result: Simulation | SimulatedMetrics) -> Page:
    reading = "How many runs forget how much; the line is the theory's expectation."
    return Page("What simulated runs forget", [Picture(result.plot, reading)])


def _sentence(result: Simulation | SimulatedMetrics) -> str:
    """Return what the runs forget on average, and what theory expects."""
    runs = len(result.generalization)
    if runs < 2 or not _steps.can_forget(result.problem, result.curriculum):
        return ""
    found = MeanEstimate.of(result.forgetting)
    theory = _theory(result)
    if theory == "not finite":
        median = format_number(float(np.median(result.forgetting)), ".4g")
        return f"In half of {runs:,} runs, at most {median} is forgotten."
    expected = "" if isinstance(theory, str) else f" Theory expects {format_number(theory.forgetting, '.4g')}."
    error = format(found.standard_error, ".2g")
    decimals = len(error.partition(".")[2]) if "e" not in error else 0
    mean = format_number(found.mean, f".{decimals}f" if decimals else ".4g")  # as exact as its error is
    return f"On average over {runs:,} runs, {mean} ± {error} is forgotten.{expected}"


def _theory(result: Simulation | SimulatedMetrics) -> Expectation | Literal["not finite", "not known"]:
    """Return what theory expects, or why it has no number."""
    try:
        return expect(result.problem, result.curriculum, learner=result.learner)
    except InfiniteExpectationError:
        return "not finite"
    except UnknownExpectationError:
        return "not known"


def _comparison(result: Simulation | SimulatedMetrics) -> Sequence[Table]:
    """Return the sample means with their standard errors beside theory."""
    problem, curriculum, runs = result.problem, result.curriculum, len(result.generalization)
    S = problem.T if curriculum is None else len(curriculum)
    labels = {"forgetting": f"forgetting F_{S}", "generalization": f"generalization error G_{S}"}
    forgets = _steps.can_forget(problem, curriculum)
    if not forgets:
        del labels["forgetting"]
    estimates = {name: MeanEstimate.of(getattr(result, name)) for name in labels}
    theory = _theory(result)
    rows = [["mean of the runs" if runs > 1 else "the run", *(format_number(e.mean) for e in estimates.values())]]
    if runs > 1:
        rows += [
            ["standard error of the mean", *(format_number(e.standard_error, ".2g") for e in estimates.values())],
            ["standard deviation of one run", *(format_number(e.std, ".4g") for e in estimates.values())],
        ]
    notes = [] if runs > 1 else ["One run has no standard error, so there is no z-score: use more runs."]
    spread: list[float] = []
    if theory == "not finite" and runs > 1:
        medians = (float(np.median(getattr(result, name))) for name in labels)
        rows.insert(0, ["median of the runs", *map(format_number, medians)])
        notes.append("The expectation is infinite here: the mean of the runs does not converge; read the median.")
    if isinstance(theory, str):
        rows.append(["theory: expected", *(theory for _ in labels)])
    else:
        rows.append(["theory: expected", *(format_number(getattr(theory, name)) for name in labels)])
        if theory.has_std:
            spread = [getattr(theory, f"{name}_std") for name in labels]
        else:
            spread = Rates.of(problem).noise_error_std.tolist()  # infinite where those of the metrics are
        if theory.has_std and not np.isnan(spread).any():
            rows.append(["theory: standard deviation of one run", *(format_number(std, ".4g") for std in spread)])
        if runs > 1:
            scores = (estimate.z_score(getattr(theory, name)) for name, estimate in estimates.items())
            rows.append(["z-score of the mean, in standard errors", *(format_number(z, "+.2f") for z in scores)])
        if curriculum is None and isinstance(result.learner, MinimumNorm):
            notes += learning_notes(problem, theory.errors, theory.forgetting if forgets else None)
    if runs > 1 and np.isinf(spread).any():
        notes.append("The variance is infinite here: standard errors and z-scores are not to be trusted.")
    return (Table(_title(result), ["", *labels.values()], rows, notes),)


def _title(result: Simulation | SimulatedMetrics) -> str:
    """Return the problem, the number of runs, and the model."""
    problem, curriculum, runs = result.problem, result.curriculum, len(result.generalization)
    count = f"{runs:,} run{'s' * (runs > 1)}"
    if curriculum is None and isinstance(result.learner, MinimumNorm):
        return f"{describe(problem)}; {count}\n{describe_model(problem.n, problem.p)}"
    steps = curriculum or Curriculum.sequential(problem)
    first, model = describe_curriculum(problem, steps, result.learner).split("\n")
    return f"{first}; {count}\n{model}"


def _plot(result: Simulation | SimulatedMetrics, ax: Axes | None, quantity: Quantity) -> Axes:
    from ebbing.plot.samples import plot_sample_histogram

    if quantity not in ("forgetting", "generalization"):
        raise ValueError(f"quantity={quantity!r}: give 'forgetting' or 'generalization'")
    if quantity == "forgetting" and not _steps.can_forget(result.problem, result.curriculum):
        raise ValueError(_steps.NOTHING_EARLIER if result.curriculum else _steps.ONE_TASK)
    theory = expectation_if_finite(result.problem, result.curriculum, learner=result.learner)
    mean = getattr(theory, quantity) if theory else None
    std = getattr(theory, f"{quantity}_std") if theory and theory.has_std else None
    known = std is not None and not math.isnan(std)
    return plot_sample_histogram(getattr(result, quantity), quantity, expected=mean, std=std if known else None, ax=ax)
