"""Every order of four tasks, from the least predicted forgetting to the most. Writes forecast.svg."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import ebbing
from ebbing.plot._style import write_figure


def draw(file: Path) -> None:
    """Draw the orders of the first example of docs/howto/forecast.md into an SVG file.

    Args:
        file: the file to write.
    """
    import matplotlib as mpl
    import torch
    from matplotlib.figure import Figure

    random = np.random.default_rng(0)
    style, tasks = random.standard_normal(20), {}
    for name, sign in {"news": 1, "mail": 1, "code": 1, "chat": -1}.items():
        inputs = random.standard_normal((500, 20))
        tasks[name] = (inputs, (sign * inputs @ style + random.standard_normal(500) > 0).astype(int))
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).double()
    plan = ebbing.forecast(network, tasks, test_size=300).best_order()
    with mpl.rc_context({"font.family": "DejaVu Sans", "font.size": 10}):
        figure = Figure(figsize=(7.0, 3.6), layout="constrained")
        plan.plot(figure.subplots())
        write_figure(figure, file, "svg")  # the same bytes in every process


if __name__ == "__main__":
    draw(Path(__file__).with_suffix(".svg"))
