"""Streams: the sequences of classification tasks on which continual learning is usually measured.

A stream has tasks named "0", "1", ... (`names`), each with the same number of `classes`, counted from 0 within the
task. Inputs are float32 and normalized, labels int64.

The data of a task depend on the seed and the task's name and on nothing else: a task that occurs again has the same
data again.
"""

from __future__ import annotations

from ebbing.learn.tasks.image_stream import Stream
from ebbing.learn.tasks.split import SplitCifar100, SplitMnist
from ebbing.learn.tasks.transformed_mnist import PermutedMnist, RotatedMnist

__all__ = ["STREAMS", "PermutedMnist", "RotatedMnist", "SplitCifar100", "SplitMnist", "Stream"]

STREAMS: dict[str, type[PermutedMnist] | type[RotatedMnist] | type[SplitMnist] | type[SplitCifar100]] = {
    "pmnist": PermutedMnist,
    "rmnist": RotatedMnist,
    "smnist": SplitMnist,
    "cifar100": SplitCifar100,
}
"""Every stream by its short name."""
