"""Forgetting of the sequences of Figure 2 under other choices of batch size, widths and loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ebbing.paper._statistics import standard_error
from ebbing.paper.figures._panels import as_axes, place_legend, save_figure
from ebbing.paper.sensitivity import SEQUENCES, Result
from ebbing.plot._style import BLACK, BLUE, GREEN, PURPLE, SKY_BLUE, STYLE, VERMILION, new_axes

_LOOKS = tuple(zip((BLACK, BLUE, SKY_BLUE, GREEN, PURPLE, VERMILION), "osD^vX", strict=True))
_TITLES = {"a": "two tasks", "b": "four tasks", "d": "two categories"}
_X_LABELS = {"a": "digits in common", "b": "digits tasks 1, 2 share", "d": "order of tasks"}


def plot_sensitivity(result: Result, *, axes: Any = None) -> Any:
    """Draw the forgetting of every variant: means over seeds with standard errors, side by side.

    Args:
        result: What the networks of `ebbing.paper.sensitivity` forgot.
        axes: Three axes, for panels (a), (b), (d); None makes a new figure.

    Returns:
        The axes, an array (3,).
    """
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        drawn = new_axes(1, 3, (7.4, 3.2), width_ratios=(3, 2.4, 2.4))[0] if axes is None else as_axes(axes, 3)
        for ax, (panel, marks) in zip(drawn, SEQUENCES.items(), strict=True):
            for k, variant in enumerate(result.matrices):
                F = result.forgetting(variant, panel)
                fitted, total = result.count_fitted(variant)
                label = variant if fitted == total else f"{variant} ({fitted} of {total} tasks fitted)"
                x = np.arange(len(marks)) + 0.07 * (k - (len(result.matrices) - 1) / 2)
                color, marker = _LOOKS[k % len(_LOOKS)]
                look = {"color": color, "marker": marker, "ms": 4, "lw": 1, "capsize": 2}
                ax.errorbar(x, F.mean(axis=0), yerr=standard_error(F), label=label, **look)
            ax.set_title(f"({panel}) {_TITLES[panel]}", loc="left")
            ax.set_xticks(range(len(marks)), marks)
            ax.set_xlabel(_X_LABELS[panel])
            ax.set_xlim(-0.4, len(marks) - 0.6)
        drawn[0].set_ylabel("forgetting")
        place_legend(drawn, *drawn[0].get_legend_handles_labels(), outside=axes is None, ncols=3, fontsize=8)
    return drawn


def save_sensitivity(result: Result, folder: Path) -> None:
    """Write the figure as sensitivity.png and sensitivity.svg.

    Args:
        result: What the networks of `ebbing.paper.sensitivity` forgot.
        folder: The folder of both files.
    """
    save_figure(plot_sensitivity(result)[0].figure, folder, "sensitivity")
