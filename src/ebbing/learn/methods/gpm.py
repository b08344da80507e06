"""GPM, gradient projection memory (Saha, Garg and Roy, 2021): new tasks move only where old ones have no inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from ebbing.learn.projection.learner import Learner
from ebbing.learn.projection.method import ProjectionMethod
from ebbing.learn.projection.subspaces import BasisUpdate, extend_basis, initial_basis


@dataclass(frozen=True)
class Gpm(ProjectionMethod):
    """Gradient projection memory; the settings are those of `ProjectionMethod`."""

    identifier: ClassVar[str] = "Gpm"

    version: ClassVar[int] = 1

    def start(self, network: nn.Module) -> Learner:
        """A learner that has learned nothing yet."""
        return Learner(network, self)

    @property
    def can_trust(self) -> bool:
        """No."""
        return False

    def select_directions(self, layer: int, task: int, M: Tensor, R: Tensor) -> BasisUpdate:
        """Leading directions until enough energy is kept."""
        threshold = self.threshold.at(layer, task)
        return (
            initial_basis(R, threshold, include_crossing=self.threshold.include_crossing)
            if M.shape[1] == 0
            else extend_basis(M, R, threshold)
        )

    def select_trusted(self, gradient: float, inside: Sequence[float]) -> dict[int, float]:
        """Nobody: protected directions stay as they are."""
        return {}
