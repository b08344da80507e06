"""Differences seed by seed: how large they are, and whether they are more than noise.

One standard for every verdict on networks: a claim holds if a test rules out chance at 5%, does not hold if it rules it
out in the other direction, and is undecided otherwise. A single seed decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ebbing._validate import Array

SURE = 0.05
SAME = 1e-9
"""Errors below which values differ by rounding alone."""


def standard_error(values: Array) -> Array:
    """Of the mean over seeds, the first axis; zero, not unknown, for a single seed, which shows no spread."""
    return values.std(axis=0, ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.zeros(values.shape[1:])


@dataclass(frozen=True)
class Paired:
    """Differences of two things measured with the same seeds, one for each seed."""

    differences: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return float(np.mean(self.differences))

    @property
    def error(self) -> float:
        """Standard error of the mean; zero for a single seed."""
        return float(standard_error(np.array(self.differences)))

    @property
    def p(self) -> float:
        """Of a t-test, two-sided; 1 where the spread cannot be told, of a single seed or of equal differences.

        Accuracies are multiples of one test image: that two differences are equal is chance, not certainty.

        >>> round(Paired((0.1, 0.3, 0.2)).p, 3), Paired((0.1,)).p
        (0.074, 1.0)
        """
        from scipy import stats

        if len(self.differences) < 2 or self.error <= SAME:
            return 1.0
        return float(2 * stats.t.sf(abs(self.mean) / self.error, len(self.differences) - 1))

    @property
    def positive(self) -> bool | None:
        """Whether the mean is positive, or negative, beyond noise; None if these seeds do not tell."""
        return None if self.p >= SURE else self.mean > 0

    @property
    def sure(self) -> str:
        """How surely, in words."""
        if len(self.differences) < 2:
            return "one seed: how surely cannot be told"
        wins = sum(difference > 0 for difference in self.differences)
        p = f"p = {self.p:.2g}" if self.error > SAME else "no spread"
        return f"{p}, positive in {wins} of {len(self.differences)} seeds"

    def text(self, decimals: int = 2) -> str:
        """The mean difference, and how surely it is not zero.

        >>> Paired((0.1, 0.3, 0.2)).text()
        '+0.20 ± 0.06 (p = 0.074, positive in 3 of 3 seeds)'
        """
        error = f" ± {self.error:.{decimals}f}" if len(self.differences) > 1 else ""
        return f"{self.mean:+.{decimals}f}{error} ({self.sure})"


def trend(values: Array) -> tuple[float, bool | None]:
    """Whether values (seeds, places) rise along the places: Page's test, its p, and the verdict.

    >>> rising = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 4.0, 3.0], [0.0, 1.0, 2.0, 5.0]])
    >>> [trend(values)[1] for values in (rising, -rising, rising[:1])]
    [True, False, None]
    """
    from scipy.stats import page_trend_test

    if len(values) < 2:
        return 1.0, None
    rising, falling = (float(page_trend_test(sign * values).pvalue) for sign in (1, -1))
    return rising, True if rising < SURE else False if falling < SURE else None
