"""Distances between tasks as a heat map, in the given order and in a better one."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ebbing._files import write_atomic
from ebbing.order.plan import Plan
from ebbing.theory import expect

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMES_UP_TO = 40


def plot(plan: Plan) -> Figure:
    """Two panels: tasks as given, and as planned. Neighbors far apart are dark next to the diagonal."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    problem, T = plan.problem, plan.problem.T
    side = min(max(2.6, 0.22 * T), 7.0)
    with mpl.rc_context({"font.size": 8, "axes.titlesize": 9}):
        figure = Figure(figsize=(2 * side + 1.6, side + 0.9), layout="constrained")
        axes = figure.subplots(1, 2)
        highest = float(np.sqrt(problem.gaps.max())) or 1.0
        images = []
        for ax, order, title in zip(axes, (range(T), plan.order), ("as given", "as planned"), strict=True):
            e = expect(problem.reordered(list(order)))
            values = f"F = {e.forgetting:.4g}, G = {e.generalization:.4g}" if T > 1 else f"G = {e.generalization:.4g}"
            gaps = problem.gaps[np.ix_(list(order), list(order))]
            images.append(ax.imshow(np.sqrt(gaps), cmap="cividis_r", vmin=0, vmax=highest))
            ax.set_title(f"{title}: {values}", loc="left")
            ax.set_xlabel("task, in the order of learning")
            if T <= _NAMES_UP_TO:
                names = [problem.names[i] for i in order]
                ax.set_xticks(range(T), names, rotation=90)
                ax.set_yticks(range(T), names)
        figure.colorbar(images[-1], ax=axes, label=r"distance $\Vert w^*_i - w^*_j\Vert$", shrink=0.8)
    return figure


def picture_format(path: Path) -> str:
    """The format that a picture's name asks for; to be checked before any work is done.

    >>> picture_format(Path("order.png"))
    'png'
    """
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in ("png", "svg", "pdf"):
        raise ValueError(f"{path}: a picture's name ends in .png, .svg or .pdf")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.absolute().parent}; make it first")
    return suffix


def save(plan: Plan, path: Path) -> None:
    """Write the heat map; the name's ending gives the format."""
    buffer = io.BytesIO()
    plot(plan).savefig(buffer, format=picture_format(path), dpi=200)
    write_atomic(path, buffer.getvalue())
