"""A forecast corrected by a few training runs, of pairs of tasks: `calibrate`.

T (T - 1) short runs stand for the T! orders. With several seeds they also tell how much training runs differ by chance,
which no forecast knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from ebbing._ranks import rank_correlation
from ebbing._tables import Table, Tabular, format_number, to_frame
from ebbing._validate import Array
from ebbing.forecasting._evaluation import evaluate_orders
from ebbing.forecasting._forecast import Forecast
from ebbing.forecasting._pairs import Pairs, correct
from ebbing.forecasting._search import ALL_ORDERS_UP_TO, Objective, Weights
from ebbing.order._tables import join_names

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class CalibratedForecast(Tabular):
    """Forgetting of every order, from a forecast that is corrected by measured pairs of tasks.

    Attributes:
        names: Names of the tasks (T,).
        orders: All orders, as places of tasks (T!, T).
        learned: The error on each place's task when it was just learned, by seed (seeds, T!, T).
        final: The error on each place's task at the end, by seed (seeds, T!, T).
        objective: What `order` minimizes.
    """

    names: tuple[str, ...]
    orders: np.ndarray
    learned: Array
    final: Array
    objective: Objective = "forgetting"

    @cached_property
    def values(self) -> Array:
        """Return the objective of each order by seed.

        Returns:
            The values (seeds, T!).
        """
        weights = Weights.of(self.objective, len(self.names))
        return np.array([weights.values(*both) for both in zip(self.learned, self.final, strict=True)])

    @property
    def order(self) -> tuple[str, ...]:
        """The advised order: the best on average over seeds."""
        return self._named(int(self.values.mean(axis=0).argmin()))

    @property
    def noise(self) -> float:
        """The standard deviation of an order's value between training runs; NaN for one seed."""
        return float(np.sqrt(self.values.var(axis=0, ddof=1).mean())) if len(self.values) > 1 else float("nan")

    @property
    def gain(self) -> float:
        """What the order that all other seeds advise gains over a random one on a seed; the mean over seeds."""
        if len(self.values) < 2:
            return float("nan")
        chosen = [np.delete(self.values, k, axis=0).mean(axis=0).argmin() for k in range(len(self.values))]
        return float(np.mean([values.mean() - values[c] for values, c in zip(self.values, chosen, strict=True)]))

    @property
    def seed_agreement(self) -> float:
        """Mean rank correlation of orders between two seeds; NaN for one."""
        found = [rank_correlation(a, b) for a, b in combinations(self.values, 2)]
        return float(np.mean(found)) if found else float("nan")

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

    def _place(self, order: Sequence[str]) -> int:
        if isinstance(order, str) or sorted(order) != sorted(self.names):
            raise ValueError(f"order={order!r}: give each of {', '.join(self.names)} once")
        places = [self.names.index(name) for name in order]
        return int(np.flatnonzero((self.orders == places).all(axis=1))[0])

    def _named(self, k: int) -> tuple[str, ...]:
        return tuple(self.names[t] for t in self.orders[k])

    def _tables(self) -> Sequence[Table]:
        means = self.values.mean(axis=0)
        rows = [
            ["advised order", format_number(means.min(), ".4g")],
            ["order as given", format_number(means[self._place(self.names)], ".4g")],
            ["random order, mean", format_number(means.mean(), ".4g")],
            ["worst order", format_number(means.max(), ".4g")],
        ]
        notes = ["From a forecast, corrected by training runs of all pairs of tasks."]
        if len(self.values) > 1:
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
        return (Table(f"Learn in this order: {join_names(self.order)}", ["predicted", str(what)], rows, notes),)

    def __repr__(self) -> str:
        return f"CalibratedForecast({join_names(self.order)})"


def calibrate(forecast: Forecast, measured: Any, objective: Objective = "forgetting") -> CalibratedForecast:
    """Correct a forecast of all orders by measured pairs of tasks.

    Half of the difference between measured and predicted pairs is added to the forecast of whole orders.

    Args:
        forecast: The forecast of up to eight tasks.
        measured: What `ebbing.measure` returned for the same tasks, with orders of two tasks or more. Only the first
            two tasks of each order count; every pair must be there.
        objective: "forgetting", "generalization", or a mix, as for `Forecast.best_order`.

    Returns:
        The advised order, and the value of every other.

    Raises:
        ValueError: If there are more than eight tasks, a pair is missing, or a task is unknown.

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
    T = forecast.T
    if not 2 <= T <= ALL_ORDERS_UP_TO:
        raise ValueError(f"{T} tasks: calibration computes all orders, of two to {ALL_ORDERS_UP_TO} tasks; take fewer")
    orders = np.array(list(permutations(range(T))))
    predicted = {pair: forecast.errors(pair) for pair in permutations(range(T), 2)}
    known = _by_pair(forecast, measured)
    seeds = len(next(iter(known.values())))
    whole = evaluate_orders(forecast.model, orders)
    ours = Pairs.of(predicted, T)
    runs = [Pairs.of({pair: matrices[k] for pair, matrices in known.items()}, T) for k in range(seeds)]
    both = [correct(whole, ours, one, orders) for one in runs]
    learned, final = (np.array([one[part] for one in both]) for part in (0, 1))
    return CalibratedForecast(forecast.names, orders, learned, final, objective)


def _by_pair(forecast: Forecast, measured: Any) -> dict[tuple[int, int], Array]:
    """Return the errors of each pair (seeds, T+1, T)."""
    found = {}
    for order, errors in zip(measured.orders, measured.errors, strict=True):
        if unknown := sorted(set(order) - set(forecast.names)):
            raise ValueError(f"task {unknown[0]!r} was measured, but the forecast has {', '.join(forecast.names)}")
        found[forecast.names.index(order[0]), forecast.names.index(order[1])] = errors
    missing = [pair for pair in permutations(range(forecast.T), 2) if pair not in found]
    if missing:
        names = " > ".join(forecast.names[t] for t in missing[0])
        raise ValueError(
            f"{len(missing)} pairs were not measured, as {names}; give measure() the orders "
            "itertools.permutations(tasks, 2)"
        )
    return found
