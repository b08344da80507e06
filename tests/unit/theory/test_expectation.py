"""Theory beyond digits (properties/test_theory_accuracy.py has those): one error matrix, read in many ways."""

import itertools

import numpy as np
import pytest
from problems import random_problem

from ebbing import metrics, theory
from ebbing.problem import Problem
from ebbing.theory import descent_floor, expect, expect_grid, forgetting_curve_by_recursion, forward_transfer


def test_expectations_equal_metrics_of_the_expected_matrix():
    rng = np.random.default_rng(2)
    for _ in range(50):
        problem = random_problem(rng)
        e = expect(problem)
        assert np.array_equal(e.errors[0], problem.start)
        assert e.forgetting == pytest.approx(metrics.forgetting(e.errors, kind="error"), rel=1e-11, abs=1e-13)
        assert e.generalization == pytest.approx(metrics.generalization_error(e.errors, kind="error"), rel=1e-14)
        curve = metrics.forgetting_curve(e.errors, kind="error")
        assert e.forgetting_curve == pytest.approx(curve, rel=1e-11, abs=1e-13)
        assert e.forgetting == e.forgetting_curve[-1]
        terms = e.terms
        assert e.forgetting == pytest.approx(terms.F1 + terms.F2 + terms.F3, rel=1e-11, abs=1e-13)
        assert e.generalization == pytest.approx(terms.G1 + terms.G2 + terms.G3, rel=1e-13)
        assert terms.F1 <= 0 <= terms.G1
        for t, i in itertools.product(range(problem.T + 1), range(problem.T)):
            expected = e.errors[t, i] - e.errors[i + 1, i] if t > i else 0
            assert e.forgetting_matrix[t, i] == pytest.approx(expected, rel=1e-11, abs=1e-13)


def test_a_single_task():
    problem = Problem.orthogonal(T=1, n=5, p=20, sigma=0.3)
    e = expect(problem)
    assert e.errors.ravel().tolist() == pytest.approx([1, 15 / 20 + 5 * 0.09 / 14], rel=1e-15)
    assert e.generalization == e.errors[1, 0]
    assert e.generalization_std == e.errors_std[1, 0] > 0
    assert np.isnan([e.terms.F1, e.terms.F2, e.terms.F3]).all()
    for name in ("forgetting", "forgetting_curve", "forgetting_std"):
        with pytest.raises(ValueError, match=r"forgetting compares a task with an earlier one: .*at least two tasks"):
            getattr(e, name)
    assert len(forgetting_curve_by_recursion(problem)) == 0
    assert forward_transfer(problem).difference.tolist() == [0]
    grid = expect_grid(problem, p=[20, 30])
    assert np.isnan(grid.forgetting).all()
    assert grid.generalization[0] == pytest.approx(e.generalization, rel=1e-15)
    assert grid.generalization_std[0] == pytest.approx(e.generalization_std, rel=1e-15)
    with pytest.raises(ValueError, match="at least two tasks"):
        _ = grid.forgetting_std
    assert descent_floor(problem).limit == 1
    with pytest.raises(ValueError, match="at least two tasks"):
        descent_floor(problem, of="forgetting")


def test_everything_in_all_exists():
    assert all(hasattr(theory, name) for name in theory.__all__)
