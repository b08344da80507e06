"""A figure of many metrics of one matrix, or of several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ebbing._tables import format_number
from ebbing._validate import Array
from ebbing.plot._axes import use_axes
from ebbing.plot._style import BLACK, BLUE, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEVELS = ("generalization_error", "average_accuracy", "remembering", "lower_triangle_mean", "upper_triangle_mean")


def plot_metrics(metrics: Mapping[str, Array], kind: str, *, ax: Axes | None = None) -> Axes:
    """Draw a horizontal bar for each metric: its value, or the mean over matrices with a dot for each.

    Args:
        metrics: Values by name, one per matrix (...).
        kind: "error" or "accuracy": what the matrices hold, and the unit of the axis.
        ax: The axes to draw on; a new figure if None.

    Returns:
        The axes.
    """
    ax = use_axes(ax, size=(5.8, 0.9 + 0.27 * max(len(metrics), 2)))
    shown: set[str] = set()
    for y, (name, value) in enumerate(metrics.items()):
        values = np.ravel(value)
        color, meaning = (BLUE, "level") if name in _LEVELS else (ORANGE, "difference")
        ax.barh(y, values.mean(), color=color, height=0.65, label=None if meaning in shown else meaning)
        shown.add(meaning)
        if len(values) > 1:
            ax.plot(values, np.full(len(values), y), "o", color=BLACK, ms=2.5, alpha=0.7)
        edge = max(values.max(), 0.0)
        ax.annotate(
            format_number(float(values.mean()), ".4g"), (edge, y), (4, 0), textcoords="offset points", va="center",
            fontsize="small",
        )  # fmt: skip
    ax.set_yticks(range(len(metrics)), [name.replace("_", " ") for name in metrics])
    ax.set_ylim(len(metrics) - 0.4, -0.6)
    ax.margins(x=0.12)
    ax.axvline(0, color=BLACK, lw=0.8)
    ax.set_xlabel(f"in the unit of the matrix ({kind})")
    if shown:
        ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return ax
