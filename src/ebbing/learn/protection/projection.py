"""What methods that protect old tasks by gradient projection have in common: their settings, and what they decide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal

from torch import Tensor

from ebbing.learn.protection.finding import check_own
from ebbing.learn.protection.motion import Form
from ebbing.learn.protection.subspaces import Growth
from ebbing.learn.schedule import Schedule, check_schedule
from ebbing.validate import count

Departure = Literal["strongest unprotected", "shared weights measured", "first layer decides"]


@dataclass(frozen=True)
class Threshold:
    """Share of the energy of a layer's inputs that is protected: by layer, and growing from task to task.

    crossing: whether that share is reached after the first task, too. The authors' code leaves out the direction that
    crosses the threshold there, and so do the published settings (departure 8 of docs/methods.md).

    >>> Threshold((0.95, 0.99), growth=0.001).at(layer=1, task=3)
    0.993
    """

    first: float | tuple[float, ...] = 0.97
    growth: float = 0.003
    crossing: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.first, list):
            object.__setattr__(self, "first", tuple(self.first))
        for value in self.first if isinstance(self.first, tuple) else (self.first,):
            if not isinstance(value, int | float) or not 0 < value <= 1:
                raise ValueError(f"threshold {value!r}: give a share between 0 and 1")
        if not isinstance(self.growth, int | float) or not 0 <= self.growth <= 1:
            raise ValueError(f"growth={self.growth!r}: give what is added after every task, between 0 and 1")

    def at(self, layer: int, task: int) -> float:
        """The threshold of a layer (counted from 0) after a task (counted from 0)."""
        base = self.first[layer] if isinstance(self.first, tuple) else self.first
        return min(base + self.growth * task, 1.0)


@dataclass(frozen=True)
class Projection(ABC):
    """Settings that all have.

    schedule: how each task is learnt. threshold: what is protected; a number stands for `Threshold` of it. samples:
    examples to measure it on, for all layers or for each. own: modules (or patterns such as "*_head") of which each
    task has its own copy. norms: normalizing layers are each task's "own", "frozen" after the first task, or "shared"
    and unprotected.
    """

    schedule: Schedule = field(default_factory=Schedule)
    threshold: Threshold = field(default_factory=Threshold)
    samples: int | tuple[int, ...] = 300
    own: tuple[str, ...] = ()
    norms: Literal["own", "frozen", "shared"] = "own"

    version: ClassVar[int]

    def __post_init__(self) -> None:
        check_schedule(self.schedule)
        if not isinstance(self.threshold, Threshold):
            object.__setattr__(self, "threshold", Threshold(self.threshold))
        given = self.samples
        many = isinstance(given, tuple | list)
        samples = tuple(count("samples", value) for value in given) if many else count("samples", given)
        object.__setattr__(self, "samples", samples)
        check_own(self.own)
        if self.norms not in ("own", "frozen", "shared"):
            raise ValueError(f"norms={self.norms!r}: give own, frozen or shared")

    def settings(self) -> dict[str, Any]:
        """As results are stored under them: early ones left the crossing direction out, and did not say so."""
        found = asdict(self)
        if not self.threshold.crossing:
            del found["threshold"]["crossing"]
        return found

    def departs(self, departure: Departure) -> bool:
        """Whether to do what the authors' code does where it departs from what is meant. See `Trgp`."""
        return False

    @property
    def trusting(self) -> bool:
        """Whether any old task may be trusted."""
        return True

    @property
    def form(self) -> Form:
        """How trusted directions are trained."""
        return "leaking" if self.departs("strongest unprotected") else "scaled"

    @property
    def from_latest(self) -> bool:
        """Whether trusted directions begin where the latest trusted task has them, not where all share them."""
        return False

    @abstractmethod
    def grow(self, layer: int, task: int, M: Tensor, R: Tensor) -> Growth:
        """Which directions of R (d, columns) a task uses, and which are to be added to M (d, m)."""

    @abstractmethod
    def trust(self, gradient: float, inside: Sequence[float]) -> dict[int, float]:
        """Old tasks to be scaled, with their weights, from |G| and |G S_j| of every old task."""
