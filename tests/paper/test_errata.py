"""The paper's errata, numbered as in docs/theory/errata.md: what is printed fails, what replaces it holds."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from ebbing.paper.order_tables import TWO_CATEGORIES
from ebbing.paper.proofs import best_places, difference, enumerate_orders, generalization_places
from ebbing.paper.proofs.polynomials import sign_at
from ebbing.problem import Problem
from ebbing.simulation import simulate, solve_task
from ebbing.theory import (
    coefficients,
    descent_floor,
    expect,
    forward_transfer,
    negative_forgetting,
    two_task_generalization_slope,
)


def test_erratum_1_alpha_of_order1():
    """alpha = sqrt(r^T / (T-2-(T-3) r)) minimizes ((1-r)(T-2) + r) alpha + r^T / alpha; the printed one does not."""
    for T in (6, 8, 12):
        for r in (0.1, 0.5, 0.7):
            slope = lambda alpha, T=T, r=r: (1 - r) * (T - 2) + r - r**T / alpha**2  # noqa: E731
            right = np.sqrt(r**T / (T - 2 - (T - 3) * r))
            printed = np.sqrt(r**T / (T - 2 - (T - 1) * r))
            assert slope(right) == pytest.approx(0, abs=1e-12)
            assert abs(slope(printed)) > 0.1


def test_erratum_2_trace_of_inverse_wishart():
    """tr E[(X'X)^-1] = n / (p-n-1), not n / (p-n+1)."""
    rng = np.random.default_rng(0)
    n, p, runs = 6, 20, 40_000
    X = rng.standard_normal((runs, p, n))
    trace = np.trace(np.linalg.inv(X.transpose(0, 2, 1) @ X), axis1=1, axis2=2)
    error = trace.std() / runs**0.5
    assert abs(trace.mean() - n / (p - n - 1)) < 4 * error
    assert abs(trace.mean() - n / (p - n + 1)) > 20 * error


def test_erratum_3_noise_of_forward_transfer():
    """The last term is p s^2 / (p-n-1) (1 - r^t); without the bracket it is wrong already for the first task."""
    n, p, s2, T = 20, 50, 0.25, 5
    problem = Problem.orthogonal(T=T, n=n, p=p, sigma=s2**0.5)
    r, t = 1 - n / p, np.arange(1, T + 1)
    gaps = np.array([sum(n / p * r ** (k - i) * problem.gaps[i - 1, k - 1] for i in range(1, k + 1)) for k in t])
    without = r**t * problem.start + gaps
    noise_floor = p * s2 / (p - n - 1)
    learned = forward_transfer(problem).learned
    assert without + noise_floor * (1 - r**t) == pytest.approx(learned, rel=1e-14)
    assert np.all(without + noise_floor - learned > 0.01)


def test_erratum_4_sign_of_forward_transfer():
    problem = Problem.identical(T=2, n=50, p=100)
    transfer = forward_transfer(problem)
    assert transfer.learned[1] < transfer.scratch[1]  # the second task is learned better after the first
    assert transfer.difference[1] < 0  # yet the paper calls positive values a benefit


@pytest.mark.parametrize(("n", "negative"), [(39, True), (38, False)])
def test_erratum_5_sign_of_c12(n, negative):
    """c_12 < 0 only for r < (sqrt 5 - 1)/2 = 0.618...: r = 0.61 below, r = 0.62 above."""
    assert (coefficients(4, n, 100)[0, 1] < 0) == negative


def test_erratum_6_one_noise_value_per_sample():
    """y = X w + z adds up with z in R^n only."""
    n, p = 5, 12
    X, w = np.ones((n, p)), np.zeros(p)
    assert (X @ w + np.zeros(n)).shape == (n,)
    with pytest.raises(ValueError, match="broadcast"):
        _ = X @ w + np.zeros(p)


def test_erratum_7_underparameterized_means_many_samples():
    """Least squares has one solution for n >= p, whatever the start; for n < p it depends on the start."""
    rng = np.random.default_rng(1)
    for n, unique in ((12, True), (30, True), (11, False)):
        X, y = rng.standard_normal((1, n, 12)), rng.standard_normal((1, n))
        ends = [solve_task(start, X, y) for start in (np.zeros((1, 12)), np.ones((1, 12)))]
        assert (np.abs(ends[0] - ends[1]).max() < 1e-9) == unique


def test_erratum_8_slope_of_G2():
    """Agreeing tasks, low noise: the slope is negative just above n and positive far out, so a floor is a minimum."""

    def problem(p):
        return Problem(gram=[[1.0, 0.8], [0.8, 1.0]], n=50, p=p, sigma=0.1)

    assert two_task_generalization_slope(problem(52)) < 0 < two_task_generalization_slope(problem(500))
    near, floor, far = (expect(problem(p)).generalization for p in (52, 61, 500))
    assert floor < near
    assert floor < far


def test_erratum_9_negative_forgetting_is_an_equivalence():
    """With noise above the proposition's bound the condition still decides the sign of E F_2, both ways."""
    n, p = 50, 100
    for sigma, second, negative in ((0.1, 1.0, True), (0.1, -1.0, False), (1.5, 0.5, False)):
        problem = Problem.from_vectors([[1.0], [second]], n=n, p=p, sigma=sigma)
        found = negative_forgetting(problem)
        assert found.noise_allows == (sigma**2 < (p - n - 1) / p)
        assert found.holds == negative == (expect(problem).forgetting <= 0)
        assert expect(problem).forgetting == pytest.approx(-n / p * found.margin, rel=1e-12)


def test_erratum_10_nine_other_orders():
    assert len(set(enumerate_orders((3, 3))) - {"ABABAB"}) == 9
    assert len(TWO_CATEGORIES) == 10
    assert TWO_CATEGORIES[0][0] == "ABABAB"


def test_erratum_11_equal_counts_are_needed():
    """sum over unlike pairs of r^{T-i} + r^{T-j}: the same for every order of (2, 2), not of (3, 1)."""

    def linear(order, r=0.5):
        T = len(order)
        pairs = [(i, j) for j in range(T) for i in range(j) if order[i] != order[j]]
        return round(sum(r ** (T - 1 - i) + r ** (T - 1 - j) for i, j in pairs), 12)

    assert len({linear(order) for order in enumerate_orders((2, 2))}) == 1
    assert len({linear(order) for order in enumerate_orders((3, 1))}) > 1


def test_erratum_12_monotone_place():
    """i* does not increase with r, though alpha = r^{T-i} increases with r for every fixed i."""
    for T in (6, 9, 14):
        places = [best_places(T, Fraction(k, 200))[0] for k in range(1, 200)]
        assert all(a >= b for a, b in pairwise(places))
        assert len(set(places)) == T // 2 - 1
        assert all(np.diff([r ** (T - 3) for r in np.linspace(0.1, 0.9, 9)]) > 0)


def test_erratum_13_cross_term():
    """|w_T - w*_i|^2 - |w*_T - w*_i|^2 - |e|^2 has mean 0 but is not 0."""
    problem = Problem.from_vectors([[1.0, 0.0], [0.0, 1.0]], n=30, p=10, sigma=1.0)
    errors = simulate(problem, runs=40_000, seed=0).errors[:, 2]
    cross = errors[:, 0] - problem.gaps[0, 1] - errors[:, 1]  # L_2[2] = |e|^2
    assert abs(cross.mean()) < 4 * cross.std() / 200
    assert cross.std() > 0.1


def test_erratum_14_range_of_lemma_2():
    """The lemma also holds for the first task (t = 0) and for tasks still to come (i > t)."""
    problem = Problem.from_vectors([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.5]], n=20, p=50, sigma=0.7)
    sample, r, q = simulate(problem, runs=40_000, seed=1).errors, 0.6, 20 * 0.49 / (50 - 20 - 1)
    for t in range(3):
        for i in range(3):
            expected = r * sample[:, t, i].mean() + (1 - r) * problem.gaps[t, i] + q
            step = sample[:, t + 1, i] - r * sample[:, t, i]
            assert abs(sample[:, t + 1, i].mean() - expected) < 4.5 * step.std() / 200


def test_erratum_15_factor_of_the_tables():
    """The third column is (T-1)/(1-r) times the difference of forgetting, for gaps of 1."""
    n, p = 50, 200
    r, T = Fraction(3, 4), 6

    def forgetting(order):
        return expect(Problem.categories(order, norm=0.5**0.5, n=n, p=p)).forgetting

    for order in ("AABABB", "ABBBAA"):
        column = sum(c * r**k for k, c in enumerate(difference(order, "ABABAB")))
        assert sign_at(difference(order, "ABABAB"), r) == 1
        assert forgetting(order) - forgetting("ABABAB") == pytest.approx(float((1 - r) / (T - 1) * column), rel=1e-10)


@pytest.mark.parametrize("T", [2, 3])
def test_erratum_16_order1_needs_four_tasks(T):
    for r in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)):
        assert best_places(T, r) == (1, 2)
    assert 1 in generalization_places(T)


def test_erratum_17_floor_needs_noise():
    """E G_2 of agreeing tasks has a floor in p if 0 < sigma^2 < <w*_1, w*_2>, and none without noise or with more."""

    def floor(sigma):
        return descent_floor(Problem(gram=[[1.0, 0.5], [0.5, 1.0]], n=50, p=100, sigma=sigma)).exists

    assert [floor(sigma) for sigma in (0.0, 0.1, 0.6, 0.70, 0.72, 1.0)] == [False, True, True, True, False, False]
