"""A copy of all trained weights for every task, fine-tuned from the one before: nothing is forgotten.

This is the baseline for methods that protect old tasks. Such a method is useful where it needs less memory than copies
do, or where its tasks learn more from each other than fine-tuning allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from ebbing.learn.methods.fine_tuning import FineTuningLearner, UnprotectedMethod
from ebbing.learn.training._buffers import variable_buffers


@dataclass(frozen=True)
class Copies(UnprotectedMethod):
    """Plain gradient descent task by task, with a copy of the network after each task.

    Frozen parameters are not copied: with LoRA, a task keeps a copy of the adapters only.

    Attributes:
        schedule: How each task is learned: learning rate, epochs, batch size.
        per_task: Names, or patterns such as "*_head", of modules and parameters of which each task has a copy.
        identifier: The name of the method in the keys of stored results.
    """  # noqa: DOC602, DOC603 (the settings of the base class are listed, too)

    identifier: ClassVar[str] = "Copies"

    def start(self, network: nn.Module) -> CopiesLearner:
        """Return a learner for a network, which has not learned any task yet.

        Args:
            network: The network. It is trained in place.

        Returns:
            The learner.
        """
        return CopiesLearner(network, self)


class CopiesLearner(FineTuningLearner):
    """A network that answers for each task with the weights that it had just after learning it.

    Attributes:
        kind: The name of the method in saved files.
    """

    kind: ClassVar[str] = "Copies"

    @property
    def _task_specific(self) -> list[str]:
        """The names of what training changes: of a network with LoRA, its adapters, but not the frozen weights."""
        trained = [name for name, parameter in self.network.named_parameters() if parameter.requires_grad]
        return trained + variable_buffers(self.network)
