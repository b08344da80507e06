"""A figure of what changed between two evaluations: every benchmark with its 95% interval."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ebbing._tables import format_number
from ebbing.plot._axes import plain_labels, use_axes
from ebbing.plot._style import BLUE, GRAY, VERMILION, save_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ebbing.metrics import EvaluationComparison

_COLORS = {-1: VERMILION, 0: GRAY, 1: BLUE}
_MARKERS = {-1: "v", 0: "o", 1: "^"}
_LABELS = {-1: "worse beyond chance", 0: "chance can explain it", 1: "better beyond chance"}


def plot_changes(comparison: EvaluationComparison, ax: Axes | None = None) -> Axes:
    """Draw the change of every benchmark, the greatest loss at the top, with its 95% interval.

    Scores between 0 and 1 are drawn in percentage points. If any score is larger, as a perplexity is, all changes are
    drawn relative to the first score. Right of the line is always better.

    Args:
        comparison: What changed.
        ax: The axes to draw on; a new figure if None.

    Returns:
        The axes, with a row per benchmark.
    """
    ax = use_axes(ax, size=changes_size(len(comparison.benchmarks)))
    first, last = comparison.scores[0], comparison.scores[-1]
    shares = bool((np.abs(comparison.values) <= 1).all())
    signs = np.array([1 if score.higher_is_better else -1 for score in first])
    units = signs * (100.0 if shares else 100.0 / np.array([abs(score.value) or np.nan for score in first]))
    changes = units * [one.difference for one in comparison.changes]
    ends = units[:, None] * np.array([one.interval for one in comparison.changes])  # (benchmarks, 2)
    rows = np.argsort(changes, kind="stable")
    used = set()
    for y, place in enumerate(rows):
        verdict = comparison.verdicts[place]
        color = _COLORS[verdict]
        ax.plot(ends[place], (y, y), color=color, lw=1.6)
        label = _LABELS[verdict] if verdict not in used else None
        used.add(verdict)
        ax.plot(changes[place], y, _MARKERS[verdict], color=color, ms=6, label=label)
        text = f"{format_number(first[place].value, '.3g')} → {format_number(last[place].value, '.3g')}"
        ax.annotate(text, (1.0, y), (6, 0), xycoords=("axes fraction", "data"), textcoords="offset points", va="center",
                    fontsize="small", annotation_clip=False)  # fmt: skip
    ax.axvline(0, color="black", lw=0.8)
    ax.set_yticks(range(len(rows)), plain_labels([comparison.benchmarks[place] for place in rows]))
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.margins(x=0.08)
    names = plain_labels([comparison.names[end] for end in (0, -1)])
    unit = "percentage points" if shares else "% of the first score"
    between = "\n" if len(names[0]) + len(names[1]) > 20 else " "
    ax.set_xlabel(f"change from {names[0]} to {names[1]}{between}({unit}; right is better)")
    ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return ax


def save(comparison: EvaluationComparison, path: Path) -> None:
    """Write `plot_changes` to a file.

    Args:
        comparison: What changed.
        path: The file; the ending of its name gives the format.
    """
    save_picture(comparison.plot, path, changes_size(len(comparison.benchmarks)))


def changes_size(benchmarks: int) -> tuple[float, float]:
    """Return the size of a figure in which `plot_changes` has room for its benchmarks.

    Args:
        benchmarks: How many there are.

    Returns:
        Width and height in inches.
    """
    return 6.4, min(1.3 + 0.3 * benchmarks, 12.0)
