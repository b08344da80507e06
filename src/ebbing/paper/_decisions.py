"""Decisions on claims about networks, and how many seeds they take.

Every verdict on networks follows one standard. A claim is turned into one number for each seed, positive if the seed
agrees with it: a difference between two runs of that seed. A t-test over the seeds decides, two-sided at the 5% level
after Holm's correction for the number of claims that are tested together. The claim holds if the mean is significantly
positive, and does not hold if it is significantly negative. Otherwise the 95% interval of the mean says which effects
these seeds exclude. A single seed decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ebbing._significance import SIGNIFICANCE_LEVEL, holm
from ebbing.paper._statistics import PairedDifferences, format_interval

POWER = 0.8
"""The probability with which a planned number of seeds is to detect an effect."""


@dataclass(frozen=True)
class Decision:
    """The outcome of one of several tests that are corrected together.

    Attributes:
        differences: What was tested.
        p_value: The p-value of the t-test after Holm's correction.
        comparisons: The number of tests that are corrected together.
    """

    differences: PairedDifferences
    p_value: float
    comparisons: int

    @property
    def holds(self) -> bool | None:
        """Whether the mean is significantly positive (True) or negative (False); None if it is neither."""
        return None if self.p_value >= SIGNIFICANCE_LEVEL else self.differences.mean > 0

    def to_text(self, decimals: int = 2) -> str:
        """Return the differences and the corrected p-value in words.

        Args:
            decimals: Digits after the decimal point.

        Returns:
            The text; without a p-value where there is none.

        Example:
            >>> one, _ = decide([PairedDifferences((0.1, 0.3, 0.2)), PairedDifferences((0.1, 0.2, 0.1))])
            >>> one.to_text()
            '+0.20 ± 0.06 [-0.05, +0.45] (p = 0.074, positive in 3 of 3 seeds); p = 0.11 among 2 comparisons'
        """
        text = self.differences.to_text(decimals)
        if self.differences.interval is None or self.comparisons == 1:
            return text
        return f"{text}; p = {self.p_value:.2g} among {self.comparisons} comparisons"

    def bounds(self, decimals: int = 2) -> str:
        """Return which effects the seeds leave possible, in words.

        Args:
            decimals: Digits after the decimal point.

        Returns:
            The ends of the 95% interval; empty where the spread is unknown.
        """
        interval = self.differences.interval
        return "" if interval is None else f"between {format_interval(interval, decimals, ' and ')}"


def decide(claims: Sequence[PairedDifferences]) -> list[Decision]:
    """Test claims together, corrected for their number by Holm's method.

    Claims whose spread is unknown have p = 1, and count.

    Args:
        claims: The differences of each claim.

    Returns:
        The decisions, in the same order.
    """
    corrected = holm(np.array([claim.p_value for claim in claims]))
    return [Decision(claim, float(p), len(claims)) for claim, p in zip(claims, corrected, strict=True)]


def detectable_effect(deviation: float, seeds: int, *, comparisons: int = 1) -> float:
    """Return the smallest mean difference that a number of seeds detects with the probability `POWER`.

    The test is the two-sided t-test of `PairedDifferences` at the 5% level divided by the number of comparisons, the
    strictest level of Holm's method. Under a true mean d, t^2 has the noncentral F distribution with 1 and seeds - 1
    degrees of freedom and noncentrality seeds (d / deviation)^2.

    Args:
        deviation: The standard deviation of the differences between seeds.
        seeds: The number of seeds, at least 2.
        comparisons: The number of tests that are corrected together.

    Returns:
        The difference, in the unit of `deviation`.

    Example:
        >>> round(detectable_effect(1.0, seeds=12), 2), round(detectable_effect(1.0, seeds=12, comparisons=11), 2)
        (0.89, 1.3)
    """
    from scipy.optimize import brentq
    from scipy.special import ncfdtr, stdtrit

    critical = stdtrit(seeds - 1, SIGNIFICANCE_LEVEL / comparisons / 2) ** 2

    def missing(effect: float) -> float:
        return POWER - 1 + float(ncfdtr(1, seeds - 1, seeds * effect**2, critical))

    high = seeds**-0.5
    while missing(high) > 0:
        high *= 1.5
    return deviation * float(brentq(missing, 0.0, high))  # type: ignore[arg-type]


def describe_power(claim: PairedDifferences, planned: int, comparisons: int, decimals: int = 2) -> str:
    """Return in words which effect the planned seeds detect, judged by the spread of those that there are.

    Args:
        claim: The differences so far.
        planned: The planned number of seeds; more seeds than planned count as well.
        comparisons: The number of tests that are corrected together.
        decimals: Digits after the decimal point.

    Returns:
        The text; empty where the spread is unknown.

    Example:
        >>> describe_power(PairedDifferences((0.1, 0.3, 0.2)), planned=10, comparisons=2)
        '10 seeds detect 0.11 with 80% power'
    """
    if claim.interval is None:
        return ""
    planned = max(planned, len(claim.differences))
    deviation = float(np.std(claim.differences, ddof=1))
    effect = detectable_effect(deviation, planned, comparisons=comparisons)
    return f"{planned} seeds detect {effect:.{decimals}f} with {POWER:.0%} power"


def format_seeds(count: int, planned: int) -> str:
    """Return how many seeds there are, and how many are planned if these are more.

    Args:
        count: The number of seeds.
        planned: The planned number.

    Returns:
        The text.

    Example:
        >>> format_seeds(4, 12), format_seeds(12, 12), format_seeds(1, 1)
        ('4 of 12 planned seeds', '12 seeds', '1 seed')
    """
    return f"{count} of {planned} planned seeds" if count < planned else f"{count} seed{'s' * (count > 1)}"
