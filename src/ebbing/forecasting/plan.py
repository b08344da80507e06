"""The order of tasks that a forecast advises, with what is at stake and how sure it is: `ForecastPlan`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ebbing._pages import ORDERS, SOME_ORDERS, Page, Picture
from ebbing._tables import Table, Tabular, format_number, to_frame
from ebbing._validate import Array
from ebbing.forecasting._confidence import Confidence, mean_and_error
from ebbing.forecasting._search import Objective
from ebbing.order._tables import describe_objective, short_order
from ebbing.order._tables import join_names as join

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SURE = 2.0
"""Standard errors that a gain over a random order must exceed to count."""

SURE_OF_GIVEN = 2.5
"""The same for a gain over the order as given: more, as a plan counts if either of the two does."""

NEGLIGIBLE = 0.02
"""A gain below this share of the initial model's error does not matter, however sure it is."""

SMALL = 0.1
"""The order hardly matters if a random order, and that as given, lose less than this share of the initial error..."""

FEW_POINTS = 0.05
"""... and if the accuracy at the end differs by less than this between the best and the worst order."""

_SHOWN = 5
"""How many orders that are as good are named, of up to as many tasks; of more tasks, two."""


@dataclass(frozen=True, eq=False, repr=False)
class ForecastPlan(Tabular):
    """The order of tasks that a forecast advises.

    Attributes:
        task_names: The tasks' names, in the order in which they were given.
        objective: "forgetting", "generalization" or the weights of both.
        order: Indices of the tasks from 0, in the advised order (T,).
        value: The objective in that order.
        worst_order: The worst order found (T,).
        worst: The objective in that order.
        given: The objective in the order in which the tasks were given.
        orders: Every order, or random ones (orders, T).
        values: The objective in each of them (orders,).
        complete: Whether these are all orders, so that no order has a lower value.
        initial_error: The mean error of the initial model, the scale of what is negligible.
        confidence: What the same orders are worth on random halves of the examples.
        accuracies: The mean accuracy at the end in the advised, the given and the worst order; None for regression.
    """

    task_names: tuple[str, ...]
    objective: Objective
    order: tuple[int, ...]
    value: float
    worst_order: tuple[int, ...]
    worst: float
    given: float
    orders: np.ndarray
    values: Array
    complete: bool
    initial_error: float
    confidence: Confidence
    accuracies: tuple[float, float, float] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The tasks' names in the order of the least predicted value."""
        return self._named(self.order)

    @property
    def recommended(self) -> tuple[str, ...]:
        """The tasks' names in the order to learn: as given, unless another order is predicted to be worth a change."""
        return self.names if self.matters and not self._given_is_as_good else self.task_names

    @property
    def random(self) -> float:
        """The objective in a random order, on average."""
        return float(self.values.mean())

    @property
    def gain(self) -> float:
        """What an order chosen on half of the examples gains over a random one on the other half, on average."""
        return mean_and_error(self.confidence.gains)[0]

    @property
    def gain_error(self) -> float:
        """The standard error of that gain as the examples vary."""
        return mean_and_error(self.confidence.gains)[1]

    @property
    def gain_over_given(self) -> float:
        """What an order chosen on half of the examples gains over the order as given on the other half, on average."""
        return mean_and_error(self.confidence.gains_over_given)[0]

    @property
    def gain_over_given_error(self) -> float:
        """The standard error of that gain as the examples vary."""
        return mean_and_error(self.confidence.gains_over_given)[1]

    @property
    def matters(self) -> bool:
        """Whether a gain, over a random order or over the one as given, exceeds its noise and is not negligible."""
        least = NEGLIGIBLE * self.initial_error
        return self.gain > max(SURE * self.gain_error, least) or self._given_is_worse

    @property
    def _given_is_worse(self) -> bool:
        least = max(SURE_OF_GIVEN * self.gain_over_given_error, NEGLIGIBLE * self.initial_error)
        return self.order != tuple(range(len(self.order))) and self.gain_over_given > least

    @property
    def _given_is_as_good(self) -> bool:
        """Whether the order as given is predicted to be about as good as another one, and cannot be told from it."""
        alike = self.given - self.value <= NEGLIGIBLE * self.initial_error
        return alike and self.task_names != self.names and self.task_names in self.as_good and not self._given_is_worse

    @property
    def _given_is_kept(self) -> bool:
        """Whether the order as given is the best, or about as good."""
        return self.task_names == self.names or self._given_is_as_good

    @cached_property
    def as_good(self) -> tuple[tuple[str, ...], ...]:
        """The orders that were compared and are not clearly worse than the advised one, which comes first.

        Returns:
            Names of tasks in the order of learning, for each order.
        """
        worse, error = self.confidence.differences()
        value = dict(zip(map(tuple, self.orders.tolist()), self.values.tolist(), strict=True))
        value[tuple(range(len(self.order)))] = self.given  # of many tasks, random orders are computed
        chosen = [tuple(order) for order in self.confidence.orders[worse <= SURE * error].tolist()]
        others = sorted((order for order in chosen if order != self.order), key=lambda order: value[order])
        return tuple(self._named(order) for order in (self.order, *others))

    def to_frame(self) -> pd.DataFrame:
        """Return the orders with their values as a pandas DataFrame.

        Returns:
            One row per order, best first, with the columns `order` (names in the order of learning), `value` and `role`
            ("advised", "given", "worst" or nothing).
        """
        rows = {tuple(order): float(value) for order, value in zip(self.orders.tolist(), self.values, strict=True)}
        given = tuple(range(len(self.task_names)))
        rows |= {self.order: self.value, given: self.given, self.worst_order: self.worst}
        roles = {self.worst_order: "worst", given: "given", self.order: "advised"}
        ranked = sorted(rows.items(), key=lambda row: (round(row[1], 12), row[0] != self.order, row[0]))
        return to_frame(
            {
                "order": [self._named(order) for order, _ in ranked],
                "value": [value for _, value in ranked],
                "role": [roles.get(order, "") for order, _ in ranked],
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the orders on a line from best to worst, with the advised and the given one.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.forecasts import plot_forecast_orders

        return plot_forecast_orders(self, ax=ax)

    def _named(self, order: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.task_names[i] for i in order)

    def _page(self) -> Page:
        reading = ORDERS if self.complete else SOME_ORDERS
        return Page("In which order your model should learn", [Picture(self.plot, reading)])

    def _answer(self) -> str:
        if not self.matters:
            return f"{self._why_not.partition(':')[0]}."
        quantity, value, given = describe_objective(self.objective, ""), self.value, self.given
        if self._given_is_kept:
            others = "no order is clearly better" if self._given_is_as_good else "no order is predicted to have less"
            return (
                f"Keep your order, {short_order(self.task_names)}: the predicted {quantity} is "
                f"{format_number(given, '.2g')}, {format_number(self.random, '.2g')} in a random order, and {others}."
            )
        doubt = "" if self._given_is_worse else " These examples do not prove it."
        accuracy = ""
        if self.accuracies is not None:
            accuracy = f", and accuracy at the end {self.accuracies[0]:.0%} instead of {self.accuracies[1]:.0%}"
        return (
            f"Learn {short_order(self.names)}: the predicted {quantity} is {format_number(value, '.2g')} instead of "
            f"{format_number(given, '.2g')} in the order as given{accuracy}.{doubt} Trust the rank of orders, not "
            "these levels."
        )

    def _tables(self) -> Sequence[Table]:
        quantity = describe_objective(self.objective, "")
        if self.matters and self._given_is_kept:
            heading = f"Keep your order: no other is predicted to be worth a change.\n  {join(self.task_names)}"
        elif self.matters:
            heading = f"Learn in this order for the least {quantity}:\n  {join(self.names)}"
        else:
            heading = f"{self._why_not} The order of least {quantity}, if one must be chosen:\n  {join(self.names)}"
        best = "advised order" if self.recommended == self.names else "best order"
        rows = [
            [best, format_number(self.value, ".4g")],
            ["order as given", format_number(self.given, ".4g")],
            ["random order, mean", format_number(self.random, ".4g")],
            ["worst order" + ("" if self.complete else " found"), format_number(self.worst, ".4g")],
        ]
        columns = ["predicted", quantity]
        if self.accuracies is not None:
            columns.append("accuracy at the end")
            advised, given, worst = (f"{accuracy:.0%}" for accuracy in self.accuracies)
            rows = [[*row, text] for row, text in zip(rows, (advised, given, "", worst), strict=True)]
        return (Table(heading, columns, rows, [*self._certainty(), self._alternatives()]),)

    @property
    def _gains(self) -> str:
        """What was gained on the other half, over a random order and over the one as given."""
        found = f"{_with_error(self.gain, self.gain_error)} over a random order"
        if self.order == tuple(range(len(self.order))):
            return found
        return f"{found} and {_with_error(self.gain_over_given, self.gain_over_given_error)} over the order as given"

    @property
    def _is_small(self) -> bool:
        """Whether orders are predicted to differ little. If they differ more, but by chance, nobody can choose one."""
        if self.accuracies is not None and max(self.accuracies) - min(self.accuracies) > FEW_POINTS:
            return False
        return max(self.random, self.given) - self.value <= SMALL * self.initial_error

    @property
    def _why_not(self) -> str:
        random, most = (format_number(value - self.value, ".2g") for value in (self.random, self.worst))
        if self._is_small:
            return (
                f"The order hardly matters here: a random one is predicted to cost {random} more than the best, the "
                f"worst {most} more; the error before training is {format_number(self.initial_error, '.2g')}."
            )
        return (
            f"These examples cannot tell which order is best: orders are predicted to differ by up to {most}, but "
            "chance can explain what the best one gains. More examples (train_size, test_size) may tell."
        )

    def _certainty(self) -> list[str]:
        found = (
            f"All {len(self.orders):,} orders were computed."
            if self.complete
            else f"There are too many orders to compute all: beam and exchange search; {len(self.orders)} random ones."
        )
        sure = (
            f"How sure: the best order on one half of the examples gains {self._gains} on the other half; the halves "
            f"rank orders with a correlation of {self.confidence.agreement:.2f}. Training runs also differ by chance; "
            "to see how much: ebbing.measure."
        )
        return [found, sure]

    def _alternatives(self) -> str:
        others, compared = self.as_good[1:], len(self.confidence.orders) - 1
        if not others:
            return "No other order is as good, as far as these examples tell."
        if compared == 1:
            return "The other order is not clearly worse."
        if len(others) == compared:
            return "Any order may be as good: on halves of the examples, none is clearly worse."
        shown = others[: _SHOWN if len(self.order) <= _SHOWN else 2]
        named = "; ".join(map(join, shown)) + ("" if len(shown) == len(others) else "; and others")
        verb = "is" if len(others) == 1 else "are"
        return (
            f"{len(others)} of the {compared} other orders that were compared on halves {verb} not clearly worse: "
            f"{named}."
        )

    def __repr__(self) -> str:
        value = format_number(self.value, ".4g")
        return f"ForecastPlan({join(self.names)}, value={value}, matters={self.matters})"


def _with_error(value: float, error: float) -> str:
    return f"{format_number(value, '.2g')} ± {format_number(error, '.2g')}"
