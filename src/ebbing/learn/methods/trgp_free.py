"""TRGP without its scale matrices, which goes beyond the paper.

What a task keeps of TRGP's scaling is how far its weights have moved in the directions of the tasks it trusts
(docs/methods.md). A scale matrix is one way to move them: it multiplies the gradient by W S S'W'. Here they move as the
gradient says, from where the latest of these tasks left them. The memory is the same, a step costs less, and a task is
learned better.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from ebbing.learn.methods.trgp import Trgp
from ebbing.learn.projection._parametrization import Parametrization

StartFrom = Literal["shared", "latest"]


@dataclass(frozen=True)
class TrgpFree(Trgp):
    """The settings of `Trgp`, and one more; nothing of it was published, so `as_published` is refused.

    begins: what a task begins with in the directions it trusts: the weights of the "latest" task that it trusts there,
    so that it goes on where that one ended, or those that all have "shared", as in TRGP.
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
        """As results are stored under them: early ones could not begin elsewhere."""
        found = super().settings()
        if self.start_from == "shared":
            del found["begins"]
        return found

    @property
    def starts_from_latest(self) -> bool:
        """Whether a task begins where the latest that it trusts ended."""
        return self.start_from == "latest"

    @property
    def parametrization(self) -> Parametrization:
        """Freely."""
        return "free"
