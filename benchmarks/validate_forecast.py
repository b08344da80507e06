"""How well a forecast ranks orders: forecasts of MNIST task sets against training every order of them.

python benchmarks/validate_forecast.py FOLDER [SETS]    trains into FOLDER (continues there) the first SETS of six sets,
                                                         and writes forecast_validation.md

A task is "is the digit in Y?", 200 training images; a set has four tasks, and all its 24 orders are trained with two
seeds. The sets were fixed before any was trained: `task_sets`. The network is a perceptron with 100 hidden units.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

import ebbing
from ebbing.learn import DigitTasks, Occurrence, Sgd
from ebbing.learn.training._machine import single_thread
from ebbing.runs import Measurement

SETS = 6
SEEDS = (0, 1)
TABLE = Path(__file__).with_name("forecast_validation.md")
FORECASTS = {
    "tangent kernel, the network that is trained (seed 0)": ((0,), 0.0),
    "tangent kernels of four other initial networks": ((100, 101, 102, 103), 0.0),
    "the same, with alignment=1": ((100, 101, 102, 103), 1.0),
}
SCORES = ("rank_correlation", "orders_better", "regret")


@dataclass(frozen=True)
class Perceptron:
    """One hidden layer of 100 units."""

    def build(self, seed: int) -> nn.Module:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            return nn.Sequential(nn.Flatten(), nn.Linear(784, 100), nn.ReLU(), nn.Linear(100, 1))


def task_sets(number: int = SETS) -> list[tuple[str, ...]]:
    """Return sets of four different tasks, each of one to five digits, drawn with one seed."""
    random = np.random.default_rng(0)
    sets = []
    for _ in range(number):
        tasks: list[str] = []
        while len(tasks) < 4:
            digits = sorted(random.choice(10, random.integers(1, 6), replace=False).tolist())
            if (name := "-".join(map(str, digits))) not in tasks:
                tasks.append(name)
        sets.append(tuple(tasks))
    return sets


def read(names: tuple[str, ...]) -> dict[str, dict[str, tuple[torch.Tensor, torch.Tensor]]]:
    found = {name: DigitTasks(train_images=200, test_images=1000).load(Occurrence(name, 0), seed=0) for name in names}
    return {
        name: {"train": (data.train_inputs, data.train_labels), "test": (data.test_inputs, data.test_labels)}
        for name, data in found.items()
    }


def by_another_seed(measured: Measurement) -> dict[str, float]:
    """Return what a seed's best order is worth with the other seed, on average."""
    scores = []
    for one, other in (measured.forgetting.T, measured.forgetting.T[::-1]):
        chosen = other[one.argmin()]
        stake = other.mean() - other.min()
        scores.append([measured.seed_agreement, np.mean(other < chosen - 1e-12), (chosen - other.min()) / stake])
    return dict(zip(SCORES, np.mean(scores, axis=0).tolist(), strict=True))


def evaluate(names: tuple[str, ...], folder: Path) -> dict[str, dict[str, float]]:
    tasks = read(names)
    with single_thread():
        measured = ebbing.measure(Perceptron(), tasks, seeds=SEEDS, method=Sgd(epochs=200), store=folder / "runs")
    F = measured.forgetting.mean(axis=1)
    rows = {"measured": {"best": F.min(), "mean": F.mean(), "worst": F.max()}}
    for label, (seeds, alignment) in FORECASTS.items():
        networks = [Perceptron().build(seed) for seed in seeds]
        forecast = ebbing.forecast(networks, tasks, train_size=200, test_size=200, alignment=alignment)
        plan = forecast.best_order()
        rows[label] = measured.compare(forecast) | {"mean": plan.random, "matters": float(plan.matters)}
    rows["training all orders with the other seed"] = by_another_seed(measured)
    return rows


def table(found: dict[str, dict[str, dict[str, float]]]) -> str:
    lines = [
        (__doc__ or "").split("\n\n")[2].strip().replace("\n", " "),
        "",
        "| set | forgetting, best | mean | worst |",
    ]
    lines[-1] += " rank correlation between seeds |"
    lines.append("|---|---|---|---|---|")
    other = "training all orders with the other seed"
    for names, rows in found.items():
        levels = " | ".join(f"{rows['measured'][key]:.3f}" for key in ("best", "mean", "worst"))
        lines.append(f"| {names} | {levels} | {rows[other]['rank_correlation']:.2f} |")
    lines += [
        "",
        "| forecast, mean over sets | rank correlation | orders better | regret | predicted mean forgetting |",
    ]
    lines.append("|---|---|---|---|---|")
    for label in (*FORECASTS, other):
        scores = [np.mean([rows[label][score] for rows in found.values()]) for score in SCORES]
        level = [rows[label].get("mean", np.nan) for rows in found.values()]
        shown = "-" if np.isnan(level).any() else f"{np.mean(level):.3f}"
        lines.append(f"| {label} | {scores[0]:.2f} | {scores[1]:.0%} | {scores[2]:.2f} | {shown} |")
    return "\n".join(lines) + "\n"


def main(folder: Path, number: int = SETS) -> None:
    found = {}
    for names in task_sets(number):
        found[", ".join(names)] = evaluate(names, folder)
        print(names, json.dumps(found[", ".join(names)]), flush=True)
    TABLE.write_text("# Forecasts against training\n\n" + table(found))
    (folder / "validation.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
