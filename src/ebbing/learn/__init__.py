"""Networks that learn tasks one after another, and their measured error matrices. PyTorch starts here."""

from ebbing.learn.methods import Sgd
from ebbing.learn.network import FiveLayers
from ebbing.learn.own_tasks import OwnTasks
from ebbing.learn.sequences import Node, Outcome, Training, error_matrix, train, train_plainly, tree
from ebbing.learn.streams import STREAMS, PermutedMnist, RotatedMnist, SplitCifar100, SplitMnist, Stream
from ebbing.learn.tasks import DigitTasks, Lesson, Sample, lessons

__all__ = [
    "STREAMS",
    "DigitTasks",
    "FiveLayers",
    "Lesson",
    "Node",
    "Outcome",
    "OwnTasks",
    "PermutedMnist",
    "RotatedMnist",
    "Sample",
    "Sgd",
    "SplitCifar100",
    "SplitMnist",
    "Stream",
    "Training",
    "error_matrix",
    "lessons",
    "train",
    "train_plainly",
    "tree",
]
