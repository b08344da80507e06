"""A forecast corrected by training runs, of pairs of tasks or of all orders: `calibrate`.

T (T - 1) short runs of pairs stand for the T! orders. If every order was trained, a forecast still helps: it averages
over the chance in which training runs differ. Several seeds tell how large that chance is, which no forecast knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ebbing._pages import ORDERS, Page, Picture
from ebbing._ranks import rank_correlation
from ebbing._tables import Table, Tabular, count_of, format_number, to_frame
from ebbing._validate import Array
from ebbing.forecasting._corrections import Errors, Pairs, correct_by_pairs, mix_with_runs
from ebbing.forecasting._evaluation import evaluate_orders
from ebbing.forecasting._forecast import Forecast
from ebbing.forecasting._search import ALL_ORDERS_UP_TO, Objective, Weights
from ebbing.forecasting._seeds import NOTHING_RANDOM, are_identical
from ebbing.order._tables import join_names

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Places = tuple[int, ...]
"""An order, as places of tasks."""

Runs = list[Errors]
"""Errors of all orders, by seed."""


@dataclass(frozen=True, eq=False, repr=False)
class CalibratedForecast(Tabular):
    """Forgetting of every order, from a forecast that is corrected by training runs.

    Attributes:
        task_names: The tasks' names, in the order in which they were given (T,).
        orders: All orders, as places of tasks (T!, T).
        learned: The error on each place's task when it was just learned, by seed (seeds, T!, T).
        final: The error on each place's task at the end, by seed (seeds, T!, T).
        measured: The objective of each order from the training runs alone, by seed (seeds, T!).
        runs: What was trained: "all orders" or "all pairs of tasks".
        objective: What `order` minimizes.
    """

    task_names: tuple[str, ...]
    orders: np.ndarray
    learned: Array
    final: Array
    measured: Array
    runs: Literal["all orders", "all pairs of tasks"]
    objective: Objective = "forgetting"

    @cached_property
    def values(self) -> Array:
        """Return the objective of each order, corrected by each seed.

        Returns:
            The values (seeds, T!).
        """
        return _objective_values(self.objective, self.learned, self.final)

    @property
    def order(self) -> tuple[int, ...]:
        """Indices of the tasks from 0, in the advised order (T,): the best on average over seeds."""
        return tuple(self.orders[self.values.mean(axis=0).argmin()].tolist())

    @property
    def names(self) -> tuple[str, ...]:
        """The tasks' names in the advised order."""
        return tuple(self.task_names[t] for t in self.order)

    @property
    def noise(self) -> float:
        """The standard deviation of an order's value between runs; NaN for one seed, or if all gave the same errors."""
        return float(np.sqrt(self.measured.var(axis=0, ddof=1).mean())) if self._shows_chance else float("nan")

    @property
    def gain(self) -> float:
        """What the order that other seeds advise gains over a random one, in a seed's runs; NaN where noise is."""
        if not self._shows_chance:
            return float("nan")
        chosen = [np.delete(self.values, k, axis=0).mean(axis=0).argmin() for k in range(len(self.values))]
        return float(np.mean([runs.mean() - runs[c] for runs, c in zip(self.measured, chosen, strict=True)]))

    @property
    def seed_agreement(self) -> float:
        """Mean rank correlation of orders between the runs of two seeds; NaN where noise is."""
        if not self._shows_chance:
            return float("nan")
        return float(np.mean([rank_correlation(a, b) for a, b in combinations(self.measured, 2)]))

    @property
    def _shows_chance(self) -> bool:
        """Whether there are several seeds, and they differ."""
        return len(self.measured) > 1 and not self._is_repeated

    @property
    def _is_repeated(self) -> bool:
        return are_identical(self.learned) and are_identical(self.final)

    def forgetting(self, order: Sequence[str]) -> float:
        """Predict forgetting of an order of all tasks.

        Args:
            order: Names of all tasks, each once.

        Returns:
            F_T, the mean over seeds.

        Raises:
            ValueError: If a task is missing, unknown or repeated.
        """
        k = self._place(order)
        return float((self.final[:, k, :-1] - self.learned[:, k, :-1]).mean())

    def generalization(self, order: Sequence[str]) -> float:
        """Predict the generalization error of an order of all tasks.

        Args:
            order: Names of all tasks, each once.

        Returns:
            G_T, the mean over seeds.

        Raises:
            ValueError: If a task is missing, unknown or repeated.
        """
        return float(self.final[:, self._place(order)].mean())

    def to_frame(self) -> pd.DataFrame:
        """Return the value of every order as a pandas DataFrame.

        Returns:
            One row per order, the best first, with the columns `order` and `value`.
        """
        means = self.values.mean(axis=0)
        ranked = np.argsort(means, kind="stable")
        return to_frame({"order": [self._named(int(k)) for k in ranked], "value": means[ranked]})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw all orders on a line from best to worst, with the advised and the given one.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.forecasts import plot_calibrated_orders

        return plot_calibrated_orders(self, ax=ax)

    def _place(self, order: Sequence[str]) -> int:
        if isinstance(order, str) or sorted(order) != sorted(self.task_names):
            raise ValueError(f"order={order!r}: give each of {', '.join(self.task_names)} once")
        places = [self.task_names.index(name) for name in order]
        return int(np.flatnonzero((self.orders == places).all(axis=1))[0])

    def _named(self, k: int) -> tuple[str, ...]:
        return tuple(self.task_names[t] for t in self.orders[k])

    def _page(self) -> Page:
        title = "In which order your model should learn, after training runs"
        return Page(title, [Picture(self.plot, ORDERS)], file="calibrated_orders")

    def _tables(self) -> Sequence[Table]:
        means = self.values.mean(axis=0)
        rows = [
            ["advised order", format_number(means.min(), ".4g")],
            ["order as given", format_number(means[self._place(self.task_names)], ".4g")],
            ["random order, mean", format_number(means.mean(), ".4g")],
            ["worst order", format_number(means.max(), ".4g")],
        ]
        notes = [f"From a forecast, corrected by training runs of {self.runs}."]
        if self._is_repeated:
            notes.append(NOTHING_RANDOM)
        elif self._shows_chance:
            notes.append(
                f"An order's value differs between training runs by {format_number(self.noise, '.2g')} (standard "
                f"deviation, {len(self.values)} seeds); their ranks of orders correlate by {self.seed_agreement:.2f}. "
                f"The order that other seeds advise gains {format_number(self.gain, '.2g')} over a random one."
            )
            if self.gain <= self.noise:
                notes.append("That is not more than chance: keep your order.")
        else:
            notes.append("Give measure() two seeds or more to learn how much training runs differ by chance.")
        what = self.objective if isinstance(self.objective, str) else "value"
        return (Table(f"Learn in this order: {join_names(self.names)}", ["predicted", str(what)], rows, notes),)

    def __repr__(self) -> str:
        return f"CalibratedForecast({join_names(self.names)})"


def calibrate(forecast: Forecast, measured: Any, objective: Objective = "forgetting") -> CalibratedForecast:
    """Correct a forecast of all orders by training runs: of every order, or of pairs of tasks.

    If every order was trained with S seeds, the errors of an order are the mean of its runs and of the forecast, which
    counts a quarter of a run: 1 / (1 + 4 S) of the whole. Seeds that all gave the same errors count as one. Otherwise
    half of the difference between measured and predicted pairs is added to the forecast of whole orders.

    Args:
        forecast: The forecast of up to eight tasks.
        measured: What `ebbing.measure` returned for the same tasks: all orders of all tasks, or orders of two tasks or
            more. Of these only the first two tasks count; every pair must be there.
        objective: "forgetting", "generalization", or a mix, as for `Forecast.best_order`.

    Returns:
        The advised order, and the value of every other.

    Raises:
        ValueError: If there are more than eight tasks, a pair is missing, or a task is unknown; or if the two are not a
            forecast and a measurement, in this order.

    Example:
        >>> from types import SimpleNamespace
        >>> from ebbing.forecasting import forecast
        >>> random = np.random.default_rng(0)
        >>> inputs = random.standard_normal((300, 20))
        >>> tasks = {name: (inputs, inputs @ random.standard_normal(20) > 0) for name in ("cats", "dogs", "cars")}
        >>> found = forecast("linear", tasks)
        >>> pairs = list(permutations(tasks, 2))  # stands for ebbing.measure(network, tasks, orders=pairs)
        >>> measured = SimpleNamespace(orders=pairs, errors=np.array([found.errors(pair) for pair in pairs])[:, None])
        >>> bool(np.isclose(calibrate(found, measured).forgetting(list(tasks)), found.forgetting()))
        True
    """
    _check_kinds(forecast, measured)
    T = forecast.T
    if not 2 <= T <= ALL_ORDERS_UP_TO:
        raise ValueError(f"{T} tasks: calibration computes all orders, of two to {ALL_ORDERS_UP_TO} tasks; take fewer")
    orders = np.array(list(permutations(range(T))))
    predicted = evaluate_orders(forecast.model, orders)
    known = _by_places(forecast, measured)
    if known.keys() >= set(map(tuple, orders.tolist())):
        runs, corrected = _correct_by_orders(predicted, known, orders)
        trained = "all orders"
    else:
        runs, corrected = _correct_by_pairs(predicted, _check_pairs(forecast, known), forecast, orders)
        trained = "all pairs of tasks"
    learned, final = (np.array(part) for part in zip(*corrected, strict=True))
    alone = _objective_values(objective, *(np.array(part) for part in zip(*runs, strict=True)))
    return CalibratedForecast(forecast.names, orders, learned, final, alone, trained, objective)


def _check_kinds(forecast: object, measured: object) -> None:
    """Raise an error for anything but a forecast and what looks like a measurement."""
    is_measured = hasattr(measured, "orders") and hasattr(measured, "errors")
    if isinstance(forecast, Forecast) and is_measured and not isinstance(measured, Forecast):
        return
    given = f"calibrate({type(forecast).__name__}, {type(measured).__name__})"
    way = "swap them" if isinstance(measured, Forecast) and not isinstance(forecast, Forecast) else "give these two"
    raise ValueError(
        f"{given}: the first is the forecast, from ebbing.forecast(...), and the second what ebbing.measure(...) "
        f"returned; {way}"
    )


def _correct_by_orders(predicted: Errors, known: dict[Places, Array], orders: np.ndarray) -> tuple[Runs, Runs]:
    """Return the measured errors of all orders, and their mean with the forecast, by seed."""
    errors = np.array([known[tuple(order)] for order in orders.tolist()])  # (T!, seeds, T+1, T)
    runs = [(np.diagonal(one[:, 1:], axis1=1, axis2=2), one[:, -1]) for one in np.moveaxis(errors, 1, 0)]
    seeds = 1 if are_identical(np.moveaxis(errors, 1, 0)) else len(runs)
    return runs, [mix_with_runs(predicted, one, seeds=seeds) for one in runs]


def _correct_by_pairs(
    predicted: Errors, known: dict[Places, Array], forecast: Forecast, orders: np.ndarray
) -> tuple[Runs, Runs]:
    """Return what measured pairs alone tell about all orders, and the forecast corrected by them, by seed."""
    T = forecast.T
    expected = Pairs.of({pair: forecast.errors(pair) for pair in permutations(range(T), 2)}, T)
    found = [Pairs.of(dict(zip(known, one, strict=True)), T) for one in zip(*known.values(), strict=True)]
    return [one.evaluate(orders) for one in found], [
        correct_by_pairs(predicted, expected, one, orders) for one in found
    ]


def _objective_values(objective: Objective, learned: Array, final: Array) -> Array:
    """Return the objective of each order by seed (seeds, T!), from errors just learned and at the end."""
    weights = Weights.of(objective, learned.shape[-1])
    return np.array([weights.values(*both) for both in zip(learned, final, strict=True)])


def _by_places(forecast: Forecast, measured: Any) -> dict[Places, Array]:
    """Return the errors of each measured order (seeds, steps + 1, steps) by the places of its tasks."""
    found = {}
    for order, errors in zip(measured.orders, measured.errors, strict=True):
        if unknown := sorted(set(order) - set(forecast.names)):
            raise ValueError(f"task {unknown[0]!r} was measured, but the forecast has {', '.join(forecast.names)}")
        found[tuple(forecast.names.index(name) for name in order)] = errors
    return found


def _check_pairs(forecast: Forecast, known: dict[Places, Array]) -> dict[Places, Array]:
    """Return the errors of orders by their first two tasks; a missing pair is an error."""
    found = {places[:2]: errors for places, errors in known.items()}
    missing = [pair for pair in permutations(range(forecast.T), 2) if pair not in found]
    if missing:
        names = " > ".join(forecast.names[t] for t in missing[0])
        raise ValueError(
            f"{count_of(len(missing), 'pair')} {'was' if len(missing) == 1 else 'were'} not measured, as {names}; "
            "give measure() the orders itertools.permutations(tasks, 2)"
        )
    return found
