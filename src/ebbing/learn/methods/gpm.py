"""GPM, gradient projection memory (Saha, Garg and Roy, 2021): weights change only where old tasks have no inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from torch import Tensor

from ebbing.learn.projection.method import ProjectionMethod
from ebbing.learn.projection.subspaces import BasisUpdate, extend_basis, initial_basis
from ebbing.learn.projection.threshold import Threshold


@dataclass(frozen=True)
class Gpm(ProjectionMethod):
    """Gradient projection memory: the gradient G of a layer's weight is replaced by G (I - M M').

    M is an orthonormal basis of the input directions of the old tasks. After a task, M is extended by the leading left
    singular vectors of R - M M'R until it holds the threshold's share of the energy of the layer's inputs R.

    Attributes:
        schedule: How each task is learned: learning rate, epochs, batch size.
        threshold: The share of energy to protect. A number stands for `Threshold(number)`.
        num_examples: The number of examples on which subspaces are measured: one value, or one per layer.
        per_task: Names, or patterns such as "*_head", of modules and parameters of which each task has a copy.
        norms: Whether normalization layers are task-specific ("per_task"), "frozen" after the first task, or "shared"
            by all tasks and unprotected.
        identifier: The name of the method in the keys of stored results.
        version: The version of the method, which enters the key of stored results.
    """  # noqa: DOC602, DOC603 (the settings of the base class are listed, too)

    identifier: ClassVar[str] = "Gpm"

    version: ClassVar[int] = 1

    @property
    def uses_trust_region(self) -> bool:
        """Whether the method trusts any old task: GPM trusts none."""
        return False

    def select_directions(self, layer: int, task: int, M: Tensor, R: Tensor) -> BasisUpdate:
        """Select the leading directions of R - M M'R until the energy reaches the threshold.

        Args:
            layer: The number of the layer, from 0.
            task: The number of the task, from 0.
            M: The basis of the protected directions. Shape (d, m).
            R: The representation matrix of the task. Shape (d, columns).

        Returns:
            The directions to protect; the task uses all columns of the extended basis.
        """
        threshold = cast(Threshold, self.threshold)  # a number has become one
        share = threshold.at(layer, task)
        return (
            initial_basis(R, share, include_crossing=threshold.include_crossing)
            if M.shape[1] == 0
            else extend_basis(M, R, share)
        )

    def select_trusted(self, gradient_norm: float, projected_norms: Sequence[float]) -> dict[int, float]:
        """Select no task: all protected directions stay frozen.

        Args:
            gradient_norm: |G|, not used.
            projected_norms: |G S_j| for every old task j, not used.

        Returns:
            An empty dictionary.
        """
        return {}
