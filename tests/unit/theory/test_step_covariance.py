"""Exact standard deviations over steps: equal to those of grids, and right where tasks come back."""

import numpy as np
import pytest
from problems import random_problem

from ebbing import Curriculum, Problem, Ridge, expect, simulate
from ebbing.theory._covariance import standard_deviations
from ebbing.theory._rates import Rates


def reference(problem):
    """The plain version, which grids use: every matrix written out."""
    return standard_deviations(problem.start, problem.gaps, Rates.of(problem))


def assert_equal_to_the_reference(problem):
    e, (errors, F, G) = expect(problem), reference(problem)
    for found, exact in ((e.errors_std, errors), (e.forgetting_std, F), (e.generalization_std, G)):
        assert found == pytest.approx(exact, rel=1e-13, abs=0)  # zeros and infinities too


def test_deviations_equal_the_plain_version():
    rng = np.random.default_rng(0)
    for _ in range(60):
        assert_equal_to_the_reference(random_problem(rng))
        assert_equal_to_the_reference(random_problem(rng, noisy=False))


@pytest.mark.parametrize("p", [60, 10**3, 10**6, 10**9, 10**12])
@pytest.mark.parametrize("sigma", [0, 0.3])
def test_many_tasks_and_huge_models_lose_no_digit(p, sigma):
    W = np.random.default_rng(1).standard_normal((40, 12))
    assert_equal_to_the_reference(Problem.from_vectors(W, n=20, p=p, sigma=sigma))


def test_variances_that_vanish_are_zero():
    """w*_2 lies halfway between the start and w*_1: learning task 1 does not change its error."""
    e = expect(Problem.from_vectors([[2.0], [1.0], [0.5]], n=5, p=20))
    assert e.errors_std[1, 1] == 0
    assert e.errors_std[1, 0] > 0
    assert_equal_to_the_reference(e.problem)


def doubled(problem):
    """The problem in which all tasks come twice: a cycle as a plain sequence."""
    twice = np.tile(np.arange(problem.T), 2)
    sigma, n = problem.noise_variance[twice] ** 0.5, problem.n[twice]
    return Problem(gram=problem.gram[np.ix_(twice, twice)], n=n, p=problem.p, sigma=sigma)


def test_cycles_equal_a_sequence_of_twice_the_tasks():
    rng = np.random.default_rng(2)
    for _ in range(20):
        problem = random_problem(rng)
        cycle, sequence = expect(problem, Curriculum.sequential(problem, cycles=2)), expect(doubled(problem))
        T = problem.T
        assert cycle.errors == pytest.approx(sequence.errors[:, :T], rel=1e-12)
        assert cycle.errors_std == pytest.approx(sequence.errors_std[:, :T], rel=1e-11, abs=1e-13)
        assert cycle.generalization_std == pytest.approx(sequence.generalization_std, rel=1e-11, abs=1e-13)


def test_deviation_of_forgetting_over_a_cycle_agrees_with_runs():
    problem = Problem.from_vectors(np.random.default_rng(3).standard_normal((3, 2)), n=[10, 6, 8], p=30, sigma=0.4)
    e, runs = expect(problem, Curriculum.sequential(problem, cycles=2)), 20_000
    L = simulate(doubled(problem), runs=runs, seed=4).errors[:, :, :3]
    F = (L[:, 6] - L[:, [1, 2, 3], [0, 1, 2]]).mean(axis=1)
    kurtosis = np.mean((F - F.mean()) ** 4) / F.var() ** 2
    error = F.std() * np.sqrt((kurtosis - 1) / 4 / runs)
    assert abs(F.std() - e.forgetting_std) < 4.5 * error
    assert abs(F.mean() - e.forgetting) < 4.5 * F.std() / np.sqrt(runs)
    once = expect(problem).forgetting_std  # power: the deviation of one cycle is another
    assert abs(F.std() - once) > 6 * error


@pytest.mark.parametrize(
    ("plan", "learner"),
    [
        (Curriculum([{0: 5}, {1: 5}]), Ridge(0.5)),
        (Curriculum([{0: 5}, {0: 5}, {1: 5}], stored=True), Ridge(0)),
    ],
    ids=["ridge", "stored"],
)
def test_unknown_deviations_are_labeled(plan, learner):
    e = expect(Problem.orthogonal(T=2, n=5, p=20, sigma=0.3), plan, learner=learner)
    assert np.isnan(e.errors_std).all()
    assert np.isnan([e.forgetting_std, e.generalization_std]).all()
    assert e.summary().count("not known: simulate") == 2
    assert np.isnan(e.to_frame()["error_std"].to_numpy()).all()


def test_infinite_variance_that_no_row_of_forgetting_has():
    """The second step has infinite variance, and the third one learns all anew: F compares steps 1 and 3."""
    plan = Curriculum([{0: 5}, {0: 18}, {1: 40}])
    e = expect(Problem.orthogonal(T=2, n=5, p=20, sigma=0.3), plan)
    assert np.isinf(e.errors_std[2]).all()
    assert np.isfinite([*e.errors_std[3], e.forgetting_std, e.generalization_std]).all()
