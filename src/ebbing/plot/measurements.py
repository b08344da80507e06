"""Figures of measured orders: what each forgot, seed by seed, and what was predicted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ebbing.plot._axes import add_legend, format_alike, plain_label, use_axes
from ebbing.plot._style import BLUE, GRAY, SKY_BLUE, VERMILION, save_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ebbing.runs import ForecastComparison, Measurement

_NAMES_UP_TO = 30
"""Orders up to which each is named beside its dots."""

_CHARACTERS = 44
"""Characters of an order's name, if its tasks can then be told apart."""


_DOTS: dict[str, Any] = {"color": BLUE, "mfc": SKY_BLUE, "mew": 0.8}
"""Dots with edges: those that overlap can be counted, on light and on dark pages."""


def plot_measured_orders(measurement: Measurement, *, ax: Axes | None = None) -> Axes:
    """Draw the measured forgetting of each order, a dot for each seed, the best order on top.

    Args:
        measurement: The orders. Up to 30 are named.
        ax: The axes to draw on; a new figure if None.

    Returns:
        The axes.
    """
    F = measurement.forgetting
    means = F.mean(axis=1)
    ranked = np.argsort(means, kind="stable")
    named, places = len(ranked) <= _NAMES_UP_TO, np.arange(len(ranked))
    labels = _order_labels([measurement.orders[k] for k in ranked])
    ax = use_axes(ax, size=measured_orders_size(measurement.orders))
    several, small = len(measurement.seeds) > 1, len(ranked) > _NAMES_UP_TO
    rows = np.repeat(places, len(measurement.seeds))
    dots = ax.plot(F[ranked].ravel(), rows, "o", ms=3 if small else 5, **_DOTS)
    handles, texts = [*dots], ["one seed" if several else "order"]
    if several:
        handles += ax.plot(means[ranked], places, "|", color=VERMILION, ms=4 if small else 9, mew=1.6)
        texts.append("mean of seeds")
    handles.append(ax.axvline(float(means.mean()), color=GRAY, ls=":", lw=1.2, zorder=0))
    texts.append(f"mean order: {format_alike([means.mean()])[0]}")
    ax.set_ylim(len(ranked) - 0.4, -0.6)
    if named:
        ax.set_yticks(places, labels, fontsize="small")
        row = 72 * ax.get_window_extent().height / ax.figure.dpi / len(ranked)  # in points
        for text in ax.get_yticklabels():
            text.set_fontsize(min(text.get_fontsize(), 0.88 * row))
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("measured forgetting")
    else:
        ax.set_yticks([])
        ax.set(xlabel="measured forgetting", ylabel=f"{len(ranked)} orders, least forgetting on top")
    # To the right, where it can be wider than the axes: the names of orders are beside them.
    add_legend(ax, handles, texts, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, columnspacing=1.2)
    return ax


def plot_forecast_comparison(comparison: ForecastComparison, *, ax: Axes | None = None) -> Axes:
    """Draw measured against predicted forgetting, a dot for each order; on the line both are equal.

    Args:
        comparison: What was predicted and measured.
        ax: The axes to draw on; a new figure if None.

    Returns:
        The axes.
    """
    ax = use_axes(ax, size=(4.2, 3.6))
    predicted, measured = comparison.predicted, comparison.measured
    low, high = (float(end) for end in (min(predicted.min(), measured.min()), max(predicted.max(), measured.max())))
    room = 0.06 * (high - low) or 0.1
    equal = ax.plot([low - room, high + room], [low - room, high + room], ":", color=GRAY, lw=1.2, zorder=0)
    dots = ax.plot(predicted, measured, "o", ms=5, **_DOTS)
    best = int(predicted.argmin())
    chosen = ax.plot(predicted[best], measured[best], "o", mfc="none", mec=VERMILION, mew=1.6, ms=9)
    ax.set(xlim=(low - room, high + room), ylim=(low - room, high + room))
    ax.set(xlabel="predicted forgetting", ylabel="measured forgetting")
    texts = ["order", "predicted best", "equal"]
    add_legend(ax, [*dots, *chosen, *equal], texts, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return ax


def save(measurement: Measurement, path: Path) -> None:
    """Write `plot_measured_orders` to a file.

    Args:
        measurement: The orders.
        path: The file; the ending of its name gives the format.
    """
    save_picture(measurement.plot, path, measured_orders_size(measurement.orders))


def measured_orders_size(orders: Sequence[tuple[str, ...]]) -> tuple[float, float]:
    """Return the size of a figure in which `plot_measured_orders` has room for its rows and names.

    Args:
        orders: Names of the tasks of each order.

    Returns:
        Width and height in inches.
    """
    labels = _order_labels(orders)
    room = 0.065 * max(map(len, labels)) if len(labels) <= _NAMES_UP_TO else 0.0
    return 4.4 + room, min(max(2.2, 1.1 + 0.19 * len(labels)), 7.0)


def _order_labels(orders: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the orders as text, with long names cut off where that leaves different names different.

    >>> _order_labels([("animals", "buildings")])
    ['animals > buildings']
    >>> _order_labels([tuple(f"{letter} with a long name" for letter in "abc")])
    ['a with a l… > b with a l… > c with a l…']
    """
    names = {name for order in orders for name in order}
    most = max(4, _CHARACTERS // max(map(len, orders)) - len(" > "))
    short = {name: name if len(name) <= most else name[: most - 1] + "…" for name in names}
    if len(set(short.values())) < len(names):
        short = {name: name for name in names}
    return [" > ".join(plain_label(short[name]) for name in order) for order in orders]
