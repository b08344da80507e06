"""Predicted against measured forgetting of every task set of the study of forecasts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ebbing.paper.figures._panels import save_figure
from ebbing.paper.forecasts.measured_sets import ADVISED, MeasuredSet
from ebbing.paper.forecasts.predictions import advised_variant
from ebbing.paper.forecasts.report import Study
from ebbing.plot._style import BLUE, GRAY, STYLE, VERMILION, new_axes

_COLUMNS = 4

_PANEL = (2.3, 2.2)
"""Width and height of a panel with its ticks and its title, in inches."""


def plot_forecast_study(study: Study) -> Any:
    """Draw a panel for each task set: a point for each order, and the order that the forecast advises.

    Args:
        study: The study.

    Returns:
        The axes of a new figure, an array (rows, 4); a single panel that says so if there is no forecast.
    """
    import matplotlib as mpl

    sets = [one for one in study.sets if advised_variant(one.task_set).name in one.forecasts]
    columns = min(max(len(sets), 1), _COLUMNS)
    rows = max(1, -(-len(sets) // _COLUMNS))
    with mpl.rc_context(STYLE):
        axes = new_axes(rows, columns, (_PANEL[0] * columns, _PANEL[1] * rows))
        _set_margins(axes)
        for ax, one in zip(axes.flat, sets, strict=False):
            _draw(one, ax)
        for ax in axes.flat[len(sets) :]:
            ax.set_axis_off()
        if sets:
            axes.flat[0].figure.supxlabel("predicted forgetting", fontsize=9)
            axes.flat[0].figure.supylabel("measured forgetting, mean and range of seeds", fontsize=9)
        else:
            axes[0, 0].text(0.5, 0.5, "no forecast is recorded yet", ha="center", va="center")
    return axes


def _set_margins(axes: Any) -> None:
    """Place the panels by fixed margins: to find the best ones takes longer than to draw all panels."""
    figure = axes[0, 0].figure
    width, height = figure.get_size_inches()
    figure.set_layout_engine(None)
    figure.subplots_adjust(
        left=0.62 / width, right=1 - 0.1 / width, bottom=0.55 / height, top=1 - 0.3 / height, wspace=0.32, hspace=0.3
    )


def _draw(one: MeasuredSet, ax: Any) -> None:
    predicted, measured = one.predicted(advised_variant(one.task_set)), one.forgetting
    mean = measured.mean(axis=1)
    ax.vlines(predicted, measured.min(axis=1), measured.max(axis=1), color=GRAY, lw=0.6, alpha=0.6, zorder=1)
    ax.scatter(predicted, mean, s=7, color=BLUE, zorder=2, linewidths=0)
    best = int(predicted.argmin())
    ax.scatter(predicted[best], mean[best], s=30, color=VERMILION, marker="D", zorder=3, linewidths=0)
    low, high = (pick(pick(predicted), pick(mean)) for pick in (min, max))
    ax.plot([low, high], [low, high], color="0.8", lw=0.8, zorder=0)
    correlation = one.scores[ADVISED].rank_correlation
    ax.set_title(f"{one.task_set.name}: {correlation:.2f}", fontsize=8)
    ax.tick_params(labelsize=7)
    ax.locator_params(nbins=4)


def save_forecast_study(study: Study, folder: Path) -> None:
    """Write the figure as forecast.png and forecast.svg.

    Args:
        study: The study.
        folder: The folder of both files.
    """
    save_figure(plot_forecast_study(study).flat[0].figure, folder, "forecast")
