"""Tasks that networks learn: binary digit tasks, benchmark streams, and custom data.

`DigitTasks` has the tasks of the paper's Figure 2; `PermutedMnist`, `RotatedMnist`, `SplitMnist` and `SplitCifar100`
are streams (`STREAMS` has them by name); `CustomTasks` takes tensors, arrays or PyTorch datasets. `Tasks` and `Stream`
are the protocols that they implement, `TaskData` is the data of one task.
"""

from ebbing.learn.tasks.base import Occurrence, TaskData, Tasks, occurrences
from ebbing.learn.tasks.custom import CustomTasks
from ebbing.learn.tasks.digits import DigitTasks
from ebbing.learn.tasks.image_stream import Stream
from ebbing.learn.tasks.permuted_mnist import PermutedMnist
from ebbing.learn.tasks.rotated_mnist import RotatedMnist
from ebbing.learn.tasks.split import SplitCifar100, SplitMnist
from ebbing.learn.tasks.streams import STREAMS

__all__ = [
    "STREAMS",
    "CustomTasks",
    "DigitTasks",
    "Occurrence",
    "PermutedMnist",
    "RotatedMnist",
    "SplitCifar100",
    "SplitMnist",
    "Stream",
    "TaskData",
    "Tasks",
    "occurrences",
]
