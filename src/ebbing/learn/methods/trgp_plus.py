"""TRGP+ (Section 5.3 of the paper): TRGP with larger weights for more recent trusted tasks.

The theory gives the reason: what a task leaves behind in an overparameterized model shrinks by r = 1 - n/p with every
task after it, so the current weights fit the latest tasks best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ebbing.learn.methods.trgp import Trgp


@dataclass(frozen=True)
class TrgpPlus(Trgp):
    """TRGP with weights lambda_j that decrease with the age of the trusted task j.

    Attributes:
        schedule: How each task is learned: learning rate, epochs, batch size.
        threshold: The share of energy to protect. A number stands for `Threshold(number)`.
        num_examples: The number of examples on which subspaces are measured: one value, or one per layer.
        per_task: Names, or patterns such as "*_head", of modules and parameters of which each task has a copy.
        norms: Whether normalization layers are task-specific ("per_task"), "frozen" after the first task, or "shared"
            by all tasks and unprotected.
        max_trusted: The largest number of old tasks to trust, in every layer.
        trust_threshold: The share of the gradient's norm that must lie in an old task's subspace, in [0, 1].
        as_published: Whether to reproduce the deviations of the authors' code, all or some by name, as in `Trgp`.
        latest_only_at: The numbers, from 0, of tasks that may trust the latest old task only. The authors' script for
            Permuted MNIST has this for task 2.
        weights: The weights of the trusted tasks, most recent first, one for each of `max_trusted`. With fewer trusted
            tasks, the first weights are used, scaled to mean 1; so a single trusted task has weight 1.
        recency: If given, r: the weights are proportional to r^(t-j), with mean 1, and `weights` is not used.
        identifier: The name of the method in the keys of stored results.
        version: The version of the method, which enters the key of stored results.
    """  # noqa: DOC602, DOC603 (the settings of the base class are listed, too)

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
                f"weights={self.weights}, max_trusted={self.max_trusted}: give one weight for each task that may be "
                "trusted"
            )
        if any(older > newer for newer, older in zip(self.weights, self.weights[1:], strict=False)):
            raise ValueError(
                f"weights={self.weights}: the first weight, of the most recent task, is the largest; give decreasing "
                "weights"
            )

    def select_trusted(self, gradient_norm: float, projected_norms: Sequence[float]) -> dict[int, float]:
        """Select the same tasks as TRGP, with larger weights for more recent ones.

        Args:
            gradient_norm: |G|, the norm of the new task's gradient.
            projected_norms: |G S_j| for every old task j.

        Returns:
            The trusted tasks, most recent first, with their weights lambda_j.
        """
        nearest = sorted(self.nearest_tasks(gradient_norm, projected_norms), reverse=True)  # most recent first
        if self.recency is not None:
            weights = [self.recency ** (nearest[0] - j) for j in nearest]
        else:
            weights = list(self.weights[: len(nearest)])
        if self.recency is not None or len(nearest) < len(self.weights):
            mean = sum(weights) / max(len(weights), 1)
            weights = [weight / mean for weight in weights]
        return dict(zip(nearest, weights, strict=True))
