"""A comparison as a picture: ACC and BWT of every run, means with standard errors, and the paper's numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ebbing.paper._output import STYLE, save_figure
from ebbing.paper._statistics import standard_error
from ebbing.paper.method_comparison import Protocol, Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_RUN, _MEAN, _PAPER = "#56B4E9", "#0072B2", "#D55E00"  # Okabe-Ito


def plot(result: Result) -> Figure:
    """A row of panels for each protocol with finished runs: accuracy on the left, backward transfer on the right."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    shown = [p for p in result.study.protocols if any(len(result.accuracy(p, name)) for name in p.names)]
    heights = [1 + len(protocol.names) for protocol in shown] or [1]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.4, 0.9 + 0.27 * sum(heights)), layout="constrained")
        rows = figure.subplots(max(len(shown), 1), 2, squeeze=False, gridspec_kw={"height_ratios": heights})
        for (left, right), protocol in zip(rows, shown, strict=False):
            _panel(left, result, protocol, 0)
            _panel(right, result, protocol, 1)
            title = f"{protocol.name}, {'shorter than the' if protocol.reduced else 'the'} published protocol"
            left.set_title(title, loc="left")
            right.set_yticklabels([])
        if not shown:
            rows[0, 0].text(0.5, 0.5, "no run is finished yet", ha="center", va="center")
        shown_in_any = (zip(*ax.get_legend_handles_labels(), strict=True) for ax in rows.flat)
        named = {label: handle for panel in shown_in_any for handle, label in panel}
        figure.legend(list(named.values()), list(named), loc="outside lower center", ncols=3, frameon=False)
    return figure


def _panel(ax: Any, result: Result, protocol: Protocol, measure: int) -> None:
    """measure: 0 for ACC, 1 for BWT."""
    values_of = (result.accuracy, result.transfer)[measure]
    low, high = _range(result, protocol, measure)
    labeled: set[str] = set()

    def label(text: str) -> str | None:
        return None if text in labeled else (labeled.add(text) or text)

    for y, name in enumerate(protocol.names):
        values = values_of(protocol, name)
        if len(values) and values.mean() < low:
            ax.text(low, y, f"  \N{LEFTWARDS ARROW} {values.mean():.1f}", color=_MEAN, va="center", fontsize=8)
        elif len(values):
            ax.plot(values, np.full(len(values), y), "o", color=_RUN, ms=4, label=label("one seed"))
            ax.errorbar(
                values.mean(), y, xerr=standard_error(values), fmt="|", color=_MEAN, ms=11, mew=2, label=label("mean")
            )
        if name in protocol.printed:
            ax.plot(protocol.printed[name][measure], y, "D", mfc="none", mec=_PAPER, ms=7, label=label("paper"))
    ax.set_yticks(range(len(protocol.names)), protocol.names)
    ax.set_xlim(low, high)
    ax.locator_params(axis="x", nbins=5)
    ax.set_ylim(len(protocol.names) - 0.5, -0.5)
    ax.set_xlabel(("ACC (%)", "BWT (percentage points)")[measure])
    ax.grid(axis="x", color="0.9")
    ax.set_axisbelow(True)


def _range(result: Result, protocol: Protocol, measure: int) -> tuple[float, float]:
    """Of all but those so far below the median that the others could not be told apart."""
    values_of = (result.accuracy, result.transfer)[measure]
    groups = [values_of(protocol, name) for name in protocol.names]
    groups += [np.array([printed[measure]]) for printed in protocol.printed.values()]
    groups = [group for group in groups if len(group)]
    if not groups:
        return 0.0, 1.0
    means = np.array([group.mean() for group in groups])
    middle = np.median(means)
    lowest = middle - 2 * (means.max() - middle) - 1  # at least a percentage point below is near
    near = np.concatenate([group for group, mean in zip(groups, means, strict=True) if mean >= lowest])
    margin = 0.08 * np.ptp(near) or 1.0
    return float(near.min() - margin), float(near.max() + margin)


def save(result: Result, folder: Path) -> None:
    """The study's name with .png and .svg."""
    figure = plot(result)
    save_figure(figure, folder, result.study.name)
