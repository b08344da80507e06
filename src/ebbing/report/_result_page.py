"""The page of a result: its tables, its pictures and its data in one file without any script."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial, reduce
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ebbing._extras import check_installed
from ebbing._files import write_atomic
from ebbing._tables import Table, Tabular, escape_control
from ebbing._versions import versions
from ebbing.report._template import asset, render

WIDE, SQUARE = (4.9, 3.5), (4.4, 3.6)
"""Sizes of pictures in inches, about those in the page, so that letters are readable: curves, and heat maps."""

CURVES = "A curve is the error on one task, dotted until it is learned (the dot). Where it rises then, it is forgotten."
DISTANCES = "How far apart the tasks' solutions are: the darker, the farther. Neighbors are learned one after another."
ACCURACIES = "A curve is the accuracy on one task: where it falls after the dot, the task is forgotten."
HEAT_MAP = "A row is a moment, a column a task: from the line down, the task has been learned, and may be forgotten."
FORGOTTEN = "An arrow for each task, from just learned to the end. Orange: forgotten. Blue: later tasks improved it."
SIMILARITY = (
    "How alike the tasks are to the model. 1: the same; 0: neither helps the other; below 0: learning one undoes the "
    "other."
)

PAGES: dict[str, tuple[str, dict[str, str]]] = {
    "Expectation": ("What is expected to be forgotten", {"forgotten": FORGOTTEN, "plot": CURVES}),
    "ExpectationGrid": (
        "Expected forgetting over a grid of sizes",
        {"plot": "Expected forgetting against the number with the most values, a line for each of the others."},
    ),
    "Simulation": (
        "What simulated runs forget",
        {"plot": "How many runs forget how much; the line is the theory's expectation."},
    ),
    "SimulatedMetrics": (
        "What simulated runs forget",
        {"plot": "How many runs forget how much; the line is the theory's expectation."},
    ),
    "Plan": ("In which order to learn", {"plot": DISTANCES}),
    "Stakes": (
        "In which order to learn",
        {
            "plot": "Gray: how many orders have which value. Lines: the recommended, the given and the worst order.",
            "plan.plot": DISTANCES,
        },
    ),
    "Front": (
        "Orders that balance forgetting and error",
        {"plot": "Each corner is an order; no order lies below the line."},
    ),
    "ReplayOrder": ("In which order to learn, with old data", {}),
    "ReplayCurve": (
        "How much old data to mix in",
        {"plot": "Forgetting and error against the samples of each old task, as a share of n, with the least."},
    ),
    "ReplayPlan": (
        "Which old data to replay when",
        {"plot": "A bar is a step; its pieces are samples of old tasks to mix into it."},
    ),
    "Forecast": (
        "What your model will forget",
        {"forgotten": FORGOTTEN, "plot": CURVES, "plot_similarity": SIMILARITY},
    ),
    "ForecastPlan": (
        "In which order your model should learn",
        {"plot": "All orders from best to worst, with the advised and the given one."},
    ),
    "CalibratedForecast": (
        "In which order your model should learn, after training runs",
        {"plot": "All orders from best to worst, with the advised and the given one."},
    ),
    "ReplayForecast": (
        "How much old data your model needs",
        {"plot": "What is predicted at the end against the share of old data that every later step learns again."},
    ),
    "TaskVectors": ("How alike your tasks are", {"plot": SIMILARITY}),
    "MetricSummary": (
        "What was forgotten",
        {"plot": FORGOTTEN},
    ),
    "EvaluationComparison": (
        "What the model lost",
        {"plot": "The change of each benchmark with its 95% interval. Right of the line is better."},
    ),
    "MeasuredMatrix": ("What was forgotten", {"plot": CURVES, "metrics.plot": FORGOTTEN}),
    "Measurement": (
        "What was measured in each order",
        {
            "plot": "A row is an order, a dot what it forgot with one seed. Orders whose dots overlap may differ by "
            "chance only."
        },
    ),
    "ForecastComparison": (
        "What was predicted and what was measured",
        {"plot": "A dot is an order: on the line, training forgot what was predicted."},
    ),
    "StreamRun": (
        "What training forgot",
        {
            "forgotten": FORGOTTEN,
            "plot": ACCURACIES,
        },
    ),
}
"""For each kind of result, the title of its page, and how to read the pictures that its methods draw."""


FILES = {"CalibratedForecast": "calibrated_orders"}
"""Names of files of data that are not the name of the result's class."""


def result_page(
    *results: Tabular, title: str | None = None, command: str = "", wording: Callable[[str], str] | None = None
) -> str:
    """Return results as one self-contained page.

    Args:
        *results: What to show, one section each.
        title: The title; that of the first result by default.
        command: The command that gave them, to be shown at the end.
        wording: A function that rewords titles and notes of tables, for readers who do not use Python.

    Returns:
        The page. It has no script, loads nothing and sends nothing.

    Raises:
        ImportError: If jinja2 is not installed.

    Example:
        >>> import ebbing
        >>> page = result_page(ebbing.expect(ebbing.Problem.identical(T=2, n=5, p=20, names=["<b>", "mail"])))
        >>> page.startswith("<!doctype html>"), "<b>" in page, "&lt;b&gt;" in page
        (True, False, True)
    """
    check_installed("jinja2", "a page")
    from markupsafe import Markup

    parts = [_part(result, place, wording) for place, result in enumerate(results)]
    return render(
        "result.html.j2",
        parts=parts,
        title=title or parts[0]["heading"],
        style=Markup(asset("style.css")),
        version=versions("ebbing")["ebbing"],
        command=escape_control(command),
        when=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def write_result(
    path: str | os.PathLike[str],
    results: Iterable[Tabular],
    *,
    command: str = "",
    wording: Callable[[str], str] | None = None,
) -> None:
    """Write the page of results to a file that any browser opens from disk.

    Args:
        path: The file, such as "order.html".
        results: What to show, one section each.
        command: The command that gave them.
        wording: As for `result_page`.
    """
    write_atomic(Path(path), result_page(*results, command=command, wording=wording))


def _part(result: Tabular, place: int, wording: Callable[[str], str] | None = None) -> dict[str, Any]:
    """Return one result as the template takes it; tables and pictures are escaped already."""
    from markupsafe import Markup

    name = type(result).__name__
    heading, readings = PAGES.get(name, (name, {}))
    answer = result._answer()
    tables = [_without(answer, table) for table in result._tables()]
    if wording is not None:
        tables = [table.reword(wording) for table in tables]
    return {
        "heading": heading,
        "answer": escape_control(answer),
        "tables": [Markup(text) for table in tables if (text := table.to_html())],
        "pictures": [
            (Markup(picture), _reading(result, reading))
            for method, reading in readings.items()
            if (picture := _picture(result, method, place, _size(result, method, _reading(result, reading))))
        ],
        "data": _data(result),
        "file": f"{FILES.get(name, name.lower())}.csv",
    }


def _reading(result: Tabular, reading: str) -> str:
    """Return how to read a picture of a result."""
    if reading not in (CURVES, ACCURACIES):
        return reading
    if _is_large(result):
        return HEAT_MAP
    return ACCURACIES if _kind(result) == "accuracy" else CURVES


def _without(answer: str, table: Table) -> Table:
    """Return a table without the lines that repeat the answer, which stands above it."""
    title = "\n".join(line for line in table.title.split("\n") if line != answer)
    return replace(table, title=title, notes=[note for note in table.notes if note != answer])


def _picture(result: Tabular, method: str, place: int, size: tuple[float, float]) -> str:
    """Return what a method draws; nothing without matplotlib, or where there is nothing to draw."""
    if getattr(result, "used", None) == 0:  # a plan that replays nothing
        return ""
    *way, last = method.split(".")
    owner = reduce(getattr, way, result)
    draw = partial(_draw_forgotten, result) if method == "forgotten" else getattr(owner, last, None)
    if draw is None or find_spec("matplotlib") is None:
        return ""
    from ebbing.plot._style import inline_picture

    try:
        return inline_picture(draw, f"{place} {method}", size)
    except ValueError:  # such as the forgetting of a single task
        return ""


def _size(result: Any, method: str, reading: str) -> tuple[float, float]:
    """Return the size of a picture, which grows with the number of tasks where each has a row or a column."""
    usual = WIDE if method in ("plot", "forgotten") else SQUARE
    if find_spec("matplotlib") is None:
        return usual
    from ebbing.plot.errors import heat_map_size
    from ebbing.plot.forecasts import similarity_size

    if reading == SIMILARITY:
        return similarity_size(_task_names(result))
    if reading == HEAT_MAP:
        width, height = heat_map_size(_task_names(result))
        return max(width, 5.6), height
    if method == "forgotten":
        return usual[0], min(max(usual[1], 1.2 + 0.2 * len(_task_names(result))), 9.0)
    return usual


def _is_large(result: Any) -> bool:
    """Whether a result has too many tasks for curves, so that its matrix is drawn as a heat map."""
    from ebbing.plot._style import LINE_COLORS

    return len(_task_names(result)) > len(LINE_COLORS)


def _task_names(result: Any) -> Sequence[str]:
    """Return the tasks of an expectation, a forecast or a training run."""
    return result.tasks if hasattr(result, "tasks") else getattr(result, "problem", result).names


def _kind(result: Any) -> str:
    """Return what such a result is told by, "error" or "accuracy"."""
    return getattr(result, "kind", "accuracy" if hasattr(result, "accuracies") else "error")


def _draw_forgotten(result: Any, ax: Any) -> Any:
    """Draw an arrow for each task that an expectation, a forecast or a training run has learned."""
    from ebbing.plot.metrics import plot_forgotten

    kind, names = _kind(result), _task_names(result)
    if hasattr(result, "matrix"):
        matrix = np.asarray(result.matrix)
    else:
        matrix = np.asarray(result.accuracies if kind == "accuracy" else result.errors)
    first = getattr(result, "first_steps", np.arange(1, len(names) + 1))
    learned = np.flatnonzero(first > 0)
    if len(learned) < 2:
        raise ValueError("one task forgets nothing")
    just_learned, at_the_end = matrix[first[learned], learned], matrix[-1, learned]
    return plot_forgotten(just_learned, at_the_end, [names[int(i)] for i in learned], kind=kind, ax=ax)


def _data(result: Tabular) -> str:
    """Return the result's frame as an address from which it is downloaded; empty without pandas."""
    frame = getattr(result, "to_frame", None)
    if frame is None or find_spec("pandas") is None:
        return ""
    text = frame().map(lambda cell: escape_control(cell) if isinstance(cell, str) else cell).to_csv(index=False)
    return "data:text/csv;base64," + base64.b64encode(text.encode()).decode()
