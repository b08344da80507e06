"""The grid of expectations: as a loop over its points, and its errors."""

import numpy as np
import pytest
from problems import INF, random_problem

from ebbing.problem import Problem
from ebbing.theory import expect, expect_grid, expectation_if_finite
from ebbing.theory import grid as grid_module


def assert_grid_is_a_loop(problem, **axes):
    grid = expect_grid(problem, **axes)
    arrays = dict(zip(axes, np.broadcast_arrays(*axes.values()), strict=True))
    shape = next(iter(arrays.values())).shape
    names = ("F1", "F2", "F3", "G1", "G2", "G3", "forgetting", "generalization", "forgetting_std", "generalization_std")
    assert all(getattr(grid, name).shape == shape for name in names)
    for index in np.ndindex(shape):
        point = problem.replace(**{name: array[index].item() for name, array in arrays.items()})
        e = expectation_if_finite(point)
        values = {name: getattr(grid, name)[index] for name in names}
        if e is None:
            assert np.isnan(values["forgetting"])
            assert values["generalization"] == INF
            assert values["forgetting_std"] == INF
        else:
            direct = vars(e.terms) | {name: getattr(e, name) for name in names[6:]}
            assert values == pytest.approx(direct, rel=1e-12, abs=1e-13, nan_ok=True), point
    return grid


@pytest.mark.parametrize("at_once", [1, 7, 4096])
def test_grid_equals_a_loop(monkeypatch, at_once):
    monkeypatch.setattr(grid_module, "_POINTS_AT_ONCE", at_once)
    rng = np.random.default_rng(3)
    p = np.array([*range(6, 36), 100, 10**6, 10**12])
    for _ in range(3):
        problem = random_problem(rng)
        assert_grid_is_a_loop(problem, p=p, n=20, sigma=0.4)  # crosses p = n, where moments cease to exist
        assert_grid_is_a_loop(problem, sigma=[0, 1e-3, 3])  # n and p of each task
        assert_grid_is_a_loop(problem, n=np.arange(1, 80, 3))
    noiseless = random_problem(rng, noisy=False)
    assert np.isfinite(assert_grid_is_a_loop(noiseless, p=p, n=20).forgetting_std).all()


def test_grid_broadcasts():
    problem = random_problem(np.random.default_rng(4), T=3)
    grid = assert_grid_is_a_loop(
        problem, p=np.array([30, 40])[:, None, None], n=np.array([5, 60, 39])[:, None], sigma=np.array([0, 0.1, 1, 2])
    )
    assert grid.forgetting.shape == (2, 3, 4)


def test_grid_of_one_point_and_of_none():
    problem = random_problem(np.random.default_rng(5))
    for grid in (expect_grid(problem), expect_grid(problem, p=problem.p)):
        assert grid.forgetting.shape == grid.forgetting_std.shape == ()
        assert grid.forgetting == pytest.approx(expect(problem).forgetting, rel=1e-13)
        assert grid.forgetting_std == pytest.approx(expect(problem).forgetting_std, rel=1e-13)
    for empty in ([], np.zeros((0, 3))):
        grid = expect_grid(problem, p=empty)
        assert grid.generalization.shape == grid.generalization_std.shape == np.shape(empty)


def test_grid_keeps_what_tasks_have_of_their_own():
    """n, sigma and missing features of each task hold where the grid does not say otherwise."""
    problem = Problem.orthogonal(T=3, n=[5, 6, 70], p=20, sigma=[0.1, 0.2, 0.3], unmodeled=[1, 0, 2])
    assert_grid_is_a_loop(problem, p=[20, 30, 40])
    assert_grid_is_a_loop(problem, p=[20, 30, 40], sigma=0)


def test_grid_deviation_is_not_nan_after_an_infinite_mean():
    grid = expect_grid(Problem.orthogonal(T=2, n=[21, 60], p=20, sigma=1), p=[20, 30])
    assert not np.isnan(grid.generalization_std).any()
    assert not np.isnan(grid.forgetting_std).any()


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"p": [20, 30], "n": [1, 2, 3]}, r"shapes do not broadcast: p \(2,\), n \(3,\); make them equal, or 1"),
        ({"p": [20, 2]}, "p=2: the ground truths span 3 dimensions; use p >= 3"),
        ({"p": [20, 20.5]}, "p=20.5: give a whole number"),
        ({"p": [20, 0]}, "p=0: give a whole number"),
        ({"p": [20, -1]}, "p=-1: give a whole number"),
        ({"p": [20, np.nan]}, r"p\[1\] = nan: every entry must be finite"),
        ({"p": [20, 2.0**54]}, r"p=18014398509481984: give a whole number from 1 to 2\^53"),
        ({"p": [20, 2**53 + 1]}, r"2\^53"),
        ({"p": "many"}, "p is not an array of numbers"),
        ({"n": [1, 0]}, "n=0: give a whole number"),
        ({"n": 1.5}, "n=1.5: give a whole number"),
        ({"n": True}, "n"),
        ({"sigma": [0.1, -0.2]}, "sigma=-0.2: must not be negative"),
        ({"sigma": np.inf}, "sigma=inf: give a finite number"),
    ],
)
def test_grid_checks_its_arguments(axes, message):
    with pytest.raises(ValueError, match=message):
        expect_grid(Problem.orthogonal(T=3, n=5, p=20), **axes)
