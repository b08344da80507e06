"""Accuracy against memory per task: every setting of every method, and the frontier of the best ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ebbing.paper._statistics import standard_error
from ebbing.paper.frontier import Point, family, pareto, points
from ebbing.paper.method_comparison import Result
from ebbing.paper.method_study import Protocol
from ebbing.plot._axes import use_axes
from ebbing.plot._style import BLACK, BLUE, GREEN, ORANGE, PURPLE, STYLE, VERMILION, new_axes, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOOK = {
    "copies": (BLACK, "o", "copies (width)"),
    "low-rank": (BLUE, "s", "low-rank (rank)"),
    "GPM": (GREEN, "^", "GPM (threshold)"),
    "TRGP": (ORANGE, "v", "TRGP"),
    "TRGP+": (PURPLE, "P", "TRGP+"),
    "TRGP free": (VERMILION, "D", "TRGP free"),
}
"""The color and the marker of each family, and its label in the figure."""


def plot_frontier(result: Result) -> Any:
    """Draw a panel for each protocol with finished runs: ACC against the memory that each task adds.

    Args:
        result: The runs of a study of `ebbing.paper.frontier`.

    Returns:
        The axes of a new figure, an array (1, panels); a single panel that says so if no run is finished.
    """
    import matplotlib as mpl

    shown = [protocol for protocol in result.study.protocols if points(result, protocol)]
    with mpl.rc_context(STYLE):
        axes = new_axes(1, max(len(shown), 1), (3.9 * max(len(shown), 1), 3.9))
        for ax, protocol in zip(axes.flat, shown, strict=False):
            plot_frontier_panel(result, protocol, ax=ax)
        if not shown:
            axes[0, 0].text(0.5, 0.5, "no run is finished yet", ha="center", va="center")
    return axes


def plot_frontier_panel(result: Result, protocol: Protocol, *, ax: Axes | None = None) -> Axes:
    """Draw ACC against the memory per task of one protocol, with standard errors and the Pareto frontier.

    Args:
        result: The runs of a study of `ebbing.paper.frontier`.
        protocol: One of its protocols.
        ax: Where to draw; None makes a new figure.

    Returns:
        The axes with the panel.
    """
    import matplotlib as mpl
    from matplotlib.ticker import LogLocator, NullLocator

    found = points(result, protocol)
    low, high = _limits(found)
    with mpl.rc_context(STYLE):
        ax = use_axes(ax, (4.6, 3.9))
        ax.set_xscale("log")
        front = pareto(found)
        memory = [point.memory for point in front] + [max(point.memory for point in found)]
        ax.step(memory, [*(p.mean for p in front), front[-1].mean], where="post", color="0.8", lw=5, zorder=0)
        for name, (color, marker, label) in _LOOK.items():
            members = [point for point in found if family(point.name) == name]
            if not members:
                continue
            means = [point.mean for point in members]
            errors = [float(standard_error(np.array([*point.accuracy.values()]))) for point in members]
            x = [point.memory for point in members]
            ax.errorbar(x, means, yerr=errors, color=color, marker=marker, ms=5, lw=1, capsize=2, label=label)
            for point in members:
                if low <= point.mean <= high and name not in ("TRGP", "TRGP+"):  # one beside the other
                    _annotate(ax, point, color)
        ax.set_ylim(low, high)
        _label_families(ax, found)
        ax.set_xlabel("memory that each task adds (MB)")
        ax.set_ylabel("ACC (%)")
        seeds = sorted({len(point.accuracy) for point in found})
        count = f"{seeds[0]} to {seeds[-1]} seeds" if len(seeds) > 1 else f"{seeds[0]} seed{'s' * (seeds[0] > 1)}"
        ax.set_title(f"{protocol.name}, {count}", loc="left")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 3) if found[-1].memory > 10 * found[0].memory else (1, 2, 5)))
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.xaxis.set_minor_locator(NullLocator())
        ax.grid(color="0.93")
        ax.set_axisbelow(True)
    return ax


def _limits(found: Sequence[Point]) -> tuple[float, float]:
    """Limits that show the better half of the settings well; settings far below them are cut off."""
    means = np.array([point.mean for point in found])
    top, middle = means.max(), float(np.median(means))
    low = max(means.min(), top - 4 * max(top - middle, 0.5))
    margin = 0.08 * max(top - low, 1.0)
    return low - margin, top + 1.5 * margin


def _annotate(ax: Axes, point: Point, color: str) -> None:
    """Write the setting of a point (the threshold, the width or the rank) beside it, in small letters."""
    words = "1" if point.name == "copies" else point.name.partition(", ")[2]
    setting = words.removeprefix("width ").removeprefix("rank ")
    ax.annotate(setting, (point.memory, point.mean), (4, -8), textcoords="offset points", color=color, fontsize=7)


def _label_families(ax: Axes, found: Sequence[Point]) -> None:
    """Write the name of each family at the right of its largest setting that is visible, in its color."""
    low, high = ax.get_ylim()
    ends = []
    for name, (color, _, label) in _LOOK.items():
        visible = [point for point in found if family(point.name) == name and low <= point.mean <= high]
        if visible:
            ends.append((max(visible, key=lambda point: point.memory), color, label))
    ends.sort(key=lambda end: end[0].mean)
    places = _spread([(point.mean - low) / (high - low) for point, _, _ in ends], 0.065)
    for (point, color, label), place in zip(ends, places, strict=True):
        arrow = {"arrowstyle": "-", "color": color, "lw": 0.6, "alpha": 0.5}
        at, text_at = (point.memory, point.mean), (1.03, place)
        ax.annotate(label, at, text_at, textcoords="axes fraction", color=color, va="center", arrowprops=arrow)


def _spread(places: Sequence[float], gap: float) -> list[float]:
    """Return increasing places in [0, 1], moved so that they are at least a gap apart.

    >>> [round(place, 2) for place in _spread([0.2, 0.21, 0.95, 0.99], 0.1)]
    [0.2, 0.3, 0.9, 1.0]
    """
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + gap if moved else 0.0))
    for i in reversed(range(len(moved))):
        moved[i] = min(moved[i], moved[i + 1] - gap if i + 1 < len(moved) else 1.0)
    return moved


def save_frontier(result: Result, folder: Path) -> None:
    """Write the figure under the study's name as .png and .svg.

    Args:
        result: The runs of a study of `ebbing.paper.frontier`.
        folder: The folder of both files.
    """
    save_figure(plot_frontier(result).flat[0].figure, folder, result.study.name)
