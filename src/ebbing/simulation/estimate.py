"""The mean of a sample with its uncertainty."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ebbing._validate import check_array


@dataclass(frozen=True)
class MeanEstimate:
    """The mean of independent runs with its standard error.

    Attributes:
        mean: Mean of the sample.
        standard_error: Standard error of that mean; NaN for a single run.
        std: Standard deviation of the sample (with N - 1); NaN for a single run.
    """

    mean: float
    standard_error: float
    std: float

    @classmethod
    def of(cls, sample: npt.ArrayLike) -> MeanEstimate:
        """Return the estimate from the values of independent runs.

        Args:
            sample: One value per run (runs,).

        Returns:
            The mean, its standard error and the standard deviation of one run.

        Raises:
            ValueError: If the sample is not a row of finite numbers, at least one.

        Example:
            >>> MeanEstimate.of(np.array([1.0, 2.0, 3.0])).std
            1.0
        """
        sample = check_array("sample", sample)
        if sample.ndim != 1 or not sample.size:
            raise ValueError(f"sample has shape {sample.shape}; give one value per run, at least one")
        scale = float(np.abs(sample).max()) or 1.0  # squares of very small or large numbers under- or overflow
        std = scale * float(np.std(sample / scale, ddof=1)) if len(sample) > 1 else float("nan")
        return cls(float(np.mean(sample)), std / len(sample) ** 0.5, std)

    def z_score(self, expected: float) -> float:
        """Return the distance of the mean from an expected value, in standard errors.

        Args:
            expected: The value that theory predicts.

        Returns:
            (mean - expected) / standard_error; 0 if both agree and the sample has no spread; NaN for a single run.

        Example:
            >>> MeanEstimate(mean=2.0, standard_error=0.5, std=5.0).z_score(1.0)
            2.0
        """
        difference = self.mean - expected
        if not self.standard_error <= 1e-13 * abs(expected):  # above rounding, or nan for a single run
            return difference / self.standard_error
        agree = math.isclose(self.mean, expected, rel_tol=1e-9, abs_tol=1e-12)
        return 0.0 if agree else math.copysign(math.inf, difference)
