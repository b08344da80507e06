"""How much old data a model needs: forgetting against the share of old data that is replayed: `ReplayForecast`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ebbing._pages import Page, Picture
from ebbing._progress import Progress
from ebbing._tables import Table, Tabular, format_number, to_frame
from ebbing._validate import Array
from ebbing.forecasting._confidence import mean_and_error, random_halves
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

LEAST = 0.5
"""The same for a share that cannot be told from the best."""

SPLITS = 5
"""How often the examples are split into halves to see how sure a curve is."""


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
        halves: The error at the end on random halves of the examples, for each share (2 splits, shares).
        notes: What speaks against the forecast, as for the forecast itself.
    """

    names: tuple[str, ...]
    shares: Array
    counts: np.ndarray
    forgetting: Array
    generalization: Array
    accuracy: Array | None
    train_sizes: np.ndarray
    halves: Array
    notes: tuple[str, ...] = ()

    @property
    def final_errors(self) -> Array:
        """The error at the end for each share (shares,): wrong answers or, for regression, the mean squared error."""
        return self.generalization if self.accuracy is None else 1 - self.accuracy

    @property
    def standard_errors(self) -> Array:
        """The standard errors of `final_errors` as the examples vary (shares,)."""
        return np.array([mean_and_error(values)[1] for values in self.halves.T])

    @property
    def share(self) -> float:
        """The share to use, judged by the error at the end.

        It is the smallest that saves nine tenths of what the best share saves, or at least half of it if the difference
        to the best is within its standard error. Forgetting does not decide: a model that learns new tasks badly
        forgets little.
        """
        error = self.final_errors
        best = int(error.argmin())
        saved, behind = error[0] - error, error - error[best]
        if saved[best] <= NEGLIGIBLE * error.max() + 1e-12:
            return 0.0
        alike = (behind <= self._errors_of_differences(best)) & (saved >= LEAST * saved[best])
        return float(self.shares[np.argmax(alike | (saved >= ENOUGH * saved[best]))])

    @property
    def is_clear(self) -> bool:
        """Whether what the advised share saves is more than two standard errors of it."""
        at = int(np.argmin(abs(self.shares - self.share)))
        return bool(self.final_errors[0] - self.final_errors[at] > 2 * self._errors_of_differences(0)[at])

    def _errors_of_differences(self, share: int) -> Array:
        """Return the standard errors of the differences in error between all shares and one of them (shares,)."""
        return np.array([mean_and_error(values - self.halves[:, share])[1] for values in self.halves.T])

    def to_frame(self) -> pd.DataFrame:
        """Return the curve as a pandas DataFrame.

        Returns:
            One row per share with the columns `share`, `examples` (of an old task, on average), `forgetting`,
            `generalization`, but for regression `accuracy`, and `standard_error` of the accuracy or, for regression,
            of the generalization error.
        """
        columns = {
            "share": self.shares,
            "examples": self.counts.mean(axis=1),
            "forgetting": self.forgetting,
            "generalization": self.generalization,
        }
        if self.accuracy is not None:
            columns["accuracy"] = self.accuracy
        return to_frame(columns | {"standard_error": self.standard_errors})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean accuracy at the end against the share of old data; for regression, the predicted errors.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.forecasts import plot_replay

        return plot_replay(self, ax=ax)

    def _page(self) -> Page:
        reading = "What is predicted at the end against the share of old data that every later step learns again."
        return Page("How much old data your model needs", [Picture(self.plot, reading)])

    def _answer(self) -> str:
        at = int(np.argmin(abs(np.asarray(self.shares) - self.share)))
        advice = f"Mix {_percent(self.share)} of each old task's data into every later step"
        advice += " (all of it: joint training)" if self.share == 1 else ""
        unclear = "These examples cannot tell whether old data helps: chance can explain it."
        if self.accuracy is None:
            if not at:
                return "Mix in no old data: it hardly reduces the error at the end that is predicted."
            error, without = (format_number(float(self.generalization[k]), ".2g") for k in (at, 0))
            if not self.is_clear:
                share = _percent(self.share)
                return f"{unclear} The predicted error at the end is {without} without, {error} with {share}."
            return f"{advice}: the predicted error at the end is {error}, {without} without old data."
        accuracies = self._accuracies()
        if at and not self.is_clear:
            return (
                f"{unclear} Accuracy at the end is predicted to be {accuracies[0]} without, {accuracies[at]} with "
                f"{_percent(self.share)} of each old task's data, on average over tasks."
            )
        if not at:
            return (
                f"Mix in no old data: accuracy at the end is predicted to be {accuracies[0]} on average over tasks "
                f"without any, and {accuracies[-1]} with the most."
            )
        return (
            f"{advice}: accuracy at the end is predicted to be {accuracies[at]} on average over tasks, {accuracies[0]} "
            "without old data."
        )

    def _accuracies(self) -> list[str]:
        """Return the accuracy at the end for each share with its standard error, in percent."""
        assert self.accuracy is not None
        pairs = zip(self.accuracy, self.standard_errors, strict=True)
        return [f"{100 * value:.0f} ± {100 * error:.0f}%" for value, error in pairs]

    def _tables(self) -> Sequence[Table]:
        columns = ["old data", "examples", "forgetting", "generalization error"]
        rows = [
            [_percent(share), describe_sizes(counts), format_number(f, ".4g"), format_number(g, ".4g")]
            for share, counts, f, g in zip(self.shares, self.counts, self.forgetting, self.generalization, strict=True)
        ]
        if self.accuracy is None:
            rows = [
                [*row[:3], f"{row[3]} ± {error:.2g}"] for row, error in zip(rows, self.standard_errors, strict=True)
            ]
        else:
            columns.append("accuracy at the end")
            rows = [[*row, value] for row, value in zip(rows, self._accuracies(), strict=True)]
        sizes = describe_sizes(self.train_sizes)
        note = (
            f"Order: {join_names(self.names)}. Examples: of each old task, of {sizes} that train it; the same stored "
            "ones in every step. ± is a standard error as the examples vary."
        )
        return (Table(self._answer(), columns, rows, [note, *self.notes]),)

    def __repr__(self) -> str:
        return f"ReplayForecast(share={self.share:g}, forgetting={self.forgetting.round(4).tolist()})"


def predict_replay(
    model: KernelModel, names: Sequence[str], tasks: Sequence[int], ratios: Array, *, seed: int, progress: Progress
) -> ReplayForecast:
    """Predict what each share of old data is worth.

    Args:
        model: The model that learns.
        names: Names of all tasks.
        tasks: The tasks that are learned, each once, in the order of learning.
        ratios: The shares of each old task's examples, from 0 to 1.
        seed: The seed of the random halves.
        progress: A function that is called with the share of the work that is done.

    Returns:
        The curve.
    """
    sizes, random = np.array([len(model.train[t]) for t in tasks])[:-1], np.random.default_rng([seed, 2])
    forgetting, generalization, accuracy = _curve(model, tasks, ratios, lambda share: progress(0.5 * share))
    halves: list[Array] = []
    for _ in range(SPLITS):
        for train, test in zip(random_halves(model.train, random), random_halves(model.test, random), strict=True):
            _, errors, right = _curve(model.part(train, test), tasks, ratios, lambda share: None)
            halves.append(errors if right is None else 1 - right)
            progress(0.5 + len(halves) / (4 * SPLITS))
    return ReplayForecast(
        tuple(names[t] for t in tasks),
        ratios,
        np.array([_kept(ratio, sizes) for ratio in ratios]),
        forgetting,
        generalization,
        accuracy,
        sizes,
        np.array(halves),
    )


def _curve(
    model: KernelModel, tasks: Sequence[int], ratios: Array, progress: Progress
) -> tuple[Array, Array, Array | None]:
    """Return forgetting, generalization error and, but for regression, accuracy for each share (shares,)."""
    sizes = np.array([len(model.train[t]) for t in tasks])
    has_accuracy = model.targets.kind != "regression"
    forgetting, generalization, accuracy = [], [], []
    for k, ratio in enumerate(ratios):
        kept = _kept(ratio, sizes)
        mixtures = [
            {tasks[s]: int(sizes[s])} | {tasks[i]: int(kept[i]) for i in range(s) if kept[i]} for s in range(len(tasks))
        ]
        rows, columns = step_rows(mixtures, model.train), step_columns(mixtures)
        if has_accuracy:
            errors, right = (matrix[:, columns] for matrix in model.errors_and_accuracies(rows))
            accuracy.append(float(right[-1].mean()))
        else:
            errors = model.errors(rows)[:, columns]
        forgetting.append(forgetting_of_steps(errors, mixtures))
        generalization.append(float(errors[-1].mean()))
        progress((k + 1) / len(ratios))
    return np.array(forgetting), np.array(generalization), np.array(accuracy) if has_accuracy else None


def _kept(ratio: float, sizes: np.ndarray) -> np.ndarray:
    """Return the examples of each task that a share is, rounded up to whole ones.

    >>> _kept(0.01, np.array([200, 5])).tolist(), _kept(0.07, np.array([100])).tolist()
    ([2, 1], [7])
    """
    return np.ceil(ratio * sizes - 1e-9).astype(int)


def _percent(share: float) -> str:
    """Return a share in percent, with the digits that it needs.

    >>> _percent(0.1), _percent(0.005), _percent(1 / 3)
    ('10%', '0.5%', '33.3%')
    """
    return f"{100 * share:.3g}%"
