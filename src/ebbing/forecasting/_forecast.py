"""What a model will forget when it learns tasks, predicted without training: `Forecast`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from ebbing._pages import Page, forgotten_picture, matrix_picture, similarity_picture
from ebbing._progress import Progress, reporting
from ebbing._tables import Table, Tabular, format_number, to_frame
from ebbing._validate import Array, check_seconds, check_seed
from ebbing.forecasting._confidence import compare_on_halves
from ebbing.forecasting._evaluation import evaluate_orders
from ebbing.forecasting._search import Objective, Weights, is_complete, search
from ebbing.forecasting._steps import Step, forgetting_of_steps, parse_steps, step_columns, step_rows
from ebbing.forecasting._summary import ERRORS, Kind, describe_losses, tabulate_losses
from ebbing.forecasting.plan import ForecastPlan
from ebbing.forecasting.recursion import KernelModel
from ebbing.forecasting.replay import SHARES, ReplayForecast, predict_replay

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SPLITS = 10
"""Splits of the examples into halves, for the confidence of an order."""

SEARCH = 0.7
"""The part of the time for an order that its search takes; the halves of the examples take the rest."""


@dataclass(frozen=True, eq=False, repr=False)
class Forecast(Tabular):
    """Predicted errors of a model that learns tasks one after another.

    A step is a task, by name or by its place from 0, or a mixture {task: number of examples}. An order is a sequence of
    steps, or a `Curriculum`.

    Attributes:
        names: Names of the tasks (T,).
        model: The model that learns: the kernel of all examples and the rows of each task.
        source: Where the kernel comes from, in a few words.
        training: How far each task is trained, in a few words.
        notes: What the user should know about the forecast.
        scale: The mean squared gradient, by which the kernel was divided.
    """

    names: tuple[str, ...]
    model: KernelModel
    source: str
    training: str
    notes: tuple[str, ...] = ()
    scale: float = 1.0
    _plans: dict[Any, ForecastPlan] = field(default_factory=dict, repr=False)

    @property
    def T(self) -> int:
        """The number of tasks."""
        return len(self.names)

    @cached_property
    def similarity(self) -> Array:
        """Similarity of the tasks (T, T): cosine of the updates by which each alone would be learned.

        1: the same update; 0: neither helps the other, which may still be forgotten; negative: learning one undoes the
        other.
        """
        return self.model.similarity()

    def errors(self, order: Sequence[Step] | Any = None) -> Array:
        """Predict the error matrix of an order.

        Args:
            order: The steps, as names, places or mixtures; a task may occur again. None for the tasks as given.

        Returns:
            L[t, i], row 0 the initial model (steps + 1, columns). An order of tasks has a column for each of its steps,
            as in training; steps with mixtures have one for each task, in the order in which tasks first occur.
        """
        steps = self._steps(order)
        return self.model.errors(step_rows(steps, self.model.train))[:, step_columns(steps)]

    @property
    def kind(self) -> Kind:
        """Whether results are stated as accuracies (yes-or-no labels and classes) or as errors (regression)."""
        return "error" if self.model.targets.kind == "regression" else "accuracy"

    def accuracies(self, order: Sequence[Step] | Any = None) -> Array:
        """Predict the accuracy matrix of an order: the share of right answers on the test examples of each task.

        Args:
            order: As for `errors`.

        Returns:
            The accuracies, row 0 the initial model (steps + 1, columns), with columns as those of `errors`.

        Raises:
            ValueError: If labels are numbers (regression), which have no accuracy.
        """
        steps = self._steps(order)
        return self.model.errors_and_accuracies(step_rows(steps, self.model.train))[1][:, step_columns(steps)]

    def forgetting(self, order: Sequence[Step] | Any = None) -> float:
        """Predict forgetting F_T, the mean over earlier tasks of the error at the end minus that just learned.

        Args:
            order: As for `errors`. With mixtures, a task counts as learned in the step in which it first occurs.

        Returns:
            F_T.

        Raises:
            ValueError: If no task is learned before the last step.
        """
        steps = self._steps(order)
        if len(steps) < 2:
            raise ValueError("forgetting compares a task with an earlier one: it needs at least two steps, not 1")
        return forgetting_of_steps(self.errors(order), steps)

    def generalization(self, order: Sequence[Step] | Any = None) -> float:
        """Predict the generalization error G_T, the mean over tasks of the error at the end.

        Args:
            order: As for `errors`.

        Returns:
            G_T.
        """
        return float(self.errors(order)[-1].mean())

    def best_order(
        self,
        objective: Objective = "forgetting",
        *,
        seconds: float = 60.0,
        seed: int = 0,
        progress: Progress | bool = True,
    ) -> ForecastPlan:
        """Find the order of least predicted forgetting, generalization error or a mix of both.

        Args:
            objective: "forgetting", "generalization", the weight of forgetting from 0 to 1, or weights of both such as
                {"forgetting": 0.7, "generalization": 0.3}.
            seconds: Time for the search, and for the estimate of how sure its result is. It matters if not all
                orders are computed: with more than six tasks of yes-or-no labels, or more than eight others. A step
                that has begun is finished.
            seed: The seed of the search, and of the random halves that show how sure its result is.
            progress: True for a progress bar on a terminal, False for none, or a function that is called with the share
                of the work that is done.

        Returns:
            The order, with what is at stake and how sure it is.
        """
        weights = Weights.of(objective, self.T)
        seconds, seed = check_seconds(seconds), check_seed(seed)
        key = (weights, seconds, seed)
        if key not in self._plans:
            end = monotonic() + seconds
            part = 0.2 if is_complete(self.model) else SEARCH  # of all orders, those on halves take longer
            with reporting(progress, "orders") as report:
                found = search(
                    self.model,
                    weights,
                    seconds=SEARCH * seconds,
                    seed=seed,
                    progress=lambda share: report(part * share),
                )
                left = None if found.complete else end - monotonic()
                confidence = compare_on_halves(
                    self.model,
                    weights,
                    found.orders,
                    found.best,
                    splits=SPLITS,
                    seconds=left,
                    seed=seed,
                    progress=lambda share: report(part + (1 - part) * share),
                )
            given = float(weights.values(*evaluate_orders(self.model, np.arange(self.T)[None]))[0])
            accuracies = None
            if self.kind == "accuracy":
                shown = found.best, np.arange(self.T), found.worst
                advised, as_given, worst = (float(self.accuracies(one.tolist())[-1].mean()) for one in shown)
                accuracies = (advised, as_given, worst)
            self._plans[key] = ForecastPlan(
                self.names,
                objective,
                tuple(found.best.tolist()),
                float(found.value),
                tuple(found.worst.tolist()),
                float(found.worst_value),
                given,
                found.orders,
                found.values,
                found.complete,
                float(self.model.errors([]).mean()),
                confidence,
                accuracies,
            )
        return self._plans[key]

    def replay(
        self,
        order: Sequence[str | int] | ForecastPlan | None = None,
        *,
        shares: Sequence[float] = SHARES,
        seed: int = 0,
        progress: Progress | bool = True,
    ) -> ReplayForecast:
        """Predict forgetting against the share of old data that every later step learns again.

        Args:
            order: Tasks in the order of learning, or a plan, whose recommended order is taken; None for the tasks as
                given.
            shares: The shares of each old task's examples, from 0 to 1.
            seed: The seed of the random halves that show how sure the curve is.
            progress: True for a progress bar on a terminal, False for none, or a function that is called with the share
                of the work that is done.

        Returns:
            The curve, and the share to use.

        Raises:
            ValueError: If a share is not from 0 to 1, or the order has mixtures or repeated tasks.
        """
        steps = self._steps(order.recommended if isinstance(order, ForecastPlan) else order)
        tasks = [next(iter(step)) for step in steps]
        if len(tasks) < 2:
            raise ValueError(f"{len(tasks)} task: nothing is older than it to be mixed in; give two tasks or more")
        if any(len(step) > 1 for step in steps) or len(set(tasks)) < len(tasks):
            raise ValueError(f"order={order!r}: give each task once, without mixtures")
        try:
            ratios = np.unique([0.0, *(float(share) for share in shares)])
        except (TypeError, ValueError):
            raise ValueError(f"shares={shares!r}: give a list of numbers from 0 to 1, such as [0.1, 0.5]") from None
        if not ((ratios >= 0) & (ratios <= 1)).all():
            raise ValueError(f"shares={list(shares)!r}: give numbers from 0 to 1")
        with reporting(progress, "old data") as report:
            curve = predict_replay(self.model, self.names, tasks, ratios, seed=check_seed(seed), progress=report)
        return replace(curve, notes=self.notes)

    def to_frame(self) -> pd.DataFrame:
        """Return the predicted error matrix of the tasks as given, as a tidy pandas DataFrame.

        Returns:
            One row per entry of the matrix with the columns `step` (0 for the initial model), `task`, `error` and, but
            for regression, `accuracy`.
        """
        columns = {
            "step": np.repeat(np.arange(self.T + 1), self.T),
            "task": list(self.names) * (self.T + 1),
            "error": self.errors().ravel(),
        }
        if self.kind == "accuracy":
            columns["accuracy"] = self.accuracies().ravel()
        return to_frame(columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the predicted accuracy on each task, in the order given; for regression, the predicted error.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.errors import plot_error_matrix

        return plot_error_matrix(self.matrix, self.names, label=f"predicted {self.kind}", ax=ax)

    def plot_similarity(self, ax: Axes | None = None) -> Axes:
        """Draw the similarity of the tasks as a heat map.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.forecasts import plot_task_similarity

        return plot_task_similarity(self.similarity, self.names, ax=ax)

    def _steps(self, order: Any) -> list[dict[int, int]]:
        return parse_steps(order, self.names, [len(rows) for rows in self.model.train])

    @cached_property
    def matrix(self) -> Array:
        """The matrix in which results are stated, for the tasks as given: accuracies or, for regression, errors."""
        return self.accuracies() if self.kind == "accuracy" else self.errors()

    def _page(self) -> Page:
        pictures = [
            forgotten_picture(self.matrix, self.names, self.kind),
            matrix_picture(self.plot, self.names, self.kind),
            similarity_picture(self.plot_similarity, self.names),
        ]
        return Page("What your model will forget", pictures)

    def _answer(self) -> str:
        return describe_losses(self.names, self.matrix, self.kind)

    def _tables(self) -> Sequence[Table]:
        table = tabulate_losses(
            self.names,
            self.matrix,
            self.kind,
            model=self.model,
            source=f"{self.source}; {self.training}",
            notes=self.notes,
        )
        if self.T < 2:
            return (table,)
        F, G = (format_number(value, ".4g") for value in (self.forgetting(), self.generalization()))
        measure = ERRORS[self.model.targets.kind]
        return (table, Table(f"Forgetting (rise in {measure} since just learned): {F}. Generalization error: {G}."))

    def __repr__(self) -> str:
        return f"Forecast({', '.join(self.names)}; {self.source})"
