"""TRGP, trust region gradient projection (Lin, Yang, Fan and Zhang, 2022).

Where a new task's gradient lies largely in an old task's subspace, the two tasks are considered similar, and the new
one may scale the weights in that subspace for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast, get_args

from torch import Tensor

from ebbing._validate import check_count
from ebbing.learn.projection._authors_variant import AuthorsDeviation
from ebbing.learn.projection._parametrization import MAX_TRUSTED
from ebbing.learn.projection.method import ProjectionMethod
from ebbing.learn.projection.subspaces import BasisUpdate, initial_basis, strongest_directions
from ebbing.learn.projection.threshold import Threshold


@dataclass(frozen=True)
class Trgp(ProjectionMethod):
    """Trust region gradient projection: GPM, with scaled weights in the subspaces of trusted old tasks.

    The effective weight of a task is W_eff = W + sum_j lambda_j W S_j (Q_j - I) S_j' over the old tasks j that it
    trusts, with subspaces S_j. Q_j starts at I and is trained together with W; lambda_j = 1. Task j is trusted in a
    layer if |G S_j| > `trust_threshold` |G|, G the gradient of the new task's loss; of these tasks, the ones with the
    largest |G S_j|.

    Attributes:
        schedule: How each task is learned: learning rate, epochs, batch size.
        threshold: The share of energy to protect. A number stands for `Threshold(number)`.
        num_examples: The number of examples on which subspaces are measured: one value, or one per layer.
        per_task: Names, or patterns such as "*_head", of modules and parameters of which each task has a copy.
        norms: Whether normalization layers are task-specific ("per_task"), "frozen" after the first task, or "shared"
            by all tasks and unprotected.
        max_trusted: The largest number of old tasks to trust, in every layer.
        trust_threshold: The share of the gradient's norm that must lie in an old task's subspace, in [0, 1].
        as_published: Whether to reproduce the deviations of the authors' code from the published method; or a tuple
            with the names of some (docs/theory/methods.md). "strongest unprotected": the strongest new direction of
            every task is used but not protected. "shared weights measured": subspaces are measured with the shared
            weights instead of the task's effective weights. "first layer decides": no layer trusts any task if the
            first layer trusts none.
        latest_only_at: The numbers, from 0, of tasks that may trust the latest old task only. The authors' script for
            Permuted MNIST has this for task 2.
        identifier: The name of the method in the keys of stored results.
        version: The version of the method, which enters the key of stored results.
    """  # noqa: DOC602, DOC603 (the settings of the base class are listed, too)

    identifier: ClassVar[str] = "Trgp"

    max_trusted: int = 2
    trust_threshold: float = 0.5
    as_published: bool | tuple[AuthorsDeviation, ...] = False
    latest_only_at: tuple[int, ...] = ()

    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "max_trusted", check_count("max_trusted", self.max_trusted))
        if self.max_trusted > MAX_TRUSTED:
            raise ValueError(f"max_trusted={self.max_trusted}: give {MAX_TRUSTED} at most")
        if not isinstance(self.trust_threshold, int | float) or not 0 <= self.trust_threshold <= 1:
            raise ValueError(f"trust_threshold={self.trust_threshold!r}: give a share between 0 and 1")
        names, known = self.as_published, get_args(AuthorsDeviation)
        if not isinstance(names, bool) and not (isinstance(names, tuple) and {*names} <= {*known}):
            raise ValueError(f"as_published={self.as_published!r}: give True, False, or a tuple of some of {known}")
        if not isinstance(self.latest_only_at, tuple):
            raise ValueError(f"latest_only_at={self.latest_only_at!r}: give a tuple of task numbers, from 0")

    def reproduces(self, deviation: AuthorsDeviation) -> bool:
        """Return whether `as_published` selects a deviation of the authors' code.

        Args:
            deviation: The name of the deviation.

        Returns:
            Whether it is selected.
        """
        return deviation in self.as_published if isinstance(self.as_published, tuple) else self.as_published

    def select_directions(self, layer: int, task: int, M: Tensor, R: Tensor) -> BasisUpdate:
        """Select the strongest directions, old and new, until their energy reaches the threshold.

        Args:
            layer: The number of the layer, from 0.
            task: The number of the task, from 0.
            M: The basis of the protected directions. Shape (d, m).
            R: The representation matrix of the task. Shape (d, columns).

        Returns:
            The new directions among them, to protect, and the columns of all of them: the task's subspace.
        """
        threshold = cast(Threshold, self.threshold)  # a number has become one
        share = threshold.at(layer, task)
        return (
            initial_basis(R, share, include_crossing=threshold.include_crossing)
            if M.shape[1] == 0
            else strongest_directions(M, R, share)
        )

    def select_trusted(self, gradient_norm: float, projected_norms: Sequence[float]) -> dict[int, float]:
        """Select the nearest old tasks, with weights of 1.

        Args:
            gradient_norm: |G|, the norm of the new task's gradient.
            projected_norms: |G S_j| for every old task j.

        Returns:
            The trusted tasks, with their weights lambda_j.
        """
        return dict.fromkeys(self.nearest_tasks(gradient_norm, projected_norms), 1.0)

    def nearest_tasks(self, gradient_norm: float, projected_norms: Sequence[float]) -> list[int]:
        """Return the old tasks whose subspaces hold most of the gradient, if they hold enough.

        Args:
            gradient_norm: |G|, the norm of the new task's gradient.
            projected_norms: |G S_j| for every old task j.

        Returns:
            At most `max_trusted` tasks with |G S_j| > `trust_threshold` |G|, nearest first.
        """
        old = range(len(projected_norms))
        candidates = old[-1:] if len(projected_norms) in self.latest_only_at else old
        nearest = sorted(candidates, key=lambda j: -projected_norms[j])[: self.max_trusted]
        return [j for j in nearest if projected_norms[j] > self.trust_threshold * gradient_norm]
