"""Statistics of verdicts on networks: paired tests, trends, a single seed, no spread."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from ebbing.paper._statistics import PairedDifferences, standard_error, trend_test


def test_p_value_is_that_of_a_paired_t_test():
    first, second = np.array([90.0, 92.0, 95.0, 91.0]), np.array([89.5, 91.0, 94.8, 90.1])
    expected: Any = stats.ttest_rel(first, second)
    pair = PairedDifferences(tuple((first - second).tolist()))
    assert pair.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert pair.standard_error == pytest.approx(stats.sem(first - second))


def test_equal_differences_are_not_significant():
    for difference in ((0.05, 0.05), (96.35 - 96.30, 95.15 - 95.10)):
        pair = PairedDifferences(difference)
        assert (pair.p_value, pair.is_positive) == (1.0, None)
        assert "no spread" in pair.to_text()


@pytest.mark.parametrize(
    ("differences", "positive"),
    [((0.5, 0.6, 0.7), True), ((-0.5, -0.6, -0.7), False), ((0.5, -0.6, 0.7), None), ((0.5,), None)],
)
def test_is_positive_needs_significance(differences, positive):
    assert PairedDifferences(differences).is_positive is positive


def test_standard_error_of_one_seed_is_zero():
    assert standard_error(np.array([[1.0, 2.0]])).tolist() == [0, 0]
    values = np.random.default_rng(0).standard_normal((4, 3))
    assert standard_error(values) == pytest.approx(stats.sem(values, axis=0))


def test_trend_test_is_pages_test():
    noisy = np.array([(0.1, 0.2, 0.3, 0.4), (0.2, 0.4, 0.1, 0.3), (0.3, 0.1, 0.4, 0.2)])
    expected: Any = stats.page_trend_test(noisy)
    assert trend_test(noisy) == (pytest.approx(expected.pvalue), None)
    assert trend_test(np.full((3, 4), 0.2))[1] is None
