"""TRGP, trust region gradient projection (Lin, Yang, Fan and Zhang, 2022).

Where a new task's gradient lies largely in an old task's subspace, the two are taken to be alike, and the new one may
scale the weights in that subspace for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, get_args

from torch import Tensor, nn

from ebbing._validate import count
from ebbing.learn.projection._parametrization import MOST_TRUSTED
from ebbing.learn.projection.learner import Learner
from ebbing.learn.projection.method import Departure, ProjectionMethod
from ebbing.learn.projection.subspaces import BasisUpdate, initial_basis, strongest_directions


@dataclass(frozen=True)
class Trgp(ProjectionMethod):
    """The settings of `ProjectionMethod`, and more.

    trusted: how many old tasks may be scaled at most. nearness: which share of the gradient's norm must lie in an old
    task's subspace for it to be trusted.

    as_published: whether to do what the authors' code does where it departs from what is meant (docs/methods.md); or
    the names of the departures: "strongest unprotected", the strongest new direction of every task is used but not
    protected; "shared weights measured", subspaces are measured with the shared weights instead of the task's; "first
    layer decides", no layer is scaled if the first is not. latest_only_at: tasks (counted from 0) that may trust the
    latest one only, as the authors' script for Permuted MNIST has it for task 2.
    """

    identifier: ClassVar[str] = "Trgp"

    max_trusted: int = 2
    trust_threshold: float = 0.5
    as_published: bool | tuple[Departure, ...] = False
    latest_only_at: tuple[int, ...] = ()

    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "max_trusted", count("max_trusted", self.max_trusted))
        if self.max_trusted > MOST_TRUSTED:
            raise ValueError(f"max_trusted={self.max_trusted}: give {MOST_TRUSTED} at most")
        if not isinstance(self.trust_threshold, int | float) or not 0 <= self.trust_threshold <= 1:
            raise ValueError(f"trust_threshold={self.trust_threshold!r}: give a share between 0 and 1")
        names = self.as_published
        if not isinstance(names, bool) and not (isinstance(names, tuple) and {*names} <= {*get_args(Departure)}):
            raise ValueError(f"as_published={self.as_published!r}: give True, False, or some of {get_args(Departure)}")
        if not isinstance(self.latest_only_at, tuple):
            raise ValueError(f"latest_only_at={self.latest_only_at!r}: give a tuple of tasks, counted from 0")

    def departs(self, departure: Departure) -> bool:
        """Whether this departure is among those wanted."""
        return departure in self.as_published if isinstance(self.as_published, tuple) else self.as_published

    def start(self, network: nn.Module) -> Learner:
        """A learner that has learned nothing yet."""
        return Learner(network, self)

    def select_directions(self, layer: int, task: int, M: Tensor, R: Tensor) -> BasisUpdate:
        """The strongest directions, old and new, until they have enough energy."""
        threshold = self.threshold.at(layer, task)
        return (
            initial_basis(R, threshold, include_crossing=self.threshold.include_crossing)
            if M.shape[1] == 0
            else strongest_directions(M, R, threshold)
        )

    def select_trusted(self, gradient: float, inside: Sequence[float]) -> dict[int, float]:
        """The few old tasks nearest to the gradient, if near enough, with equal weights."""
        return dict.fromkeys(self.nearest(gradient, inside), 1.0)

    def nearest(self, gradient: float, inside: Sequence[float]) -> list[int]:
        """The old tasks whose subspaces hold most of the gradient, if they hold enough."""
        old = range(len(inside))[-1:] if len(inside) in self.latest_only_at else range(len(inside))
        order = sorted(old, key=lambda j: -inside[j])[: self.max_trusted]
        return [j for j in order if inside[j] > self.trust_threshold * gradient]
