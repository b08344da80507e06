"""Figure 2 as a picture, and predicted against measured forgetting."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ebbing._validate import Array
from ebbing.paper._output import STYLE, save_figure
from ebbing.paper._statistics import standard_error
from ebbing.paper.fig2 import SETUPS, Panel, Result
from ebbing.paper.fig2_verdicts import RATIOS, Prediction, compare_with_theory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")  # Okabe-Ito
_MARKERS = ("o", "s", "^", "D")


def plot(result: Result) -> Figure:
    """The four panels: means over seeds with standard errors; (c) and (d) relative to the worst, as in the paper."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.4, 5.6), layout="constrained")
        (a, b), (c, d) = figure.subplots(2, 2)
        F, G = result.forgetting("a", "forgetting"), result.generalization("a", "forgetting")
        for k, (values, label) in enumerate(((F, "forgetting $F_2$"), (G, "generalization error $G_2$"))):
            _curve(a, np.arange(6), values, k, label)
        a.set(xlabel="digits in common", ylabel="squared test error")
        _setups(b, result, "b", 0)
        _setups(c, result, "c", 1)
        _setups(d, result, "d", 0)
        b.set(xlabel="digits in common, tasks 1 and 2", ylabel="forgetting")
        c.set(xlabel="place of the special task", ylabel="forgetting / worst")
        d.set(xlabel="order of the tasks (0, 1: alternating)", ylabel="forgetting / worst")
        c.axvspan(0.5, 3.5, color="0.93", zorder=0)
        d.axvspan(-0.5, 1.5, color="0.93", zorder=0)
        titles = ("two tasks", "four tasks", "one special task, five equal ones", "two categories of two tasks")
        for ax, letter, title in zip((a, b, c, d), "abcd", titles, strict=True):
            ax.set_title(f"({letter}) {title}", loc="left")
            ax.xaxis.get_major_locator().set_params(integer=True)
        a.legend(frameon=False, fontsize=8)
        handles, labels = b.get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside lower center", ncols=3, frameon=False, title="setups of (b), (c), (d)"
        )
    return figure


def _setups(ax: Any, result: Result, panel: Panel, start: int) -> None:
    for k, setup in enumerate(SETUPS[panel]):
        values = result.forgetting(panel, setup)
        if panel != "b":
            values = values / (np.abs(values.mean(axis=0)).max() or 1.0)
        _curve(ax, np.arange(values.shape[1]) + start, values, k, setup)


def _curve(ax: Any, x: npt.NDArray, values: Array, k: int, label: str) -> None:
    error = standard_error(values) if len(values) > 1 else None
    ax.errorbar(
        x, values.mean(axis=0), yerr=error, color=_COLORS[k], marker=_MARKERS[k], ms=4, lw=1.2, capsize=2, label=label
    )


def plot_theory(comparisons: list[Prediction], ratio: float = 0.5) -> Figure:
    """Predicted against measured forgetting at one r, a panel each."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    k = RATIOS.index(ratio)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.4, 2.3), layout="constrained")
        for i, (ax, found) in enumerate(zip(figure.subplots(1, 4), comparisons, strict=True)):
            ax.scatter(found.predicted[k], found.measured, s=14, color=_COLORS[i], alpha=0.8, lw=0)
            ax.set_title(f"({found.panel}) rank corr. {found.correlations[k]:+.2f}", loc="left")
            ax.set_xlabel("predicted forgetting")
        figure.axes[0].set_ylabel("measured forgetting")
    return figure


def save(result: Result, folder: Path) -> None:
    """fig2.png, fig2.svg, fig2_theory.png, fig2_theory.svg."""
    pictures = {"fig2": plot(result), "fig2_theory": plot_theory(compare_with_theory(result))}
    for name, figure in pictures.items():
        save_figure(figure, folder, name)
