"""Accuracies that a forecast predicts, beside those that training gives. Writes predicted_and_trained.svg.

Five questions about scikit-learn's images of digits, learned one after another by a small network.
"""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.nn.functional import binary_cross_entropy_with_logits

import ebbing
from ebbing.plot._style import write_figure

QUESTIONS = {
    "even?": (0, 2, 4, 6, 8),
    "prime?": (2, 3, 5, 7),
    "round?": (0, 6, 8, 9),
    "a seven?": (7,),
    "< 5?": range(5),
}


def read_tasks() -> dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """Return 250 training and 100 test images for each question, none used twice.

    Returns:
        Data by question.
    """
    images, digits = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(images))[: 350 * len(QUESTIONS)].reshape(-1, 350)
    found = {}
    for chosen, (name, yes) in zip(rows, QUESTIONS.items(), strict=True):
        inputs, labels = (images[chosen] / 16).astype(np.float32), np.isin(digits[chosen], yes).astype(int)
        found[name] = {"train": (inputs[:250], labels[:250]), "test": (inputs[250:], labels[250:])}
    return found


def train(network: torch.nn.Module, tasks: dict) -> np.ndarray:
    """Train one question after another, until it is fitted.

    Args:
        network: The network; a copy is trained.
        tasks: The data.

    Returns:
        The accuracy on each question, initially and after each (T+1, T).
    """
    network, generator = copy.deepcopy(network), torch.Generator().manual_seed(0)
    optimizer = torch.optim.SGD(network.parameters(), 0.2)

    def accuracies() -> list[float]:
        with torch.no_grad():
            tests = [[torch.from_numpy(part) for part in task["test"]] for task in tasks.values()]
            return [float(((network(x)[:, 0] > 0).long() == y).float().mean()) for x, y in tests]

    matrix = [accuracies()]
    for task in tasks.values():
        inputs, labels = torch.from_numpy(task["train"][0]), torch.from_numpy(task["train"][1]).float()
        for _ in range(100):
            for batch in torch.randperm(len(inputs), generator=generator).split(25):
                optimizer.zero_grad()
                binary_cross_entropy_with_logits(network(inputs[batch])[:, 0], labels[batch]).backward()
                optimizer.step()
        matrix.append(accuracies())
    return np.array(matrix)


def draw(file: Path) -> None:
    """Draw both matrices into an SVG file.

    Args:
        file: the file to write.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    torch.manual_seed(0)
    torch.set_num_threads(1)
    network = torch.nn.Sequential(torch.nn.Linear(64, 100), torch.nn.ReLU(), torch.nn.Linear(100, 1))
    tasks = read_tasks()
    predicted = ebbing.forecast(network, tasks, train_size=250, test_size=100).accuracies()
    measured = train(network, tasks)
    with mpl.rc_context({"font.family": "DejaVu Sans", "font.size": 10}):
        figure = Figure(figsize=(8.6, 2.7), layout="constrained")
        axes = figure.subplots(1, 2, sharey=True)
        titles = ("Predicted by ebbing.forecast, nothing trained", "Measured after training")
        for ax, matrix, title in zip(axes, (predicted, measured), titles, strict=True):
            ax.imshow(matrix, cmap="cividis", vmin=0, vmax=1, aspect="auto")
            for (t, i), value in np.ndenumerate(matrix):
                color = "black" if value > 0.47 else "white"  # of cividis, each has a contrast of 4.4 or more
                weight = "bold" if t == i + 1 else "normal"
                ax.text(i, t, f"{value:.0%}", ha="center", va="center", color=color, weight=weight)
            ax.set_xticks(range(len(QUESTIONS)), list(QUESTIONS))
            ax.tick_params(length=0)
            ax.set_title(title, loc="left", fontsize=11)
            ax.spines[:].set_visible(False)
        axes[0].set_yticks(range(len(QUESTIONS) + 1), ["before training", *(f"after “{name}”" for name in QUESTIONS)])
        figure.supxlabel(
            "accuracy on each question; bold: just learned, below it: what later questions leave of it", fontsize=10
        )
        write_figure(figure, file, "svg")  # the same bytes in every process


if __name__ == "__main__":
    draw(Path(__file__).with_suffix(".svg"))
