"""The error or accuracy matrix that a sequence of training runs fills: a value, and the file that keeps it."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np

from ebbing import metrics
from ebbing._files import write_atomic
from ebbing._pages import FORGOTTEN, Page, Picture, forgotten_size, matrix_picture
from ebbing._tables import Table, Tabular, abridged_rows, format_number, to_frame
from ebbing._validate import Array
from ebbing.io.error_matrices import read_error_matrix
from ebbing.io.schema import to_json
from ebbing.metrics import Kind, MetricSummary
from ebbing.metrics._summary import summarize

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_KEYS: Mapping[Kind, str] = {"error": "errors", "accuracy": "accuracies"}
_SCHEMA = "ebbing.matrix/"
_UNMEASURED = (
    "Nothing is measured yet: train a task first, with transformers by forgetting.attach(trainer) and trainer.train(), "
    "with Lightning by Trainer(callbacks=[forgetting]).fit(module, loader)."
)


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredMatrix(Tabular):
    """The error or accuracy on each task after each task, as it was measured.

    Attributes:
        values: The matrix (T+1, T): row 0 is the initial model, row t the model after task t. NaN: not measured.
        names: The names of the tasks, in the order in which they are learned (T,).
        kind: "error" (lower is better) or "accuracy" (higher is better).
        metric: What was measured, such as "accuracy" or "loss".

    Example:
        >>> found = MeasuredMatrix(np.array([[0.5, 0.5], [0.9, 0.5], [0.6, 0.8]]), ("news", "mail"), "accuracy")
        >>> round(float(found.metrics.values["forgetting"]), 2)
        0.3
        >>> found
        MeasuredMatrix(2 of 2 tasks learned, accuracy)
    """

    values: Array
    names: tuple[str, ...]
    kind: Kind
    metric: str = "accuracy"

    def __post_init__(self) -> None:
        T = len(self.names)
        if self.values.shape != (T + 1, T) or T == 0:
            raise ValueError(
                f"values has shape {self.values.shape} for {T} tasks: give (T+1, T), row 0 for the initial model, and "
                "NaN where nothing was measured"
            )

    @property
    def learned(self) -> int:
        """The number of tasks that were learned: after each of them, all tasks learned so far were measured."""
        missing = (t for t in range(1, len(self.values)) if np.isnan(self.values[t, :t]).any())
        return next(missing, len(self.values)) - 1

    @property
    def metrics(self) -> MetricSummary:
        """Every metric, with a reason for each that cannot be computed (`ebbing.metrics.summary`).

        Before all tasks are learned, these are the metrics of the learned ones.
        """
        t = self.learned or len(self.names)
        return summarize(self.values[: t + 1, :t], kind=self.kind, names=self.names[:t])

    @property
    def forgetting(self) -> float:
        """Forgetting F_T of the learned tasks: positive if old tasks got worse."""
        t = self.learned
        return float(metrics.forgetting(self.values[: t + 1, :t] if t else self.values, kind=self.kind))

    @property
    def final(self) -> float:
        """The mean over the learned tasks at the end: the average accuracy, or the generalization error."""
        t = self.learned
        return float(self.values[t, :t].mean()) if t else float("nan")

    def to_frame(self) -> pd.DataFrame:
        """Return the matrix as a tidy pandas DataFrame.

        Returns:
            One row per entry with the columns `step` (0 for the initial model), `task` and `value`.
        """
        steps = np.repeat(np.arange(len(self.values)), len(self.names))
        return to_frame({"step": steps, "task": list(self.names) * len(self.values), "value": self.values.ravel()})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the matrix: as curves for up to eight tasks, as a heat map for more.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.errors import plot_error_matrix

        return plot_error_matrix(self.values, self.names, label=self.metric.replace("_", " "), ax=ax)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the matrix as JSON, atomically; `ebbing metrics FILE` and `ebbing.read_matrix` read it.

        Args:
            path: The path of the file.
        """
        content = {
            "kind": self.kind,
            "metric": self.metric,
            "names": self.names,
            "learned": self.learned,
            _KEYS[self.kind]: self.values,
        }
        write_atomic(Path(path), to_json("matrix", content) + "\n")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> MeasuredMatrix:
        """Read a file that `save` wrote.

        Args:
            path: The path of the file.

        Returns:
            The matrix.

        Raises:
            ValueError: If the file holds something else, or an entry is missing; the message names both.

        Example:
            >>> import tempfile
            >>> file = Path(tempfile.mkdtemp(), "forgetting.json")
            >>> MeasuredMatrix(np.array([[0.5], [0.9]]), ("news",), "accuracy").save(file)
            >>> MeasuredMatrix.read(file).values.tolist()
            [[0.5], [0.9]]
        """
        found = read_error_matrix(path)
        if not str(found.others.get("schema")).startswith(_SCHEMA):
            raise ValueError(f"{path}: a matrix, but not a record of training: ebbing.read_matrix reads it")
        kind, metric, T = found.others.get("kind"), found.others.get("metric"), found.values.shape[1]
        for name, valid, wanted in (
            ("names", len(found.column_names) == T, f"a list of {T} texts"),
            ("kind", kind in get_args(Kind), " or ".join(get_args(Kind))),
            ("metric", isinstance(metric, str), "a text"),
        ):
            if not valid:
                got = reprlib.repr(found.others[name]) if name in found.others else "missing"
                raise ValueError(f"{path}: {name} is {got}; give {wanted}, as `save` writes it, or measure again")
        return cls(found.values, found.column_names, kind, metric)  # type: ignore[arg-type]  (checked)

    def _page(self) -> Page:
        matrix = matrix_picture(self.plot, self.names, self.kind)
        forgotten = Picture(self.metrics.plot, FORGOTTEN, forgotten_size(self.learned))
        return Page("What was forgotten", [matrix, forgotten][: self.learned])  # a single task forgets nothing

    def _answer(self) -> str:
        return self.metrics._answer() if self.learned else ""

    def _tables(self) -> Sequence[Table]:
        if np.isnan(self.values).all():
            return (Table(_UNMEASURED),)

        def row(t: int) -> list[str]:
            after = self.names[t - 1] if t else "nothing (initial model)"
            return [after, *(format_number(value, ".4g") for value in self.values[t])]

        shown = abridged_rows(len(self.values), row)
        matrix = Table(f"{self.metric} on each task", ["learned last", *self.names], shown)
        if self.learned == 0:
            return (matrix,)
        return (matrix, *self.metrics._tables())

    def __repr__(self) -> str:
        return f"MeasuredMatrix({self.learned} of {len(self.names)} tasks learned, {self.metric})"
