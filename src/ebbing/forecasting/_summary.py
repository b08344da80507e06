"""What a forecast says in words and tables: in accuracies or, for regression, in errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ebbing._tables import Table, abridged_rows, escape_control, format_number
from ebbing.forecasting.plan import join

if TYPE_CHECKING:
    from ebbing.forecasting._forecast import Forecast


def forecast_answer(forecast: Forecast) -> str:
    """Return in one sentence what will be forgotten if tasks are learned as given; empty for a single task."""
    if forecast.T < 2:
        return ""
    matrix = forecast.matrix()
    learned, final = np.diagonal(matrix[1:])[:-1], matrix[-1, :-1]
    sign = -1 if forecast.kind == "accuracy" else 1
    worst = int((sign * (final - learned)).argmax())
    name = escape_control(forecast.names[worst])
    if forecast.kind == "error":
        lost = format_number(forecast.forgetting(), ".2g")
        return f"Learned as {join(forecast.names)}, {lost} is predicted to be forgotten on average; most of {name}."
    return (
        f"Learned as {join(forecast.names)}, accuracy on earlier tasks is predicted to go from {learned.mean():.0%} "
        f"when just learned to {final.mean():.0%} at the end, on average; on {name} from {learned[worst]:.0%} to "
        f"{final[worst]:.0%}."
    )


def forecast_tables(forecast: Forecast) -> Sequence[Table]:
    """Return a table with a row for each task, and the forgetting and generalization error of the order as given."""
    T, model, matrix = forecast.T, forecast.model, forecast.matrix()
    train, test = (np.mean([len(rows) for rows in split]) for split in (model.train, model.test))
    heading = (
        f"Forecast of {T} task{'s' * (T > 1)} ({model.targets.kind}): {forecast.source}; "
        f"{train:.4g} training and {test:.4g} test examples a task."
    )
    learned = np.diagonal(matrix[1:])
    if forecast.kind == "accuracy":
        lost, spec, lost_spec = 100 * (learned - matrix[-1]), ".0%", ".0f"
        unit = "Accuracy: share of right answers on test examples. Lost: in percentage points."
    else:
        lost, spec, lost_spec = matrix[-1] - learned, ".4g", ".4g"
        unit = "Errors: mean squared error. Lost: error at the end minus error just learned."

    def row(i: int) -> list[str]:
        values = (matrix[0, i], learned[i], matrix[-1, i])
        shown = [f"{value:.0%}" if spec == ".0%" else format_number(float(value), spec) for value in values]
        return [forecast.names[i], *shown, format_number(float(lost[i]), lost_spec)]

    columns = ["task", f"initial {forecast.kind}", "just learned", "at the end", "lost"]
    notes = [f"Order: {join(forecast.names)}. {unit}", *forecast.notes]
    table = Table(heading, columns, abridged_rows(T, row), notes)
    if T < 2:
        return (table,)
    F, G = (format_number(value, ".4g") for value in (forecast.forgetting(), forecast.generalization()))
    measure = "share of wrong answers" if model.targets.kind == "classes" else "mean squared error"
    return (table, Table(f"Forgetting (rise in {measure} since just learned): {F}. Generalization error: {G}."))
