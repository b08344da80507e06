"""Figures of task orders: distances between tasks, what is at stake, and the front of balanced orders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ebbing._tables import format_number
from ebbing.order._tables import describe_objective
from ebbing.plot._axes import NAMES_UP_TO, plain_labels, use_axes
from ebbing.plot._style import BLUE, GRAY, GREEN, ORANGE, VERMILION, picture_format, write_figure
from ebbing.plot.samples import draw_histogram
from ebbing.problem import Problem
from ebbing.theory import expect

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ebbing.order import Front, Plan, Stakes


def plot_task_distances(problem: Problem, *, ax: Axes | None = None) -> Axes:
    """Draw the distances |w*_i - w*_j| between tasks as a heat map, in their order.

    In an order that forgets little, neighbors are far apart: dark next to the diagonal.

    Args:
        problem: The tasks, in the order of learning.
        ax: The axes to draw on; a new figure if None.

    Returns:
        The axes, with a color bar beside them.
    """
    ax = use_axes(ax, size=distances_size(problem.names))
    image = _heat_map(ax, problem, _largest_distance(problem))
    ax.get_figure().colorbar(image, ax=ax, label=_DISTANCE)  # type: ignore[union-attr]
    return ax


def distances_size(names: Sequence[str]) -> tuple[float, float]:
    """Return the size of a figure in which `plot_task_distances` has room for its cells and names.

    Args:
        names: Names of the tasks (T,).

    Returns:
        Width and height in inches.
    """
    side, room = _side(len(names)), _room_for_names(names)
    return side + room + 1.1, side + room + 0.4


def plot_order_comparison(plan: Plan) -> Figure:
    """Draw the distances between tasks twice: in the order given and in the recommended one.

    Args:
        plan: The order.

    Returns:
        A figure of two panels with one color bar, which pyplot does not manage.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    problem, side, room = plan.problem, _side(plan.problem.T), _room_for_names(plan.problem.names)
    with mpl.rc_context({"font.size": 8, "axes.titlesize": 9}):
        figure = Figure(figsize=(2 * (side + room) + 1.2, side + room + 0.8), layout="constrained")
        axes = figure.subplots(1, 2)
        pairs = ((axes[0], problem, "as given"), (axes[1], plan.reordered, "recommended"))
        for ax, tasks, title in pairs:
            image = _heat_map(ax, tasks, _largest_distance(problem))
            ax.set_title(f"{title}\n{_values(tasks)}", loc="left")
        figure.colorbar(image, ax=axes, label=_DISTANCE, shrink=0.8)  # type: ignore[possibly-unbound]
    return figure


def plot_order_stakes(stakes: Stakes, *, ax: Axes | None = None) -> Axes:
    """Draw the distribution of random orders, with the recommended, the given and the worst order.

    Args:
        stakes: The orders.
        ax: The axes to draw on; a new figure if None.

    Returns:
        The axes.
    """
    ax = use_axes(ax)
    plan = stakes.plan
    draw_histogram(ax, stakes.random.values, color="#C8C8C8")
    worst = "worst" if stakes.worst.proved else "worst found"
    for value, label, color, style in (
        (plan.value, "recommended" + (" (proved)" if plan.proved else ""), BLUE, "-"),
        (stakes.given, "as given", GREEN, "--"),
        (stakes.worst.value, worst, VERMILION, "-."),
    ):
        ax.axvline(value, color=color, ls=style, lw=1.8, label=f"{label}: {format_number(value, '.4g')}")
    if not plan.proved:
        bound = format_number(plan.lower_bound, ".4g")
        ax.axvline(plan.lower_bound, color=GRAY, ls=":", lw=1.4, label=f"no order is below {bound}")
    ax.set(xlabel=describe_objective(plan.objective), ylabel=f"of {stakes.random.describe()}")
    ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return ax


def plot_order_front(front: Front, *, ax: Axes | None = None) -> Axes:
    """Draw the front: generalization error against forgetting, with the corners numbered as in the table.

    Args:
        front: The corners.
        ax: The axes to draw on; a new figure if None.

    Returns:
        The axes. A given order that is far from the corners is not drawn: the legend has its forgetting and error.
    """
    ax = use_axes(ax, size=(4.6, 3.6))
    F, G = (np.array([getattr(point, name) for point in front]) for name in ("forgetting", "generalization"))
    ax.plot(F, G, "-", color=BLUE, lw=1.2, label="no order lies below" if front.complete else None)
    for proved, face, label in ((True, BLUE, "proved"), (False, "white", "not proved")):
        chosen = [k for k, point in enumerate(front) if point.proved == proved]
        if chosen:
            ax.plot(F[chosen], G[chosen], "o", color=BLUE, mfc=face, ms=6, label=f"corner, {label}")
    for k, (f, g) in enumerate(zip(F, G, strict=True), start=1):
        ax.annotate(str(k), (f, g), (5, 5), textcoords="offset points", fontsize="small")
    e = expect(front.problem)
    ax.margins(0.12)
    far = [abs(given - ends[0]) > _FAR * np.ptp(ends) > 0 for given, ends in ((e.forgetting, F), (e.generalization, G))]
    values = f" (outside: {format_number(e.forgetting, '.3g')}, {format_number(e.generalization, '.3g')})"
    limits = ax.get_xlim(), ax.get_ylim()
    ax.plot(e.forgetting, e.generalization, "s", color=ORANGE, ms=6, label="as given" + values * any(far), zorder=1)
    if any(far):
        ax.set(xlim=limits[0], ylim=limits[1])
    ax.locator_params(axis="x", nbins=5)  # long numbers
    ax.set(xlabel="expected forgetting $F_T$", ylabel="expected generalization error $G_T$")
    ax.legend(frameon=False, fontsize="small")
    return ax


def save(plan: Plan, path: Path) -> None:
    """Write `plot_order_comparison` to a file.

    Args:
        plan: The order.
        path: The file; the ending of its name gives the format.
    """
    write_figure(plot_order_comparison(plan), path, picture_format(path))


_FAR = 2.5
"""How many times the width of a front the given order may lie away from it before the corners would be one dot."""

_DISTANCE = r"distance $\Vert w^*_i - w^*_j\Vert$"


def _heat_map(ax: Axes, problem: Problem, highest: float) -> Any:
    image = ax.imshow(np.sqrt(problem.gaps), cmap="cividis_r", vmin=0, vmax=highest)
    ax.set_xlabel("task, in the order of learning")
    for side in ("top", "right"):
        ax.spines[side].set_visible(True)
    if problem.T <= NAMES_UP_TO:
        names = plain_labels(problem.names)
        ax.set_xticks(range(problem.T), names, rotation=90, fontsize="small")
        ax.set_yticks(range(problem.T), names, fontsize="small")
    return image


def _side(T: int) -> float:
    return min(max(2.6, 0.22 * T), 7.0)


def _room_for_names(names: Sequence[str]) -> float:
    """Return the inches that the longest name takes."""
    return 0.075 * max(map(len, plain_labels(names))) if len(names) <= NAMES_UP_TO else 0.3


def _largest_distance(problem: Problem) -> float:
    return float(np.sqrt(problem.gaps.max())) or 1.0


def _values(problem: Problem) -> str:
    e = expect(problem)
    forgetting = f"F = {format_number(e.forgetting, '.4g')}, " if problem.T > 1 else ""
    return f"{forgetting}G = {format_number(e.generalization, '.4g')}"
