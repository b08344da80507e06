"""Figures of forecasts: similarity of tasks, orders from best to worst, and replay curves."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ebbing._tables import format_number
from ebbing._validate import Array
from ebbing.order._tables import describe_objective
from ebbing.plot._axes import add_legend, plain_labels, use_axes
from ebbing.plot._style import BLUE, GRAY, GREEN, STYLE, VERMILION, picture_format, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ebbing.forecasting import Forecast, ForecastPlan, ReplayForecast

_NUMBERS_UP_TO = 8
_NAMES_UP_TO = 40
_SHORT = 8


def plot_task_similarity(similarity: Array, names: Sequence[str], *, ax: Axes | None = None) -> Axes:
    """Draw the similarity of tasks as a heat map, from -1 to 1.

    Args:
        similarity: The similarity of each pair of tasks (T, T).
        names: Names of the tasks (T,), shown for up to 40.
        ax: The axes to draw on; a new figure if None.

    Returns:
        The axes, with a color bar beside them.
    """
    T = len(names)
    labels = plain_labels(names)
    ax = use_axes(ax, size=similarity_size(names))
    image = ax.imshow(similarity, cmap="RdBu", vmin=-1, vmax=1, interpolation="nearest")
    if T <= _NAMES_UP_TO:
        if long := max(map(len, labels)) > _SHORT:  # names once, below the map numbers
            labels = [f"{label} · {place}" for place, label in enumerate(labels, 1)]
        below = [f"{place}" for place in range(1, T + 1)] if long else labels
        ax.set_xticks(range(T), below, rotation=0 if long else 90, fontsize="small")
        ax.set_yticks(range(T), labels, fontsize="small")
    if T <= _NUMBERS_UP_TO:
        for i in range(T):
            for j in range(T):
                color = "white" if abs(similarity[i, j]) > 0.6 else "black"
                ax.text(j, i, f"{similarity[i, j]:.2f}", ha="center", va="center", color=color, fontsize="small")
    ax.get_figure().colorbar(image, ax=ax, label="similarity")  # type: ignore[union-attr]
    return ax


def similarity_size(names: Sequence[str]) -> tuple[float, float]:
    """Return the size of a figure in which `plot_task_similarity` has room for its numbers and names.

    Args:
        names: Names of the tasks (T,).

    Returns:
        Width and height in inches.
    """
    T, letters = len(names), max(map(len, plain_labels(names)))
    side = min(max(2.4, (0.42 if T <= _NUMBERS_UP_TO else 0.24) * T), 6.5)
    below = 0.3 if letters > _SHORT else 0.09 * letters
    return side + 0.09 * letters + 1.2, side + below + 0.3


def plot_forecast_orders(plan: ForecastPlan, *, ax: Axes | None = None) -> Axes:
    """Draw all orders on a line from best to worst, with the advised, the given and a random one.

    Args:
        plan: The advised order.
        ax: The axes to draw on; a new figure if None.

    Returns:
        The axes.
    """
    ax = use_axes(ax)
    values = np.sort(np.concatenate([plan.values, [] if plan.complete else [plan.value, plan.worst]]))
    ax.plot(np.linspace(0, 100, len(values)), values, "-", color=GRAY, lw=1.6)
    lines = []
    for value, label, color, style in (
        (plan.value, "advised", BLUE, "-"),
        (plan.given, "as given", GREEN, "--"),
        (plan.random, "random, mean", GRAY, ":"),
        (plan.worst, "worst", VERMILION, "-."),
    ):
        share = 100 * float(np.sum(values < value - 1e-12)) / max(len(values) - 1, 1)
        lines.append(ax.axhline(value, color=color, ls=style, lw=1.2, label=f"{label}: {format_number(value, '.3g')}"))
        if label != "random, mean":
            ax.plot([share], [value], "o", color=color, ms=5)
    quantity = textwrap.fill(describe_objective(plan.objective, "predicted "), 45)
    ax.set(xlabel="orders from best to worst (%)", ylabel=quantity, xlim=(-2, 102))
    add_legend(
        ax, lines, [str(line.get_label()) for line in lines], loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2
    )
    return ax


def plot_forecast(forecast: Forecast, plan: ForecastPlan) -> Figure:
    """Draw a forecast in three panels: similarity of tasks, predicted errors, and orders from best to worst.

    Args:
        forecast: The forecast of the tasks in the order given.
        plan: The order that it advises.

    Returns:
        A figure that pyplot does not manage.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from ebbing.plot.errors import plot_error_heat_map

    names = plain_labels(forecast.names) if forecast.T <= _NAMES_UP_TO else [""]
    side = min(max(3.2, 0.26 * forecast.T), 8.0) + 0.07 * max(map(len, names))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3 * side + 3.0, side + 0.6), layout="constrained")
        axes = figure.subplots(1, 3, width_ratios=(1.0, 1.0, 1.15))
        plot_task_similarity(forecast.similarity, forecast.names, ax=axes[0])
        plot_error_heat_map(forecast.matrix(), forecast.names, label=f"predicted {forecast.kind}", ax=axes[1])
        plot_forecast_orders(plan, ax=axes[2])
        for ax, title in zip(axes[:2], ("similarity of tasks", "order as given"), strict=True):
            ax.set_title(title, loc="left")
    return figure


def save_forecast(forecast: Forecast, plan: ForecastPlan, path: Path) -> None:
    """Write `plot_forecast` to a file.

    Args:
        forecast: The forecast of the tasks in the order given.
        plan: The order that it advises.
        path: The file; the ending of its name gives the format.
    """
    write_figure(plot_forecast(forecast, plan), path, picture_format(path))


def plot_replay(replay: ReplayForecast, *, ax: Axes | None = None) -> Axes:
    """Draw what is predicted against the share of old data that is replayed.

    Args:
        replay: The curve.
        ax: The axes to draw on; a new figure if None.

    Returns:
        The axes: mean accuracy at the end or, for regression, forgetting and generalization error.
    """
    ax = use_axes(ax)
    shares = 100 * replay.shares
    if replay.accuracy is not None:
        lines = ax.plot(shares, 100 * replay.accuracy, "-o", color=BLUE, ms=4)
        labels, quantity = ["predicted, ± standard error"], "mean accuracy at the end (%)"
        _add_band(ax, shares, 100 * replay.accuracy, 100 * replay.standard_errors, BLUE)
    else:
        lines = ax.plot(shares, replay.forgetting, "-o", color=BLUE, ms=4)
        lines += ax.plot(shares, replay.generalization, "-s", color=VERMILION, ms=4)
        labels, quantity = ["forgetting", "generalization error, ± standard error"], "predicted error"
        _add_band(ax, shares, replay.generalization, replay.standard_errors, VERMILION)
    advised = ax.axvline(100 * replay.share, color=GRAY, ls=":", lw=1.4)
    positive = shares[shares > 0]
    if len(positive):
        ax.set_xscale("symlog", linthresh=float(positive.min()))
        ax.set_xticks(shares, [f"{share:g}" for share in shares])
    ax.set(xlabel="old data replayed in every step (%)", ylabel=quantity, xlim=(-0.05 * positive.min(), None))
    add_legend(ax, [*lines, advised], [*labels, f"advised: {replay.share:.0%}"])
    return ax


def _add_band(ax: Axes, x: Array, values: Array, errors: Array, color: str) -> None:
    """Draw a band of a standard error around a curve."""
    ax.fill_between(x, values - errors, values + errors, color=color, alpha=0.2, lw=0)
