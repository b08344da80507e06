"""ACC and BWT of a comparison of methods: every run, means with standard errors, and the paper's values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ebbing.paper._statistics import standard_error
from ebbing.paper.figures._panels import place_legend, save_figure
from ebbing.paper.method_comparison import Result
from ebbing.paper.method_study import Protocol
from ebbing.plot._axes import use_axes
from ebbing.plot._style import BLUE, SKY_BLUE, STYLE, VERMILION, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Measure = Literal["accuracy", "backward_transfer"]

_MEASURES: tuple[Measure, Measure] = ("accuracy", "backward_transfer")
_LABELS = {"accuracy": "ACC (%)", "backward_transfer": "BWT (percentage points)"}


def plot_method_comparison(result: Result) -> Any:
    """Draw a row of two panels, ACC and BWT, for each protocol with finished runs.

    Args:
        result: The outcome of `ebbing.paper.method_comparison.run`.

    Returns:
        The axes of a new figure, an array (protocols, 2); a single row that says so if no run is finished.
    """
    import matplotlib as mpl

    shown = [p for p in result.study.protocols if any(len(result.accuracy(p, name)) for name in p.names)]
    heights = [1 + len(protocol.names) for protocol in shown] or [1]
    size = (7.4, 0.9 + 0.27 * sum(heights))
    with mpl.rc_context(STYLE):
        axes = new_axes(max(len(shown), 1), 2, size, gridspec_kw={"height_ratios": heights})
        for row, protocol in zip(axes, shown, strict=False):
            for ax, measure in zip(row, _MEASURES, strict=True):
                plot_protocol(result, protocol, measure, ax=ax)
            title = f"{protocol.name}, {'smaller than the' if protocol.reduction else 'the'} published protocol"
            row[0].set_title(title, loc="left")
            row[1].set_yticklabels([])
        if not shown:
            axes[0, 0].text(0.5, 0.5, "no run is finished yet", ha="center", va="center")
        panels = (zip(*ax.get_legend_handles_labels(), strict=True) for ax in axes.flat)
        handles = {label: handle for panel in panels for handle, label in panel}
        place_legend(axes, list(handles.values()), list(handles), outside=True, ncols=3)
    return axes


def plot_protocol(result: Result, protocol: Protocol, measure: Measure = "accuracy", *, ax: Axes | None = None) -> Axes:
    """Draw ACC or BWT of every variant of a protocol.

    Variants so far below the others that these would be squeezed are written as an arrow with their mean.

    Args:
        result: The outcome of `ebbing.paper.method_comparison.run`.
        protocol: One of the study's protocols.
        measure: "accuracy" (ACC) or "backward_transfer" (BWT).
        ax: Where to draw; None makes a new figure.

    Returns:
        The axes with the panel.
    """
    import matplotlib as mpl

    low, high = _limits(result, protocol, measure)
    labels: set[str] = set()

    def label(text: str) -> str | None:
        return None if text in labels else (labels.add(text) or text)

    with mpl.rc_context(STYLE):
        ax = use_axes(ax, (4.6, 0.9 + 0.27 * len(protocol.names)))
        for y, name in enumerate(protocol.names):
            values = getattr(result, measure)(protocol, name)
            if len(values) and values.mean() < low:
                ax.text(low, y, f"  \N{LEFTWARDS ARROW} {values.mean():.1f}", color=BLUE, va="center", fontsize=8)
            elif len(values):
                error = standard_error(values)
                ax.plot(values, np.full(len(values), y), "o", color=SKY_BLUE, ms=4, label=label("one seed"))
                ax.errorbar(values.mean(), y, xerr=error, fmt="|", color=BLUE, ms=11, mew=2, label=label("mean"))
            if name in protocol.paper_values:
                value = protocol.paper_values[name][_MEASURES.index(measure)]
                ax.plot(value, y, "D", mfc="none", mec=VERMILION, ms=7, label=label("paper"))
        ax.set_yticks(range(len(protocol.names)), protocol.names)
        ax.set_xlim(low, high)
        ax.locator_params(axis="x", nbins=5)
        ax.set_ylim(len(protocol.names) - 0.5, -0.5)
        ax.set_xlabel(_LABELS[measure])
        ax.grid(axis="x", color="0.9")
        ax.set_axisbelow(True)
    return ax


def _limits(result: Result, protocol: Protocol, measure: Measure) -> tuple[float, float]:
    """Limits around all variants but those so far below the median that the others would be squeezed."""
    groups = [getattr(result, measure)(protocol, name) for name in protocol.names]
    groups += [np.array([values[_MEASURES.index(measure)]]) for values in protocol.paper_values.values()]
    groups = [group for group in groups if len(group)]
    if not groups:
        return 0.0, 1.0
    means = np.array([group.mean() for group in groups])
    middle = np.median(means)
    lowest = middle - 2 * (means.max() - middle) - 1  # at least a percentage point below is near
    near = np.concatenate([group for group, mean in zip(groups, means, strict=True) if mean >= lowest])
    margin = 0.08 * np.ptp(near) or 1.0
    return float(near.min() - margin), float(near.max() + margin)


def save_method_comparison(result: Result, folder: Path) -> None:
    """Write the figure under the study's name as .png and .svg.

    Args:
        result: The outcome of `ebbing.paper.method_comparison.run`.
        folder: The folder of both files.
    """
    save_figure(plot_method_comparison(result).flat[0].figure, folder, result.study.name)
