"""Newton's method finds the minimum that a general optimizer finds, also where tasks are fitted closely."""

import numpy as np
import pytest
from scipy.optimize import minimize

from ebbing.forecasting._logistic import fit_logistic


def problem(n=30, p=50, models=3, seed=0):
    """Return features of examples, outputs to start from, and labels."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, p)) / np.sqrt(p)
    return X, 2.0 * random.standard_normal((n, models)), random.integers(0, 2, n).astype(float)


@pytest.mark.parametrize("ridge", [10.0, 0.1, 1e-3])
def test_weights_equal_those_of_a_general_optimizer(ridge):
    X, outputs, labels = problem()
    a = fit_logistic(X @ X.T, outputs, labels, ridge)
    for start, dual in zip(outputs.T, a.T, strict=True):

        def loss(w, start=start):
            u = start + X @ w
            residual = labels - 1 / (1 + np.exp(-u))
            value = np.logaddexp(0, -(2 * labels - 1) * u).sum() + 0.5 * ridge * w @ w
            return value, ridge * w - X.T @ residual

        best = minimize(loss, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-9})
        assert np.allclose(X.T @ dual, best.x, atol=2e-4 * np.abs(best.x).max())


@pytest.mark.parametrize("ridge", [1.0, 1e-4, 1e-8])
def test_the_gradient_vanishes(ridge):
    X, outputs, labels = problem()
    a = fit_logistic(X @ X.T, outputs, labels, ridge)
    p = 1 / (1 + np.exp(-(outputs + X @ X.T @ a)))
    assert np.allclose(ridge * a, labels[:, None] - p, atol=1e-4 * max(np.abs(ridge * a).max(), ridge))


def test_labels_that_contradict_each_other_are_averaged():
    kernel, labels = np.ones((4, 4)), np.array([0.0, 1.0, 1.0, 1.0])
    a = fit_logistic(kernel, np.zeros((4, 1)), labels, 1e-9)
    assert 1 / (1 + np.exp(-(kernel @ a)[0, 0])) == pytest.approx(0.75, abs=1e-6)


def test_a_large_ridge_stays_where_it_was():
    X, outputs, labels = problem()
    assert np.abs(fit_logistic(X @ X.T, outputs, labels, 1e12)).max() < 1e-11


def test_kernel_that_rounding_made_indefinite_is_learned():
    """A kernel of rank 2 whose other eigenvalues are rounding errors of single precision, some of them negative."""
    random = np.random.default_rng(0)
    features = random.standard_normal((60, 2))
    labels = (features @ np.array([1.0, -2.0]) > 0).astype(float)
    exact = features @ features.T
    error = 1e-6 * random.standard_normal(exact.shape)
    rounded = exact + error + error.T
    assert np.linalg.eigvalsh(rounded)[0] < -1e-8
    found, expected = (K @ fit_logistic(K, np.zeros((60, 1)), labels, 1e-8) for K in (rounded, exact))
    assert (np.sign(found[:, 0]) == 2 * labels - 1).all()
    assert np.corrcoef(found[:, 0], expected[:, 0])[0, 1] > 0.99
