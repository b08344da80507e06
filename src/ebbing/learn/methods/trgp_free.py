"""TRGP without its scale matrices, which goes beyond the paper.

What a task keeps of TRGP's scaling is how far its weights have moved in the directions of the tasks it trusts
(docs/methods.md). A scale matrix is one way to move them: it multiplies the gradient by W S S'W'. Here they move as the
gradient says. The memory is the same, a step costs less, and a task is learnt better.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ebbing.learn.methods.trgp import Trgp
from ebbing.learn.motion import Form


@dataclass(frozen=True)
class TrgpFree(Trgp):
    """The settings of `Trgp`; nothing of it was published, so `as_published` is refused."""

    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.as_published:
            raise ValueError(f"as_published={self.as_published!r}: TrgpFree was not published; use Trgp")

    @property
    def form(self) -> Form:
        """Freely."""
        return "free"
