"""What a model will forget when it learns tasks, predicted without training: `Forecast`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ebbing import metrics
from ebbing._tables import Table, Tabular, abridged_rows, format_number, to_frame
from ebbing._validate import Array, check_count, check_seconds, check_seed
from ebbing.forecasting._confidence import compare_on_halves
from ebbing.forecasting._search import Objective, Progress, Weights, search
from ebbing.forecasting.plan import ForecastPlan, join
from ebbing.forecasting.recursion import KernelModel
from ebbing.forecasting.replay import SHARES, ReplayForecast

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Step = str | int | Mapping[str | int, int]
"""What one step learns: a task, or a mixture {task: number of examples}."""

SPLITS = 10
"""Splits of the examples into halves, for the confidence of an order."""


@dataclass(frozen=True, eq=False, repr=False)
class Forecast(Tabular):
    """Predicted errors of a model that learns tasks one after another.

    A step is a task, by name or by its place from 0, or a mixture {task: number of examples}. An order is a sequence of
    steps, or a `Curriculum`.

    Attributes:
        names: Names of the tasks (T,).
        model: The model that learns: the kernel of all examples and the rows of each task.
        source: Where the kernel comes from, in a few words.
        notes: What the user should know about the forecast.
        scale: The mean squared gradient, by which the kernel was divided.
    """

    names: tuple[str, ...]
    model: KernelModel
    source: str
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

        1: the same update; 0: nothing in common; negative: learning one undoes the other.
        """
        gram = self.model.solutions()
        length = np.sqrt(np.diagonal(gram))
        cosine = gram / np.where(length > 0, length, 1.0) / np.where(length > 0, length, 1.0)[:, None]
        np.fill_diagonal(cosine, 1.0)
        return np.clip(cosine, -1.0, 1.0)

    def errors(self, order: Sequence[Step] | Any = None) -> Array:
        """Predict the error matrix of an order.

        Args:
            order: The steps, as names, places or mixtures; a task may occur again. None for the tasks as given.

        Returns:
            L[t, i], row 0 the initial model (steps + 1, columns). An order of tasks has a column for each of its steps,
            as in training; steps with mixtures have one for each task, in the order in which tasks first occur.
        """
        steps = self._steps(order)
        matrix = self.model.errors([self._rows(step) for step in steps])
        return matrix[:, self._columns(steps)]

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
        errors = self.errors(order)
        if len(steps) < 2:
            raise ValueError("forgetting compares a task with an earlier one: it needs at least two steps, not 1")
        if all(len(step) == 1 for step in steps):
            return float(metrics.forgetting(errors, kind="error"))
        first = [next(s for s, step in enumerate(steps, 1) if task in step) for task in self._columns(steps)]
        lost = [errors[-1, i] - errors[s, i] for i, s in enumerate(first) if s < len(steps)]
        return float(np.mean(lost)) if lost else 0.0

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
        progress: Progress | None = None,
    ) -> ForecastPlan:
        """Find the order of least predicted forgetting, generalization error or a mix of both.

        Args:
            objective: "forgetting", "generalization", the weight of forgetting from 0 to 1, or weights of both such as
                {"forgetting": 0.7, "generalization": 0.3}.
            seconds: Time for the search where not all orders are computed: with more than six tasks of yes or no,
                or more than eight others.
            seed: The seed of the search and of the splits that tell how sure the order is.
            progress: A function that is called with the share of the work that is done.

        Returns:
            The order, with what is at stake and how sure it is.
        """
        weights = Weights.of(objective, self.T)
        seconds, seed = check_seconds(seconds), check_seed(seed)
        key = (weights, seconds, seed)
        if key not in self._plans:
            found = search(self.model, weights, seconds=seconds, seed=seed, progress=progress)
            confidence = compare_on_halves(self.model, weights, found.orders, found.best, splits=SPLITS, seed=seed)
            given = float(weights.values(*self.model.evaluate(np.arange(self.T)[None]))[0])
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
            )
        return self._plans[key]

    def replay(self, order: Sequence[str | int] | None = None, *, shares: Sequence[float] = SHARES) -> ReplayForecast:
        """Predict forgetting against the share of old data that every later step learns again.

        Args:
            order: Tasks in the order of learning; None for the tasks as given.
            shares: The shares of each old task's examples, from 0 to 1.

        Returns:
            The curve, and the share to use.

        Raises:
            ValueError: If a share is not from 0 to 1, or the order has mixtures or repeated tasks.
        """
        steps = self._steps(order)
        tasks = [next(iter(step)) for step in steps]
        if any(len(step) > 1 for step in steps) or len(set(tasks)) < len(tasks) or len(tasks) < 2:
            raise ValueError(f"order={order!r}: give two tasks or more, each once, without mixtures")
        ratios = np.unique([0.0, *(float(share) for share in shares)])
        if not ((ratios >= 0) & (ratios <= 1)).all():
            raise ValueError(f"shares={list(shares)!r}: give numbers from 0 to 1")
        sizes = np.array([len(self.model.train[t]) for t in tasks])
        forgetting, generalization = [], []
        for ratio in ratios:
            kept = np.ceil(ratio * sizes).astype(int)
            mixtures = [
                {tasks[s]: int(sizes[s])} | {tasks[k]: int(kept[k]) for k in range(s) if kept[k]}
                for s in range(len(tasks))
            ]
            forgetting.append(self.forgetting(mixtures))
            generalization.append(self.generalization(mixtures))
        names = tuple(self.names[t] for t in tasks)
        counts = np.array([np.ceil(ratio * sizes).mean() for ratio in ratios])
        F, G = np.array(forgetting), np.array(generalization)
        return ReplayForecast(names, ratios, counts, F, G, float(sizes.mean()))

    def to_frame(self) -> pd.DataFrame:
        """Return the predicted error matrix of the tasks as given, as a tidy pandas DataFrame.

        Returns:
            One row per entry of the matrix with the columns `step` (0 for the initial model), `task` and `error`.
        """
        errors = self.errors()
        return to_frame(
            {
                "step": np.repeat(np.arange(self.T + 1), self.T),
                "task": list(self.names) * (self.T + 1),
                "error": errors.ravel(),
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the predicted error on each task, in the order given.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.errors import plot_error_matrix

        return plot_error_matrix(self.errors(), self.names, label="predicted error", ax=ax)

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
        """Return each step as {task: number of examples}, -1 for all."""
        given = range(self.T) if order is None else getattr(order, "steps", order)
        if isinstance(given, str | Mapping) or not isinstance(given, Sequence | np.ndarray):
            raise ValueError(f"order={order!r}: give a list of steps, such as {list(self.names[:2])}")
        if not len(given):
            raise ValueError("order: give at least one step")
        steps = []
        for step in given:
            if isinstance(step, Mapping):
                mixture = {self._task(task): check_count(f"examples of {task!r}", n) for task, n in step.items()}
                if not mixture:
                    raise ValueError("order: a step without any task; give {task: number of examples}")
                for task, number in mixture.items():
                    if number > (size := len(self.model.train[task])):
                        raise ValueError(
                            f"{number} examples of {self.names[task]!r}: the forecast has {size} training examples of "
                            "it; ask for fewer, or make the forecast with a larger train_size"
                        )
                steps.append(mixture)
            else:
                steps.append({self._task(step): -1})
        return steps

    def _task(self, task: Any) -> int:
        if isinstance(task, str) and task in self.names:
            return self.names.index(task)
        if isinstance(task, int | np.integer) and not isinstance(task, bool) and 0 <= task < self.T:
            return int(task)
        raise ValueError(f"task {task!r}: give one of {', '.join(self.names)}, or a place from 0 to {self.T - 1}")

    def _rows(self, step: Mapping[int, int]) -> np.ndarray:
        parts = [self.model.train[t] if n < 0 else self.model.train[t][:n] for t, n in step.items()]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @staticmethod
    def _columns(steps: Sequence[Mapping[int, int]]) -> list[int]:
        if all(len(step) == 1 for step in steps):
            return [next(iter(step)) for step in steps]
        return list(dict.fromkeys(task for step in steps for task in step))

    def _answer(self) -> str:
        if self.T < 2:
            return ""
        errors = self.errors()
        lost = errors[-1] - np.diagonal(errors[1:])
        return (
            f"Learned as {join(self.names)}, {format_number(self.forgetting(), '.2g')} is predicted to be forgotten on "
            f"average; most of {self.names[int(lost.argmax())]}."
        )

    def _tables(self) -> Sequence[Table]:
        errors = self.errors()
        train, test = (np.mean([len(rows) for rows in split]) for split in (self.model.train, self.model.test))
        heading = (
            f"Forecast of {self.T} task{'s' * (self.T > 1)} ({self.model.targets.kind}): {self.source}; "
            f"{train:.4g} training and {test:.4g} test examples a task."
        )
        columns = (errors[0], np.diagonal(errors[1:]), errors[-1], errors[-1] - np.diagonal(errors[1:]))
        rows = abridged_rows(
            self.T, lambda i: [self.names[i], *(format_number(values[i], ".4g") for values in columns)]
        )
        unit = "share of wrong classes" if self.model.targets.kind == "classes" else "mean squared error"
        note = f"Order: {join(self.names)}. Errors: {unit}. Forgetting: error at the end minus error just learned."
        table = Table(
            heading, ["task", "initial error", "just learned", "at the end", "forgetting"], rows, [note, *self.notes]
        )
        if self.T < 2:
            return (table,)
        F, G = format_number(self.forgetting(), ".4g"), format_number(self.generalization(), ".4g")
        return (table, Table(f"Predicted in this order: forgetting {F}, generalization error {G}."))

    def __repr__(self) -> str:
        return f"Forecast({', '.join(self.names)}; {self.source})"
