"""The mean of a sample with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ebbing._validate import Array


@dataclass(frozen=True)
class MeanEstimate:
    """A sample's mean, with the standard error of that mean and the sample's standard deviation."""

    mean: float
    standard_error: float
    std: float

    @classmethod
    def of(cls, sample: Array) -> MeanEstimate:
        """From the values of independent runs; a single run has no known error (nan)."""
        scale = float(np.abs(sample).max()) or 1.0  # squares of very small or large numbers do not exist
        std = scale * float(np.std(sample / scale, ddof=1)) if len(sample) > 1 else float("nan")
        return cls(float(np.mean(sample)), std / len(sample) ** 0.5, std)
