"""What figures of several panels share: colors and markers, given axes, one legend, and the files of a figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ebbing.plot._style import BLUE, GREEN, PURPLE, SKY_BLUE, VERMILION, write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS = (BLUE, VERMILION, GREEN, PURPLE, SKY_BLUE)
"""The colors of curves in figures of the paper, in the order of use."""

MARKERS = ("o", "s", "^", "D", "v")
"""The markers of a figure's curves, in the order of use."""


def as_axes(axes: Any, number: int) -> Any:
    """Return the given axes as a flat array after a check of their number.

    Args:
        axes: Axes, or an array or sequence of axes of any shape.
        number: How many axes the figure needs.

    Returns:
        An array (number,) of axes.

    Raises:
        ValueError: If there are more or fewer axes.
    """
    flat = np.asarray(axes, dtype=object).ravel()
    if len(flat) != number:
        raise ValueError(f"axes: {len(flat)} given, but this figure has {number} panels; give {number} axes or None")
    return flat


def place_legend(axes: Any, handles: Sequence[Any], labels: Sequence[str], *, outside: bool, **settings: Any) -> None:
    """Add one legend for all panels: below the figure, or within the first panel of somebody else's figure.

    Args:
        axes: The array of axes that the legend explains.
        handles: The lines and patches to explain.
        labels: What each of them means.
        outside: Whether the figure was made here, so that there is room below it.
        **settings: Further arguments of `legend`.
    """
    first = np.asarray(axes, dtype=object).ravel()[0]
    settings = {"frameon": False} | settings
    if outside:
        first.figure.legend(list(handles), list(labels), loc="outside lower center", **settings)
    else:
        first.legend(list(handles), list(labels), **settings | {"ncols": 1, "fontsize": "small"})


def save_figure(figure: Figure, folder: Path, name: str) -> None:
    """Write a figure as `name`.png and `name`.svg; the same figure always gives the same bytes.

    Args:
        figure: The figure.
        folder: The folder of both files.
        name: Their name without an ending.
    """
    write_figure(figure, folder / f"{name}.png", "png")
    figure.set_layout_engine("none")  # the places of all parts are found once: that takes as long as drawing them
    write_figure(figure, folder / f"{name}.svg", "svg")
