"""The loss of every ordering rule against r, by kind of tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ebbing.paper.figures._panels import as_axes, place_legend, save_figure
from ebbing.paper.rule_comparison import QUANTITIES, Result
from ebbing.plot._axes import use_axes
from ebbing.plot._style import BLACK, BLUE, GRAY, GREEN, ORANGE, PURPLE, SKY_BLUE, STYLE, VERMILION, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOOKS = {  # label, color and marker of each rule; random orders are the dashed line at 1
    "largest_error": ("largest error next", VERMILION, "o"),
    "farthest": ("farthest from all learned next", GREEN, "s"),
    "greedy": ("most distant next (greedy)", ORANGE, "^"),
    "alternating": ("clusters in turn", PURPLE, "v"),
    "periphery_to_core": ("periphery to core", BLUE, "D"),
    "longest_path": ("longest path", BLACK, "X"),
    "nearest": ("most similar next", GRAY, "P"),
    "core_to_periphery": ("core to periphery", SKY_BLUE, "d"),
}
_NAMES = ("forgetting", "generalization error")  # of QUANTITIES


def plot_rule_comparison(result: Result, *, axes: Any = None) -> Any:
    """Draw the loss of every rule: a row of panels for each quantity, a column for each ensemble.

    Args:
        result: The outcome of `ebbing.paper.rule_comparison.run`.
        axes: As many axes as there are panels, row by row; None makes a new figure.

    Returns:
        The axes: an array (2, ensembles) if they are new, otherwise flat.
    """
    import matplotlib as mpl

    ensembles = result.config.ensembles
    size = (0.8 + 1.4 * len(ensembles), 5.2)
    with mpl.rc_context(STYLE):
        if axes is None:
            drawn = new_axes(2, len(ensembles), size, sharex=True, sharey=True)
        else:
            drawn = as_axes(axes, 2 * len(ensembles))
        panels = [(quantity, ensemble) for quantity in QUANTITIES for ensemble in ensembles]
        for ax, (quantity, ensemble) in zip(drawn.flat, panels, strict=True):
            plot_rule_losses(result, quantity, ensemble, ax=ax)
            if axes is None:  # inner panels share the labels of the outer ones
                ax.set_title(ensemble if quantity == QUANTITIES[0] else "")
                ax.set_xlabel(ax.get_xlabel() if quantity == QUANTITIES[-1] else "")
                ax.set_ylabel(ax.get_ylabel() if ensemble == ensembles[0] else "")
            if ensemble == ensembles[0]:
                ax.annotate("worse than random", (0.05, 1), xytext=(0, 3), textcoords="offset points", color="0.35",
                            fontsize=8)  # fmt: skip
        handles, labels = drawn.flat[0].get_legend_handles_labels()
        place_legend(drawn, handles, labels, outside=axes is None, ncols=4, fontsize=8)
    return drawn


def plot_rule_losses(result: Result, quantity: str, ensemble: str, *, ax: Axes | None = None) -> Axes:
    """Draw the loss of every rule on one ensemble against r, on a scale of square roots.

    Args:
        result: The outcome of `ebbing.paper.rule_comparison.run`.
        quantity: "forgetting" or "generalization".
        ensemble: The kind of tasks, one of `result.config.ensembles`.
        ax: Where to draw; None makes a new figure.

    Returns:
        The axes with the panel.
    """
    import matplotlib as mpl

    top = 1.1 * max([1.0, *(cell.mean + cell.standard_error for cell in result.cells if cell.rule in _LOOKS)])
    with mpl.rc_context(STYLE):
        ax = use_axes(ax, (4.0, 3.4))
        for rule, (label, color, marker) in _LOOKS.items():
            row = result.row(quantity, ensemble, rule)
            r, loss, error = zip(*((cell.r, cell.mean, cell.standard_error) for cell in row), strict=True)
            ax.errorbar(r, loss, error, color=color, marker=marker, ms=3.6, mew=0, lw=1.1, elinewidth=0.8,
                        label=label, clip_on=False)  # fmt: skip
        ax.axhspan(1, top, color="0.955", lw=0, zorder=0)
        ax.axhline(1, color="0.4", lw=0.8, ls=(0, (4, 2)), zorder=1)
        # The signed square root: matplotlib looks below zero too.
        ax.set_yscale("function", functions=(lambda y: np.sign(y) * np.abs(y) ** 0.5, lambda x: x * np.abs(x)))
        ax.set(ylim=(0, top), xlim=(0, 1), xticks=(0, 0.5, 1), xticklabels=("0", "0.5", "1"))
        ticks = [y for y in (0, 0.05, 0.2, 0.5, 1, 2, 3) if y < top]
        ax.set_yticks(ticks, [f"{y:g}" for y in ticks])
        ax.set_xlabel("$r = 1 - n/p$")
        ax.set_ylabel(f"excess {_NAMES[QUANTITIES.index(quantity)]}\n(0: optimum, 1: random order)")
        ax.set_title(ensemble)
    return ax


def save_rule_comparison(result: Result, folder: Path) -> None:
    """Write the figure as rules.png and rules.svg.

    Args:
        result: The outcome of `ebbing.paper.rule_comparison.run`.
        folder: The folder of both files.
    """
    save_figure(plot_rule_comparison(result).flat[0].figure, folder, "rules")
