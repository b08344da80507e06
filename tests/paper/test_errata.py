"""The paper's errata, numbered as in docs/theory.md: what is printed fails, what replaces it holds."""

import numpy as np
import pytest

from ebbing.problem import Problem
from ebbing.simulation import learn_task
from ebbing.theory import coefficients, expect, forward_transfer, two_task_generalization_slope


def test_erratum_1_best_place_of_the_special_task():
    """alpha = sqrt(r^T / (T-2-(T-3) r)) minimises ((1-r)(T-2) + r) alpha + r^T / alpha; the printed one does not."""
    for T in (6, 8, 12):
        for r in (0.1, 0.5, 0.7):
            slope = lambda alpha, T=T, r=r: (1 - r) * (T - 2) + r - r**T / alpha**2  # noqa: E731
            right = np.sqrt(r**T / (T - 2 - (T - 3) * r))
            printed = np.sqrt(r**T / (T - 2 - (T - 1) * r))
            assert slope(right) == pytest.approx(0, abs=1e-12)
            assert abs(slope(printed)) > 0.1


def test_erratum_2_trace_of_the_inverse_wishart_matrix():
    """tr E[(X'X)^-1] = n / (p-n-1), not n / (p-n+1)."""
    rng = np.random.default_rng(0)
    n, p, runs = 6, 20, 40_000
    X = rng.standard_normal((runs, p, n))
    trace = np.trace(np.linalg.inv(X.transpose(0, 2, 1) @ X), axis1=1, axis2=2)
    error = trace.std() / runs**0.5
    assert abs(trace.mean() - n / (p - n - 1)) < 4 * error
    assert abs(trace.mean() - n / (p - n + 1)) > 20 * error


def test_erratum_3_noise_of_a_new_task():
    """The last term is p s^2 / (p-n-1) (1 - r^t); without the bracket it is wrong already for the first task."""
    n, p, s2, T = 20, 50, 0.25, 5
    problem = Problem.orthogonal(T=T, n=n, p=p, sigma=s2**0.5)
    r, t = 1 - n / p, np.arange(1, T + 1)
    gaps = np.array([sum(n / p * r ** (k - i) * problem.gaps[i - 1, k - 1] for i in range(1, k + 1)) for k in t])
    without = r**t * problem.start + gaps
    level = p * s2 / (p - n - 1)
    learnt = forward_transfer(problem).learnt
    assert without + level * (1 - r**t) == pytest.approx(learnt, rel=1e-14)
    assert np.all(without + level - learnt > 0.01)


def test_erratum_4_forward_transfer_is_negative_where_it_helps():
    problem = Problem.identical(T=2, n=50, p=100)
    transfer = forward_transfer(problem)
    assert transfer.learnt[1] < transfer.scratch[1]  # the second task is learnt better after the first
    assert transfer.difference[1] < 0  # yet the paper calls positive values a benefit


@pytest.mark.parametrize(("n", "negative"), [(39, True), (38, False)])
def test_erratum_5_first_coefficient_of_four_tasks(n, negative):
    """c_12 < 0 only for r < (sqrt 5 - 1)/2 = 0.618...: r = 0.61 below, r = 0.62 above."""
    assert (coefficients(4, n, 100)[0, 1] < 0) == negative


def test_erratum_6_noise_has_one_entry_per_sample():
    """y = X w + z adds up with z in R^n only."""
    n, p = 5, 12
    X, w = np.ones((n, p)), np.zeros(p)
    assert (X @ w + np.zeros(n)).shape == (n,)
    with pytest.raises(ValueError, match="broadcast"):
        X @ w + np.zeros(p)


def test_erratum_7_underparameterized_means_at_least_as_many_samples_as_parameters():
    """Least squares has one solution for n >= p, whatever the start; for n < p it depends on the start."""
    rng = np.random.default_rng(1)
    for n, unique in ((12, True), (30, True), (11, False)):
        X, y = rng.standard_normal((1, n, 12)), rng.standard_normal((1, n))
        ends = [learn_task(start, X, y) for start in (np.zeros((1, 12)), np.ones((1, 12)))]
        assert (np.abs(ends[0] - ends[1]).max() < 1e-9) == unique


def test_erratum_8_slope_of_generalization_error():
    """Agreeing tasks, low noise: the slope is negative just above n and positive far out, so a floor is a minimum."""

    def problem(p):
        return Problem(gram=[[1.0, 0.8], [0.8, 1.0]], n=50, p=p, sigma=0.1)

    assert two_task_generalization_slope(problem(52)) < 0 < two_task_generalization_slope(problem(500))
    near, floor, far = (expect(problem(p)).generalization for p in (52, 61, 500))
    assert floor < near
    assert floor < far
