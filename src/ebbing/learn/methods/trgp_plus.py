"""TRGP+ (Section 5.3 of the paper): TRGP in which the more recent of the trusted tasks weighs more.

The theory gives the reason: what a task leaves behind in an overparameterized model shrinks by r = 1 - n/p with every
task after it, so that the current weights know the latest tasks best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ebbing.learn.methods.trgp import Trgp


@dataclass(frozen=True)
class TrgpPlus(Trgp):
    """The settings of `Trgp`, and the weights of as many trusted tasks, the most recent first; or `recency`, r, for
    weights proportional to r^(t-j) instead.

    With fewer trusted tasks than weights, the first ones are used, scaled to mean 1 (so a single one weighs 1); weights
    from `recency` have mean 1, too.
    """

    identifier: ClassVar[str] = "TrgpPlus"

    weights: tuple[float, ...] = (1.2, 0.8)
    recency: float | None = None

    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        recency = self.recency
        if recency is not None and (not isinstance(recency, int | float) or not 0 < recency <= 1):
            raise ValueError(f"recency={self.recency!r}: give r = 1 - n/p, between 0 and 1")
        if isinstance(self.weights, list):
            object.__setattr__(self, "weights", tuple(self.weights))
        numbers = isinstance(self.weights, tuple) and all(isinstance(weight, int | float) for weight in self.weights)
        if not numbers or not all(0 < weight < float("inf") for weight in self.weights):
            raise ValueError(f"weights={self.weights!r}: give positive numbers, as (1.2, 0.8)")
        if self.recency is None and len(self.weights) != self.max_trusted:
            raise ValueError(
                f"weights={self.weights}, max_trusted={self.max_trusted}: give one weight for each task that may be trusted"
            )
        if any(later > earlier for earlier, later in zip(self.weights, self.weights[1:], strict=False)):
            raise ValueError(
                f"weights={self.weights}: the most recent task comes first and weighs most; let them decrease"
            )

    def select_trusted(self, gradient: float, inside: Sequence[float]) -> dict[int, float]:
        """The same tasks as TRGP's, the more recent ones with more weight."""
        nearest = sorted(self.nearest(gradient, inside), reverse=True)  # the latest first
        if self.recency is not None:
            weights = [self.recency ** (nearest[0] - j) for j in nearest]
        else:
            weights = list(self.weights[: len(nearest)])
        if self.recency is not None or len(nearest) < len(self.weights):
            mean = sum(weights) / max(len(weights), 1)
            weights = [weight / mean for weight in weights]
        return dict(zip(nearest, weights, strict=True))
