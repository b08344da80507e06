"""What the page of a result shows beside its tables: a title, and pictures with how to read them.

A result declares it in `_page`; `ebbing.report` makes the page. What several results show stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

Draw = Callable[[Any], object]
"""A function that draws on axes; it raises a ValueError where there is nothing to draw."""

Size = tuple[float, float]
"""Width and height in inches."""

WIDE = (4.9, 3.5)
"""The size of a picture, about that in the page, so that letters are readable."""

CURVES = "A curve is the error on one task, dotted until it is learned (the dot). Where it rises then, it is forgotten."
ACCURACIES = "A curve is the accuracy on one task: where it falls after the dot, the task is forgotten."
HEAT_MAP = "A row is a moment, a column a task: from the line down, the task has been learned, and may be forgotten."
FORGOTTEN = "An arrow for each task, from just learned to the end. Orange: forgotten. Blue: later tasks improved it."
DISTANCES = "How far apart the tasks' solutions are: the darker, the farther. Neighbors are learned one after another."
ORDERS = "All orders from best to worst, with the advised and the given one."
SOME_ORDERS = "Random orders from best to worst, with the best and the worst order found and the given one."
SIMILARITY = (
    "How alike the tasks are to the model. 1: the same; 0: neither helps the other; below 0: learning one undoes the "
    "other."
)


@dataclass(frozen=True)
class Picture:
    """A picture of a page.

    Attributes:
        draw: Draws it.
        reading: How to read it.
        size: Its size, or a function that returns it: only matplotlib knows how wide names are.
    """

    draw: Draw
    reading: str
    size: Size | Callable[[], Size] = WIDE


@dataclass(frozen=True)
class Page:
    """What the page of a result shows beside its tables.

    Attributes:
        title: The title.
        pictures: The pictures.
        file: The name of the file with its data; that of its class in lower case if empty.
    """

    title: str
    pictures: Sequence[Picture] = ()
    file: str = ""


def matrix_picture(draw: Draw, names: Sequence[str], kind: str) -> Picture:
    """Return the picture of an error or accuracy matrix: curves or, of many tasks, a heat map."""
    from ebbing.plot._style import LINE_COLORS
    from ebbing.plot.errors import heat_map_size

    def size() -> Size:
        width, height = heat_map_size(names)
        return max(width, 5.6), height

    if len(names) > len(LINE_COLORS):
        return Picture(draw, HEAT_MAP, size)
    return Picture(draw, ACCURACIES if kind == "accuracy" else CURVES)


def forgotten_picture(
    matrix: npt.ArrayLike, names: Sequence[str], kind: str, first_steps: npt.NDArray[np.integer] | None = None
) -> Picture:
    """Return the picture with an arrow for each task of a matrix (S+1, T); a task whose first step is 0 is left out."""
    values, first = np.asarray(matrix), np.arange(1, len(names) + 1) if first_steps is None else first_steps
    learned = np.flatnonzero(first > 0)

    def draw(ax: Any) -> object:
        from ebbing.plot.metrics import plot_forgotten

        if len(learned) < 2:
            raise ValueError("one task forgets nothing")
        some = [names[int(i)] for i in learned]
        return plot_forgotten(values[first[learned], learned], values[-1, learned], some, kind=kind, ax=ax)

    return Picture(draw, FORGOTTEN, forgotten_size(len(names)))


def forgotten_size(tasks: int) -> Size:
    """Return the size of a picture in which each task has room for an arrow and its name."""
    return WIDE[0], min(max(WIDE[1], 1.2 + 0.2 * tasks), 9.0)


def similarity_picture(draw: Draw, names: Sequence[str]) -> Picture:
    """Return the picture of how alike tasks are, drawn by `plot_task_similarity`."""
    from ebbing.plot.forecasts import similarity_size

    return Picture(draw, SIMILARITY, lambda: similarity_size(names))


def distances_picture(draw: Draw, names: Sequence[str]) -> Picture:
    """Return the picture of how far apart tasks are, drawn by `plot_task_distances`."""
    from ebbing.plot.order import distances_size

    return Picture(draw, DISTANCES, lambda: distances_size(names))
