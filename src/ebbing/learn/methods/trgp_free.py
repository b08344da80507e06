"""TRGP without scale matrices, an extension beyond the paper.

The task-specific result of TRGP's scaling is a weight update in the directions of the trusted tasks. A scale matrix is
one way to train it: it multiplies the gradient by W S S'W'. Here the update is trained by the gradient itself, starting
at the weights of the latest trusted task. The memory is the same, a step costs less, and a task is learned better
(docs/theory/methods.md has the measurements).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from ebbing.learn.methods.trgp import Trgp
from ebbing.learn.projection._parametrization import ParametrizationKind

StartFrom = Literal["shared", "latest"]
"""Where a task starts in trusted directions: at the shared weights, or at those of the latest trusted task."""


@dataclass(frozen=True)
class TrgpFree(Trgp):
    """TRGP with free task-specific updates in trusted directions, instead of scale matrices.

    Attributes:
        schedule: How each task is learned: learning rate, epochs, batch size.
        threshold: The share of energy to protect. A number stands for `Threshold(number)`.
        num_examples: The number of examples on which subspaces are measured: one value, or one per layer.
        per_task: Names, or patterns such as "*_head", of modules and parameters of which each task has a copy.
        norms: Whether normalization layers are task-specific ("per_task"), "frozen" after the first task, or "shared"
            by all tasks and unprotected.
        max_trusted: The largest number of old tasks to trust, in every layer.
        trust_threshold: The share of the gradient's norm that must lie in an old task's subspace, in [0, 1].
        as_published: False: nothing of this was published, and anything else raises an error.
        latest_only_at: The numbers, from 0, of tasks that may trust the latest old task only.
        start_from: Where a task starts in the directions that it trusts: at the weights of the "latest" task that it
            trusts there, so that it continues from it, or at the "shared" weights, as in TRGP.
        identifier: The name of the method in the keys of stored results.
        version: The version of the method, which enters the key of stored results.
    """  # noqa: DOC602, DOC603 (the settings of the base class are listed, too)

    identifier: ClassVar[str] = "TrgpFree"

    start_from: StartFrom = "latest"

    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.as_published:
            raise ValueError(f"as_published={self.as_published!r}: TrgpFree was not published; use Trgp")
        if self.start_from not in get_args(StartFrom):
            raise ValueError(f"start_from={self.start_from!r}: give one of {', '.join(get_args(StartFrom))}")

    def settings(self) -> dict[str, Any]:
        """Return the settings under their stored names, which enter the key of results.

        Early versions always started from the shared weights and did not store that: such settings keep their key.

        Returns:
            The settings by stored name.
        """
        found = super().settings()
        if self.start_from == "shared":
            del found["begins"]
        return found

    @property
    def starts_from_latest(self) -> bool:
        """Whether trusted directions start at the latest trusted task's weights."""
        return self.start_from == "latest"

    @property
    def parametrization(self) -> ParametrizationKind:
        """How trusted directions are trained: freely."""
        return "free"
