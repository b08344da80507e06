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

    The other settings are those of `Trgp`. As nothing of this was published, `as_published` raises an error.

    Attributes:
        identifier: The name of the method in the keys of stored results.
        start_from: Where a task starts in the directions that it trusts: at the weights of the "latest" task that it
            trusts there, so that it continues from it, or at the "shared" weights, as in TRGP.
        version: The version of the method, which enters the key of stored results.
    """

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
