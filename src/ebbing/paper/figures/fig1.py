"""Figure 1 of the paper: forgetting and generalization error against the number of parameters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ebbing.paper.fig1 import PANELS, Result
from ebbing.paper.figures._panels import COLORS, as_axes, place_legend, save_figure
from ebbing.plot._axes import use_axes
from ebbing.plot._style import STYLE, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SYMBOLS = ("+", "x", "1", "2", "3")
_QUANTITIES = {"forgetting": ("F", "forgetting"), "generalization": ("G", "generalization error")}


def plot_fig1(result: Result, *, axes: Any = None) -> Any:
    """Draw the four panels of Figure 1.

    Curves are the expectations of Theorems 1 and 2, bands reach one exact standard deviation of a single run up and
    down, and markers are means over simulated runs with their standard errors.

    Args:
        result: The outcome of `ebbing.paper.fig1.run`.
        axes: Four axes, for panels (a), (b), (c), (d); None makes a new figure.

    Returns:
        The axes: an array (2, 2) if they are new, otherwise (4,). The figure is `axes.flat[0].figure`.
    """
    import matplotlib as mpl
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    config = result.config
    with mpl.rc_context(STYLE):
        drawn = new_axes(2, 2, (7.2, 5.6), sharex=True) if axes is None else as_axes(axes, 4)
        for ax, (panel, setup, quantity) in zip(drawn.flat, PANELS, strict=True):
            plot_fig1_panel(result, panel, ax=ax)
            if axes is None:  # inner panels share the labels of the outer ones
                ax.set_ylabel(ax.get_ylabel() if setup == "identical" else "")
                ax.set_xlabel(ax.get_xlabel() if quantity == "generalization" else "")
        handles: list[Any] = [
            Line2D([], [], color=color, marker=symbol, ms=6, mew=1.1, lw=1.2, label=rf"$\sigma$ = {sigma:g}")
            for sigma, color, symbol in zip(config.sigma, COLORS, _SYMBOLS, strict=False)
        ]
        handles += [
            Line2D([], [], color="0.35", lw=1.2, label="theory"),
            Patch(color="0.35", alpha=0.2, lw=0, label="± one std of a run"),
            Line2D([], [], color="0.35", marker="+", ms=6, ls="", label=f"mean of {config.runs} runs"),
        ]
        labels = [handle.get_label() for handle in handles]
        place_legend(drawn, handles, labels, outside=axes is None, ncols=len(handles), columnspacing=1.2)
    return drawn


def plot_fig1_panel(result: Result, panel: str, *, ax: Axes | None = None) -> Axes:
    """Draw one panel of Figure 1.

    Args:
        result: The outcome of `ebbing.paper.fig1.run`.
        panel: The panel's letter: "a", "b", "c" or "d".
        ax: Where to draw; None makes a new figure.

    Returns:
        The axes with the panel.
    """
    import matplotlib as mpl

    (setup, quantity), config = {letter: rest for letter, *rest in PANELS}[panel], result.config
    letter, name = _QUANTITIES[quantity]
    with mpl.rc_context(STYLE):
        ax = use_axes(ax, (4.0, 3.0))
        ax.set_title(f"({panel}) {name}, {setup} tasks", loc="left")
        ax.set_ylabel(rf"{name} $\mathrm{{E}}[{letter}_{{{config.T}}}]$")
        ax.set_xlabel("number of parameters $p$")
        if quantity == "generalization":
            ax.set_yscale("log")
        for k in range(len(config.sigma)):
            _draw_noise_level(ax, result, panel, k)
        ax.set_ylim(*_limits(result, panel, log=quantity == "generalization"))
        ax.axvline(config.n, color="0.6", lw=0.8, ls=":")
        ax.annotate("$p = n$", (config.n, 0), xycoords=("data", "axes fraction"), xytext=(3, 4),
                    textcoords="offset points", color="0.4", fontsize=8)  # fmt: skip
        ax.set_xscale("log")
        ticks = [p for p in (10, 20, 50, 100, 200, 500, 1000) if p <= config.largest_p]
        ax.set_xticks(ticks, [str(p) for p in ticks])
        ax.tick_params(axis="x", which="minor", bottom=False)
    return ax


def _draw_noise_level(ax: Any, result: Result, panel: str, k: int) -> None:
    sigma, color, symbol = result.config.sigma[k], COLORS[k % len(COLORS)], _SYMBOLS[k % len(_SYMBOLS)]
    for curve in result.curves:
        if (curve.panel, curve.sigma) == (panel, sigma):
            finite = np.isfinite(curve.std)
            p, mean, std = curve.p[finite], curve.mean[finite], curve.std[finite]
            ax.plot(curve.p, curve.mean, color=color, lw=1.2)
            ax.fill_between(p, mean - std, mean + std, color=color, alpha=0.15, lw=0)
    points = [marker for marker in result.markers if (marker.panel, marker.sigma) == (panel, sigma)]
    p, mean, error = zip(*((m.p, m.mean, m.standard_error) for m in points), strict=True)
    ax.errorbar(p, mean, yerr=error, fmt=symbol, color=color, ms=6, mew=1.1, elinewidth=0.8)


def _limits(result: Result, panel: str, *, log: bool) -> tuple[float, float]:
    """Limits around all means of a panel; bands and the poles at p = n may leave it."""
    means = np.array([marker.mean for marker in result.markers if marker.panel == panel])
    if log:
        return float(means.min() / 1.5), float(means.max() * 3)
    room = 0.5 * float(np.ptp(means))
    return float(means.min()) - room, float(means.max()) + room


def save_fig1(result: Result, folder: Path) -> None:
    """Write Figure 1 as fig1.png and fig1.svg.

    Args:
        result: The outcome of `ebbing.paper.fig1.run`.
        folder: The folder of both files.
    """
    save_figure(plot_fig1(result).flat[0].figure, folder, "fig1")
