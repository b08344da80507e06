"""Accuracy against memory per task: every setting of every method, and the frontier of the best ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ebbing.paper._statistics import standard_error
from ebbing.paper.figures._panels import place_legend, save_figure
from ebbing.paper.frontier_points import COPIES, FINE_TUNING, Point, family, pareto, points
from ebbing.plot._style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY_BLUE, STYLE, VERMILION, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ebbing.paper.method_comparison import Result
    from ebbing.paper.method_study import Protocol

LOOK = {
    FINE_TUNING: (SKY_BLUE, "--", "fine-tuning (adds no memory)"),
    "copies": (BLACK, "o", "copies (width)"),
    "low-rank": (BLUE, "s", "low-rank (rank)"),
    "GPM": (GREEN, "^", "GPM (threshold)"),
    "TRGP": (ORANGE, "v", "TRGP (threshold)"),
    "TRGP+": (PURPLE, "P", "TRGP+ (threshold)"),
    "TRGP free": (VERMILION, "D", "TRGP free (threshold)"),
}
"""Color, marker (or kind of line) and label of each family; in brackets stands what the numbers beside points mean."""

_PLACES = tuple(
    (align, vertical, right * away, up * away)
    for away in (1, 2.5)
    for align, vertical, right, up in (
        ("left", "top", 4, -2),
        ("right", "bottom", -4, 2),
        ("left", "bottom", 4, 2),
        ("right", "top", -4, -2),
        ("center", "bottom", 0, 6),
        ("center", "top", 0, -6),
        ("left", "center", 7, 0),
        ("right", "center", -7, 0),
    )
)
"""Where the label of a point may stand, the preferred place first: alignment, and distance in points. A line leads from
the places of the second half, which are farther away, to the point."""


def plot_frontier(result: Result) -> Any:
    """Draw a panel for each protocol with finished runs: ACC against the memory that each task adds.

    Args:
        result: The runs of a study of `ebbing.paper.frontier`.

    Returns:
        The panels of a new figure, an array (panels,); a single panel that says so if no run is finished.
    """
    import matplotlib as mpl

    shown = [protocol for protocol in result.study.protocols if points(result, protocol)]
    with mpl.rc_context(STYLE):
        columns = 2 if len(shown) > 1 else 1
        rows = max(-(-len(shown) // columns), 1)
        axes = new_axes(rows, columns, (4.2 * columns if columns > 1 else 5.8, 3.4 * rows + 0.5)).ravel()
        if not shown:
            axes[0].text(0.5, 0.5, "no run is finished yet", ha="center", va="center")
            return axes
        panels, empty = axes[: len(shown)], axes[len(shown) :]
        for ax, protocol in zip(panels, shown, strict=True):
            _draw_points(result, protocol, ax)
        handles = {label: h for ax in panels for h, label in zip(*ax.get_legend_handles_labels(), strict=True)}
        labels = [label for *_, label in LOOK.values() if label in handles] + ["frontier"]
        for ax in empty:
            ax.set_axis_off()
        where = {"loc": "center", "fontsize": "medium"} if len(empty) else {"ncols": 4}
        shown_in = empty if len(empty) else panels
        place_legend(shown_in, [handles[label] for label in labels], labels, outside=not len(empty), **where)
        for ax, protocol in zip(panels, shown, strict=True):  # last, since the legend changes the size of the panels
            _label_settings(ax, points(result, protocol))
    return panels


def _draw_points(result: Result, protocol: Protocol, ax: Axes) -> None:
    """Draw the points of all families, the frontier, the title and the axes."""
    from matplotlib.ticker import LogLocator, NullLocator

    found = points(result, protocol)
    ax.set_xscale("log")
    ax.set_ylim(accuracy_limits(found))
    front = pareto(found)
    memory = [point.memory for point in front] + [max(point.memory for point in found)]
    means = [*(point.mean for point in front), front[-1].mean]
    ax.step(memory, means, where="post", color="0.8", lw=5, zorder=0, label="frontier")
    for name, (color, marker, label) in LOOK.items():
        members = [point for point in found if family(point.name) == name]
        if name == FINE_TUNING:  # without memory, it has no place on a logarithmic axis
            for point in (point for point in members if point.mean > ax.get_ylim()[0]):
                ax.axhline(point.mean, color=color, ls=marker, lw=1.2, label=label)
        elif members:
            x, y = [point.memory for point in members], [point.mean for point in members]
            errors = [_error(point) for point in members]
            ax.errorbar(x, y, yerr=errors, color=color, marker=marker, ms=5, lw=1, capsize=2, label=label)
    ax.set_xlabel("memory that each task adds (MB)")
    ax.set_ylabel("ACC (%)")
    seeds = sorted({len(point.accuracy) for point in found})
    count = f"{seeds[0]} to {seeds[-1]} seeds" if len(seeds) > 1 else f"{seeds[0]} seed{'s' * (seeds[0] > 1)}"
    ax.set_title(f"{protocol.title}\n{count}", loc="left")
    memory = [point.memory for point in _visible(found, ax)] or [1.0]
    ratio = max(memory) / min(memory)
    margin = 1.05 * ratio**0.14  # room for labels on both sides
    ax.set_xlim(min(memory) / margin, max(memory) * margin)
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 3) if ratio > 10 else (1, 2, 5) if ratio > 3 else range(1, 10)))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.xaxis.set_minor_locator(NullLocator())
    ax.grid(color="0.93")
    ax.set_axisbelow(True)


def _error(point: Point) -> float:
    return float(standard_error(np.array([*point.accuracy.values()])))


def accuracy_limits(found: Sequence[Point]) -> tuple[float, float]:
    """Return limits that show the better half of the settings well; settings far below them are cut off.

    Args:
        found: The settings of a protocol.

    Returns:
        The lowest and the highest ACC of the panel, in percent.
    """
    means = np.array([point.mean for point in found])
    top, middle = means.max(), float(np.median(means))
    low = means[means >= top - 5 * max(top - middle, 0.5)].min()  # a setting's, so that none is cut in half
    margin = 0.08 * max(top - low, 1.0)
    return low - margin, top + 1.5 * margin


def _visible(found: Sequence[Point], ax: Axes) -> list[Point]:
    low, high = ax.get_ylim()
    return [point for point in found if low <= point.mean <= high and point.name != FINE_TUNING]


def _label_settings(ax: Axes, found: Sequence[Point]) -> None:
    """Write the setting of each visible point (its threshold, width or rank) beside it, where it covers least."""
    from matplotlib.transforms import Bbox

    figure: Any = cast(Any, ax.figure).figure  # that of a subfigure is the whole figure
    figure.draw_without_rendering()  # only now is the size of the panel known
    visible = _visible(found, ax)
    places = dict(
        zip((p.name for p in found), ax.transData.transform([(p.memory, p.mean) for p in found]), strict=True)
    )
    half = 3.5 * figure.dpi / 72
    taken = []
    for point in visible:
        error = np.nan_to_num(_error(point))
        (x, bottom), (_, top) = ax.transData.transform([[point.memory, point.mean + s * error] for s in (-1, 1)])
        taken.append(Bbox([[x - half, bottom - half], [x + half, top + half]]))
    for name in LOOK:
        members = [places[point.name] for point in found if family(point.name) == name]
        for one, other in pairwise(members):
            along = np.linspace(one, other, max(int(np.hypot(*(other - one)) / half), 2))
            taken += [Bbox([at - half / 4, at + half / 4]) for at in along]
    labeled: dict[str, list[Any]] = {}
    for point in visible:
        label, at = setting(point), places[point.name]
        if not label or any(np.hypot(*(at - other)) < half for other in labeled.get(label, ())):
            continue  # one label is enough for the same setting of two methods in one place
        labeled.setdefault(label, []).append(at)
        color = LOOK[family(point.name)][0]
        look = {"color": color, "fontsize": 8, "textcoords": "offset points"}
        text: Any = ax.annotate(label, (point.memory, point.mean), (0, 0), **look)
        boxes = []
        for align, vertical, right, up in _PLACES:
            text.set(ha=align, va=vertical, position=(right, up))
            boxes.append(text.get_window_extent())
        text.remove()
        best = min(range(len(_PLACES)), key=lambda i: _covered(boxes[i], taken, ax.bbox))
        align, vertical, right, up = _PLACES[best]
        line = {"arrowstyle": "-", "color": color, "lw": 0.6, "shrinkA": 0, "shrinkB": 4}
        look |= {"ha": align, "va": vertical, "arrowprops": line if 2 * best >= len(_PLACES) else None}
        ax.annotate(label, (point.memory, point.mean), (right, up), **look)
        taken.append(boxes[best])


def setting(point: Point) -> str:
    """Return what distinguishes a point within its family.

    Args:
        point: A setting of a method.

    Returns:
        Such as "95%", "0.5" or "8"; "" for the published thresholds.
    """
    if point.name == COPIES:
        return "1"
    return point.name.partition(", ")[2].removeprefix("width ").removeprefix("rank ")


def _covered(box: Any, taken: Sequence[Any], panel: Any) -> float:
    """Return the area of a box that covers others, and of what lies outside the panel, in square pixels."""
    from matplotlib.transforms import Bbox

    def shared(other: Any) -> float:
        common = Bbox.intersection(box, other)
        return 0.0 if common is None else float(common.width * common.height)

    return sum(map(shared, taken)) + float(box.width * box.height) - shared(panel)


def save_frontier(result: Result, folder: Path) -> None:
    """Write the figure under the study's name as .png and .svg.

    Args:
        result: The runs of a study of `ebbing.paper.frontier`.
        folder: The folder of both files.
    """
    save_figure(plot_frontier(result).flat[0].figure, folder, result.study.name)
