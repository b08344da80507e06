"""A figure of what was forgotten: every task just learned and at the end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ebbing.plot._axes import NAMES_UP_TO, format_alike, plain_labels, use_axes
from ebbing.plot._style import BLACK, BLUE, VERMILION, save_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ebbing.metrics import MetricSummary


def plot_forgotten(
    just_learned: npt.ArrayLike,
    at_the_end: npt.ArrayLike,
    names: Sequence[str],
    *,
    kind: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw an arrow for each task from what it was just learned to what it is at the end.

    Args:
        just_learned: The error or accuracy on each task right after it was learned (..., T).
        at_the_end: The same after all tasks (..., T). Of several runs the mean is drawn, with a dot for each.
        names: Names of the tasks (T,), shown for up to 40.
        kind: "error" or "accuracy": what the numbers are.
        ax: The axes to draw on; a new figure if None.

    Returns:
        The axes, with a row per task, the first learned at the top.
    """
    T = len(names)
    first, last = (np.asarray(values, dtype=float).reshape(-1, T) for values in (just_learned, at_the_end))
    means = first.mean(axis=0), last.mean(axis=0)
    ax = use_axes(ax, size=_size(T))
    rows = np.arange(T)
    for y, start, end in zip(rows, *means, strict=True):
        if np.isfinite(start) and np.isfinite(end) and start != end:
            arrow = {"arrowstyle": "-|>", "color": VERMILION if (end > start) == (kind == "error") else BLUE, "lw": 1.6}
            ax.annotate("", (end, y), (start, y), arrowprops=arrow | {"shrinkA": 0, "shrinkB": 0})
    ax.plot(means[0], rows, "o", color=BLACK, ms=6, label="just learned")
    ax.plot(means[1], rows, "s", color=BLACK, mfc="white", ms=6, label="at the end")
    if len(first) > 1:
        for values, shift in ((first, -0.22), (last, 0.22)):
            ax.plot(values.T, np.repeat(rows[:, None] + shift, len(first), axis=1), "o", color=BLACK, ms=2, alpha=0.5)
    if T <= NAMES_UP_TO:
        ax.set_yticks(rows, plain_labels(names))
        texts = format_alike(means[1] - means[0], sign=True)
        for y, start, end, text in zip(rows, *means, texts, strict=True):
            if np.isfinite(start) and np.isfinite(end):
                ax.annotate(
                    text, (max(start, end), y), (9, 0), textcoords="offset points", va="center", fontsize="small"
                )
    else:
        ax.set_ylabel("task, in the order of learning")
    ax.set_ylim(T - 0.4, -0.6)
    ax.margins(x=0.14)
    ax.set_xlabel(f"{kind} on the task")
    ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return ax


def save(summary: MetricSummary, path: Path) -> None:
    """Write `plot_forgotten` of a matrix to a file.

    Args:
        summary: The metrics of the matrix.
        path: The file; the ending of its name gives the format.
    """
    save_picture(summary.plot, path, _size(summary.tasks))


def _size(T: int) -> tuple[float, float]:
    return 5.8, min(1.2 + 0.3 * T, 9.0)
