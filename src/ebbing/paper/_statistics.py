"""Statistics of differences between runs with equal seeds: how large they are, and whether noise explains them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ebbing._significance import SIGNIFICANCE_LEVEL
from ebbing._validate import Array

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

        It is 1 where the spread is unknown: for a single seed, where training diverged with one (NaN), and for equal
        differences. Accuracies are multiples of one test image, so equal differences are a coincidence, not certainty.

        Example:
            >>> round(PairedDifferences((0.1, 0.3, 0.2)).p_value, 3), PairedDifferences((0.1,)).p_value
            (0.074, 1.0)
        """
        from scipy.special import stdtr

        if not self._has_spread:
            return 1.0
        return float(2 * stdtr(len(self.differences) - 1, -abs(self.mean) / self.standard_error))

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% confidence interval of the mean; None where the spread is unknown, as for `p_value`.

        Example:
            >>> [round(end, 3) for end in PairedDifferences((0.1, 0.3, 0.2)).interval]
            [-0.048, 0.448]
        """
        from scipy.special import stdtrit

        if not self._has_spread:
            return None
        half = float(-stdtrit(len(self.differences) - 1, SIGNIFICANCE_LEVEL / 2)) * self.standard_error
        return self.mean - half, self.mean + half

    @property
    def _has_spread(self) -> bool:
        """Whether seeds differ by more than rounding, and all of them are numbers."""
        return len(self.differences) > 1 and self.standard_error > ROUNDING_ERROR

    @property
    def significance(self) -> str:
        """The p-value and the number of positive differences, in words."""
        if len(self.differences) < 2:
            return "one seed: significance unknown"
        wins = sum(difference > 0 for difference in self.differences)
        p = f"p = {self.p_value:.2g}" if self._has_spread else "no spread"
        if np.isnan(self.mean):
            p = "training diverged with some seeds"
        return f"{p}, positive in {wins} of {len(self.differences)} seeds"

    def to_text(self, decimals: int = 2) -> str:
        """Return the mean difference, its standard error, its 95% interval and its significance in words.

        Args:
            decimals: Digits after the decimal point.

        Returns:
            The text; the mean alone for a single seed.

        Example:
            >>> PairedDifferences((0.1, 0.3, 0.2)).to_text()
            '+0.20 ± 0.06 [-0.05, +0.45] (p = 0.074, positive in 3 of 3 seeds)'
        """
        error = f" ± {self.standard_error:.{decimals}f}" if len(self.differences) > 1 else ""
        interval = "" if self.interval is None else f" [{format_interval(self.interval, decimals, ', ')}]"
        return f"{self.mean:+.{decimals}f}{error}{interval} ({self.significance})"


def format_interval(interval: tuple[float, float], decimals: int, between: str) -> str:
    """Return the ends of an interval with their signs.

    Args:
        interval: Both ends.
        decimals: Digits after the decimal point.
        between: What stands between the ends.

    Returns:
        The text.

    Example:
        >>> format_interval((-0.05, 0.45), 2, " to ")
        '-0.05 to +0.45'
    """
    return between.join(f"{end:+.{decimals}f}" for end in interval)


def slopes(values: Array, places: Array | None = None) -> PairedDifferences:
    """Return for each seed by how much its values rise from place to place: the slope of the least-squares line.

    Args:
        values: Measurements (seeds, places).
        places: Where they were taken; 0, 1, 2 and so on if left out.

    Returns:
        One slope for each seed.

    Example:
        >>> slopes(np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 1.0]])).differences
        (1.0, 0.5)
    """
    x = np.arange(values.shape[1]) if places is None else places
    centered = x - x.mean()
    return PairedDifferences(tuple((values @ centered / (centered @ centered)).round(12).tolist()))


def best_others_minus_best(values: Array, claimed: Sequence[int]) -> PairedDifferences:
    """Return for each seed how much smaller the value at the best claimed place is than at the best other place.

    Which places are best is decided by the means over all *other* seeds: chosen and judged by the same seed, the
    best of many noisy places would look better than it is. A single seed judges its own choice.

    Args:
        values: Measurements (seeds, places).
        claimed: The places of which one is claimed to have the smallest value.

    Returns:
        One difference for each seed, positive where the claim is right.

    Example:
        >>> best_others_minus_best(np.array([[0.1, 0.5, 0.3], [0.3, 0.5, 0.4]]), claimed=[0]).differences
        (0.2, 0.1)
    """
    others = [place for place in range(values.shape[1]) if place not in claimed]
    found = []
    for seed, row in enumerate(values):
        mean = np.delete(values, seed, axis=0).mean(axis=0) if len(values) > 1 else row
        best, best_other = (min(places, key=lambda place: mean[place]) for places in (claimed, others))
        found.append(round(float(row[best_other] - row[best]), 12))
    return PairedDifferences(tuple(found))
