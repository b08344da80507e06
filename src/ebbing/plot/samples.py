"""Figures of samples: the distribution of a quantity over independent runs, beside theory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ebbing._tables import format_number
from ebbing._validate import Array
from ebbing.plot._axes import use_axes
from ebbing.plot._style import BLACK, BLUE, SKY_BLUE, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LABELS = {"forgetting": "forgetting $F_T$", "generalization": "generalization error $G_T$"}


def plot_sample_histogram(
    values: Array, quantity: str, *, expected: float | None = None, std: float | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how a quantity varies over independent runs, with its mean, and theory's mean and standard deviation.

    Args:
        values: The quantity in each run (runs,).
        quantity: "forgetting" or "generalization".
        expected: What theory expects; None if that is infinite.
        std: Theory's standard deviation of one run; None or infinite if there is none.
        ax: The axes to draw on; a new figure if None.

    Returns:
        The axes.
    """
    ax = use_axes(ax)
    outside = draw_histogram(ax, values)
    ax.axvline(float(values.mean()), color=BLUE, lw=1.6, ls="--", label=f"mean of the runs: {values.mean():.4g}")
    if expected is not None:
        ax.axvline(expected, color=VERMILION, lw=1.6, label=f"theory: {format_number(expected, '.4g')}")
        if std is not None and np.isfinite(std) and std > 0:
            span = (expected - std, expected + std)
            ax.axvspan(*span, color=VERMILION, alpha=0.12, lw=0, zorder=0, label=f"theory ± {std:.2g}, one run")
    label = _LABELS[quantity] + (f" ({outside:,} of {len(values):,} runs outside)" if outside else "")
    ax.set(xlabel=label, ylabel="runs")
    ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return ax


def draw_histogram(ax: Axes, values: npt.NDArray, color: str = SKY_BLUE) -> int:
    """Draw counts of the values; a heavy tail is cut off, so that the bulk stays visible.

    Args:
        ax: The axes.
        values: The values (runs,).
        color: Color of the bars.

    Returns:
        How many values lie outside the bars.
    """
    low, high = np.quantile(values, [0.005, 0.995])
    if not np.ptp(values) > 3 * (high - low):
        low, high = values.min(), values.max()
    if high - low <= 1e-12 * max(abs(high), abs(low)):  # all the same, up to rounding
        ax.plot([float(values.mean())] * 2, [0, len(values)], color=color, lw=6, solid_capstyle="butt")
        return 0
    bins = int(np.clip(np.sqrt(len(values)), 5, 60))
    counts, *_ = ax.hist(values, bins=bins, range=(low, high), color=color, edgecolor="white", lw=0.4)
    ax.spines["left"].set_color(BLACK)
    return len(values) - int(np.sum(counts))
