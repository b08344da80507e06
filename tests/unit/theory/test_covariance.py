"""Theory: where expectations and variances exist, and what is said where they do not."""

import numpy as np
import pytest
from problems import INF, random_problem

from ebbing.problem import Problem
from ebbing.theory import (
    expect,
    expectation_if_finite,
    forgetting_curve_by_recursion,
    forward_transfer,
    negative_forgetting,
    theorem_terms,
    two_task_forgetting,
)

# ---------------------------------------------------------------- infinite expectations


def test_infinite_expectation_in_the_words_of_the_design():
    with pytest.raises(ValueError, match="infinite") as caught:
        expect(Problem.orthogonal(T=8, n=50, p=51, sigma=0.3))
    assert str(caught.value) == (
        "p=51, n=50, sigma=0.3: the expectation is infinite when |p - n| <= 1 and sigma > 0; use sigma=0 or another p"
    )


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("n", [19, 20, 21])
def test_one_task_is_enough_for_an_infinite_expectation(n, place):
    counts, sigma = np.array([5, 5, 5]), np.array([0.3, 0.3, 0.3])
    counts[place] = n
    problem = Problem.orthogonal(T=3, n=counts, p=20, sigma=sigma)
    with pytest.raises(ValueError, match=f"p=20, n={n}, sigma=0.3: the expectation is infinite"):
        expect(problem)
    assert expectation_if_finite(problem) is None
    sigma[place] = 0  # without noise in that task all is well
    finite = problem.replace(sigma=sigma)
    assert np.isfinite(expect(finite).errors).all()
    same = expectation_if_finite(finite)
    assert same is not None
    assert np.array_equal(same.errors, expect(finite).errors)


def test_missing_features_make_an_expectation_infinite_too():
    with pytest.raises(ValueError, match="the expectation is infinite"):
        expect(Problem.orthogonal(T=2, n=20, p=20, unmodeled=0.25))


@pytest.mark.parametrize(
    "function",
    [forward_transfer, forgetting_curve_by_recursion, negative_forgetting, theorem_terms, two_task_forgetting],
)
def test_infinite_expectations_give_no_number(function):
    with pytest.raises(ValueError, match="p=20, n=19"):
        function(Problem.orthogonal(T=2, n=19, p=20, sigma=0.3))


# ---------------------------------------------------------------- infinite variances


@pytest.mark.parametrize("T", [1, 3])
@pytest.mark.parametrize("distance", range(-7, 8))
def test_the_variance_is_infinite_exactly_within_three_of_n(distance, T):
    quiet = Problem.orthogonal(T=T, n=20 - distance, p=20)
    e = expect(quiet)
    assert np.isfinite(e.errors_std).all()
    assert np.isfinite(e.generalization_std)
    if abs(distance) <= 1:
        return  # no expectation with noise
    e = expect(quiet.replace(sigma=0.3))
    exists = abs(distance) >= 4
    assert np.isfinite(e.errors).all()
    assert not e.errors_std[0].any()  # the initial model does not vary
    assert (np.isfinite(e.errors_std[1:]) == exists).all()
    assert np.isfinite(e.generalization_std) == exists
    assert not np.isnan(e.errors_std).any()
    if T > 1:
        assert np.isfinite(e.forgetting_std) == exists


def test_overparameterized_tasks_keep_an_infinite_variance():
    e = expect(Problem.orthogonal(T=3, n=[18, 5, 5], p=20, sigma=[0.3, 0, 0]))
    assert (e.errors_std[1:] == INF).all()
    assert e.generalization_std == e.forgetting_std == INF


@pytest.mark.parametrize("infinite", [18, 22], ids=["overparameterized", "underparameterized"])
def test_underparameterized_tasks_end_an_infinite_variance(infinite):
    """Its solution does not depend on the model before: L and G are as if the first task had had no noise."""
    problem = Problem.orthogonal(T=4, n=[infinite, 5, 40, 6], p=20, sigma=0.3)
    e = expect(problem)
    clean = expect(problem.replace(sigma=[0, 0.3, 0.3, 0.3]))
    assert (e.errors_std[1:3] == INF).all()
    assert e.errors_std[3:] == pytest.approx(clean.errors_std[3:], rel=1e-15)
    assert e.generalization_std == pytest.approx(clean.generalization_std, rel=1e-15)
    assert np.isfinite(clean.forgetting_std)
    assert e.forgetting_std == INF  # L[1,1] is still in it


def test_variance_can_become_infinite_again():
    e = expect(Problem.orthogonal(T=3, n=[22, 40, 18], p=20, sigma=0.3))
    assert np.isinf(e.errors_std[1:]).all(axis=1).tolist() == [True, False, True]
    assert e.generalization_std == e.forgetting_std == INF


def test_only_noise_makes_a_variance_infinite():
    e = expect(Problem.orthogonal(T=3, n=[18, 40, 30], p=20, sigma=[0, 0.3, 0.3]))
    assert np.isfinite(e.errors_std).all()
    assert np.isfinite(e.forgetting_std)


def test_nothing_varies_without_noise_underparameterized():
    rng = np.random.default_rng(0)
    for _ in range(20):
        e = expect(random_problem(rng, noisy=False).replace(n=100))
        assert not e.errors_std.any()
        assert e.forgetting_std == e.generalization_std == 0


@pytest.mark.parametrize("scale", [1e-200, 1e-20, 1e20, 1e200])
@pytest.mark.parametrize("n", [20, [20, 100, 5]], ids=["overparameterized", "mixed"])
def test_deviations_scale_with_the_unit(scale, n):
    """Errors in another unit: the squares inside must neither overflow nor underflow to a wrong number."""
    W = np.random.default_rng(1).standard_normal((3, 3))
    one = expect(Problem(gram=W @ W.T, n=n, p=60, sigma=0.5))
    other = expect(Problem(gram=scale * (W @ W.T), n=n, p=60, sigma=0.5 * scale**0.5))
    assert other.errors == pytest.approx(scale * one.errors, rel=1e-13, abs=0)
    assert other.forgetting == pytest.approx(scale * one.forgetting, rel=1e-12, abs=0)
    assert other.errors_std == pytest.approx(scale * one.errors_std, rel=1e-12, abs=0)
    assert other.forgetting_std == pytest.approx(scale * one.forgetting_std, rel=1e-12, abs=0)
    assert other.generalization_std == pytest.approx(scale * one.generalization_std, rel=1e-12, abs=0)
