"""The rank correlation of orders, against SciPy's."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from ebbing._ranks import rank_correlation


@pytest.mark.parametrize("levels", [2, 5, 1000])
def test_rank_correlation_equals_scipy_with_ties(levels):
    random = np.random.default_rng(levels)
    for _ in range(20):
        a, b = random.integers(levels, size=(2, 24)).astype(float)
        assert rank_correlation(a, b) == pytest.approx(spearmanr(a, b)[0], abs=1e-12)


def test_values_that_do_not_vary_have_no_correlation():
    assert rank_correlation(np.ones(3), np.arange(3.0)) == 0
    assert rank_correlation(np.arange(3.0), np.ones(3)) == 0
