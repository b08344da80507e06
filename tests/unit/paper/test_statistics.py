"""One standard for verdicts on networks: paired tests, trends, and what a single seed or no spread can tell."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from ebbing.paper._statistics import Paired, standard_error, trend


def test_the_p_value_is_of_a_paired_test():
    first, second = np.array([90.0, 92.0, 95.0, 91.0]), np.array([89.5, 91.0, 94.8, 90.1])
    expected: Any = stats.ttest_rel(first, second)
    pair = Paired(tuple((first - second).tolist()))
    assert pair.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert pair.error == pytest.approx(stats.sem(first - second))


def test_equal_differences_are_chance_not_certainty():
    for difference in ((0.05, 0.05), (96.35 - 96.30, 95.15 - 95.10)):
        pair = Paired(difference)
        assert (pair.p, pair.positive) == (1.0, None)
        assert "no spread" in pair.text()


@pytest.mark.parametrize(
    ("differences", "positive"),
    [((0.5, 0.6, 0.7), True), ((-0.5, -0.6, -0.7), False), ((0.5, -0.6, 0.7), None), ((0.5,), None)],
)
def test_positive_means_surely_positive(differences, positive):
    assert Paired(differences).positive is positive


def test_standard_errors_of_one_seed_are_zero():
    assert standard_error(np.array([[1.0, 2.0]])).tolist() == [0, 0]
    values = np.random.default_rng(0).standard_normal((4, 3))
    assert standard_error(values) == pytest.approx(stats.sem(values, axis=0))


def test_a_trend_is_decided_by_pages_test():
    noisy = np.array([(0.1, 0.2, 0.3, 0.4), (0.2, 0.4, 0.1, 0.3), (0.3, 0.1, 0.4, 0.2)])
    expected: Any = stats.page_trend_test(noisy)
    assert trend(noisy) == (pytest.approx(expected.pvalue), None)
    assert trend(np.full((3, 4), 0.2))[1] is None
