"""The parameters that a context of `task` yields."""

from __future__ import annotations

from torch import nn


class TrainableParameters(list[nn.Parameter]):
    """The parameters to train while a task is learned.

    `named` has the same parameters by name, for parameter groups of an optimizer.

    Args:
        named: Parameters by name.
    """

    def __init__(self, named: dict[str, nn.Parameter]) -> None:
        super().__init__(named.values())
        self.named = named

    def check_finite(self, task: str) -> None:
        """Check that the training of a task has not diverged.

        Args:
            task: Name of the task.

        Raises:
            FloatingPointError: If a parameter is not finite.
        """
        if not all(parameter.isfinite().all() for parameter in self):
            raise FloatingPointError(
                f"weights after task {task!r} are not all finite, so the task is discarded; lower the learning rate"
            )
