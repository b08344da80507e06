"""Forecasts of brief training by Adam, told how far it goes in three ways: the table of docs/theory/forecasts.md.

    python benchmarks/brief_training.py

Six sets of four tasks of 8x8 digits are learned in all orders by a pretrained perceptron, for 2 and for 10 epochs.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterator

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

import ebbing
from ebbing._ranks import rank_correlation
from ebbing.learn import Adam, TaskData

Part = tuple[np.ndarray, np.ndarray]
Tasks = dict[str, dict[str, Part]]

PRETRAINING, TRAIN, TEST = 500, 200, 120
"""Images that pretrain the network, and that train and test each task."""

RATE, BATCH = 1e-3, 20


def task_sets(images: np.ndarray, digits: np.ndarray, random: np.random.Generator) -> Iterator[tuple[int, Tasks]]:
    """Yield the number of classes and the tasks of three sets."""
    subsets = [random.choice(10, 5, replace=False) for _ in range(4)]
    answers = [random.integers(0, 3, 10) for _ in range(4)]

    def turned(k: int, x: np.ndarray) -> np.ndarray:
        return np.rot90(x.reshape(-1, 8, 8), k, (1, 2)).reshape(-1, 64).copy()

    def tasks(of: Callable[[int, np.ndarray, np.ndarray], Part]) -> Tasks:
        found = {}
        for k in range(4):
            train = slice(start := PRETRAINING + k * (TRAIN + TEST), start + TRAIN)
            test = slice(start + TRAIN, start + TRAIN + TEST)
            found[f"t{k}"] = {"train": of(k, images[train], digits[train]), "test": of(k, images[test], digits[test])}
        return found

    yield 2, tasks(lambda k, x, y: (x, np.isin(y, subsets[k]).astype(int)))
    yield 3, tasks(lambda k, x, y: (x, answers[k][y]))
    yield 10, tasks(lambda k, x, y: (turned(k, x), y))


def pretrained(images: np.ndarray, digits: np.ndarray, classes: int) -> nn.Module:
    """Return a perceptron that has learned the digit modulo the number of classes."""
    network = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, classes))
    learn(network, (images[:PRETRAINING], digits[:PRETRAINING] % classes), epochs=20)
    return network


def learn(network: nn.Module, part: Part, epochs: int) -> float:
    """Train a network by Adam, and return its accuracy on the training data."""
    x, y = map(torch.from_numpy, part)
    method = Adam(learning_rate=RATE, epochs=epochs, batch_size=BATCH)
    method.learn(network, TaskData(x, y, x, y), torch.Generator().manual_seed(0))
    return float((network(x).argmax(dim=1) == y).float().mean())


def compare(network: nn.Module, tasks: Tasks, epochs: int) -> dict[str, tuple[float, float]]:
    """Return the error of mean forgetting and the rank correlation over orders, by what the forecast is told."""
    method = Adam(learning_rate=RATE, epochs=epochs, batch_size=BATCH)
    measured = ebbing.measure(network, tasks, method=method, seeds=(0, 1), store=tempfile.mkdtemp())
    forgetting = measured.forgetting.mean(axis=1)
    accuracy = float(np.mean([learn(copy.deepcopy(network), part["train"], epochs) for part in tasks.values()]))
    told = {
        "nothing": {},
        "learning rate and steps": {"learning_rate": RATE, "steps": epochs * TRAIN // BATCH},
        "training accuracy": {"training_accuracy": accuracy},
    }
    found = {}
    for name, settings in told.items():
        forecast = ebbing.forecast(network, tasks, **settings)
        predicted = np.array([forecast.forgetting(order) for order in measured.orders])
        error = abs(float(predicted.mean() - forgetting.mean()))
        found[name] = (error, rank_correlation(predicted, forgetting))
    return found


def main() -> None:
    """Print the table."""
    images, digits = (np.asarray(part) for part in load_digits(return_X_y=True))
    images = (images / 16).astype(np.float32)
    for epochs in (2, 10):
        results = []
        for seed in (0, 1):
            random = np.random.default_rng(seed)
            order = random.permutation(len(images))
            for classes, tasks in task_sets(images[order], digits[order], random):
                torch.manual_seed(seed)
                results.append(compare(pretrained(images[order], digits[order], classes), tasks, epochs))
        for name in results[0]:
            error, correlation = np.mean([result[name] for result in results], axis=0)
            print(
                f"{epochs:2} epochs, told {name:24} error {error:.2f}, rank correlation {correlation:.2f}", flush=True
            )


if __name__ == "__main__":
    main()
