"""What the learner needs of a method: its settings and its rules. `ProjectionMethod` documents them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, get_args

from torch import Tensor

from ebbing.learn._stored_names import stored_kind
from ebbing.learn.projection._authors_variant import AuthorsDeviation
from ebbing.learn.projection._parametrization import ParametrizationKind
from ebbing.learn.projection.subspaces import BasisUpdate
from ebbing.learn.projection.threshold import Threshold
from ebbing.learn.training.schedule import Schedule


class ProjectionRules(Protocol):
    """The interface of `ProjectionMethod` that its learner uses; the method itself creates the learner."""

    @property
    def schedule(self) -> Schedule: ...
    @property
    def threshold(self) -> Threshold | float: ...
    @property
    def num_examples(self) -> int | tuple[int, ...]: ...
    @property
    def per_task(self) -> tuple[str, ...]: ...
    @property
    def norms(self) -> Literal["per_task", "frozen", "shared"]: ...
    @property
    def uses_trust_region(self) -> bool: ...
    @property
    def parametrization(self) -> ParametrizationKind: ...
    @property
    def starts_from_latest(self) -> bool: ...
    def reproduces(self, deviation: AuthorsDeviation) -> bool: ...
    def select_directions(self, layer: int, task: int, M: Tensor, R: Tensor) -> BasisUpdate: ...
    def select_trusted(self, gradient_norm: float, projected_norms: Sequence[float]) -> dict[int, float]: ...


def describe_rules(method: ProjectionRules) -> dict[str, Any]:
    """Return the settings in which a state and the learner that restores it must agree."""
    return {
        "kind": stored_kind(method),
        "per_task": list(method.per_task),
        "norms": method.norms,
        "as_published": [name for name in get_args(AuthorsDeviation) if method.reproduces(name)],
    }
