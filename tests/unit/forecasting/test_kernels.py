"""Kernels of data without a network, at any scale."""

import numpy as np
import pytest

from ebbing.forecasting import linear_kernel, random_feature_kernel
from ebbing.forecasting.kernels import normalize


@pytest.mark.parametrize("scale", [1e-160, 1e150])
def test_random_features_do_not_depend_on_units(scale):
    X = np.random.default_rng(0).standard_normal((6, 3))
    np.testing.assert_allclose(random_feature_kernel(X * [scale, 1, 1]), random_feature_kernel(X), rtol=1e-9)


def test_inputs_too_large_for_a_linear_model_raise():
    with pytest.raises(ValueError, match="the kernel is not finite: check that weights and inputs are finite"):
        normalize(linear_kernel(np.full((3, 2), 1e160)))
