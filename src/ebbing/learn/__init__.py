"""Networks that learn tasks one after another, and their measured error matrices. PyTorch starts here."""

from ebbing.learn.methods import Copies, FineTuning, Gpm, Sgd, Trgp, TrgpFree, TrgpPlus
from ebbing.learn.network import FiveLayers
from ebbing.learn.own_tasks import OwnTasks
from ebbing.learn.presets import preset
from ebbing.learn.protection.learner import Learner
from ebbing.learn.protection.projection import Threshold
from ebbing.learn.schedule import Schedule
from ebbing.learn.sequences import Node, Outcome, error_matrix, train, train_plainly, tree
from ebbing.learn.streams import STREAMS, PermutedMnist, RotatedMnist, SplitCifar100, SplitMnist, Stream
from ebbing.learn.table1_networks import Perceptron, SmallAlexNet
from ebbing.learn.tasks import DigitTasks, Lesson, Sample, lessons
from ebbing.learn.training import Training

__all__ = [
    "STREAMS",
    "Copies",
    "DigitTasks",
    "FineTuning",
    "FiveLayers",
    "Gpm",
    "Learner",
    "Lesson",
    "Node",
    "Outcome",
    "OwnTasks",
    "Perceptron",
    "PermutedMnist",
    "RotatedMnist",
    "Sample",
    "Schedule",
    "Sgd",
    "SmallAlexNet",
    "SplitCifar100",
    "SplitMnist",
    "Stream",
    "Threshold",
    "Training",
    "Trgp",
    "TrgpFree",
    "TrgpPlus",
    "error_matrix",
    "lessons",
    "preset",
    "train",
    "train_plainly",
    "tree",
]
