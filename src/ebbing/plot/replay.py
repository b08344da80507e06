"""Figures of replay: forgetting and generalization error against the replay ratio."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ebbing._tables import format_number
from ebbing.plot._axes import add_legend, plain_labels, use_axes
from ebbing.plot._style import BLACK, BLUE, LINE_COLORS, VERMILION, save_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ebbing.order.replay import ReplayPlan
    from ebbing.order.replay_curve import ReplayCurve

_LABELS = {"forgetting": "expected forgetting", "generalization": "expected generalization error"}
_COLORS = {"forgetting": BLUE, "generalization": VERMILION}
_PEAK = 5.0
"""How often larger than errors without replay a peak is that would leave no room for the rest of the curves."""


def plot_replay_curve(curve: ReplayCurve, *, ax: Axes | None = None) -> Axes:
    """Draw expected forgetting and generalization error against the replay ratio; a dot marks the least of each.

    Peaks, where a step has about as many samples as the model has parameters, are cut off if the rest of the curves
    would be flat beside them.

    Args:
        curve: What to draw.
        ax: The axes to draw on; a new figure if None.

    Returns:
        The axes.

    Raises:
        ValueError: If there is nothing to draw, as the expectation is infinite everywhere.
    """
    if not np.isfinite(curve.generalization).any():
        raise ValueError("the expected error is infinite with any replay of this kind: there is nothing to draw")
    ax = use_axes(ax)
    for name, label in _LABELS.items():
        values = np.where(np.isfinite(values := getattr(curve, name)), values, np.nan)
        best = int(np.nanargmin(values))
        ax.plot(100 * curve.ratio, values, color=_COLORS[name], lw=1.8, label=label)
        ax.plot(100 * curve.ratio[best], values[best], "o", color=_COLORS[name], ms=6)
        left = curve.ratio[best] > 0.6 * curve.ratio[-1]  # a label to the right would leave the picture
        ax.annotate(
            f"{curve.memory[best]} samples: {format_number(values[best], '.3g')}",
            (100 * curve.ratio[best], values[best]),
            (-4 if left else 4, -5),  # below: the curve is above its least point
            textcoords="offset points",
            ha="right" if left else "left",
            va="top",
            fontsize="small",
        )
    ax.margins(y=0.1)
    ax.axhline(0, color=BLACK, lw=0.6, alpha=0.4)
    ax.set(xlabel="replay ratio: samples of each old task per new sample, %", ylabel="expected error")
    without = max(abs(float(getattr(curve, name)[0])) for name in _LABELS)
    low, high = ax.get_ylim()
    if np.isfinite(without) and max(high, -low) > _PEAK * without > 0:
        most = _PEAK / 2 * without
        ax.set_ylim(max(low, -most), min(high, most))
        ax.set_ylabel("expected error (peaks are cut off)")
    ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return ax


def save(curve: ReplayCurve, path: Path) -> None:
    """Write `plot_replay_curve` to a file.

    Args:
        curve: What to draw.
        path: The file; the ending of its name gives the format.
    """
    save_picture(curve.plot, path)


def plot_replay_plan(plan: ReplayPlan, *, ax: Axes | None = None) -> Axes:
    """Draw what to replay: a bar for each step, divided by old task.

    Args:
        plan: The plan.
        ax: The axes to draw on; a new figure if None.

    Returns:
        The axes.
    """
    ax = use_axes(ax)
    T, below = plan.problem.T, np.zeros(plan.problem.T)
    names, handles, labels = plain_labels(plan.problem.names), [], []
    for j in np.flatnonzero(plan.replayed.any(axis=0)):
        handles.append(ax.bar(np.arange(1, T + 1), plan.replayed[:, j], bottom=below, color=LINE_COLORS[j % 8]))
        labels.append(names[j])
        below = below + plan.replayed[:, j]
    ax.set(xlabel="step", ylabel="samples replayed", xlim=(0.4, T + 0.6))
    ax.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
    if handles:
        add_legend(ax, handles, labels, title="old task")
    return ax
