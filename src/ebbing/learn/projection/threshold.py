"""The share of the energy of a layer's inputs that is protected."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Threshold:
    """The share of the energy of a layer's inputs that is protected, by layer and growing from task to task.

    Attributes:
        share: The share after the first task, in (0, 1]: one value, or one per layer.
        growth: What is added to the share after every task, in [0, 1].
        include_crossing: Whether the direction that crosses the threshold after the first task is protected. The
            authors' code leaves it out, and so do the published settings (deviation 8 of docs/theory/methods.md).

    Example:
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
                raise ValueError(f"threshold {reprlib.repr(value)}: give a share between 0 and 1")
        if not isinstance(self.growth, int | float) or not 0 <= self.growth <= 1:
            raise ValueError(f"growth={self.growth!r}: give what is added after every task, between 0 and 1")

    def at(self, layer: int, task: int) -> float:
        """Return the threshold of a layer after a task.

        Args:
            layer: The number of the layer, from 0.
            task: The number of the task, from 0.

        Returns:
            The share of energy to protect, at most 1.
        """
        base = self.share[layer] if isinstance(self.share, tuple) else self.share
        return min(base + self.growth * task, 1.0)
