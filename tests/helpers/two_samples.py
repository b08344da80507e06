"""Whether two samples have the same law."""

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtri
from scipy.stats import ks_2samp, pearson3, rankdata

ALPHA = 1e-4
RUNS_ENERGY = 800


def sample_p_value(a, b, unit: float, runs_energy: int = RUNS_ENERGY) -> float:
    """How likely two samples (runs, columns) are to differ this much if they have the same law.

    Columns without randomness must be equal, up to rounding of numbers of the size of `unit`. For the rest: the smaller
    of two p-values, doubled; of all columns' Kolmogorov-Smirnov tests, and of the energy distance in ranks (heavy tails
    do not matter then), which takes `runs_energy` runs of each.
    """
    varies = np.maximum(np.ptp(a, axis=0), np.ptp(b, axis=0)) > 1e-9 * unit
    still_a, still_b = a[:1, ~varies], b[:1, ~varies]
    if not np.allclose(still_a, still_b, rtol=1e-9, atol=1e-9 * unit):
        return 0.0
    a, b = a[:, varies], b[:, varies]
    if a.shape[1] == 0:
        return 1.0
    entries = [ks_2samp(x, y, method="asymp").pvalue for x, y in zip(a.T, b.T, strict=True)]  # type: ignore[union-attr]
    return min(1.0, 2 * len(entries) * min(entries), 2 * energy_p_value(a[:runs_energy], b[:runs_energy]))


def energy_p_value(a, b, permutations=300) -> float:
    """2 E|A-B| - E|A-A'| - E|B-B'| against its values when the runs are shuffled between the samples.

    The tail beyond the shuffles is that of a Pearson III law with their mean, variance and skewness: the statistic is
    nearly a weighted sum of chi-squares.
    """
    pooled = np.vstack([a, b])
    scores = ndtri(rankdata(pooled, axis=0) / (len(pooled) + 1))
    distances = cdist(scores, scores)
    first = np.zeros((len(pooled), permutations + 1))
    first[: len(a), 0] = 1  # column 0: the samples as they are
    rng = np.random.default_rng(0)
    for k in range(1, permutations + 1):
        first[rng.permutation(len(pooled))[: len(a)], k] = 1
    within_a = np.einsum("ik,ik->k", first, distances @ first)
    reach = distances.sum(axis=0) @ first  # from the first sample to all
    between, within_b = reach - within_a, distances.sum() - 2 * reach + within_a
    m, n = len(a), len(b)
    statistic = 2 * between / (m * n) - within_a / m**2 - within_b / n**2
    null = statistic[1:]
    mean, spread = null.mean(), null.std()
    skew = np.mean((null - mean) ** 3) / spread**3
    return float(pearson3.sf(statistic[0], skew, loc=mean, scale=spread))
