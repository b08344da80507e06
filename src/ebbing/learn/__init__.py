"""Networks that learn tasks one after another, and their measured error matrices. PyTorch starts here."""

from ebbing.learn.experiment import Experiment
from ebbing.learn.methods import Copies, FineTuning, Gpm, Sgd, Trgp, TrgpFree, TrgpPlus
from ebbing.learn.networks.five_layers import FiveLayers
from ebbing.learn.networks.table1 import MLP, SmallAlexNet
from ebbing.learn.presets import preset
from ebbing.learn.projection.learner import Learner
from ebbing.learn.projection.method import Threshold
from ebbing.learn.sequences import Node, NodeResult, error_matrix, prefix_tree, train_node, train_reference
from ebbing.learn.tasks.base import DigitTasks, Occurrence, TaskData, occurrences
from ebbing.learn.tasks.custom import CustomTasks
from ebbing.learn.tasks.streams import STREAMS, PermutedMnist, RotatedMnist, SplitCifar100, SplitMnist, Stream
from ebbing.learn.training.schedule import Schedule

__all__ = [
    "MLP",
    "STREAMS",
    "Copies",
    "CustomTasks",
    "DigitTasks",
    "Experiment",
    "FineTuning",
    "FiveLayers",
    "Gpm",
    "Learner",
    "Node",
    "NodeResult",
    "Occurrence",
    "PermutedMnist",
    "RotatedMnist",
    "Schedule",
    "Sgd",
    "SmallAlexNet",
    "SplitCifar100",
    "SplitMnist",
    "Stream",
    "TaskData",
    "Threshold",
    "Trgp",
    "TrgpFree",
    "TrgpPlus",
    "error_matrix",
    "occurrences",
    "prefix_tree",
    "preset",
    "train_node",
    "train_reference",
]
