"""The look that all figures share: font sizes, colors, and how a figure is written to files."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ebbing._extras import check_installed
from ebbing._files import write_atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE: dict[Any, Any] = {"font.size": 9, "axes.titlesize": 9, "axes.spines.top": False, "axes.spines.right": False}
"""Settings of matplotlib under which every figure of the package is drawn."""

# The palette of Okabe and Ito (2008), which readers with any color vision can distinguish.
BLACK = "#000000"
ORANGE = "#E69F00"
SKY_BLUE = "#56B4E9"
GREEN = "#009E73"
BLUE = "#0072B2"
VERMILION = "#D55E00"
PURPLE = "#CC79A7"
GRAY = "#888888"

LINE_COLORS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY_BLUE, BLACK, GRAY)
"""The colors of up to eight lines in figures of results and in pages; more lines are colored by their number."""


def new_axes(rows: int, columns: int, size: tuple[float, float], **settings: Any) -> Any:
    """Return an array (rows, columns) of axes in a new figure that pyplot does not manage.

    Args:
        rows: The number of rows of panels.
        columns: The number of columns of panels.
        size: Width and height of the figure in inches.
        **settings: Further arguments of `matplotlib.figure.Figure.subplots`.

    Returns:
        The axes, always as a two-dimensional array.
    """
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained").subplots(rows, columns, squeeze=False, **settings)


INK = "#010203"
"""The color of text and axes in pictures for pages, where it becomes the color of the page's text."""


_PIXELS = 92
"""The most pixels of a page for an inch of a picture, so that letters of all its pictures have about one size."""


def inline_picture(draw: Callable[[Axes], object], name: str, size: tuple[float, float] = (6.6, 3.9)) -> str:
    """Return a picture as SVG that stands in a page and takes the colors of its text, in light and in dark.

    Args:
        draw: Draws on the axes that it is given.
        name: A name that no other picture of the page has.
        size: Width and height in inches.

    Returns:
        The element svg, without comments and metadata.
    """
    import matplotlib as mpl

    colors = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
    settings: dict[Any, Any] = (
        STYLE
        | dict.fromkeys(colors, INK)
        | {"svg.hashsalt": f"ebbing {name}", "axes.facecolor": "none", "font.size": 10.5, "axes.titlesize": 10.5}
    )
    content = io.StringIO()
    with mpl.rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # characters that the font lacks: the tables of the page have them
        axes = new_axes(1, 1, size)[0, 0]
        draw(axes)
        axes.figure.savefig(content, format="svg", transparent=True, metadata={"Date": None})
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", content.getvalue(), flags=re.DOTALL)
    text = text[text.index("<svg") :].replace(INK, "currentColor").replace("stroke: #000000", "stroke: currentColor")
    text = re.sub(r'(<svg [^>]*?) height="[^"]*"', r"\1", text, count=1)
    widest = f'style="max-width: {_PIXELS * size[0]:.0f}px"'  # beside a larger picture, a small one is not stretched
    return re.sub(r'(<svg [^>]*?) width="[^"]*"', rf"\1 {widest}", text, count=1)


def picture_format(path: Path) -> str:
    """Return the format that a picture's name asks for, to be checked before a long search.

    Args:
        path: The file to write.

    Returns:
        "png", "svg" or "pdf".

    Raises:
        ValueError: If the name has another ending.

    Example:
        >>> picture_format(Path("order.png"))
        'png'
    """
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in ("png", "svg", "pdf"):
        raise ValueError(f"{path}: a picture's name ends in .png, .svg or .pdf")
    check_installed("matplotlib", f"the picture {path}")
    return suffix


def save_picture(draw: Callable[[Axes], object], path: Path, size: tuple[float, float] = (5.4, 3.4)) -> None:
    """Draw a picture on axes of its own and write it to a file.

    Args:
        draw: Draws on the axes that it is given.
        path: The file; the ending of its name gives the format.
        size: Width and height in inches.
    """
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        axes = new_axes(1, 1, size)[0, 0]
        draw(axes)
        write_figure(axes.figure, path, picture_format(path))


def write_figure(figure: Figure, path: Path, kind: str) -> None:
    """Write a figure to a file; the same figure always gives the same bytes.

    Args:
        figure: The figure.
        path: The file.
        kind: The format: "png", "svg" or "pdf".
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    content, canvas, dpi = io.BytesIO(), figure.canvas, figure.dpi
    with mpl.rc_context({"svg.hashsalt": "ebbing"}):  # otherwise names within the file are random
        try:  # print directly: `savefig` draws everything twice
            figure.dpi = 200 if kind == "png" else 72
            match kind:
                case "png":
                    FigureCanvasAgg(figure).print_png(content)
                case "svg":
                    FigureCanvasSVG(figure).print_svg(content, metadata={"Date": None})
                case _:
                    FigureCanvasPdf(figure).print_pdf(content, metadata={"CreationDate": None})
        finally:
            figure.set_canvas(canvas)
            figure.dpi = dpi
    write_atomic(path, number_names(content.getvalue()) if kind == "svg" else content.getvalue())


def number_names(svg: bytes) -> bytes:
    """Name the clip paths and markers of a drawing by their number.

    matplotlib names them by hashes of their coordinates, whose last bit may differ from process to process.

    Args:
        svg: A drawing that matplotlib has written.

    Returns:
        The same drawing under names such as p1 and m2.

    Example:
        >>> number_names(b'<clipPath id="pe5ef32ebcd"/> <g clip-path="url(#pe5ef32ebcd)"/>')
        b'<clipPath id="p1"/> <g clip-path="url(#p1)"/>'
    """
    numbers: dict[bytes, int] = {}

    def renamed(found: re.Match[bytes]) -> bytes:
        before, letter, digits = found.groups()
        return b"%b%b%d" % (before, letter, numbers.setdefault(letter + digits, len(numbers) + 1))

    return re.sub(rb'(id="|href="#|url\(#)([a-z])([0-9a-f]{10})(?=["\)])', renamed, svg)
