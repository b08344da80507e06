"""What training measured in several orders of a user's tasks: `Measurement`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ebbing import metrics
from ebbing._pages import Page, Picture, Size
from ebbing._ranks import rank_correlation
from ebbing._rounding import without_rounding_errors
from ebbing._tables import Table, Tabular, count_of, format_number, to_frame, with_article
from ebbing._validate import Array
from ebbing.forecasting import Forecast
from ebbing.forecasting._seeds import NOTHING_RANDOM, are_identical
from ebbing.forecasting._summary import Kind
from ebbing.metrics._hardly_learned import describe_hardly_learned
from ebbing.order._tables import join_names, short_order
from ebbing.runs.forecast_comparison import GAINS, ForecastComparison

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Measurement(Tabular):
    """Measured errors of tasks that were learned in several orders.

    Attributes:
        orders: The orders, as names of tasks.
        seeds: The seeds of training.
        errors: The error matrix of each order and seed (orders, seeds, T+1, T), as `Forecast.errors` defines errors:
            for regression the mean squared error over examples and outputs.
        accuracies: The share of right answers instead of errors, in the same shape; None for regression.
    """

    orders: tuple[tuple[str, ...], ...]
    seeds: tuple[int, ...]
    errors: Array
    accuracies: Array | None = None

    @property
    def kind(self) -> Kind:
        """Whether results are stated as accuracies (yes-or-no labels and classes) or as errors (regression)."""
        return "error" if self.accuracies is None else "accuracy"

    @property
    def forgetting(self) -> Array:
        """Forgetting F_T of each order and seed (orders, seeds); 0 if it is zero but for rounding errors."""
        return without_rounding_errors(metrics.forgetting(self.errors, kind="error"), self.errors)

    @property
    def generalization(self) -> Array:
        """The generalization error G_T of each order and seed (orders, seeds)."""
        return np.asarray(metrics.generalization_error(self.errors, kind="error"))

    @property
    def initial_error(self) -> float:
        """The mean error before training."""
        return float(self.errors[:, :, 0].mean())

    @property
    def learned_error(self) -> float:
        """The mean error on tasks that were just learned: if it is close to the initial one, train differently."""
        return float(self._learned.mean())

    @property
    def final_accuracy(self) -> Array | None:
        """The mean accuracy at the end of each order and seed (orders, seeds); None for regression."""
        return None if self.accuracies is None else self.accuracies[:, :, -1].mean(axis=-1)

    @property
    def _mean_forgetting(self) -> Array:
        """Forgetting of each order, on average over seeds (orders,)."""
        return without_rounding_errors(self.forgetting.mean(axis=1), self.errors)

    @property
    def _learned(self) -> Array:
        return _just_learned(self.errors)

    @property
    def seed_agreement(self) -> float:
        """Mean rank correlation of forgetting between two seeds: what no forecast can exceed by much.

        NaN for one seed, or if all seeds gave exactly the same errors: then nothing in training is random.
        """
        if len(self.seeds) < 2 or self._is_repeated:
            return float("nan")
        return float(np.mean([rank_correlation(a, b) for a, b in combinations(self.forgetting.T, 2)]))

    @property
    def _is_repeated(self) -> bool:
        return are_identical(np.moveaxis(self.errors, 1, 0))

    def compare(self, forecast: Forecast) -> ForecastComparison:
        """Compare a forecast of the same tasks with the forgetting that was measured, on average over seeds.

        Args:
            forecast: The forecast.

        Returns:
            What is predicted and what was measured for each order, with `rank_correlation` over orders;
            `orders_better`, the share of orders that were better than the one that was predicted best; and `regret`,
            what that order loses, in units of a mean order minus the best.

        Raises:
            ValueError: If it is no forecast, or one of regression where answers were measured, or the other way around.
        """
        if not callable(getattr(forecast, "forgetting", None)):
            raise ValueError(
                f"forecast is {with_article(type(forecast).__name__)}: give a forecast of the same tasks, such as "
                "ebbing.forecast(network, tasks)"
            )
        if (kind := getattr(forecast, "kind", self.kind)) != self.kind:
            labels = {"accuracy": "answers", "error": "numbers (regression)"}
            raise ValueError(
                f"the forecast is of labels that are {labels[kind]}, but labels that are {labels[self.kind]} were "
                "measured: give a forecast of the same tasks"
            )
        predicted = np.array([forecast.forgetting(order) for order in self.orders])
        predicted_accuracy = predicted_learned = None
        if hasattr(forecast, "kind"):  # a calibrated forecast predicts no matrices
            predict = forecast.accuracies if self.accuracies is not None else forecast.errors
            matrices = np.array([predict(order) for order in self.orders])[:, None]
            predicted_learned = _just_learned(matrices).mean(axis=(1, 2))
            predicted_accuracy = None if self.accuracies is None else matrices[:, 0, -1].mean(axis=1)
        measured = self.errors if self.accuracies is None else self.accuracies
        return ForecastComparison(
            self.orders,
            predicted,
            self._mean_forgetting,
            predicted_accuracy,
            None if self.final_accuracy is None else self.final_accuracy.mean(axis=1),
            getattr(forecast, "training", ""),
            np.array([forecast.generalization(order) for order in self.orders]),
            self.generalization.mean(axis=1),
            predicted_learned,
            _just_learned(measured).mean(axis=(1, 2)),
            self.initial_error,
        )

    def to_frame(self) -> pd.DataFrame:
        """Return forgetting, generalization error and accuracy at the end as a pandas DataFrame.

        Returns:
            One row per order and seed with the columns `order`, `seed`, `forgetting`, `generalization` and, but for
            regression, `accuracy`.
        """
        columns = {
            "order": [order for order in self.orders for _ in self.seeds],
            "seed": list(self.seeds) * len(self.orders),
            "forgetting": self.forgetting.ravel(),
            "generalization": self.generalization.ravel(),
        }
        if self.final_accuracy is not None:
            columns["accuracy"] = self.final_accuracy.ravel()
        return to_frame(columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the forgetting of each order, a dot for each seed, the best order on top.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.measurements import plot_measured_orders

        return plot_measured_orders(self, ax=ax)

    def _page(self) -> Page:
        reading = "A row is an order, a dot what it forgot with one seed. "
        reading += "Orders whose dots overlap may differ by chance only."

        def size() -> Size:
            from ebbing.plot.measurements import measured_orders_size

            return measured_orders_size(self.orders)

        return Page("What was measured in each order", [Picture(self.plot, reading, size)])

    def _answer(self) -> str:
        if len(self.orders) < 2 or self._doubts():
            return ""
        F = self._mean_forgetting
        best, worst = (short_order(self.orders[k]) for k in (F.argmin(), F.argmax()))
        least, most, mean = (format_number(float(value), ".4g") for value in (F.min(), F.max(), F.mean()))
        if F.min() == F.max():
            answer = f"All {len(F)} orders forgot the same: {least}."
        elif F.max() <= 0:
            gains = [format_number(-float(value), ".4g") for value in (F.min(), F.max())]
            return f"No order forgot: old tasks got better, by {gains[0]} in {best}, and by {gains[1]} in {worst}."
        else:
            answer = f"The order {best} forgot least: {least}. {worst} forgot most: {most}."
            answer += f" The mean of all orders is {mean}."
        return f"{answer} {GAINS}" if F.min() < 0 else answer

    def _tables(self) -> Sequence[Table]:
        F, G = self._mean_forgetting, self.generalization.mean(axis=1)
        ranked = np.argsort(F, kind="stable")
        shown = ranked if len(ranked) <= 10 else [*ranked[:5], *ranked[-5:]]
        columns = ["order", "forgetting", "generalization error"]
        rows = [[join_names(self.orders[k]), *(format_number(float(v[k]), ".4g") for v in (F, G))] for k in shown]
        if self.final_accuracy is not None:
            columns.append("accuracy at the end")
            rows = [[*row, f"{self.final_accuracy[k].mean():.0%}"] for row, k in zip(rows, shown, strict=True)]
        mean = float(without_rounding_errors(F.mean(), self.errors))
        notes = [
            *self._doubts(),
            f"Mean of all orders: forgetting {format_number(mean, '.4g')}. {self._describe_errors()}",
        ]
        if F.min() < 0:
            notes.append(GAINS)
        if self.accuracies is not None:
            notes.append(
                f"Mean accuracy: {self.accuracies[:, :, 0].mean():.0%} before training, "
                f"{_just_learned(self.accuracies).mean():.0%} just learned, {self.accuracies[:, :, -1].mean():.0%} at "
                "the end."
            )
        if self._is_repeated:
            notes.append(NOTHING_RANDOM)
        elif len(self.seeds) > 1:
            notes.append(f"Rank correlation of orders between seeds: {self.seed_agreement:.2f}.")
        heading = f"Measured: {count_of(len(self.orders), 'order')}, {count_of(len(self.seeds), 'seed')}"
        heading += "; least forgetting first" * (len(ranked) > 1)
        if len(ranked) > 10:
            heading += ", the first and the last five"
        return (Table(heading, columns, rows, notes),)

    def _describe_errors(self) -> str:
        """Return the mean errors before training and just learned and, if accuracies do not tell it, at the end."""
        levels = self.initial_error, self.learned_error, float(self.errors[:, :, -1].mean())
        before, learned, end = map(self._format, levels)
        if self.accuracies is not None:
            return f"Mean error: {before} before training, {learned} just learned."
        return f"Mean squared error: {before} before training, {learned} just learned, {end} at the end."

    def _format(self, error: float) -> str:
        """Return an error; those of regression have any scale, so more digits are told apart."""
        return format_number(error, ".2g" if self.kind == "accuracy" else ".4g")

    def _doubts(self) -> list[str]:
        """Return a warning if some tasks were hardly learned, or have a higher error than before training."""
        places = np.array(self.orders)
        names = list(dict.fromkeys(places.flat))
        before, after = (
            np.array([np.moveaxis(errors, 1, 2)[places == name].mean() for name in names])
            for errors in (self.errors[:, :, 0], self._learned)
        )
        advice = "train longer (epochs), with a batch_size, or with another learning rate"
        found = describe_hardly_learned(names, before, after, advice=advice)
        return [found] if found else []

    def __repr__(self) -> str:
        return f"Measurement({count_of(len(self.orders), 'order')}, seeds {self.seeds})"


def _just_learned(matrices: Array) -> Array:
    """Return what each place's task had when it was just learned (orders, seeds, T)."""
    return np.diagonal(matrices[:, :, 1:], axis1=2, axis2=3)
