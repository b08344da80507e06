"""A forecast beside what training measured, order by order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsFloat

import numpy as np

from ebbing._pages import Page, Picture
from ebbing._ranks import rank_correlation
from ebbing._rounding import without_rounding_errors
from ebbing._tables import Table, Tabular, count_of, format_number, to_frame
from ebbing._validate import Array
from ebbing.order._tables import join_names

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

GAINS = "Where forgetting is negative, old tasks got better."
"""What to tell beside such numbers."""

MOST_SHOWN = 10
"""Orders up to which all are listed."""

FAR_APART = 0.1
"""Difference of accuracies just learned, or of errors in units of the initial error, beyond which the predicted levels
are not those of this training."""

FEW_ORDERS = 4
"""Orders below which a rank correlation says little, and the summary leaves it out."""


@dataclass(frozen=True, eq=False, repr=False)
class ForecastComparison(Tabular):
    """What a forecast predicts for some orders, and what training measured; `Measurement.compare` returns it.

    Attributes:
        orders: The orders, as names of tasks.
        predicted: The predicted forgetting of each order (orders,).
        measured: The measured forgetting of each order, on average over seeds (orders,).
        predicted_accuracy: The predicted mean accuracy at the end (orders,), if there is one; regression has none.
        measured_accuracy: The measured mean accuracy at the end (orders,), if there is one.
        training: How far tasks are trained in the forecast, in words.
        predicted_generalization: The predicted generalization error G_T, the mean error at the end (orders,), if known.
        measured_generalization: The measured one, on average over seeds (orders,), if known.
        predicted_learned: The predicted accuracy (for regression error) on tasks just learned (orders,), if known.
        measured_learned: The measured one, on average over seeds (orders,), if known.
        initial_error: The mean measured error before training; NaN if it is not known.
    """

    orders: tuple[tuple[str, ...], ...]
    predicted: Array
    measured: Array
    predicted_accuracy: Array | None = None
    measured_accuracy: Array | None = None
    training: str = ""
    predicted_generalization: Array | None = None
    measured_generalization: Array | None = None
    predicted_learned: Array | None = None
    measured_learned: Array | None = None
    initial_error: float = float("nan")

    @property
    def advised(self) -> tuple[str, ...]:
        """The order that is predicted to forget least."""
        return self.orders[int(self.predicted.argmin())]

    @property
    def rank_correlation(self) -> float:
        """Spearman's rank correlation over orders: 1 for the same ranking, 0 for chance. NaN for one order."""
        return rank_correlation(self.predicted, self.measured) if len(self.orders) > 1 else float("nan")

    @property
    def orders_better(self) -> float:
        """The share of orders that forget less than the one that is predicted to forget least."""
        return float(np.mean(without_rounding_errors(self.measured - self._chosen, self.measured) < 0))

    @property
    def regret(self) -> float:
        """What the order predicted best forgets beyond the best one, in units of a mean order beyond the best one."""
        best = self.measured.min()
        lost, stake = without_rounding_errors([self._chosen - best, self.measured.mean() - best], self.measured)
        return float(lost / stake) if stake > 0 else 0.0

    @property
    def _is_regression(self) -> bool:
        return self.measured_accuracy is None

    def _format(self, value: SupportsFloat) -> str:
        """Return an error; those of regression have any scale, so more digits are told apart."""
        return format_number(float(value), ".4g" if self._is_regression else ".2g")

    @property
    def _chosen(self) -> float:
        """The measured forgetting of the order that is predicted to forget least."""
        return float(self.measured[self.predicted.argmin()])

    def to_frame(self) -> pd.DataFrame:
        """Return predicted and measured numbers as a pandas DataFrame.

        Returns:
            One row per order with the columns `order`, `predicted` and `measured`, and what there is of
            `predicted_accuracy`, `measured_accuracy`, `predicted_generalization` and `measured_generalization`.
        """
        columns = {"order": list(self.orders), "predicted": self.predicted, "measured": self.measured}
        for name in ("accuracy", "generalization"):
            for column in (f"predicted_{name}", f"measured_{name}"):
                if (values := getattr(self, column)) is not None:
                    columns[column] = values
        return to_frame(columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw measured against predicted forgetting, a dot for each order.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.measurements import plot_forecast_comparison

        return plot_forecast_comparison(self, ax=ax)

    def _page(self) -> Page:
        reading = "A dot is an order: on the line, training forgot what was predicted."
        return Page("What was predicted and what was measured", [Picture(self.plot, reading)])

    def _answer(self) -> str:
        if len(self.orders) < 2:
            return ""
        best, mean, chosen = map(self._format, (self.measured.min(), self.measured.mean(), self._chosen))
        return (
            f"Of these orders, {join_names(self.advised)} is predicted to forget least. Measured: {chosen}; the best "
            f"order {best}, a mean order {mean}."
        )

    def _tables(self) -> Sequence[Table]:
        ranked = np.argsort(self.measured, kind="stable")
        half = MOST_SHOWN // 2
        shown = list(ranked) if len(ranked) <= MOST_SHOWN else [*ranked[:half], *ranked[-half:]]
        columns = ["order", "predicted forgetting", "measured"]
        rows = [
            [join_names(self.orders[k]), *(self._format(F[k]) for F in (self.predicted, self.measured))] for k in shown
        ]
        notes = self._notes()
        if self.predicted_accuracy is not None and self.measured_accuracy is not None:
            columns += ["predicted accuracy", "measured"]
            pairs = [(self.predicted_accuracy[k], self.measured_accuracy[k]) for k in shown]
            rows = [[*row, *(f"{value:.0%}" for value in pair)] for row, pair in zip(rows, pairs, strict=True)]
            notes = ["Accuracy: at the end, the mean of all tasks.", *notes]
        generalization = self.predicted_generalization, self.measured_generalization
        if self._is_regression and generalization[0] is not None and generalization[1] is not None:
            columns += ["predicted error", "measured"]
            pairs = [(generalization[0][k], generalization[1][k]) for k in shown]
            rows = [[*row, *map(self._format, pair)] for row, pair in zip(rows, pairs, strict=True)]
            notes = ["Error: mean squared error at the end, the mean of all tasks.", *notes]
        heading = "Predicted and measured" + "; least measured forgetting first" * (len(ranked) > 1)
        heading += f", the first and the last {half} of {len(ranked)}" * (len(ranked) > MOST_SHOWN)
        return (Table(heading, columns, rows, notes),)

    def _notes(self) -> list[str]:
        notes = [answer] if (answer := self._answer()) else []
        if min(self.predicted.min(), self.measured.min()) < 0:
            notes.append(GAINS)
        if len(self.orders) >= FEW_ORDERS:
            notes.append(
                f"Rank correlation of predicted and measured forgetting over {len(self.orders)} orders: "
                f"{self.rank_correlation:.2f} (1: the same ranking; 0: chance)."
            )
        if self.predicted_learned is not None and self.measured_learned is not None:
            notes.append(self._compare_learned(self.predicted_learned.mean(), self.measured_learned.mean()))
        if self.training:
            notes.append(f"Forecast: {self.training}.")
        return notes

    def _compare_learned(self, predicted: float, measured: float) -> str:
        """Say whether the forecast learns tasks as well as training does."""
        if self._is_regression:
            level = f"mean squared error {self._format(predicted)} predicted, {self._format(measured)}"
            lead, way_out = (measured - predicted) / self.initial_error, "training_error"
        else:
            level = f"{predicted:.0%} accuracy predicted, {measured:.0%}"
            lead, way_out = predicted - measured, "training_accuracy"
        text = f"Tasks just learned: {level} measured, on average."
        if lead > FAR_APART:
            return f"{text} If training stops early, give the {way_out} that it reaches."
        if lead < -FAR_APART:
            return f"{text} This training generalizes better: trust predicted ranks of orders, not predicted levels."
        return text

    def __repr__(self) -> str:
        return (
            f"ForecastComparison({count_of(len(self.orders), 'order')}, rank_correlation={self.rank_correlation:.2f}, "
            f"orders_better={self.orders_better:.2f}, regret={self.regret:.2f})"
        )
