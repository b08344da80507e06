"""Training of networks on sequences of tasks, and their measured error matrices. Needs PyTorch.

* Experiments: `Experiment` combines tasks, an architecture and a method; `preset` returns published ones.
* Tasks (`ebbing.learn.tasks`): `DigitTasks`, `CustomTasks` and the streams `PermutedMnist`, `RotatedMnist`,
  `SplitMnist`, `SplitCifar100`.
* Architectures (`ebbing.learn.networks`): `FiveLayers`, `MLP`, `SmallAlexNet`.
* Methods (`ebbing.learn.methods`): `Sgd`, `Adam`, `FineTuning`, `Copies`, `LowRank`, `Gpm`, `Trgp`, `TrgpPlus`,
  `TrgpFree`; their settings `Schedule` and `Threshold`; and what they train, a `Learner` (with gradient projection, a
  `ProjectionLearner`). New methods build on `ProjectionMethod` (with its `BasisUpdate`) or on `UnprotectedMethod`.
* Sequences: `prefix_tree` lists the networks to train, `train_node` trains one, `error_matrix` collects the errors;
  `train_reference` trains one sequence from beginning to end. `ebbing.runs` trains many and stores the results.
"""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    from ebbing._extras import explain_missing

    raise explain_missing(error, "ebbing.learn") from None

from ebbing.learn.experiment import Architecture, Experiment, Learner, Method
from ebbing.learn.methods import (
    Adam,
    Copies,
    FineTuning,
    Gpm,
    LowRank,
    Sgd,
    Trgp,
    TrgpFree,
    TrgpPlus,
    UnprotectedMethod,
)
from ebbing.learn.networks import MLP, FiveLayers, SmallAlexNet
from ebbing.learn.presets import preset
from ebbing.learn.projection.learner import ProjectionLearner
from ebbing.learn.projection.method import ProjectionMethod
from ebbing.learn.projection.subspaces import BasisUpdate
from ebbing.learn.projection.threshold import Threshold
from ebbing.learn.sequences import Node, NodeResult, error_matrix, prefix_tree, train_node, train_reference
from ebbing.learn.tasks import (
    STREAMS,
    CustomTasks,
    DigitTasks,
    Occurrence,
    PermutedMnist,
    RotatedMnist,
    SplitCifar100,
    SplitMnist,
    Stream,
    TaskData,
    Tasks,
    occurrences,
)
from ebbing.learn.training import Schedule

__all__ = [
    "MLP",
    "STREAMS",
    "Adam",
    "Architecture",
    "BasisUpdate",
    "Copies",
    "CustomTasks",
    "DigitTasks",
    "Experiment",
    "FineTuning",
    "FiveLayers",
    "Gpm",
    "Learner",
    "LowRank",
    "Method",
    "Node",
    "NodeResult",
    "Occurrence",
    "PermutedMnist",
    "ProjectionLearner",
    "ProjectionMethod",
    "RotatedMnist",
    "Schedule",
    "Sgd",
    "SmallAlexNet",
    "SplitCifar100",
    "SplitMnist",
    "Stream",
    "TaskData",
    "Tasks",
    "Threshold",
    "Trgp",
    "TrgpFree",
    "TrgpPlus",
    "UnprotectedMethod",
    "error_matrix",
    "occurrences",
    "prefix_tree",
    "preset",
    "train_node",
    "train_reference",
]
