"""Axes for the figures of results, and text of users made safe for matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ebbing._extras import check_installed
from ebbing._tables import escape_control, format_number
from ebbing._warnings import warn
from ebbing.plot._style import STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES_UP_TO = 40
"""The most tasks whose names are shown."""

_LONGEST_LABEL = 24
_SQUARE = "\N{WHITE SQUARE}"


def use_axes(ax: Axes | None, size: tuple[float, float] = (5.4, 3.4)) -> Axes:
    """Return the axes given, or those of a new pyplot figure, which a notebook shows.

    Args:
        ax: Axes or None.
        size: Width and height of a new figure, in inches.

    Returns:
        The axes to draw on.

    Raises:
        ModuleNotFoundError: If matplotlib is not installed.
    """
    if ax is not None:
        return ax
    check_installed("matplotlib", "plot()")
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    with mpl.rc_context(STYLE):
        return plt.subplots(figsize=size, layout="constrained")[1]


def plain_label(text: str) -> str:
    r"""Return a name as a short label that matplotlib does not read as mathematics; a long one without its middle.

    >>> plain_label("price in $ and another twenty words")
    'price in \\$ a…wenty words'
    """
    text = escape_control(text)
    if len(text) > _LONGEST_LABEL:
        begin = _LONGEST_LABEL // 2
        text = f"{text[:begin]}…{text[begin + 1 - _LONGEST_LABEL :]}"
    return _drawable(text).replace("$", r"\$")


def plain_labels(names: Sequence[str]) -> list[str]:
    """Return labels of names that stand together: those that would look alike have their place, from 1, behind them.

    >>> plain_labels(["a long name with one in the middle of it", "a long name with two in the middle of it", "short"])
    ['a long name …iddle of it (1)', 'a long name …iddle of it (2)', 'short']
    """
    labels = [plain_label(name) for name in names]
    alike = {
        label for label in labels if len({name for name, own in zip(names, labels, strict=True) if own == label}) > 1
    }
    return [f"{label} ({place})" if label in alike else label for place, label in enumerate(labels, 1)]


def _drawable(text: str) -> str:
    """Return the text with characters that no font in use has as squares, with a warning that says what to do."""
    if text.isascii():
        return text
    import matplotlib as mpl
    from matplotlib import font_manager

    files = [
        font_manager.findfont(font_manager.FontProperties(family=[family])) for family in mpl.rcParams["font.family"]
    ]
    known = {code for file in files for code in font_manager.get_font(file).get_charmap()}
    shown = "".join(character if ord(character) in known else _SQUARE for character in text)
    if shown != text:
        warn(
            f"the font of matplotlib lacks some characters of names, which are drawn as {_SQUARE}: set "
            "matplotlib.rcParams['font.family'] to a font that has them"
        )
    return shown


def format_alike(values: npt.ArrayLike, *, sign: bool = False, apart: bool = False) -> list[str]:
    """Return numbers that stand together with the same decimals: two, where the largest is from 0.1 to 10.

    Args:
        values: The numbers, of any shape; they are returned flat.
        sign: Whether positive numbers get a plus.
        apart: Whether numbers that are close together get more decimals, so that they can be told apart.

    Returns:
        The numbers as text. What is zero but for rounding errors is 0.

    >>> format_alike([0.3, 0.98, 1.4e-17]), format_alike([0.428, 0.431], apart=True)
    (['0.30', '0.98', '0.00'], ['0.428', '0.431'])
    """
    numbers = np.ravel(np.asarray(values, dtype=float))
    finite = np.abs(numbers[np.isfinite(numbers)])
    largest = float(finite.max(initial=0.0))
    plus = "+" if sign else ""
    if largest and not 1e-4 <= largest < 1e5:
        return [format_number(float(number), f"{plus}.2g") for number in numbers]
    decimals = max(_decimals(largest), 0)
    if apart and finite.size and (spread := float(np.ptp(numbers[np.isfinite(numbers)]))) > 1e-6 * largest:
        decimals = max(decimals, math.ceil(-math.log10(spread)))
    return [format_number(float(number), f"{plus}.{decimals}f") for number in numbers]


def _decimals(largest: float) -> int:
    """Return two for numbers from 0.1 to 10, and one more or less for each power of ten.

    >>> [_decimals(number) for number in (0, 0.97, 1, 12, 0.03)]
    [2, 2, 2, 1, 3]
    """
    if not largest:
        return 2
    power = math.floor(math.log10(largest))
    return 1 - power if power < 0 else 2 - power


def add_legend(ax: Axes, handles: Sequence[Any], labels: Sequence[str], **settings: Any) -> None:
    """Add a legend whose labels may begin with an underscore, which matplotlib would leave out."""
    legend = ax.legend(list(handles), ["label"] * len(labels), frameon=False, fontsize="small", **settings)
    for text, label in zip(legend.get_texts(), labels, strict=True):
        text.set_text(label)


def add_color_bar(ax: Axes, image: Any, label: str) -> None:
    """Add a color bar beside a heat map, in the small type of the map's names and numbers."""
    low, high = image.get_clim()
    two_decimals = "%.2f" if high - low >= 0.4 and max(abs(low), abs(high)) < 10 else None  # its steps are 0.05 or more
    bar = ax.get_figure().colorbar(image, ax=ax, format=two_decimals)  # type: ignore[union-attr]
    bar.set_label(label, fontsize="small")
    bar.ax.tick_params(labelsize="small")
