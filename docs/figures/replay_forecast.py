"""Draw docs/figures/replay_forecast.svg: the predicted accuracy at the end against the share of old data.

The network and the tasks are those of the first example of docs/howto/replay.md.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import torch
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

import ebbing
from ebbing.plot._style import write_figure


def draw(file: Path) -> None:
    """Draw the curve into an SVG file.

    Args:
        file: the file to write.
    """
    images, digits = load_digits(return_X_y=True)
    tasks = {}
    for low, high in ((0, 1), (2, 3), (4, 5)):
        chosen = np.isin(digits, (low, high))
        tasks[f"{low} or {high}"] = (images[chosen] / 16, (digits[chosen] == high).astype(int))
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(64, 100), torch.nn.ReLU(), torch.nn.Linear(100, 2)).double()
    curve = ebbing.forecast(network, tasks).replay()
    with mpl.rc_context({"font.family": "DejaVu Sans", "font.size": 10}):
        figure = Figure(figsize=(7.0, 3.6), layout="constrained")
        curve.plot(figure.subplots())
        write_figure(figure, file, "svg")  # the same bytes in every process


if __name__ == "__main__":
    draw(Path(__file__).with_suffix(".svg"))
