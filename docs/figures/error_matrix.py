"""The error matrix in one picture: rows, columns, diagonal, last row, forgetting. Writes error_matrix.svg."""

from __future__ import annotations

from pathlib import Path

import ebbing
from ebbing.plot._style import write_figure

NAMES = ("cats", "dogs", "cars", "ships")
LEARNED, LAST, LOST, PLAIN = "#1b7837", "#2166ac", "#b2182b", "#333333"


def draw(file: Path) -> None:
    """Draw the expected error matrix of four tasks, with annotations, into an SVG file.

    Args:
        file: the file to write.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyArrowPatch, Rectangle

    near, far = 0.6, 1.15  # the two animals are alike, and so are the two vehicles
    distances = [[0, near, far, far], [near, 0, far, far], [far, far, 0, near], [far, far, near, 0]]
    problem = ebbing.Problem.from_distances(distances, norms=1, n=60, p=100, sigma=0.1, names=NAMES)
    expectation = ebbing.expect(problem)
    errors, T = expectation.errors, problem.T
    settings = {"font.family": "DejaVu Sans", "font.size": 11}
    with mpl.rc_context(settings):
        figure = Figure(figsize=(9.2, 5.5), layout=None)
        ax = figure.add_axes((0, 0, 1, 1))
        ax.set(xlim=(-2.75, 6.85), ylim=(6.2, -1.25), aspect="auto")
        ax.axis("off")
        colors = mpl.colormaps["Greys"]
        for t in range(T + 1):
            for i in range(T):
                shade = 0.62 * errors[t, i] / errors.max()
                ax.add_patch(Rectangle((i, t), 1, 1, facecolor=colors(shade), edgecolor="white", linewidth=2))
                ax.text(i + 0.5, t + 0.5, f"{errors[t, i]:.2f}", ha="center", va="center", color="black")
        for i in range(T):
            ax.add_patch(
                Rectangle((i + 0.04, i + 1.04), 0.92, 0.92, facecolor="none", edgecolor=LEARNED, linewidth=2.6)
            )
        ax.add_patch(Rectangle((-0.04, T - 0.03), T + 0.08, 1.06, facecolor="none", edgecolor=LAST, linewidth=2.6))

        ax.text(T / 2, -0.72, "columns: error on each task  i", ha="center", weight="bold")
        ax.text(-2.6, -0.95, "The error matrix  L[t, i]", ha="left", weight="bold", size=13)
        ax.text(T + 0.3, -0.16, "the darker, the\nlarger the error", color=PLAIN, va="bottom")
        for i, name in enumerate(NAMES):
            ax.text(i + 0.5, -0.16, f"{i + 1}: {name}", ha="center", va="bottom")
        ax.text(-0.18, -0.16, "rows: after  t  tasks", ha="right", va="bottom", weight="bold")
        for t in range(T + 1):
            label = "0: the initial model" if t == 0 else f"{t}: after learning {NAMES[t - 1]}"
            ax.text(-0.18, t + 0.5, label, ha="right", va="center")

        right = T + 0.3
        ax.text(right, 1.5, "diagonal:\nthe task just learned", color=LEARNED, va="center")
        ax.text(right, 0.5, "nothing learned yet", color=PLAIN, va="center")
        ax.text(right, 3.0, "above the diagonal:\ntasks still to come", color=PLAIN, va="center")
        mean = f"G = {expectation.generalization:.2f}"
        ax.text(right, T + 0.5, f"last row: in the end\nmean: generalization\nerror {mean}", color=LAST, va="center")

        for i in range(T - 1):  # from the diagonal down to the last row
            arrow = FancyArrowPatch(
                (i + 0.82, i + 1.98),
                (i + 0.82, T + 0.30),
                color=LOST,
                arrowstyle="-|>",
                mutation_scale=12,
                linewidth=1.6,
            )
            ax.add_patch(arrow)
            lost = errors[T, i] - errors[i + 1, i]
            ax.text(i + 0.5, T + 1.42, f"{lost:+.2f}", ha="center", va="center", color=LOST, weight="bold")
        ax.text(T - 0.5, T + 1.42, "–", ha="center", va="center", color=LOST)
        ax.text(-0.18, T + 1.42, "forgotten: last row\nminus diagonal", ha="right", va="center", color=LOST)
        text = f"mean over the\nold tasks: F = {expectation.forgetting:.2f}"
        ax.text(right, T + 1.42, text, va="center", color=LOST, weight="bold")
        write_figure(figure, file, "svg")  # the same bytes in every process


if __name__ == "__main__":
    draw(Path(__file__).with_suffix(".svg"))
