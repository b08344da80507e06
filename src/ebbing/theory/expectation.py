"""The result of `expect`: expected errors, forgetting and generalization error, with exact standard deviations.

Definitions (Section 3): F_T = 1/(T-1) sum_{i<T} (L[T,i] - L[i,i]) and G_T = 1/T sum_i L[T,i]. Over a curriculum of S
steps, F is the mean of L[S,i] - L[first step of i, i] over the tasks first learned before the last step, and G the mean
of L[S,i] over all tasks, those never learned included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ebbing._limits import COVARIANCES_WITH_DEVIATIONS, TASKS_WITH_DEVIATIONS
from ebbing._pages import Page, forgotten_picture, matrix_picture
from ebbing._tables import Table, Tabular, abridged_rows, format_number, to_frame
from ebbing._validate import Array
from ebbing.curriculum import Curriculum, learned_before
from ebbing.learners import LinearLearner, MinimumNorm, simplify_learner
from ebbing.metrics._sentence import forgotten_sentence
from ebbing.problem import Problem
from ebbing.theory._description import describe, describe_curriculum, describe_model, learning_notes
from ebbing.theory._rates import Rates, check_two_tasks
from ebbing.theory._step_covariance import deviations
from ebbing.theory._terms import SOURCES, Terms

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Expectation(Tabular):
    """The expected errors of learning the tasks of a problem: one after another, or by a curriculum of S steps.

    Attributes:
        problem: The tasks; without a curriculum, in the order of learning.
        errors: E L[s, i], the expected error on task i after s steps (S+1, T); row 0 is the initial model.
        forgetting_matrix: E (L[s, i] - L[first step of i, i]) for tasks learned before s, else zero (S+1, T).
        terms: Where forgetting and generalization error come from.
        learner: How each step learns.
    """

    problem: Problem
    errors: Array
    forgetting_matrix: Array
    terms: Terms
    learner: LinearLearner = field(default_factory=MinimumNorm)
    _curriculum: Curriculum | None = None

    @property
    def curriculum(self) -> Curriculum:
        """The steps of learning."""
        return self._curriculum or Curriculum.sequential(self.problem)

    @property
    def first_steps(self) -> npt.NDArray[np.int64]:
        """The step in which each task is first learned, from 1; 0 for a task that is never learned (T,)."""
        return self._first_steps

    @cached_property
    def _first_steps(self) -> npt.NDArray[np.int64]:
        if self._curriculum:
            return self._curriculum.first_steps(self.problem)
        return np.arange(1, self.problem.T + 1)

    @property
    def forgetting(self) -> float:
        """E F_T = 1/(T-1) sum_{i<T} E (L[T, i] - L[i, i]), eq. (9); over the tasks learned before the last step."""
        self._check_forgetting()
        return self._forgetting_after(len(self.errors) - 1)

    @property
    def forgetting_curve(self) -> Array:
        """E F_s for the steps s = 2..S (S-1,)."""
        self._check_forgetting()
        return np.array([self._forgetting_after(s) for s in range(2, len(self.errors))])

    def _forgetting_after(self, s: int) -> float:
        return float(self.forgetting_matrix[s, learned_before(self.first_steps, s)].mean())

    def _check_forgetting(self) -> None:
        if self._curriculum is None:
            check_two_tasks(self.problem)
        elif len(self._curriculum) < 2:
            raise ValueError("forgetting compares a step with an earlier one: it needs at least two steps, not 1")

    @property
    def generalization(self) -> float:
        """E G_T = 1/T sum_i E L[T, i], eq. (10): over all tasks, those never learned included."""
        return float(self.errors[-1].mean())

    @cached_property
    def _standard_deviations(self) -> tuple[Array, float, float]:
        return self._deviations()

    def _deviations(self, progress: Callable[[float], None] | None = None) -> tuple[Array, float, float]:
        learner = simplify_learner(self.learner)
        return deviations(self.problem, self._curriculum, learner, self.errors, progress=progress)

    def compute_std(self, progress: Callable[[float], None] | None = None) -> None:
        """Compute the standard deviations now and report progress; otherwise their first use computes them.

        Time grows as steps times T^2: a second for some hundred tasks, minutes for 2,000. Tables show them unasked up
        to T = 500, and of mixtures and averaged steps up to T = 270 or so.

        Args:
            progress: Called with the finished fraction, 0 to 1.

        Example:
            >>> from ebbing import Problem, expect
            >>> e = expect(Problem.orthogonal(T=3, n=50, p=100))
            >>> e.compute_std(progress=lambda fraction: print(f"{fraction:.0%}"))
            33%
            67%
            100%
            >>> e.has_std
            True
        """
        if "_standard_deviations" not in vars(self):
            vars(self)["_standard_deviations"] = self._deviations(progress)

    @property
    def has_std(self) -> bool:
        """Whether the standard deviations are computed, or so few tasks and steps that tables show them unasked."""
        T, S = self.problem.T, len(self.errors) - 1
        few = T <= TASKS_WITH_DEVIATIONS and (self._curriculum is None or S * T**2 <= COVARIANCES_WITH_DEVIATIONS)
        return few or "_standard_deviations" in vars(self)

    @property
    def errors_std(self) -> Array:
        """Exact standard deviation of every L[s, i] (S+1, T); inf where infinite, NaN where not known (simulate)."""
        return self._standard_deviations[0]

    @property
    def forgetting_std(self) -> float:
        """Exact standard deviation of F_T; inf where the variance is infinite, NaN where it is not known (simulate)."""
        self._check_forgetting()
        return self._standard_deviations[1]

    @property
    def generalization_std(self) -> float:
        """Exact standard deviation of G_T; inf where the variance is infinite, NaN where it is not known (simulate)."""
        return self._standard_deviations[2]

    def to_frame(self) -> pd.DataFrame:
        """Return the error matrix as a tidy pandas DataFrame.

        Returns:
            One row per entry of the matrix, (S+1) T in all, with the columns `step` (s, 0 for the initial model),
            `task` (name), `place` (i, from 1), `error`, `error_std` and `forgetting`.
        """
        rows, T = self.errors.shape
        return to_frame({
            "step": np.repeat(np.arange(rows), T),
            "task": list(self.problem.names) * rows,
            "place": np.tile(np.arange(1, T + 1), rows),
            "error": self.errors.ravel(),
            "error_std": self.errors_std.ravel(),
            "forgetting": self.forgetting_matrix.ravel(),
        })  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the expected error on each task against the number of steps; a heat map for more than eight tasks.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.errors import plot_error_matrix

        first = None if self._curriculum is None else self.first_steps
        return plot_error_matrix(self.errors, self.problem.names, first_steps=first, label="expected error", ax=ax)

    def _page(self) -> Page:
        names = self.problem.names
        forgotten = forgotten_picture(self.errors, names, "error", self.first_steps)
        return Page("What is expected to be forgotten", [forgotten, matrix_picture(self.plot, names, "error")])

    def _answer(self) -> str:
        first = self.first_steps
        old = np.flatnonzero(learned_before(first, len(self.errors) - 1))
        sentence = forgotten_sentence(
            [self.problem.names[i] for i in old],
            self.errors[first[old], old],
            self.errors[-1, old],
            self.forgetting_matrix[-1, old],
            "expected",
        )
        return sentence and f"{sentence} Over all tasks, the error at the end is {self.generalization:.4g}."

    def _tables(self) -> Sequence[Table]:
        S, T, sequential = len(self.errors) - 1, self.problem.T, self._curriculum is None
        columns = [(f"generalization error G_{S}", "generalization", "G")]
        if T > 1 if sequential else S > 1:
            columns.insert(0, (f"forgetting F_{S}", "forgetting", "F"))
        rows = [["expected", *(format_number(getattr(self, column[1])) for column in columns)]]
        if sequential:
            title = f"{describe(self.problem)}\n{describe_model(self.problem.n, self.problem.p)}"
            notes = list(learning_notes(self.problem, self.errors, self.forgetting if T > 1 else None))
        else:
            title, notes = describe_curriculum(self.problem, self.curriculum, self.learner), []
        if self.has_std:
            deviations = (_deviation(getattr(self, f"{column[1]}_std")) for column in columns)
            rows.append(["standard deviation of one run", *deviations])
        else:
            notes.append(
                "Standard deviations of so many tasks are computed on demand, in seconds to minutes: compute_std() in "
                "Python, --std in the command."
            )
        for k, source in enumerate(SOURCES[: 3 if sequential else 4], start=1):
            letters = ", ".join(f"{column[2]}{k}" for column in columns)
            parts = (format_number(getattr(self.terms, f"{column[2]}{k}")) for column in columns)
            rows.append([f"  from {source} ({letters})", *parts])
        return Table(title, ["", *(column[0] for column in columns)], rows, notes), self.task_table()

    def task_table(self, title: str = "") -> Table:
        """Return a table of what happens to each task.

        Args:
            title: The paragraph above the table.

        Returns:
            A row per task, in the order of the problem.
        """
        errors, first, names = self.errors, self.first_steps, self.problem.names
        if self.problem.T == 1 and self._curriculum is None:  # nothing before it, nothing after it
            numbers = (format_number(error, ".4g") for error in (errors[0, 0], errors[1, 0]))
            note = "Errors are expected squared distances to the task's ground truth. One task forgets nothing."
            return Table(title, ["task", "initial error", "learned"], [[names[0], *numbers]], [note])
        headers = ["task", "initial error", "just learned", "at the end", "forgetting"]
        columns = [errors[0], errors[first, np.arange(len(names))], errors[-1], self.forgetting_matrix[-1]]
        note = (
            "Errors are expected squared distances to a task's ground truth. Forgetting: error at the end minus "
            "error just learned."
        )
        if self._curriculum is None:
            # As `forward_transfer`: L[t, t] minus the error of task t learned alone.
            headers.append("forward transfer")
            columns.append(Rates.of(self.problem).retained * (np.diagonal(errors) - self.problem.start))
            note += (
                " Forward transfer: error just learned minus error when learned alone; negative means that earlier "
                "tasks help."
            )

        def cells(i: int) -> list[str]:
            numbers = [format_number(values[i], ".4g") for values in columns]
            return [names[i], *(numbers if first[i] else [numbers[0], "never", numbers[2], "-"])]

        return Table(title, headers, abridged_rows(len(names), cells), [note])

    def __repr__(self) -> str:
        steps = "" if self._curriculum is None else f"steps={len(self.errors) - 1}, "
        forgets = self.problem.T > 1 if self._curriculum is None else len(self.errors) > 2
        forgetting = f"forgetting={format_number(self.forgetting)}, " if forgets else ""
        return (
            f"Expectation(T={self.problem.T}, {steps}{forgetting}generalization={format_number(self.generalization)})"
        )


def _deviation(std: float) -> str:
    return "not known: simulate" if np.isnan(std) else format_number(std, ".4g")
