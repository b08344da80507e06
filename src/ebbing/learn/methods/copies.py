"""A copy of the whole network for every task, fine-tuned from the one before: nothing is forgotten.

What a method that protects old tasks has to be compared with. It makes sense where it needs less memory than copies do,
or where its tasks learn from each other more than fine-tuning lets them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from ebbing.learn.methods.fine_tuning import FineTuningLearner, UnprotectedMethod


@dataclass(frozen=True)
class Copies(UnprotectedMethod):
    """Plain gradient descent, task by task, and a copy of the network after each; what is own begins anew."""

    identifier: ClassVar[str] = "Copies"

    def start(self, network: nn.Module) -> CopiesLearner:
        """A learner that has learned nothing yet."""
        return CopiesLearner(network, self)


class CopiesLearner(FineTuningLearner):
    """A network that answers for each task as it was just after learning it."""

    kind: ClassVar[str] = "Copies"

    def _names_kept(self) -> list[str]:
        return [*self._values()]
