"""The base class of methods that protect old tasks by gradient projection: their settings, and what they select."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, cast

from torch import Tensor, nn

from ebbing._validate import check_count
from ebbing.learn._stored_names import stored_settings
from ebbing.learn.projection._authors_variant import AuthorsDeviation
from ebbing.learn.projection._layer_discovery import check_per_task
from ebbing.learn.projection._parametrization import ParametrizationKind
from ebbing.learn.projection.learner import ProjectionLearner
from ebbing.learn.projection.subspaces import BasisUpdate
from ebbing.learn.projection.threshold import Threshold
from ebbing.learn.training.schedule import Schedule, check_schedule


@dataclass(frozen=True)
class ProjectionMethod(ABC):
    """A method that protects old tasks by gradient projection: common settings, and two rules to implement.

    A new method is a frozen dataclass that inherits from this class, declares `version`, and implements
    `select_directions` and `select_trusted`. `start` gives the learner.

    Attributes:
        schedule: How each task is learned: learning rate, epochs, batch size.
        threshold: The share of energy to protect. A number stands for `Threshold(number)`.
        num_examples: The number of examples on which subspaces are measured: one value, or one per layer.
        per_task: Names, or patterns such as "*_head", of modules and parameters of which each task has a copy.
        norms: Whether normalization layers are task-specific ("per_task"), "frozen" after the first task, or "shared"
            by all tasks and unprotected.
        version: The version of the method. It enters the key of stored results: raise it when results change.
    """

    schedule: Schedule = field(default_factory=Schedule)
    threshold: Threshold | float = field(default_factory=Threshold)
    num_examples: int | tuple[int, ...] = 300
    per_task: tuple[str, ...] = ()
    norms: Literal["per_task", "frozen", "shared"] = "per_task"

    version: ClassVar[int]

    def __post_init__(self) -> None:
        check_schedule(self.schedule, type(self))
        if not isinstance(self.threshold, Threshold):
            object.__setattr__(self, "threshold", Threshold(self.threshold))
        given = self.num_examples
        if isinstance(given, tuple | list):
            object.__setattr__(self, "num_examples", tuple(check_count("num_examples", value) for value in given))
        else:
            object.__setattr__(self, "num_examples", check_count("num_examples", given))
        check_per_task(self.per_task)
        if self.norms not in ("per_task", "frozen", "shared"):
            raise ValueError(f"norms={self.norms!r}: give per_task, frozen or shared")

    def start(self, network: nn.Module) -> ProjectionLearner:
        """Return a learner for a network, which has not learned any task yet.

        Args:
            network: The network. It is trained in place.

        Returns:
            The learner.
        """
        return ProjectionLearner(network, self)

    def settings(self) -> dict[str, Any]:
        """Return the settings under their stored names, which enter the key of results.

        Early versions left the crossing direction out and did not store that: such settings keep their key.

        Returns:
            The settings by stored name.
        """
        found = stored_settings(self)
        if self.norms == "per_task":
            found["norms"] = "own"
        if not cast(Threshold, self.threshold).include_crossing:
            del found["threshold"]["crossing"]
        return found

    def reproduces(self, deviation: AuthorsDeviation) -> bool:
        """Return whether the method reproduces a deviation of the authors' code from the published method.

        Args:
            deviation: The name of the deviation; `Trgp` explains them.

        Returns:
            False, unless a method has such a setting.
        """
        return False

    @property
    def uses_trust_region(self) -> bool:
        """Whether the method trusts any old task. If not, no gradient is measured before a task."""
        return True

    @property
    def parametrization(self) -> ParametrizationKind:
        """How trusted directions are trained: "scaled" (TRGP), "free", or "authors" (with unprotected directions)."""
        return "authors" if self.reproduces("strongest unprotected") else "scaled"

    @property
    def starts_from_latest(self) -> bool:
        """Whether trusted directions start at the latest trusted task's weights instead of the shared ones."""
        return False

    @abstractmethod
    def select_directions(self, layer: int, task: int, M: Tensor, R: Tensor) -> BasisUpdate:
        """Select the input directions of a layer that a task uses, after the task was learned.

        Embeddings need no such rule: the rows that a task has looked up are protected.

        Args:
            layer: The number of the layer, from 0, for settings by layer.
            task: The number of the task, from 0, for settings that change from task to task.
            M: The orthonormal basis of the directions that are protected already. Shape (d, m); m = 0 at first.
            R: The representation matrix: every column is an input of the layer (of a convolution, a patch) for an
                example of the task. Only R R' matters. Shape (d, columns).

        Returns:
            A `BasisUpdate`. Its `new` (d, k) are the directions to add to M: orthonormal, and orthogonal to M. From
            now on the shared weight is frozen there. Its `used` (r,) are the column numbers, in [M, new], that span
            the subspace S_t of the task, in which later tasks may trust it. `subspaces` has functions that make one:
            `initial_basis`, `extend_basis` and `strongest_directions`.
        """

    @abstractmethod
    def select_trusted(self, gradient_norm: float, projected_norms: Sequence[float]) -> dict[int, float]:
        """Select the old tasks that a new task trusts in one layer, before the new task is learned.

        Args:
            gradient_norm: |G|, the Frobenius norm of the gradient of the new task's loss with respect to the weight.
            projected_norms: |G S_j| for every old task j: the norm of the gradient's part in the task's subspace.

        Returns:
            For each trusted task, its number j and its weight lambda_j > 0. In the subspace S_j the new task trains
            weights for itself; its learning rate there is multiplied by lambda_j^2, unless `parametrization` is
            "free". An empty dictionary leaves all protected directions frozen.
        """
