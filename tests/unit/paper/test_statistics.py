"""Statistics of verdicts on networks: paired tests, trends, a single seed, no spread."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from ebbing.paper._statistics import PairedDifferences, best_others_minus_best, slopes, standard_error


def test_p_value_is_that_of_a_paired_t_test():
    first, second = np.array([90.0, 92.0, 95.0, 91.0]), np.array([89.5, 91.0, 94.8, 90.1])
    expected: Any = stats.ttest_rel(first, second)
    pair = PairedDifferences(tuple((first - second).tolist()))
    assert pair.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert pair.standard_error == pytest.approx(stats.sem(first - second))


def test_equal_differences_are_not_significant():
    for difference in ((0.05, 0.05), (96.35 - 96.30, 95.15 - 95.10)):
        pair = PairedDifferences(difference)
        assert (pair.p_value, pair.interval) == (1.0, None)
        assert "no spread" in pair.to_text()


def test_seeds_that_diverged_are_not_significant():
    pair = PairedDifferences((0.5, float("nan"), 0.6))
    assert (pair.p_value, pair.interval) == (1.0, None)
    assert "diverged" in pair.to_text()


def test_interval_is_that_of_the_t_distribution():
    differences = (0.5, -0.6, 0.7, 0.1)
    expected: Any = stats.ttest_1samp(differences, 0.0)
    assert PairedDifferences(differences).interval == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert PairedDifferences((0.5,)).interval is None
    assert PairedDifferences((0.5, 0.5)).interval is None


def test_standard_error_of_one_seed_is_zero():
    assert standard_error(np.array([[1.0, 2.0]])).tolist() == [0, 0]
    values = np.random.default_rng(0).standard_normal((4, 3))
    assert standard_error(values) == pytest.approx(stats.sem(values, axis=0))


def test_slopes_are_those_of_least_squares():
    values, places = np.random.default_rng(0).standard_normal((3, 4)), np.array([0, 1, 4, 5])
    expected = [np.polyfit(places, row, 1)[0] for row in values]
    assert slopes(values, places).differences == pytest.approx(expected)


def test_best_place_is_chosen_by_the_other_seeds():
    values = np.array([[0.1, 0.5, 0.3, 0.9], [0.4, 0.2, 0.6, 0.9], [0.4, 0.3, 0.1, 0.9]])
    found = best_others_minus_best(values, claimed=(0, 1)).differences
    means = [np.delete(values, seed, axis=0).mean(axis=0) for seed in range(3)]
    expected = [row[2] - row[int(mean[:2].argmin())] for row, mean in zip(values, means, strict=True)]
    assert found == pytest.approx(expected)


def test_best_places_of_noise_are_not_better():
    """Chosen and judged by the same seeds, the best of four noisy places would beat the best of two."""
    random = np.random.default_rng(0)
    means = [best_others_minus_best(random.standard_normal((6, 6)), claimed=(0, 1)).mean for _ in range(2000)]
    assert abs(np.mean(means)) < 3 * np.std(means) / 2000**0.5
    same = [min(row[:2]) - min(row[2:]) for row in random.standard_normal((2000, 6))]
    assert np.mean(same) > 10 * np.std(same) / 2000**0.5
