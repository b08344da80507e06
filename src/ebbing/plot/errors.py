"""Figures of error matrices: errors on each task over time, and expectations over a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ebbing._tables import format_number
from ebbing._validate import Array
from ebbing.plot._axes import NAMES_UP_TO, add_color_bar, add_legend, format_alike, plain_labels, use_axes
from ebbing.plot._style import LINE_COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LABELS = {"forgetting": "expected forgetting $F_T$", "generalization": "expected generalization error $G_T$"}
_BESIDE_UP_TO = 14
_NUMBERS_UP_TO = 8
_TASKS = "tasks learned"
_LINE = "below the white line: learned"
_UNITS = {"p": "parameters p", "n": "samples per task n", "sigma": "label noise σ"}


def plot_error_matrix(
    errors: npt.ArrayLike,
    names: Sequence[str] | None = None,
    *,
    first_steps: Sequence[int] | npt.NDArray[np.integer] | None = None,
    label: str = "error",
    ax: Axes | None = None,
) -> Axes:
    """Draw an error matrix: as curves for up to eight tasks, as a heat map for more.

    Args:
        errors: The error matrix L (S+1, T) after S steps, row 0 the initial model.
        names: Names of the tasks (T,).
        first_steps: The step in which each task is first learned, 0 for never (T,); None: task t in step t of T.
        label: The quantity and its unit.
        ax: The axes to draw on; a new figure if None.

    Returns:
        The axes.
    """
    draw = plot_error_curves if np.shape(errors)[-1] <= len(LINE_COLORS) else plot_error_heat_map
    return draw(errors, names, first_steps=first_steps, label=label, ax=ax)


def plot_error_curves(
    errors: npt.ArrayLike,
    names: Sequence[str] | None = None,
    *,
    first_steps: Sequence[int] | npt.NDArray[np.integer] | None = None,
    label: str = "error",
    ax: Axes | None = None,
) -> Axes:
    """Draw the error on each task against the number of tasks learned.

    A curve is dotted until its task is learned (the dot), and solid from then on: where it rises, the task is
    forgotten.

    Args:
        errors: The error matrix L (S+1, T) after S steps, row 0 the initial model; T at most 8.
        names: Names of the tasks (T,).
        first_steps: The step in which each task is first learned, 0 for never (T,); None: task t in step t of T.
        label: The quantity and its unit.
        ax: The axes to draw on; a new figure if None.

    Returns:
        The axes, with two lines per task: before and after it is learned.

    Raises:
        ValueError: If there are more than eight tasks.
    """
    L, names, first, unit = _checked(errors, names, first_steps)
    S, T, most = len(L) - 1, len(names), len(LINE_COLORS)
    if most < T:
        raise ValueError(f"errors has {T} tasks: curves of more than {most} are not readable; use plot_error_heat_map")
    ax = use_axes(ax)
    lines = []
    for i in range(T):
        color, learned = LINE_COLORS[i], first[i] or S + 1
        before = ax.plot(range(min(learned, S) + 1), L[: learned + 1, i], ":", color=color, lw=1.1)
        after = ax.plot(range(learned, S + 1), L[learned:, i], "-o", color=color, lw=1.6, ms=4.5, markevery=[0])
        lines += after if first[i] else before
    ax.set(xlabel=f"{unit} (0: the initial model)", ylabel=label, xlim=(-0.15, S + 0.15))
    ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    ax.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
    if S <= NAMES_UP_TO:
        ax.set_xticks(range(S + 1))
    labels = plain_labels(names)
    if max(map(len, labels)) > _BESIDE_UP_TO:  # beside the curves, long names would leave them no room
        add_legend(ax, lines, labels, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    else:
        add_legend(ax, lines, labels, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def plot_error_heat_map(
    errors: npt.ArrayLike,
    names: Sequence[str] | None = None,
    *,
    first_steps: Sequence[int] | npt.NDArray[np.integer] | None = None,
    label: str = "error",
    ax: Axes | None = None,
) -> Axes:
    """Draw an error matrix as a heat map: a row per number of tasks learned, a column per task.

    Args:
        errors: The error matrix L (S+1, T) after S steps, row 0 the initial model.
        names: Names of the tasks (T,), shown for up to 40.
        first_steps: The step in which each task is first learned, 0 for never (T,); None: task t in step t of T.
        label: The quantity and its unit.
        ax: The axes to draw on; a new figure if None.

    Returns:
        The axes, with a color bar beside them; a line separates the tasks learned (below it) from those to come. Up to
        eight tasks and steps have their numbers written in.
    """
    L, names, first, unit = _checked(errors, names, first_steps)
    S, T = len(L) - 1, len(names)
    labels = plain_labels(names)
    ax = use_axes(ax, size=heat_map_size(names))
    image = ax.imshow(L, cmap="cividis", aspect="auto", interpolation="nearest")
    if max(S, T) <= _NUMBERS_UP_TO:
        middle = 0.53 * np.nanmin(L) + 0.47 * np.nanmax(L)  # of cividis: above it black has more contrast, below white
        for ((t, i), value), text in zip(np.ndenumerate(L), format_alike(L), strict=True):
            color = "black" if value > middle else "white"
            ax.text(i, t, text, ha="center", va="center", color=color, fontsize="small")
    edge = np.where(first > 0, first, S + 1) - 0.5
    ax.step(np.arange(T + 1) - 0.5, [*edge, edge[-1] + (unit == _TASKS)], where="post", color="white", lw=1.2)
    ax.set(xlim=(-0.5, T - 0.5), ylim=(S + 0.5, -0.5), ylabel=f"{unit} (0: the initial model)")
    ax.set_xlabel(("task, in the order of learning" if unit == _TASKS else "task") + f"\n({_LINE})")
    ax.yaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
    if T <= NAMES_UP_TO:
        ax.set_xticks(range(T), labels, rotation=90, fontsize="small")
    add_color_bar(ax, image, label)
    return ax


def heat_map_size(names: Sequence[str]) -> tuple[float, float]:
    """Return the size of a figure in which `plot_error_heat_map` has room for its cells and names.

    Args:
        names: Names of the tasks (T,).

    Returns:
        Width and height in inches.
    """
    side = min(max(3.0, 0.16 * len(names)), 6.5)
    return side + 1.4, side + 0.65 + 0.07 * max(map(len, plain_labels(names)))


def plot_expectation_grid(
    coordinates: Mapping[str, npt.NDArray], values: Array, quantity: str, *, ax: Axes | None = None
) -> Axes:
    """Draw a quantity against p, n or sigma, whichever has the most values, a line for each combination of the others.

    Args:
        coordinates: p, n and sigma of every point (points,).
        values: The quantity at every point (points,).
        quantity: "forgetting" or "generalization".
        ax: The axes to draw on; a new figure if None.

    Returns:
        The axes.
    """
    ax = use_axes(ax)
    distinct = {name: len(np.unique(column)) for name, column in coordinates.items()}
    x = max(distinct, key=lambda name: distinct[name])
    others = [name for name in coordinates if name != x and distinct[name] > 1]
    keys = np.column_stack([coordinates[name] for name in others]) if others else np.zeros((len(values), 1))
    groups, member = np.unique(keys, axis=0, return_inverse=True)
    lines = []
    for k, color in enumerate(_line_colors(ax, groups, others)):
        points = np.flatnonzero(member.ravel() == k)
        points = points[np.argsort(coordinates[x][points], kind="stable")]
        marks = {"marker": "o", "ms": 3} if len(points) <= 20 else {}
        lines += ax.plot(coordinates[x][points], values[points], color=color, lw=1.4, **marks)
    _scale(ax, coordinates[x], values)
    ax.set(xlabel=_UNITS.get(x, x), ylabel=_LABELS[quantity])
    if others and len(groups) <= len(LINE_COLORS):
        texts = [", ".join(f"{n} = {format_number(v)}" for n, v in zip(others, g, strict=True)) for g in groups]
        add_legend(ax, lines, texts)
    return ax


def _checked(
    errors: npt.ArrayLike, names: Sequence[str] | None, first_steps: Sequence[int] | npt.NDArray[np.integer] | None
) -> tuple[Array, Sequence[str], npt.NDArray[np.integer], str]:
    """Return the matrix, the names, the step in which each task is first learned, and what the steps count."""
    L = np.asarray(errors, dtype=float)
    if L.ndim != 2 or (first_steps is None and len(L) != L.shape[1] + 1):
        raise ValueError(f"errors has shape {L.shape}: give (T+1, T), with the row of the initial model first")
    T = L.shape[1]
    names = [f"task {i + 1}" for i in range(T)] if names is None else names
    if len(names) != T:
        raise ValueError(f"{len(names)} names for {T} tasks; give one per task")
    if first_steps is None:
        return L, names, np.arange(1, T + 1), _TASKS
    first = np.asarray(first_steps)
    if first.shape != (T,) or first.min() < 0 or first.max() >= len(L):
        raise ValueError(
            f"first_steps={first_steps!r}: give a step from 0 (never) to {len(L) - 1} for each of {T} tasks"
        )
    return L, names, first, "steps"


def _line_colors(ax: Axes, groups: npt.NDArray, others: Sequence[str]) -> Sequence[Any]:
    """Return a color per line; for more than eight, shades of a color map with a color bar."""
    if len(groups) <= len(LINE_COLORS):
        return LINE_COLORS[: len(groups)]
    import matplotlib as mpl
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    single = len(others) == 1
    levels = groups[:, 0].astype(float) if single else np.arange(1.0, len(groups) + 1)
    label = _UNITS.get(others[0], others[0]) if single else f"line, in increasing order of {', '.join(others)}"
    shades = ScalarMappable(Normalize(levels.min(), levels.max()), mpl.colormaps["cividis"])
    ax.get_figure().colorbar(shades, ax=ax, label=label)  # type: ignore[union-attr]
    return list(shades.to_rgba(levels))


def _scale(ax: Axes, x: npt.NDArray, values: Array) -> None:
    """Use logarithmic axes where numbers span several orders of magnitude, as errors do near p = n."""
    if x.min() > 0 and x.max() > 30 * x.min():
        ax.set_xscale("log")
    finite = np.abs(values[np.isfinite(values)])
    if finite.size and finite.max() > 20 * (middle := float(np.median(finite))) > 0:
        if np.nanmin(values) > 0:
            ax.set_yscale("log")
        else:
            ax.set_yscale("symlog", linthresh=middle)
