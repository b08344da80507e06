"""What was forgotten, task by task, and every metric of a matrix at once: `summary`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ebbing._pages import FORGOTTEN, Page, Picture, forgotten_size
from ebbing._rounding import without_rounding_errors
from ebbing._tables import Table, Tabular, abridged_rows, format_number, to_frame
from ebbing._warnings import warn
from ebbing.metrics import _paper, _variants
from ebbing.metrics._hardly_learned import describe_hardly_learned, find_hardly_learned
from ebbing.metrics._matrix import SIGN, Kind, Values, error_matrix, just_learned
from ebbing.metrics._sentence import forgotten_sentence
from ebbing.metrics._units import describe_units
from ebbing.metrics._unmeasured import find_filler, mark_unmeasured, numpy_line

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Metric = Callable[..., Values]

_METRICS: dict[Metric, str] = {
    _paper.forgetting: "F_T = mean_{i<T} (L[T,i] - L[i,i]), Lin et al. 2023",
    _paper.forgetting_curve: "F_t for t = 2..T, Lin et al. 2023",
    _paper.generalization_error: "G_T = mean_i L[T,i], Lin et al. 2023",
    _paper.average_accuracy: "ACC = mean_i A[T,i]",
    _variants.average_incremental_accuracy: "mean_t mean_{i<=t} A[t,i], iCaRL and PyCIL",
    _variants.learning_accuracy: "LA = mean_i A[i,i], Riemer et al. 2019",
    _paper.backward_transfer: "BWT = mean_{i<T} (A[T,i] - A[i,i]) = -F_T, GEM",
    _variants.first_minus_last: "mean_{i<T} (A[i,i] - A[T,i]), Avalanche's forgetting",
    _variants.best_minus_last: "mean_{i<T} (max_{l<=T} A[l,i] - A[T,i]), Mammoth's forgetting",
    _variants.past_best_minus_last: "mean_{i<T} (max_{l<T} A[l,i] - A[T,i]), RWalk's forgetting",
    _variants.gem_forward_transfer: "mean_{i>1} (A[i-1,i] - A[0,i]), GEM's forward transfer",
    _variants.triangle_backward_transfer: "mean_{i<t} (A[t,i] - A[i,i]), BWT of Díaz-Rodríguez",
    _variants.positive_backward_transfer: "max(BWT, 0), BWT+ of Díaz-Rodríguez",
    _variants.remembering: "1 - |min(BWT, 0)|, REM of Díaz-Rodríguez",
    _variants.lower_triangle_mean: "mean of the entries i <= t, A of Díaz-Rodríguez",
    _variants.upper_triangle_mean: "mean of the entries t < i, FWT of Díaz-Rodríguez (a level)",
}  # in the order in which they are shown, with their formulas


@dataclass(frozen=True, eq=False)
class MetricSummary(Tabular):
    """What was forgotten of each task, and every metric of a matrix.

    Attributes:
        kind: "error" or "accuracy": what the matrix holds.
        names: The names of the T tasks.
        matrix: The matrix (..., T+1, T), NaN where it was not measured.
        values: Every metric by name (...), `forgetting_curve` (..., T-1); None where it cannot be computed.
        reasons: Why a metric cannot be computed, by its name.
    """

    kind: Kind
    names: tuple[str, ...]
    matrix: Values
    values: dict[str, Values | None]
    reasons: dict[str, str]

    @property
    def tasks(self) -> int:
        """The number of tasks T."""
        return len(self.names)

    @property
    def just_learned(self) -> Values:
        """The error or accuracy on each task right after it was learned (..., T)."""
        return just_learned(self.matrix)

    @property
    def at_the_end(self) -> Values:
        """The error or accuracy on each task after all tasks (..., T)."""
        return self.matrix[..., -1, :]

    @property
    def forgotten(self) -> Values:
        """How much worse each task is at the end than just learned (..., T); negative where it got better."""
        return without_rounding_errors(SIGN[self.kind] * (self.at_the_end - self.just_learned), self.matrix)

    @property
    def hardly_learned(self) -> tuple[str, ...]:
        """The tasks of which more than 90% of the initial model's error was left when they were just learned."""
        initial, first = self._mean(self.matrix[..., 0, :]), self._mean(self.just_learned)
        found = find_hardly_learned(initial, first, self._best_accuracy)
        return tuple(name for name, hardly in zip(self.names, found, strict=True) if hardly)

    @property
    def _best_accuracy(self) -> float | None:
        """The best accuracy in the unit of the matrix; None for errors."""
        if self.kind == "error":
            return None
        return 100.0 if (self.matrix > 1).any() else 1.0

    def _mean(self, values: Values) -> Values:
        """Return the mean of values of each task (..., T) over the matrices (T,)."""
        return values.reshape(-1, self.tasks).mean(axis=0)

    def to_frame(self) -> pd.DataFrame:
        """Return the metrics as a tidy pandas DataFrame.

        Returns:
            One row per value with the columns `metric`, `matrix` (index of the matrix, 0 if there is one), `step` (t;
            T but for `forgetting_curve`), `value` (NaN where the metric cannot be computed) and `reason` (why not).
        """
        rows = []
        for name, value in self.values.items():
            curve = name == "forgetting_curve"
            values = np.full(1, np.nan) if value is None else np.asarray(value)
            table = values.reshape(-1, values.shape[-1] if curve else 1)  # (matrices, steps)
            for matrix, row in enumerate(table):
                steps = range(self.tasks - len(row) + 1, self.tasks + 1)
                rows += [(name, matrix, t, v, self.reasons.get(name, "")) for t, v in zip(steps, row, strict=True)]
        columns = zip(*rows, strict=True)
        return to_frame(dict(zip(("metric", "matrix", "step", "value", "reason"), columns, strict=True)))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what was forgotten: for every task, the error or accuracy just learned and at the end.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.metrics import plot_forgotten

        return plot_forgotten(self.just_learned, self.at_the_end, self.names, kind=self.kind, ax=ax)

    def __repr__(self) -> str:
        shown = {name: self.values[name] for name in ("forgetting", "average_accuracy", "generalization_error")}
        levels = {name: without_rounding_errors(np.mean(v), self.matrix) for name, v in shown.items() if v is not None}
        means = "".join(f", {name}={level:.5g}" for name, level in levels.items())
        return f"MetricSummary({self.tasks} task{'s' * (self.tasks > 1)}, kind={self.kind!r}{means})"

    def _page(self) -> Page:
        pictures = [Picture(self.plot, FORGOTTEN, forgotten_size(self.tasks))] if self.tasks > 1 else []
        return Page("What was forgotten", pictures)

    def _answer(self) -> str:
        return " ".join(self._verdict())

    def _tables(self) -> Sequence[Table]:
        return self._task_table(), self._metric_table()

    def _task_table(self) -> Table:
        columns = {"just learned": self.just_learned, "at the end": self.at_the_end, "forgotten": self.forgotten}
        if not np.isnan(self.matrix[..., 0, :]).any():
            columns = {"initial model": self.matrix[..., 0, :]} | columns
        means = [without_rounding_errors(self._mean(values), self.matrix) for values in columns.values()]
        rows = abridged_rows(
            self.tasks, lambda i: [self.names[i], *(format_number(float(mean[i]), ".4g") for mean in means)]
        )
        nouns = {"error": "errors", "accuracy": "accuracies"}
        title = f"{self.tasks} task{'s' * (self.tasks > 1)}, {nouns[self.kind]}; results in the unit of the matrix"
        return Table(title, ["task", *columns], rows, self._verdict())

    def _verdict(self) -> list[str]:
        """Say in sentences whether tasks were learned, how much was forgotten, and of which task most."""
        initial, first, last, lost = (
            self._mean(values)
            for values in (self.matrix[..., 0, :], self.just_learned, self.at_the_end, self.forgotten)
        )
        sentences = (
            describe_hardly_learned(self.names, initial, first, self._best_accuracy),
            forgotten_sentence(self.names[:-1], first[:-1], last[:-1], lost[:-1]),
        )
        return [sentence for sentence in sentences if sentence]

    def _metric_table(self) -> Table:
        several = any(v is not None and np.ndim(v) > (name == "forgetting_curve") for name, v in self.values.items())
        rows, notes = [], []
        for metric, formula in _METRICS.items():
            name = metric.__name__
            value = self.values[name]
            if value is None:
                rows.append([name, "-", self.reasons[name].removeprefix(f"{name} ")])
            elif name == "forgetting_curve":
                curve = np.asarray(value).reshape(-1, np.shape(value)[-1]).mean(axis=0)
                rows.append([name, "below", formula])
                mean = ", mean over the matrices" if several else ""
                numbers = "  ".join(format_number(v, ".5g") for v in without_rounding_errors(curve, self.matrix))
                notes.append(f"forgetting_curve, F_2 to F_{self.tasks}{mean}: {numbers}")
            else:
                rows.append([name, _mean_with_error(np.ravel(value), self.matrix), formula])
        if several:
            notes.append("Values are means over the matrices ± their standard errors.")
        notes.append(
            "Positive forgetting and negative backward transfer mean that old tasks got worse. L is the error or minus "
            "the accuracy, A the accuracy or minus the error."
        )
        return Table("", ["metric", "value", "definition, or why there is no value"], rows, notes, left=(0, 2))


def summary(matrix: ArrayLike, *, kind: Kind, names: Sequence[str] | None = None) -> MetricSummary:
    """Say what was forgotten of each task, and compute every metric of the matrix alone: all but `forward_transfer`.

    A warning says so if all entries above the diagonal are exactly 0, as `np.zeros((T, T))` leaves them, or -1: what
    was not measured must be NaN, or it changes some metrics. Another warning says if some accuracies look like
    fractions and others like percent.

    Args:
        matrix: L (..., T+1, T), or (..., T, T) without the initial model.
        kind: "error" or "accuracy": what the matrix holds.
        names: One name per task; if None, the columns of a pandas DataFrame, or "task 1", "task 2", ...

    Returns:
        The tasks, and the metrics by name, with a reason for each that cannot be computed.

    Raises:
        ValueError: If the matrix cannot be one of errors or accuracies, or there are not as many names as tasks.

    Example:
        >>> found = summary([[75, np.nan], [25, 75]], kind="accuracy", names=["cats", "dogs"])
        >>> found.forgotten.tolist()
        [50.0, 0.0]
        >>> found.values["forgetting"].item(), found.values["upper_triangle_mean"]
        (50.0, None)
        >>> found.reasons["upper_triangle_mean"]
        'upper_triangle_mean needs the accuracy after task 1, on task 2, and it is missing (NaN): ...'
    """
    found = summarize(matrix, kind=kind, names=names)
    filler = find_filler(found.matrix)
    if filler is not None:
        line = numpy_line(np.shape(matrix), initial_too=bool((found.matrix[..., 0, :] == filler).all()))
        warn(f"{describe_filler(found.matrix, kind, filler)}, replace them by NaN: {line}")
    if kind == "accuracy" and (message := describe_units(found.matrix)):
        warn(message)
    return found


def summarize(matrix: ArrayLike, *, kind: Kind, names: Sequence[str] | None = None) -> MetricSummary:
    """Return what `summary` returns, without a warning: for a matrix whose zeros were measured, in one unit."""
    # A matrix that no metric can read raises an error here. A copy: the user may go on to fill the matrix.
    measured = error_matrix(matrix, kind).copy()
    T = measured.shape[-1]
    if names is None and all(isinstance(name, str) for name in getattr(matrix, "columns", [0])):  # of pandas
        names = list(matrix.columns)  # type: ignore[union-attr]
    labels = tuple(f"task {i + 1}" for i in range(T)) if names is None else tuple(str(name) for name in names)
    if len(labels) != T:
        raise ValueError(f"{len(labels)} names for {T} tasks; give one per task")
    values, reasons = _compute(measured, kind)
    return MetricSummary(kind, labels, measured, values, reasons)


def describe_filler(L: Values, kind: Kind | None, filler: float) -> str:
    """Say that nothing but one number stands above the diagonal, and which metrics this changes.

    Args:
        L: The matrix (..., T+1, T), a row of NaN for an initial model that was not measured.
        kind: "error" or "accuracy": what the matrix holds; None if that is not known.
        filler: The number, as `find_filler` finds it.

    Returns:
        The beginning of a sentence, to be followed by the way out.
    """
    filled, without = (_compute(values, kind or "error")[0] for values in (L, mark_unmeasured(L, filler)))
    changed = [
        name
        for name, value in filled.items()
        if value is not None and ((other := without[name]) is None or not np.array_equal(value, other))
    ]
    best = [name for name in changed if name.endswith("best_minus_last")] if kind is None else []
    *first, last = [name for name in changed if name not in best]
    named = f"{', '.join(first)} and {last}" if first else last
    of_errors = f" and, of errors, {' and '.join(best)}" if best else ""
    return (
        f"all entries above the diagonal are exactly {filler:g} and count as measured, which changes "
        f"{named}{of_errors}; if they were not measured"
    )


def _compute(L: Values, kind: Kind) -> tuple[dict[str, Values | None], dict[str, str]]:
    """Return every metric by name, None where it cannot be computed, and the reasons for these."""
    values: dict[str, Values | None] = {}
    reasons: dict[str, str] = {}
    for metric in _METRICS:
        try:
            values[metric.__name__] = metric(L, kind=kind)
        except ValueError as reason:
            values[metric.__name__] = None
            reasons[metric.__name__] = str(reason)
    return values, reasons


def _mean_with_error(values: Values, matrix: Values) -> str:
    text = format_number(float(without_rounding_errors(values.mean(), matrix)), ".5g")
    if len(values) < 2:
        return text
    scale = float(np.abs(values).max()) or 1.0  # squares of very small or large numbers under- or overflow
    error = scale * float(np.std(values / scale, ddof=1)) / len(values) ** 0.5
    return f"{text} ± {format_number(error, '.2g')}"
