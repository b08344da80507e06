"""Expected errors, forgetting and generalization error of one problem, with exact standard deviations: `expect`.

Definitions (Section 3): F_T = 1/(T-1) sum_{i<T} (L[T,i] - L[i,i]) and G_T = 1/T sum_i L[T,i].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ebbing._limits import TASKS_WITH_DEVIATIONS
from ebbing._tables import Table, Tabular, abridged_rows, format_number, to_frame
from ebbing._validate import Array
from ebbing.problem import Problem, check_problem
from ebbing.theory._covariance import standard_deviations
from ebbing.theory._description import describe, describe_model, learning_notes
from ebbing.theory._rates import Rates
from ebbing.theory._recursion import ExpectedErrors

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Terms:
    """The terms of F_T = F1 + F2 + F3 and G_T = G1 + G2 + G3 (Theorem 1).

    The recursion splits the same way when n and sigma differ from task to task, so the terms always exist.

    Attributes:
        F1: Forgetting that comes from the initial model, through |w*_i|^2; NaN for a single task, as F2 and F3 are.
        F2: Forgetting that comes from the gaps between tasks.
        F3: Forgetting that comes from noise.
        G1: Generalization error that comes from the initial model.
        G2: Generalization error that comes from the gaps between tasks.
        G3: Generalization error that comes from noise.
    """

    F1: float
    F2: float
    F3: float
    G1: float
    G2: float
    G3: float


@dataclass(frozen=True, eq=False, repr=False)
class Expectation(Tabular):
    """The expected errors of learning the tasks of a problem in their order.

    Attributes:
        problem: The tasks, in the order of learning.
        errors: E L[t, i], the expected error on task i after t tasks (T+1, T); row 0 is the initial model.
        forgetting_matrix: E (L[t, i] - L[i, i]) for the tasks i learned before t, zero elsewhere (T+1, T).
        terms: Where forgetting and generalization error come from.
    """

    problem: Problem
    errors: Array
    forgetting_matrix: Array
    terms: Terms

    @property
    def forgetting(self) -> float:
        """E F_T = 1/(T-1) sum_{i<T} E (L[T, i] - L[i, i]), eq. (9)."""
        return float(self.forgetting_curve[-1])

    @property
    def forgetting_curve(self) -> Array:
        """E F_t for t = 2..T (T-1,)."""
        T = check_two_tasks(self.problem)
        return np.array([self.forgetting_matrix[t, : t - 1].mean() for t in range(2, T + 1)])

    @property
    def generalization(self) -> float:
        """E G_T = 1/T sum_i E L[T, i], eq. (10)."""
        return float(self.errors[-1].mean())

    @cached_property
    def _standard_deviations(self) -> tuple[Array, Array, Array]:
        return standard_deviations(self.problem.start, self.problem.gaps, Rates.of(self.problem))

    def compute_std(self, progress: Callable[[float], None] | None = None) -> None:
        """Compute the standard deviations now; their first use does so otherwise, in silence.

        Time grows as T^3: a second for some hundred tasks, minutes for 2,000. Tables show them unasked up to T = 500.

        Args:
            progress: Called with the finished fraction, 0 to 1.

        Example:
            >>> e = expect(Problem.orthogonal(T=3, n=50, p=100))
            >>> e.compute_std(progress=lambda fraction: print(f"{fraction:.0%}"))
            33%
            67%
            100%
            >>> e.has_std
            True
        """
        if "_standard_deviations" not in vars(self):
            rates = Rates.of(self.problem)
            vars(self)["_standard_deviations"] = standard_deviations(
                self.problem.start, self.problem.gaps, rates, progress
            )

    @property
    def has_std(self) -> bool:
        """Whether the standard deviations are computed, or so few tasks that tables show them unasked."""
        return self.problem.T <= TASKS_WITH_DEVIATIONS or "_standard_deviations" in vars(self)

    @property
    def errors_std(self) -> Array:
        """Exact standard deviation of every L[t, i] (T+1, T); inf where the variance is infinite."""
        return self._standard_deviations[0]

    @property
    def forgetting_std(self) -> float:
        """Exact standard deviation of F_T; inf where the variance is infinite."""
        check_two_tasks(self.problem)
        return float(self._standard_deviations[1])

    @property
    def generalization_std(self) -> float:
        """Exact standard deviation of G_T; inf where the variance is infinite."""
        return float(self._standard_deviations[2])

    def to_frame(self) -> pd.DataFrame:
        """Return the error matrix as a tidy pandas DataFrame.

        Returns:
            One row per entry of the matrix, (T+1) T in all, with the columns `step` (t, 0 for the initial model),
            `task` (name), `place` (i, from 1), `error`, `error_std` and `forgetting`.
        """
        T = self.problem.T
        return to_frame({
            "step": np.repeat(np.arange(T + 1), T),
            "task": list(self.problem.names) * (T + 1),
            "place": np.tile(np.arange(1, T + 1), T + 1),
            "error": self.errors.ravel(),
            "error_std": self.errors_std.ravel(),
            "forgetting": self.forgetting_matrix.ravel(),
        })  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the expected error on each task against the number of tasks learned; a heat map for more than eight.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.errors import plot_error_matrix

        return plot_error_matrix(self.errors, self.problem.names, label="expected error", ax=ax)

    def _tables(self) -> Sequence[Table]:
        T, terms = self.problem.T, self.terms
        columns = [(f"generalization error G_{T}", "generalization", "G")]
        if T > 1:
            columns.insert(0, (f"forgetting F_{T}", "forgetting", "F"))
        rows = [["expected", *(format_number(getattr(self, column[1])) for column in columns)]]
        notes = list(learning_notes(self.problem, self.errors, self.forgetting if T > 1 else None))
        if self.has_std:
            deviations = (format_number(getattr(self, f"{column[1]}_std"), ".4g") for column in columns)
            rows.append(["standard deviation of one run", *deviations])
        else:
            notes.append(
                f"Standard deviations of more than {TASKS_WITH_DEVIATIONS} tasks are computed on demand, in minutes or "
                "more: compute_std() in Python, --std in the command."
            )
        for k, source in enumerate(("the initial model", "gaps between tasks", "noise"), start=1):
            letters = ", ".join(f"{column[2]}{k}" for column in columns)
            parts = (format_number(getattr(terms, f"{column[2]}{k}")) for column in columns)
            rows.append([f"  from {source} ({letters})", *parts])
        return (
            Table(
                f"{describe(self.problem)}\n{describe_model(self.problem.n, self.problem.p)}",
                ["", *(column[0] for column in columns)],
                rows,
                notes,
            ),
            self.task_table(),
        )

    def task_table(self, title: str = "") -> Table:
        """Return a table of what happens to each task.

        Args:
            title: The paragraph above the table.

        Returns:
            A row per task, in the order of learning.
        """
        errors = self.errors
        # As `forward_transfer`: L[t, t] minus the error of task t learned alone.
        transfer = Rates.of(self.problem).retained * (np.diagonal(errors) - self.problem.start)
        if self.problem.T == 1:  # nothing before it, nothing after it
            numbers = (format_number(error, ".4g") for error in (errors[0, 0], errors[1, 0]))
            note = "Errors are expected squared distances to the task's ground truth. One task forgets nothing."
            return Table(title, ["task", "initial error", "learned"], [[self.problem.names[0], *numbers]], [note])
        columns = (errors[0], np.diagonal(errors[1:]), errors[-1], self.forgetting_matrix[-1], transfer)
        rows = abridged_rows(
            self.problem.T, lambda i: [self.problem.names[i], *(format_number(values[i], ".4g") for values in columns)]
        )
        return Table(
            title,
            ["task", "initial error", "just learned", "at the end", "forgetting", "forward transfer"],
            rows,
            [
                "Errors are expected squared distances to a task's ground truth. Forgetting: error at the end minus "
                "error just learned. Forward transfer: error just learned minus error when learned alone; negative "
                "means that earlier tasks help."
            ],
        )

    def __repr__(self) -> str:
        forgetting = f"forgetting={format_number(self.forgetting)}, " if self.problem.T > 1 else ""
        return f"Expectation(T={self.problem.T}, {forgetting}generalization={format_number(self.generalization)})"


def expect(problem: Problem) -> Expectation:
    """Compute the expected error matrix, forgetting and generalization error of any problem.

    These are Theorems 1 and 2, and their mixtures where some tasks have n < p and others n >= p.

    Args:
        problem: The tasks, in the order of learning.

    Returns:
        The expected errors with their terms; exact standard deviations are computed on first use.

    Raises:
        ValueError: If the expectation is infinite: a task with noise and |p - n| <= 1.

    Example:
        >>> e = expect(Problem.orthogonal(T=8, n=50, p=100, sigma=0.3))
        >>> e
        Expectation(T=8, forgetting=1.02141, generalization=1.93003)
        >>> round(e.forgetting_std, 4), e.errors.shape
        (0.1523, (9, 8))
    """
    check_problem(problem)
    rates = finite_rates(problem)
    T, start = problem.T, problem.start
    errors, forgetting_matrix = np.empty((T + 1, T)), np.empty((T + 1, T))
    mean = ExpectedErrors(problem.gaps, rates)
    errors[0], forgetting_matrix[0] = mean.errors(start), mean.forgetting(start)
    for t in range(1, T + 1):
        mean.learn_next()
        errors[t], forgetting_matrix[t] = mean.errors(start), mean.forgetting(start)
    return Expectation(problem, errors, forgetting_matrix, Terms(*(float(part) for part in mean.parts(start))))


def expectation_if_finite(problem: Problem) -> Expectation | None:
    """Return `expect(problem)`, or None where the expectation is infinite.

    Args:
        problem: The tasks, in the order of learning.

    Returns:
        The expectation, or None if a task has noise and |p - n| <= 1.

    Example:
        >>> expectation_if_finite(Problem.orthogonal(T=2, n=50, p=51, sigma=0.3)) is None
        True
    """
    return None if np.isinf(Rates.of(problem).noise_error).any() else expect(problem)


def finite_rates(problem: Problem) -> Rates:
    """Return the rates of a problem, if its expectation is finite.

    Args:
        problem: The tasks, in the order of learning.

    Returns:
        Arrays (T,).

    Raises:
        ValueError: If a task has noise and |p - n| <= 1.
    """
    rates = Rates.of(problem)
    infinite = np.flatnonzero(np.isinf(rates.noise_error))
    if len(infinite):
        i = infinite[0]
        task = f"p={problem.p}, n={problem.n[i]}, sigma={problem.sigma[i]:g}"
        if missing := problem.unmodeled[i]:
            raise ValueError(
                f"{task}, unmodeled={missing:g}: the expectation is infinite when |p - n| <= 1 and there is noise, "
                "which missing features are; use another p"
            )
        raise ValueError(
            f"{task}: the expectation is infinite when |p - n| <= 1 and sigma > 0; use sigma=0 or another p"
        )
    return rates


def check_two_tasks(problem: Problem) -> int:
    """Return the number of tasks, if there is an earlier task to forget.

    Args:
        problem: The tasks, in the order of learning.

    Returns:
        T, at least 2.

    Raises:
        ValueError: If the problem has a single task.
    """
    if problem.T < 2:
        raise ValueError("forgetting compares a task with an earlier one: it needs at least two tasks, not 1")
    return problem.T
