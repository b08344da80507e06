"""What a simulation gives: the error matrix of every run, or its metrics alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ebbing import metrics
from ebbing._validate import Array
from ebbing.problem import Problem


@dataclass(frozen=True, eq=False)
class Simulation:
    """Independent runs. errors: L[t, i] of every run (runs, T+1, T)."""

    problem: Problem
    errors: Array

    @property
    def forgetting(self) -> Array:
        """F_T of every run (runs,)."""
        return np.asarray(metrics.forgetting(self.errors, kind="error"))

    @property
    def generalization(self) -> Array:
        """G_T of every run (runs,)."""
        return np.asarray(metrics.generalization_error(self.errors, kind="error"))


@dataclass(frozen=True, eq=False)
class SimulatedMetrics:
    """Independent runs of which only the metrics were kept (runs,), and the mean error matrix (T+1, T)."""

    problem: Problem
    forgetting: Array
    generalization: Array
    mean_errors: Array
