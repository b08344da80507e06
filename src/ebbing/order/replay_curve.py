"""Forgetting and generalization error against how much is replayed: `replay_curve`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ebbing._pages import Page, Picture
from ebbing._tables import Table, Tabular, format_number, to_frame
from ebbing._validate import Array, check_counts
from ebbing.learners import LinearLearner, MinimumNorm, check_learner
from ebbing.order._curriculum_values import Counts, curriculum_values
from ebbing.order._tables import hardly_learned_notes
from ebbing.order.replay import check_replay_tasks
from ebbing.problem import Problem, check_problem
from ebbing.theory._description import describe, describe_step_model
from ebbing.theory._step_checks import check_rates_converge

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_POINTS = 51


@dataclass(frozen=True, eq=False, repr=False)
class ReplayCurve(Tabular):
    """Expected forgetting and generalization error, for each number of samples replayed of every old task.

    Attributes:
        problem: The tasks, in the order of learning.
        learner: How each step learns.
        memory: Fresh samples of each old task, mixed into every step, in increasing order from 0 (points,).
        forgetting: Expected forgetting with them; inf where a step is at the interpolation threshold (points,).
        generalization: Expected generalization error with them (points,).
    """

    problem: Problem
    learner: LinearLearner
    memory: Counts
    forgetting: Array
    generalization: Array

    @property
    def ratio(self) -> Array:
        """Replayed samples of an old task per sample of the new one, on average (points,)."""
        return self.memory / self.problem.n.mean()

    def best_memory(self, quantity: str) -> int:
        """Return the number of samples with the least forgetting or generalization error.

        Args:
            quantity: "forgetting" or "generalization".

        Returns:
            Samples of each old task, of those on the curve.

        Raises:
            ValueError: If the quantity is another one.
        """
        if quantity not in ("forgetting", "generalization"):
            raise ValueError(f"quantity={quantity!r}: give 'forgetting' or 'generalization'")
        return int(self.memory[np.argmin(getattr(self, quantity))])

    def to_frame(self) -> pd.DataFrame:
        """Return the curve as a pandas DataFrame.

        Returns:
            One row per point, with the columns `memory`, `ratio`, `forgetting` and `generalization`.
        """
        names = ("memory", "ratio", "forgetting", "generalization")
        return to_frame({name: getattr(self, name) for name in names})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw both against the replay ratio, with the best ratios.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.replay import plot_replay_curve

        return plot_replay_curve(self, ax=ax)

    def _page(self) -> Page:
        reading = "Forgetting and error against the samples of each old task, as a share of n, with the least."
        return Page("How much old data to mix in", [Picture(self.plot, reading)])

    def _answer(self) -> str:
        return _gain("generalization", self.generalization, self.best_memory("generalization"))

    def _tables(self) -> Sequence[Table]:
        best = {name: self.best_memory(name) for name in ("forgetting", "generalization")}
        shown = sorted(
            {*np.linspace(0, len(self.memory) - 1, 6).astype(int), *(int(np.argmin(getattr(self, n))) for n in best)}
        )
        rows = [
            [
                f"{self.memory[i]}",
                f"{self.ratio[i]:.0%}",
                format_number(self.forgetting[i]) + " *" * bool(self.memory[i] == best["forgetting"]),
                format_number(self.generalization[i]) + " *" * bool(self.memory[i] == best["generalization"]),
            ]
            for i in shown
        ]
        gains = [f"* {_gain(name, getattr(self, name), best[name])}" for name in best]
        at = int(np.argmin(self.forgetting))
        if best["forgetting"] and self.generalization[at] > self.generalization[0]:
            gains.append(
                f"Do not choose {best['forgetting']} for its low forgetting: the errors at the end are larger than "
                f"without replay ({format_number(self.generalization[at])} against "
                f"{format_number(self.generalization[0])} on average). Little is forgotten there, since tasks are "
                "learned badly in the first place."
            )
        headers = ["samples of each old task", "replay ratio", "expected forgetting", "expected generalization error"]
        title = f"{describe(self.problem)}\n{describe_step_model(self.learner)}; fresh samples are replayed."
        return (Table(title, headers, rows, [*gains, *hardly_learned_notes(self.problem)]),)

    def __repr__(self) -> str:
        best = ", ".join(f"best for {name}: {self.best_memory(name)}" for name in ("forgetting", "generalization"))
        return f"ReplayCurve(memory={self.memory[0]}..{self.memory[-1]}, {best})"


def replay_curve(
    problem: Problem,
    memory: npt.ArrayLike | None = None,
    *,
    learner: LinearLearner = MinimumNorm(),  # noqa: B008  (frozen)
) -> ReplayCurve:
    """Compute expected forgetting and generalization error against how much of every old task is replayed.

    Args:
        problem: The tasks, in the order of learning.
        memory: Fresh samples of each old task, mixed into every step; from 0 to the samples of a task if None. 0, with
            which the others are compared, is always among them.
        learner: How each step learns.

    Returns:
        The curve.

    Raises:
        ValueError: If there is a single task, or a number of samples is not a whole number.

    Example:
        >>> problem = Problem.categories("AAAB", n=50, p=400, sigma=0.3)
        >>> replay_curve(problem)
        ReplayCurve(memory=0..50, best for forgetting: 27, best for generalization: 15)
    """
    check_problem(problem)
    check_rates_converge(problem.n, problem.p, check_learner(learner))
    T = check_replay_tasks(problem)
    if memory is None:
        most = int(problem.n.max())
        points = np.unique(np.linspace(0, most, min(most + 1, _POINTS)).astype(np.int64))
    else:
        given = np.atleast_1d(np.asarray(memory))
        points = np.where(given == 0, 0, check_counts("memory", np.where(given == 0, 1, given)))
        points = np.unique(np.append(points, 0)).astype(np.int64)
    samples = np.diag(problem.n) + points[:, None, None] * np.tri(T, k=-1, dtype=np.int64)
    F, G = curriculum_values(problem, samples, learner)
    return ReplayCurve(problem, learner, points, F, G)


def _gain(name: str, values: Array, best: int) -> str:
    least, without = float(values.min()), float(values[0])
    word = "forgetting" if name == "forgetting" else "generalization error"
    if not np.isfinite(least):
        return f"The expected {word} is infinite with any of these numbers of samples."
    if not best:
        return f"Any replay of this kind increases the expected {word}: without it, {format_number(without)}."
    return (
        f"Least expected {word}: {format_number(least)} with {best} samples of each old task at every step, instead of "
        f"{format_number(without)} without replay."
    )
