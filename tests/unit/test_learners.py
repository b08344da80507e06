"""Spectral filters of learners, and the errors of bad settings."""

import numpy as np
import pytest

from ebbing import Averaged, GradientFlow, GradientSteps, MinimumNorm, OnePassSgd, Ridge
from ebbing.learners import check_learner

FILTERS = [MinimumNorm(), Ridge(0.7), GradientSteps(0.1, 7), GradientFlow(0.4), Averaged(0.3)]


@pytest.mark.parametrize("learner", FILTERS, ids=repr)
def test_filters_solve_their_step(learner):
    rng = np.random.default_rng(0)
    X, y, w = rng.standard_normal((3, 6)) / 2, rng.standard_normal(3), rng.standard_normal(6)
    s, V = np.linalg.eigh(X.T @ X)
    s, V = s[-3:], V[:, -3:]
    filtered = w + (V * (learner.filter(s) / s)) @ V.T @ X.T @ (y - X @ w)
    expected = w
    match learner:
        case MinimumNorm():
            expected = w + np.linalg.pinv(X) @ (y - X @ w)
        case Averaged(weight):
            expected = w + weight * np.linalg.pinv(X) @ (y - X @ w)
        case Ridge(penalty):
            expected = w + np.linalg.solve(X.T @ X + penalty * np.eye(6), X.T @ (y - X @ w))
        case GradientSteps(rate, steps):
            expected = w
            for _ in range(steps):
                expected = expected + rate * X.T @ (y - X @ expected)
        case GradientFlow(time):
            expected = w
            for _ in range(100_000):
                expected = expected + time / 100_000 * X.T @ (y - X @ expected)
    np.testing.assert_allclose(filtered, expected, rtol=1e-4 if isinstance(learner, GradientFlow) else 1e-10)


@pytest.mark.parametrize("learner", FILTERS, ids=repr)
def test_derivatives_are_those_of_the_filters(learner):
    s, h = np.array([0.01, 0.5, 3.0, 12.0]), 1e-6
    slope = (learner.filter(s + h) - learner.filter(s - h)) / (2 * h)
    np.testing.assert_allclose(learner.filter_derivative(s), slope, rtol=1e-7, atol=1e-9)


def test_filters_keep_their_digits_at_small_eigenvalues():
    tiny = np.array([1e-18])
    np.testing.assert_allclose(GradientSteps(0.1, 7).filter(tiny), 0.7e-18, rtol=1e-14)
    np.testing.assert_allclose(GradientFlow(0.4).filter(tiny), 0.4e-18, rtol=1e-14)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ridge(-0.5), "penalty=-0.5: must not be negative"),
        (lambda: Ridge(float("nan")), "penalty"),
        (lambda: GradientSteps(0, 3), "learning_rate=0: give a positive number"),
        (lambda: GradientSteps(0.1, 0), "steps=0"),
        (lambda: GradientFlow(-1), "time=-1"),
        (lambda: Averaged(1.5), "weight=1.5: give a share"),
        (lambda: Averaged(0), "weight=0"),
        (lambda: OnePassSgd("x"), "learning_rate"),  # type: ignore[arg-type]
        (lambda: check_learner(Ridge), "give MinimumNorm"),
        (lambda: check_learner("ridge"), "learner='ridge': give MinimumNorm"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
