"""What a forecast says in words and tables: in accuracies or, for regression, in errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from ebbing._rounding import without_rounding_errors
from ebbing._tables import Table, abridged_rows, escape_control, format_number
from ebbing._validate import Array
from ebbing.forecasting.recursion import KernelModel
from ebbing.order._tables import join_names, short_order

Kind = Literal["error", "accuracy"]

ERRORS = {
    "yes or no": "squared error of the probability",
    "two classes": "share of wrong answers",
    "classes": "share of wrong answers",
    "regression": "mean squared error",
}
"""What the error of each kind of labels is, in words."""


def describe_losses(names: Sequence[str], matrix: Array, kind: Kind) -> str:
    """Return in one sentence what will be forgotten; empty for a single task.

    Args:
        names: Names of the tasks, in the order of learning (T,).
        matrix: Predicted errors or accuracies (T+1, T).
        kind: Which of them.

    Returns:
        The sentence.

    Example:
        >>> describe_losses(["cats", "dogs"], np.array([[0.5, 0.5], [0.9, 0.4], [0.6, 0.8]]), "accuracy")
        'Learned as cats > dogs, accuracy on cats is predicted to go from 90% when just learned to 60% at the end.'
    """
    if len(names) < 2:
        return ""
    learned, final = np.diagonal(matrix[1:])[:-1], matrix[-1, :-1]
    lost = without_rounding_errors(learned - final if kind == "accuracy" else final - learned, matrix)
    worst = int(lost.argmax())
    begin, name = f"Learned as {short_order(names)},", escape_control(names[worst])
    if kind == "error":
        if lost[worst] <= 0:
            return f"{begin} nothing is predicted to be forgotten."
        average = float(without_rounding_errors(lost.mean(), matrix))
        mean, most = (format_number(abs(value), ".2g") for value in (average, lost[worst]))
        if average > 0:
            return f"{begin} {mean} is predicted to be forgotten on average; most of {name}."
        change = f"improve by {mean}" if average else "stay as they are"
        return f"{begin} old tasks are predicted to {change} on average, and {name} to get worse by {most}."
    if len(names) == 2:
        change = f"{learned[0]:.0%} when just learned to {final[0]:.0%} at the end"
        return f"{begin} accuracy on {name} is predicted to go from {change}."
    return (
        f"{begin} accuracy on earlier tasks is predicted to go from {learned.mean():.0%} when just learned to "
        f"{final.mean():.0%} at the end, on average; on {name} from {learned[worst]:.0%} to {final[worst]:.0%}."
    )


def tabulate_losses(
    names: Sequence[str], matrix: Array, kind: Kind, *, model: KernelModel, source: str, notes: Sequence[str]
) -> Table:
    """Return a table of what will be forgotten of each task.

    Args:
        names: Names of the tasks, in the order of learning (T,).
        matrix: Predicted errors or accuracies (T+1, T).
        kind: Which of them.
        model: The model that learns.
        source: Where the kernel comes from, in a few words.
        notes: What the reader should know.

    Returns:
        The table, with a row for each task.
    """
    T, learned = len(names), np.diagonal(matrix[1:])
    train, test = (describe_sizes([len(rows) for rows in split]) for split in (model.train, model.test))
    heading = (
        f"Forecast of {T} task{'s' * (T > 1)} ({model.targets.kind}): {source}; "
        f"{train} training and {test} test examples a task."
    )
    if kind == "accuracy":
        lost, unit = 100 * (learned - matrix[-1]), "Accuracy: share of right answers on test examples. Lost: in points."
    else:
        lost, unit = matrix[-1] - learned, "Errors: mean squared error. Lost: what they rise by since just learned."
    check = "First compare 'just learned' with what your own training reaches."

    def row(i: int) -> list[str]:
        values = [float(value) for value in (matrix[0, i], learned[i], matrix[-1, i])]
        if kind == "accuracy":
            return [names[i], *(f"{value:.0%}" for value in values), format_number(float(lost[i]), ".0f")]
        return [names[i], *(format_number(value, ".4g") for value in (*values, float(lost[i])))]

    columns = ["task", f"initial {kind}", "just learned", "at the end", "lost"]
    return Table(heading, columns, abridged_rows(T, row), [f"Order: {join_names(names)}. {unit}", check, *notes])


def describe_sizes(sizes: Sequence[int] | np.ndarray) -> str:
    """Return the number of examples of a task, or the least and the most.

    Args:
        sizes: The number of each task.

    Returns:
        One number, or two.

    Example:
        >>> describe_sizes([200, 200]), describe_sizes([200, 2])
        ('200', '2 to 200')
    """
    least, most = min(sizes), max(sizes)
    return f"{least}" if least == most else f"{least} to {most}"
