"""The same four tasks, learned in the order given and in the best order: two error matrices. Writes best_order.svg."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import ebbing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = ("cats", "dogs", "cars", "ships")
LEARNED, LOST = "#1b7837", "#b2182b"


def draw(file: Path) -> None:
    """Draw the expected error matrices of the order given and of the best order into an SVG file.

    Args:
        file: the file to write.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    near, far = 0.3, 1.3  # the two animals are alike, and so are the two vehicles
    distances = [[0, near, far, far], [near, 0, far, far], [far, far, 0, near], [far, far, near, 0]]
    problem = ebbing.Problem.from_distances(distances, norms=1, n=60, p=100, sigma=0.1, names=NAMES)
    plan = ebbing.best_order(problem)
    orders = {"Learned in the order given": problem, "Learned in the best order": plan.reordered}
    with mpl.rc_context({"svg.hashsalt": "ebbing", "font.family": "DejaVu Sans", "font.size": 11}):
        figure = Figure(figsize=(10.4, 4.3))
        for column, (title, tasks) in enumerate(orders.items()):
            ax = figure.add_axes((0.155 + 0.5 * column, 0.0, 0.345, 1.0))
            _draw_matrix(ax, ebbing.expect(tasks), title)
        note = (
            "green: the error on the task just learned; forgotten: last row minus green, negative where a task improved"
        )
        figure.text(0.022, 0.03, note, color="#555555", size=9.5)
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None}, facecolor="white")


def _draw_matrix(ax: Axes, expectation: ebbing.theory.Expectation, title: str) -> None:
    """Draw the errors after each task, mark the task just learned, and write what is forgotten below."""
    import matplotlib as mpl
    from matplotlib.patches import Rectangle

    errors, names = expectation.errors[1:], expectation.problem.names  # (T, T), without the initial model
    T = len(names)
    ax.set(xlim=(0, T), ylim=(T + 1.85, -1.3))
    ax.axis("off")
    ax.text(-1.55, -1.0, title, weight="bold", size=13, va="center")
    ax.text(-0.12, -0.25, "error on", ha="right", va="center", color="#555555")
    for i, name in enumerate(names):
        ax.text(i + 0.5, -0.25, name, ha="center", va="center")
        ax.text(-0.12, i + 0.5, f"after {name}", ha="right", va="center")
    colors = mpl.colormaps["Greys"]
    for t in range(T):
        for i in range(T):
            shade = colors(0.5 * errors[t, i] / 1.45)
            ax.add_patch(Rectangle((i, t), 1, 1, facecolor=shade, edgecolor="white", linewidth=2))
            ax.text(i + 0.5, t + 0.5, f"{errors[t, i]:.2f}", ha="center", va="center")
        ax.add_patch(Rectangle((t + 0.04, t + 0.04), 0.92, 0.92, facecolor="none", edgecolor=LEARNED, linewidth=2.4))
    for i in range(T - 1):
        lost = f"{errors[-1, i] - errors[i, i]:+.2f}"
        ax.text(i + 0.5, T + 0.4, lost, ha="center", va="center", color=LOST, weight="bold")
    ax.text(T - 0.5, T + 0.4, "–", ha="center", va="center", color=LOST)
    ax.text(-0.12, T + 0.4, "forgotten", ha="right", va="center", color=LOST)
    mean = f"Forgotten on average: {expectation.forgetting:.2f}"
    ax.text(-1.55, T + 1.05, mean, color=LOST, weight="bold", size=13, va="center")


if __name__ == "__main__":
    draw(Path(__file__).with_suffix(".svg"))
