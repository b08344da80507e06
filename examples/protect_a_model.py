"""Compare what a model forgets by plain fine-tuning and by methods that protect old tasks.

A small convolutional network learns the five tasks of Split MNIST (two digits each) one after another, from
DataLoaders. It has one head with two outputs; `per_task` gives each task a copy of it.

    python examples/protect_a_model.py                  # a quarter of a minute
    python examples/protect_a_model.py --images 500     # a few seconds
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from ebbing import metrics
from ebbing.learn import Copies, FineTuning, Gpm, Schedule, SplitMnist, TrgpFree


class Model(nn.Module):
    """A small convolutional network; any module of linear layers and convolutions can be protected."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 5, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 5, stride=2), nn.ReLU(), nn.Flatten()
        )
        self.hidden, self.head = nn.Linear(256, 64), nn.Linear(64, 2)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.head(self.hidden(self.body(images)).relu())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=2000, help="training images of each task")
    arguments = parser.parse_args()
    stream = SplitMnist(train_images=arguments.images, test_images=1000)
    tasks = {name: stream.load(name, seed=0) for name in stream.names}
    schedule = Schedule(learning_rate=0.05, epochs=3, batch_size=16)
    methods = {
        "fine-tuning": FineTuning(schedule),
        "fine-tuning, task heads": FineTuning(schedule, per_task=("head",)),
        "GPM": Gpm(schedule, per_task=("head",)),
        "TRGP free": TrgpFree(schedule, per_task=("head",)),
        "a copy for each task": Copies(schedule),
    }
    print(f"{'':24}{'accuracy at the end, task by task':>40}     ACC     BWT  MB stored")
    for name, method in methods.items():
        torch.manual_seed(0)
        learner = method.start(Model())
        rows = []
        for task, task_data in tasks.items():
            data = TensorDataset(task_data.train_inputs, task_data.train_labels)
            learner.learn(task, DataLoader(data, batch_size=16, shuffle=True))
            rows.append([learner.accuracy(old, tasks[old]) if old in learner.tasks else np.nan for old in tasks])
        matrix = np.vstack([np.full(len(tasks), np.nan), rows])  # row t: after t tasks; row 0 is not measured
        acc = metrics.average_accuracy(matrix, kind="accuracy")
        bwt = metrics.backward_transfer(matrix, kind="accuracy")
        last = "".join(f"{100 * accuracy:7.1f}%" for accuracy in rows[-1])
        print(f"{name:24}{last}  {100 * acc:6.2f}  {100 * bwt:+6.2f}  {learner.nbytes / 1e6:7.2f}")


if __name__ == "__main__":
    main()
