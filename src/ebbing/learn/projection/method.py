"""What methods that protect old tasks by gradient projection have in common: their settings, and what they decide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from torch import Tensor

from ebbing._validate import count
from ebbing.learn._stored_names import stored_settings
from ebbing.learn.projection._layer_discovery import check_per_task
from ebbing.learn.projection._parametrization import Parametrization
from ebbing.learn.projection.subspaces import BasisUpdate
from ebbing.learn.training.schedule import Schedule, check_schedule

Departure = Literal["strongest unprotected", "shared weights measured", "first layer decides"]


@dataclass(frozen=True)
class Threshold:
    """Share of the energy of a layer's inputs that is protected: by layer, and growing from task to task.

    crossing: whether that share is reached after the first task, too. The authors' code leaves out the direction that
    crosses the threshold there, and so do the published settings (departure 8 of docs/methods.md).

    >>> Threshold((0.95, 0.99), growth=0.001).at(layer=1, task=3)
    0.993
    """

    share: float | tuple[float, ...] = 0.97
    growth: float = 0.003
    include_crossing: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.share, list):
            object.__setattr__(self, "share", tuple(self.share))
        for value in self.share if isinstance(self.share, tuple) else (self.share,):
            if not isinstance(value, int | float) or not 0 < value <= 1:
                raise ValueError(f"threshold {value!r}: give a share between 0 and 1")
        if not isinstance(self.growth, int | float) or not 0 <= self.growth <= 1:
            raise ValueError(f"growth={self.growth!r}: give what is added after every task, between 0 and 1")

    def at(self, layer: int, task: int) -> float:
        """The threshold of a layer (counted from 0) after a task (counted from 0)."""
        base = self.share[layer] if isinstance(self.share, tuple) else self.share
        return min(base + self.growth * task, 1.0)


@dataclass(frozen=True)
class ProjectionMethod(ABC):
    """Settings that all have.

    schedule: how each task is learned. threshold: what is protected; a number stands for `Threshold` of it. samples:
    examples to measure it on, for all layers or for each. own: modules (or patterns such as "*_head") of which each
    task has its own copy. norms: normalizing layers are of each task ("per_task"), "frozen" after the first task, or "shared"
    and unprotected.
    """

    schedule: Schedule = field(default_factory=Schedule)
    threshold: Threshold = field(default_factory=Threshold)
    num_examples: int | tuple[int, ...] = 300
    per_task: tuple[str, ...] = ()
    norms: Literal["per_task", "frozen", "shared"] = "per_task"

    version: ClassVar[int]

    def __post_init__(self) -> None:
        check_schedule(self.schedule)
        if not isinstance(self.threshold, Threshold):
            object.__setattr__(self, "threshold", Threshold(self.threshold))
        given = self.num_examples
        many = isinstance(given, tuple | list)
        num_examples = tuple(count("num_examples", value) for value in given) if many else count("num_examples", given)
        object.__setattr__(self, "num_examples", num_examples)
        check_per_task(self.per_task)
        if self.norms not in ("per_task", "frozen", "shared"):
            raise ValueError(f"norms={self.norms!r}: give per_task, frozen or shared")

    def settings(self) -> dict[str, Any]:
        """As results are stored under them: early ones left the crossing direction out, and did not say so."""
        found = stored_settings(self)
        if self.norms == "per_task":
            found["norms"] = "own"
        if not self.threshold.include_crossing:
            del found["threshold"]["crossing"]
        return found

    def departs(self, departure: Departure) -> bool:
        """Whether to do what the authors' code does where it departs from what is meant. See `Trgp`."""
        return False

    @property
    def can_trust(self) -> bool:
        """Whether any old task may be trusted."""
        return True

    @property
    def parametrization(self) -> Parametrization:
        """How trusted directions are trained."""
        return "authors" if self.departs("strongest unprotected") else "scaled"

    @property
    def starts_from_latest(self) -> bool:
        """Whether trusted directions begin where the latest trusted task has them, not where all share them."""
        return False

    @abstractmethod
    def select_directions(self, layer: int, task: int, M: Tensor, R: Tensor) -> BasisUpdate:
        """Which directions of R (d, columns) a task uses, and which are to be added to M (d, m)."""

    @abstractmethod
    def select_trusted(self, gradient: float, inside: Sequence[float]) -> dict[int, float]:
        """Old tasks to be scaled, with their weights, from |G| and |G S_j| of every old task."""
