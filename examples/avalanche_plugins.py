"""Protect an Avalanche strategy by GPM and TRGP, and read its results as a matrix.

A perceptron learns five experiences: which of two handwritten digits is this (scikit-learn's, 8 x 8 pixels)?

    python examples/avalanche_plugins.py            # a quarter of a minute
"""

from __future__ import annotations

import io
from typing import Any

import torch
from avalanche.benchmarks import tensors_benchmark
from avalanche.evaluation.metrics import accuracy_metrics
from avalanche.logging import TextLogger
from avalanche.training.plugins import EvaluationPlugin
from avalanche.training.supervised import Naive
from sklearn.datasets import load_digits
from torch import nn

from ebbing.integrations.avalanche import GpmPlugin, TrgpPlugin, read_results


def make_benchmark():
    digits: Any = load_digits()
    images, labels = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    train, test = [], []
    for low in range(0, 10, 2):
        chosen = (labels == low) | (labels == low + 1)
        x, y = images[chosen], labels[chosen] - low
        train.append((x[:200], y[:200]))
        test.append((x[200:], y[200:]))
    return tensors_benchmark(train, test, task_labels=list(range(5)))


def main() -> None:
    benchmark = make_benchmark()
    plugins = {"plain": None, "GPM": GpmPlugin(per_task=("2",)), "TRGP": TrgpPlugin(per_task=("2",))}  # 2: the head
    for name, plugin in plugins.items():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(64, 100), nn.ReLU(), nn.Linear(100, 2))
        evaluator = EvaluationPlugin(accuracy_metrics(experience=True), loggers=[TextLogger(io.StringIO())])
        strategy = Naive(
            model=model, optimizer=torch.optim.AdamW(model.parameters(), 5e-3), criterion=nn.CrossEntropyLoss(),
            train_mb_size=16, train_epochs=5, eval_mb_size=200, evaluator=evaluator,
            plugins=[] if plugin is None else [plugin],
        )  # fmt: skip
        results = [strategy.eval(benchmark.test_stream)]
        for experience in benchmark.train_stream:
            strategy.train(experience)
            results.append(strategy.eval(benchmark.test_stream))
        matrix = read_results(results, names=["0 or 1", "2 or 3", "4 or 5", "6 or 7", "8 or 9"])
        print(f"{name}: forgetting {matrix.forgetting:.3f}, accuracy {matrix.final:.3f}")


if __name__ == "__main__":
    main()
