"""GPM, gradient projection memory (Saha, Garg and Roy, 2021): new tasks move only where old ones have no inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from ebbing.learn.protection.learner import Learner
from ebbing.learn.protection.projection import Projection
from ebbing.learn.protection.subspaces import Growth, first, until_enough


@dataclass(frozen=True)
class Gpm(Projection):
    """Gradient projection memory; the settings are those of `Projection`."""

    version: ClassVar[int] = 1

    def start(self, network: nn.Module) -> Learner:
        """A learner that has learnt nothing yet."""
        return Learner(network, self)

    @property
    def trusting(self) -> bool:
        """No."""
        return False

    def grow(self, layer: int, task: int, M: Tensor, R: Tensor) -> Growth:
        """Leading directions until enough energy is kept."""
        threshold = self.threshold.at(layer, task)
        return (
            first(R, threshold, crossing=self.threshold.crossing) if M.shape[1] == 0 else until_enough(M, R, threshold)
        )

    def trust(self, gradient: float, inside: Sequence[float]) -> dict[int, float]:
        """Nobody: protected directions stay as they are."""
        return {}
