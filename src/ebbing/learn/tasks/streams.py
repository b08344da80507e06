"""Streams: the standard benchmark sequences of classification tasks for continual learning.

The tasks of a stream are named "0", "1", ... (`names`). All have the same number of `classes`, counted from 0 within
each task. Inputs are float32 and normalized, labels int64.

The data of a task depends on the seed and the task's name, and on nothing else: a task that occurs again has the same
data again.
"""

from __future__ import annotations

from ebbing.learn.tasks.permuted_mnist import PermutedMnist
from ebbing.learn.tasks.rotated_mnist import RotatedMnist
from ebbing.learn.tasks.split import SplitCifar100, SplitMnist

STREAMS: dict[str, type[PermutedMnist] | type[RotatedMnist] | type[SplitMnist] | type[SplitCifar100]] = {
    "pmnist": PermutedMnist,
    "rmnist": RotatedMnist,
    "smnist": SplitMnist,
    "cifar100": SplitCifar100,
}
"""The classes of all streams by their short names."""
