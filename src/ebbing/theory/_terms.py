"""The terms of forgetting and generalization error: `Terms`, and `CurriculumTerms` with conflict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Terms:
    """The terms of F_T = F1 + F2 + F3 and G_T = G1 + G2 + G3 (Theorem 1).

    The recursion splits the same way when n and sigma differ from task to task, so the terms always exist. A curriculum
    may have conflict, too (`CurriculumTerms`); here F4 and G4 are zero.

    Attributes:
        F1: Forgetting that comes from the initial model, through |w*_i|^2; NaN for a single task, as F2 and F3 are.
        F2: Forgetting that comes from the gaps between tasks.
        F3: Forgetting that comes from noise.
        G1: Generalization error that comes from the initial model.
        G2: Generalization error that comes from the gaps between tasks.
        G3: Generalization error that comes from noise.
        F4: Forgetting that comes from conflict: none.
        G4: Generalization error that comes from conflict: none.
    """

    F1: float
    F2: float
    F3: float
    G1: float
    G2: float
    G3: float
    F4: ClassVar[float] = 0.0
    G4: ClassVar[float] = 0.0


@dataclass(frozen=True)
class CurriculumTerms(Terms):
    """The terms of F = F1 + F2 + F3 + F4 and G = G1 + G2 + G3 + G4 over a curriculum; F is NaN for a single step.

    Attributes:
        F4: Forgetting that comes from conflict: the tasks learned in one step disagree, which acts as noise.
        G4: Generalization error that comes from conflict.
    """

    F4: float  # type: ignore[misc]  (zero for every object of the parent)
    G4: float  # type: ignore[misc]


SOURCES = ("the initial model", "gaps between tasks", "noise", "conflict within steps")
"""What the terms 1 to 4 come from."""
