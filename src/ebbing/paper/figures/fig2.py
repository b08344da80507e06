"""Figure 2 of the paper: forgetting of networks against similarity and order of tasks, measured and predicted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ebbing._validate import Array
from ebbing.paper._statistics import standard_error
from ebbing.paper.fig2 import SETUPS, Panel, Result
from ebbing.paper.fig2_verdicts import RATIOS, Prediction, compare_with_theory
from ebbing.paper.figures._panels import COLORS, MARKERS, as_axes, place_legend, save_figure
from ebbing.plot._axes import use_axes
from ebbing.plot._style import STYLE, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TITLES = {
    "a": "two tasks",
    "b": "four tasks",
    "c": "one special task, five equal ones",
    "d": "two categories of two tasks",
}
_LABELS = {
    "a": ("digits in common", "squared test error"),
    "b": ("digits in common, tasks 1 and 2", "forgetting"),
    "c": ("place of the special task (gray: claimed best)", "forgetting / worst"),
    "d": ("order of the tasks (gray: alternating)", "forgetting / worst"),
}


def plot_fig2(result: Result, *, axes: Any = None) -> Any:
    """Draw the four panels of Figure 2: means over seeds with standard errors.

    Args:
        result: The outcome of `ebbing.paper.fig2.run`.
        axes: Four axes, for panels (a), (b), (c), (d); None makes a new figure.

    Returns:
        The axes: an array (2, 2) if they are new, otherwise (4,).
    """
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        drawn = new_axes(2, 2, (7.4, 5.6)) if axes is None else as_axes(axes, 4)
        for ax, panel in zip(drawn.flat, SETUPS, strict=True):
            plot_fig2_panel(result, panel, ax=ax)
        drawn.flat[0].legend(frameon=False, fontsize=8)
        handles, labels = drawn.flat[1].get_legend_handles_labels()
        settings = {"ncols": 3, "title": "setups of (b), (c), (d)"}
        place_legend(drawn.flat[1:], handles, labels, outside=axes is None, **settings)
    return drawn


def plot_fig2_panel(result: Result, panel: Panel, *, ax: Axes | None = None) -> Axes:
    """Draw one panel of Figure 2.

    Panel (a) has forgetting and generalization error; the others have the forgetting of each setup, in (c) and (d)
    relative to the worst, as in the paper. A gray area marks the places that the paper claims to be best.

    Args:
        result: The outcome of `ebbing.paper.fig2.run`.
        panel: The panel's letter: "a", "b", "c" or "d".
        ax: Where to draw; None makes a new figure.

    Returns:
        The axes with the panel.
    """
    import matplotlib as mpl

    first = 1 if panel == "c" else 0
    with mpl.rc_context(STYLE):
        ax = use_axes(ax, (4.0, 3.0))
        for k, (label, values) in enumerate(_curves(result, panel).items()):
            _draw_curve(ax, np.arange(values.shape[1]) + first, values, k, label)
        if panel in ("c", "d"):
            ax.axvspan(*((0.5, 3.5) if panel == "c" else (-0.5, 1.5)), color="0.93", zorder=0)
        ax.set_title(f"({panel}) {_TITLES[panel]}", loc="left")
        ax.set_xlabel(_LABELS[panel][0])
        ax.set_ylabel(_LABELS[panel][1])
        ax.locator_params(axis="x", integer=True)
    return ax


def _curves(result: Result, panel: Panel) -> dict[str, Array]:
    """Return the values (seeds, points) of each curve of a panel, by label."""
    if panel == "a":
        F, G = result.forgetting("a", "forgetting"), result.generalization("a", "forgetting")
        return {"forgetting $F_2$": F, "generalization error $G_2$": G}
    found = {setup: result.forgetting(panel, setup) for setup in SETUPS[panel]}
    if panel == "b":
        return found
    return {setup: values / (np.abs(values.mean(axis=0)).max() or 1.0) for setup, values in found.items()}


def _draw_curve(ax: Any, x: npt.NDArray, values: Array, k: int, label: str) -> None:
    error = standard_error(values) if len(values) > 1 else None
    look = {"color": COLORS[k], "marker": MARKERS[k], "ms": 4, "lw": 1.2, "capsize": 2}
    ax.errorbar(x, values.mean(axis=0), yerr=error, label=label, **look)


def plot_fig2_theory(predictions: list[Prediction], ratio: float = 0.5, *, axes: Any = None) -> Any:
    """Draw predicted against measured forgetting, one panel for each panel of Figure 2.

    Args:
        predictions: The outcome of `ebbing.paper.fig2_verdicts.compare_with_theory`.
        ratio: The r = 1 - n/p of the predictions, one of `ebbing.paper.fig2_verdicts.RATIOS`.
        axes: Four axes; None makes a new figure.

    Returns:
        The axes, an array (4,).
    """
    import matplotlib as mpl

    k = RATIOS.index(ratio)
    with mpl.rc_context(STYLE):
        drawn = new_axes(1, 4, (7.4, 2.3))[0] if axes is None else as_axes(axes, 4)
        for i, (ax, found) in enumerate(zip(drawn, predictions, strict=True)):
            ax.scatter(found.predicted[k], found.measured, s=14, color=COLORS[i], alpha=0.8, lw=0)
            ax.set_title(f"({found.panel}) rank corr. {found.correlations[k]:+.2f}", loc="left")
            ax.set_xlabel("predicted forgetting")
        drawn[0].set_ylabel("measured forgetting")
    return drawn


def save_fig2(result: Result, folder: Path) -> None:
    """Write fig2.png, fig2.svg, fig2_theory.png and fig2_theory.svg.

    Args:
        result: The outcome of `ebbing.paper.fig2.run`.
        folder: The folder of the files.
    """
    save_figure(plot_fig2(result).flat[0].figure, folder, "fig2")
    save_figure(plot_fig2_theory(compare_with_theory(result))[0].figure, folder, "fig2_theory")
