"""Measure what a sequence of Lightning's fit calls forgets, and learn the same tasks under TRGP.

A perceptron learns five tasks: which of two handwritten digits is this (scikit-learn's, 8 x 8 pixels)?

    python examples/forgetting_lightning.py            # a quarter of a minute
"""

from __future__ import annotations

import logging
import warnings
from typing import Any

import lightning.pytorch as pl
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from ebbing.integrations.lightning import ForgettingCallback, ProtectionCallback
from ebbing.learn import Trgp


class Perceptron(pl.LightningModule):
    """An ordinary module; its validation_step logs the metric that is measured."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(64, 100), nn.Linear(100, 2)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.body(images).relu())

    def training_step(self, batch, index: int) -> Tensor:
        images, labels = batch
        return nn.functional.cross_entropy(self(images), labels)

    def validation_step(self, batch, index: int) -> None:
        images, labels = batch
        self.log("val_accuracy", (self(images).argmax(1) == labels).float().mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), 5e-3)


def make_trainer(*callbacks: pl.Callback) -> pl.Trainer:
    quiet: dict[str, Any] = {
        "logger": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "accelerator": "cpu",
    }
    return pl.Trainer(max_epochs=5, callbacks=[*callbacks], enable_checkpointing=False, **quiet)


def read_tasks() -> tuple[dict[str, TensorDataset], dict[str, DataLoader]]:
    digits: Any = load_digits()
    images, labels = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
    train, test = {}, {}
    for low in range(0, 10, 2):
        chosen = (labels == low) | (labels == low + 1)
        x, y = images[chosen], labels[chosen] - low
        train[f"{low} or {low + 1}"] = TensorDataset(x[:200], y[:200])
        test[f"{low} or {low + 1}"] = DataLoader(TensorDataset(x[200:], y[200:]), batch_size=200)
    return train, test


def main() -> None:
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    train, test = read_tasks()

    # 1. Your own loop over tasks, with one callback more.
    torch.manual_seed(0)
    module, forgetting = Perceptron(), ForgettingCallback(test, metric="val_accuracy")
    for data in train.values():
        make_trainer(forgetting).fit(module, DataLoader(data, batch_size=16, shuffle=True))
    print("Fine-tuning\n")
    print(forgetting.matrix.summary())

    # 2. The same under TRGP, with a head for each task.
    torch.manual_seed(0)
    module = Perceptron()
    learner = Trgp(per_task=("head",)).start(module)
    protected = ForgettingCallback(test, metric="val_accuracy")
    for name, data in train.items():
        protection = ProtectionCallback(learner, name, data.tensors)
        make_trainer(protection, protected).fit(module, DataLoader(data, batch_size=16, shuffle=True))
    print(f"\nTRGP: forgetting {protected.matrix.forgetting:.3f}, accuracy {protected.matrix.final:.3f}")


if __name__ == "__main__":
    main()
