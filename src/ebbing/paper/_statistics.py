"""Statistics of differences between runs with equal seeds: how large they are, and whether noise explains them.

Every verdict on networks follows one standard. A claim holds if a test rejects "no difference" at the 5% level, it does
not hold if the test rejects in the other direction, and otherwise it is undecided. A single seed decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ebbing._validate import Array

SIGNIFICANCE_LEVEL = 0.05
ROUNDING_ERROR = 1e-9
"""Standard errors below this come from rounding alone."""


def standard_error(values: Array) -> Array:
    """Return the standard error of the mean over seeds.

    Args:
        values: Measurements (seeds, ...).

    Returns:
        The standard errors (...); zero for a single seed, which shows no spread.
    """
    return values.std(axis=0, ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.zeros(values.shape[1:])


@dataclass(frozen=True)
class PairedDifferences:
    """The differences of two quantities that were measured with the same seeds.

    Attributes:
        differences: One difference for each seed.
    """

    differences: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return float(np.mean(self.differences))

    @property
    def standard_error(self) -> float:
        """The standard error of the mean; zero for a single seed."""
        return float(standard_error(np.array(self.differences)))

    @property
    def p_value(self) -> float:
        """The two-sided p-value of a t-test of zero mean.

        It is 1 where the spread is unknown: for a single seed, and for equal differences. Accuracies are multiples of
        one test image, so equal differences are a coincidence, not certainty.

        Example:
            >>> round(PairedDifferences((0.1, 0.3, 0.2)).p_value, 3), PairedDifferences((0.1,)).p_value
            (0.074, 1.0)
        """
        from scipy import stats

        if len(self.differences) < 2 or self.standard_error <= ROUNDING_ERROR:
            return 1.0
        return float(2 * stats.t.sf(abs(self.mean) / self.standard_error, len(self.differences) - 1))

    @property
    def is_positive(self) -> bool | None:
        """Whether the mean is significantly positive (True) or negative (False); None if it is neither."""
        return None if self.p_value >= SIGNIFICANCE_LEVEL else self.mean > 0

    @property
    def significance(self) -> str:
        """The p-value and the number of positive differences, in words."""
        if len(self.differences) < 2:
            return "one seed: significance unknown"
        wins = sum(difference > 0 for difference in self.differences)
        p = f"p = {self.p_value:.2g}" if self.standard_error > ROUNDING_ERROR else "no spread"
        return f"{p}, positive in {wins} of {len(self.differences)} seeds"

    def to_text(self, decimals: int = 2) -> str:
        """Return the mean difference, its standard error and its significance in words.

        Args:
            decimals: Digits after the decimal point.

        Returns:
            The text; without a standard error for a single seed.

        Example:
            >>> PairedDifferences((0.1, 0.3, 0.2)).to_text()
            '+0.20 ± 0.06 (p = 0.074, positive in 3 of 3 seeds)'
        """
        error = f" ± {self.standard_error:.{decimals}f}" if len(self.differences) > 1 else ""
        return f"{self.mean:+.{decimals}f}{error} ({self.significance})"


def trend_test(values: Array) -> tuple[float, bool | None]:
    """Test whether values rise from place to place, by Page's trend test.

    Args:
        values: Measurements (seeds, places).

    Returns:
        The p-value of "no rise"; and True if the values rise significantly, False if they fall significantly, None if
        neither or if there is a single seed.

    Example:
        >>> rising = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 4.0, 3.0], [0.0, 1.0, 2.0, 5.0]])
        >>> [trend_test(values)[1] for values in (rising, -rising, rising[:1])]
        [True, False, None]
    """
    from scipy.stats import page_trend_test

    if len(values) < 2:
        return 1.0, None
    rising, falling = (float(page_trend_test(sign * values).pvalue) for sign in (1, -1))
    return rising, True if rising < SIGNIFICANCE_LEVEL else False if falling < SIGNIFICANCE_LEVEL else None
