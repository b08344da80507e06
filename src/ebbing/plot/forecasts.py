"""Figures of forecasts: similarity of tasks, orders from best to worst, and replay curves."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ebbing._rounding import without_rounding_errors
from ebbing._tables import format_number
from ebbing._validate import Array
from ebbing.order._tables import describe_objective
from ebbing.plot._axes import NAMES_UP_TO, add_color_bar, add_legend, format_alike, plain_labels, use_axes
from ebbing.plot._style import BLUE, GRAY, GREEN, STYLE, VERMILION, picture_format, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ebbing.forecasting import CalibratedForecast, Forecast, ForecastPlan, ReplayForecast
    from ebbing.order.objective import Objective

_DOTS_UP_TO = 120
"""Orders up to which each has a dot that can be told from its neighbors."""

_NUMBERS_UP_TO = 8
_SHORT = 8
_POINTS = 8.75


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
    ax = use_axes(ax, size=similarity_size(names))
    image = ax.imshow(similarity, cmap="RdBu", vmin=-1, vmax=1, interpolation="nearest")
    if T <= NAMES_UP_TO:
        beside, below = _beside_and_below(names)
        ax.set_xticks(range(T), below, rotation=90 if below == beside else 0, fontsize="small")
        ax.set_yticks(range(T), beside, fontsize="small")
    if T <= _NUMBERS_UP_TO:
        for i in range(T):
            for j in range(T):
                color = "white" if abs(similarity[i, j]) > 0.6 else "black"
                text = format_number(float(similarity[i, j]), ".2f")
                ax.text(j, i, text, ha="center", va="center", color=color, fontsize="small")
    add_color_bar(ax, image, "similarity")
    ax.set_anchor("W")  # a square map that a color bar draws to the right would push its names out of the figure
    return ax


def similarity_size(names: Sequence[str]) -> tuple[float, float]:
    """Return the size of a figure in which `plot_task_similarity` has room for its numbers and names.

    Args:
        names: Names of the tasks (T,).

    Returns:
        Width and height in inches.
    """
    T = len(names)
    side = min(max(2.4, (0.42 if T <= _NUMBERS_UP_TO else 0.24) * T), 6.5)
    beside, below = _beside_and_below(names) if T <= NAMES_UP_TO else ([], [])
    return side + _width(beside) + 1.3, side + (_width(below) if below == beside else 0.15) + 0.4


def _beside_and_below(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what stands beside and below a map of tasks: names; long ones once, with numbers that stand below.

    >>> _beside_and_below(["cats", "dogs"]), _beside_and_below(["breast cancer", "wine"])
    ((['cats', 'dogs'], ['cats', 'dogs']), (['breast cancer · 1', 'wine · 2'], ['1', '2']))
    """
    labels = plain_labels(names)
    if max(map(len, labels)) <= _SHORT:
        return labels, labels
    places = range(1, len(labels) + 1)
    return [f"{label} · {place}" for place, label in zip(places, labels, strict=True)], [f"{k}" for k in places]


def _width(labels: Sequence[str]) -> float:
    """Return the width of the longest label in the small type of pages, in inches."""
    from matplotlib.textpath import TextPath

    return max((TextPath((0, 0), label, size=_POINTS).get_extents().width / 72 for label in labels), default=0.2)


def plot_forecast_orders(plan: ForecastPlan, *, ax: Axes | None = None) -> Axes:
    """Draw all orders on a line from best to worst, with the advised, the given and a random one.

    Args:
        plan: The advised order.
        ax: The axes to draw on; a new figure if None.

    Returns:
        The axes.
    """
    values = np.concatenate([plan.values, [] if plan.complete else [plan.value, plan.worst]])
    shown = plan.value, plan.given, plan.random, plan.worst
    best = "advised" if plan.recommended == plan.names else "best"
    return _draw_orders(values, shown, plan.objective, best=best, scale=plan.initial_error, ax=use_axes(ax))


def plot_calibrated_orders(calibrated: CalibratedForecast, *, ax: Axes | None = None) -> Axes:
    """Draw all orders of a corrected forecast on a line from best to worst, as `plot_forecast_orders` does.

    Args:
        calibrated: The forecast, corrected by training runs.
        ax: The axes to draw on; a new figure if None.

    Returns:
        The axes.
    """
    values = calibrated.values.mean(axis=0)
    given = float(values[np.flatnonzero((calibrated.orders == np.arange(len(calibrated.task_names))).all(axis=1))[0]])
    shown = float(values.min()), given, float(values.mean()), float(values.max())
    return _draw_orders(
        values, shown, calibrated.objective, scale=float(abs(calibrated.learned).max()), ax=use_axes(ax)
    )


def _draw_orders(
    values: Array, shown: Sequence[float], objective: Objective, *, best: str = "advised", scale: float, ax: Axes
) -> Axes:
    """Draw the values of orders, and lines at four of them: the best, the given, the mean and the worst one."""
    values, levels = (without_rounding_errors(some, scale) for some in (np.sort(values), shown))
    ax.plot(np.arange(1, len(values) + 1), values, ".", color=GRAY, ms=6 if len(values) <= _DOTS_UP_TO else 2)
    looks = ((best, BLUE, "-"), ("as given", GREEN, "--"), ("random, mean", GRAY, ":"), ("worst", VERMILION, "-."))
    lines = []
    for value, text, (label, color, style) in zip(
        levels.tolist(), format_alike(levels, apart=True), looks, strict=True
    ):
        rank = min(1 + int(np.sum(values < value - 1e-12)), len(values))
        lines.append(ax.axhline(value, color=color, ls=style, lw=1.2, label=f"{label}: {text}"))
        if label != "random, mean":
            ax.plot([rank], [value], "o", color=color, ms=5)
    quantity = textwrap.fill(describe_objective(objective, "predicted "), 45)
    count, margin = len(values), 0.02 * len(values) + 0.3
    ax.set(xlabel=f"{count:,} orders, from best to worst", ylabel=quantity, xlim=(1 - margin, count + margin))
    if values[0] >= 0:
        ax.set_ylim(bottom=0)
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

    names = plain_labels(forecast.names) if forecast.T <= NAMES_UP_TO else [""]
    side = min(max(3.2, 0.26 * forecast.T), 8.0) + 0.07 * max(map(len, names))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3 * side + 3.6, side + 0.9), layout="constrained")
        figure.get_layout_engine().set(wspace=0.07)  # type: ignore[union-attr]
        axes = figure.subplots(1, 3, width_ratios=(1.0, 1.0, 1.15))
        plot_task_similarity(forecast.similarity, forecast.names, ax=axes[0]).set_aspect("auto")
        plot_error_heat_map(forecast.matrix, forecast.names, label=f"predicted {forecast.kind}", ax=axes[1])
        plot_forecast_orders(plan, ax=axes[2])
        legend = axes[2].get_legend()
        legend.set_loc("upper center")  # below the panel, since its title stands above
        legend.set_bbox_to_anchor((0.5, -0.5 / side), transform=axes[2].transAxes)
        orders = (
            f"all {len(plan.values):,} orders"
            if plan.complete
            else f"{len(plan.values)} random orders, and the best and worst found"
        )
        titles = "similarity of tasks", f"{forecast.kind} in the order as given", orders
        for ax, title in zip(axes, titles, strict=True):
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
        _add_band(ax, shares, 100 * replay.accuracy, 100 * replay.standard_errors, BLUE, most=100)
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
        ax.set_xlim(left=-0.05 * float(positive.min()))
    ax.set(xlabel="old data replayed in every step (%)", ylabel=quantity)
    add_legend(ax, [*lines, advised], [*labels, f"advised: {replay.share:.0%}"])
    return ax


def _add_band(ax: Axes, x: Array, values: Array, errors: Array, color: str, *, most: float = np.inf) -> None:
    """Draw a band of a standard error around a curve, up to the most that values can be."""
    ax.fill_between(x, values - errors, np.minimum(values + errors, most), color=color, alpha=0.2, lw=0)
