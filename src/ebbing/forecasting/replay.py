"""How much old data a model needs: forgetting against the share of old data that is replayed: `ReplayForecast`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ebbing._tables import Table, Tabular, format_number, to_frame
from ebbing._validate import Array
from ebbing.forecasting._search import Progress
from ebbing.forecasting._steps import forgetting_of_steps, step_columns, step_rows
from ebbing.forecasting._summary import describe_sizes
from ebbing.forecasting.recursion import KernelModel
from ebbing.order._tables import join_names

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
"""The shares of each old task's data that a replay curve is computed for."""

NEGLIGIBLE = 0.05
"""Replay is not advised if it saves less than this share of the error at the end."""

ENOUGH = 0.9
"""The part of what the best share saves that the advised share must save."""


@dataclass(frozen=True, eq=False, repr=False)
class ReplayForecast(Tabular):
    """Predicted errors when every step also learns a share of each old task's data.

    Attributes:
        names: The tasks, in the order of learning.
        shares: The share of each old task's examples that is learned again in every later step (shares,).
        counts: The number of examples of each old task that this is (shares, T-1): all tasks but the last.
        forgetting: F_T for each share (shares,).
        generalization: G_T for each share (shares,).
        accuracy: The mean accuracy over tasks at the end for each share (shares,); None for regression.
        train_sizes: Training examples of each old task (T-1,).
    """

    names: tuple[str, ...]
    shares: Array
    counts: np.ndarray
    forgetting: Array
    generalization: Array
    accuracy: Array | None
    train_sizes: np.ndarray

    @property
    def share(self) -> float:
        """The share to use: the smallest that saves nine tenths of the error at the end that the best share saves.

        The error is the share of wrong answers or, for regression, the mean squared error. Forgetting does not decide:
        a model that learns new tasks badly forgets little.
        """
        error = self.generalization if self.accuracy is None else 1 - self.accuracy
        saved = error[0] - error
        if saved.max() <= NEGLIGIBLE * error.max() + 1e-12:
            return 0.0
        return float(self.shares[np.argmax(saved >= ENOUGH * saved.max())])

    def to_frame(self) -> pd.DataFrame:
        """Return the curve as a pandas DataFrame.

        Returns:
            One row per share with the columns `share`, `examples` (of an old task, on average), `forgetting`,
            `generalization` and, but for regression, `accuracy`.
        """
        columns = {
            "share": self.shares,
            "examples": self.counts.mean(axis=1),
            "forgetting": self.forgetting,
            "generalization": self.generalization,
        }
        return to_frame(columns if self.accuracy is None else columns | {"accuracy": self.accuracy})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw forgetting and generalization error against the share of old data.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.forecasts import plot_replay

        return plot_replay(self, ax=ax)

    def _answer(self) -> str:
        if self.share == 0:
            if self.accuracy is None:
                return "Mix in no old data: it hardly reduces the error at the end that is predicted."
            return (
                f"Mix in no old data: accuracy at the end is predicted to be {self.accuracy[0]:.0%} on average over "
                f"tasks without any, and {self.accuracy[-1]:.0%} with the most."
            )
        at = int(np.argmin(abs(np.asarray(self.shares) - self.share)))
        advice = f"Mix {self.share:.0%} of each old task's data into every later step"
        if self.accuracy is not None:
            return (
                f"{advice}: accuracy at the end is predicted to be {self.accuracy[at]:.0%} on average over tasks, "
                f"{self.accuracy[0]:.0%} without old data."
            )
        error, without = (format_number(float(self.generalization[k]), ".2g") for k in (at, 0))
        return f"{advice}: the predicted error at the end is {error}, {without} without old data."

    def _tables(self) -> Sequence[Table]:
        columns = ["old data", "examples", "forgetting", "generalization error"]
        rows = [
            [f"{share:.0%}", describe_sizes(counts), format_number(f, ".4g"), format_number(g, ".4g")]
            for share, counts, f, g in zip(self.shares, self.counts, self.forgetting, self.generalization, strict=True)
        ]
        if self.accuracy is not None:
            columns.append("accuracy at the end")
            rows = [[*row, f"{value:.0%}"] for row, value in zip(rows, self.accuracy, strict=True)]
        measure = "mean squared error" if self.accuracy is None else "wrong answers"
        sizes = describe_sizes(self.train_sizes)
        note = (
            f"Order: {join_names(self.names)}. Examples are those of each old task, of {sizes} that train it; the same "
            f"stored ones in every step. The advised share is the smallest that saves {ENOUGH:.0%} of the "
            f"{measure} at the end that the best share saves."
        )
        return (Table(self._answer(), columns, rows, [note]),)

    def __repr__(self) -> str:
        return f"ReplayForecast(share={self.share:g}, forgetting={self.forgetting.round(4).tolist()})"


def predict_replay(
    model: KernelModel, names: Sequence[str], tasks: Sequence[int], ratios: Array, progress: Progress | None = None
) -> ReplayForecast:
    """Predict what each share of old data is worth.

    Args:
        model: The model that learns.
        names: Names of all tasks.
        tasks: The tasks that are learned, each once, in the order of learning.
        ratios: The shares of each old task's examples, from 0 to 1.
        progress: A function that is called with the share of the work that is done.

    Returns:
        The curve.
    """
    sizes = np.array([len(model.train[t]) for t in tasks])
    told_by_accuracy = model.targets.kind != "regression"
    forgetting, generalization, accuracy = [], [], []
    for k, ratio in enumerate(ratios):
        if progress is not None:
            progress(k / len(ratios))
        kept = _kept(ratio, sizes)
        mixtures = [
            {tasks[s]: int(sizes[s])} | {tasks[i]: int(kept[i]) for i in range(s) if kept[i]} for s in range(len(tasks))
        ]
        rows, columns = step_rows(mixtures, model.train), step_columns(mixtures)
        if told_by_accuracy:
            errors, right = (matrix[:, columns] for matrix in model.errors_and_accuracies(rows))
            accuracy.append(float(right[-1].mean()))
        else:
            errors = model.errors(rows)[:, columns]
        forgetting.append(forgetting_of_steps(errors, mixtures))
        generalization.append(float(errors[-1].mean()))
    return ReplayForecast(
        tuple(names[t] for t in tasks),
        ratios,
        np.array([_kept(ratio, sizes[:-1]) for ratio in ratios]),
        np.array(forgetting),
        np.array(generalization),
        np.array(accuracy) if told_by_accuracy else None,
        sizes[:-1],
    )


def _kept(ratio: float, sizes: np.ndarray) -> np.ndarray:
    """Return the examples of each task that a share is, rounded up to whole ones.

    >>> _kept(0.01, np.array([200, 5])).tolist()
    [2, 1]
    """
    return np.ceil(ratio * sizes).astype(int)
