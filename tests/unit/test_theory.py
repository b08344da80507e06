"""Theory beyond digits (properties/test_theory_accuracy.py has those): where moments exist, grids, consequences."""

import itertools
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest

from ebbing import metrics, theory
from ebbing.problem import Problem
from ebbing.theory import (
    coefficients,
    descent_floor,
    expect,
    expect_grid,
    expectation_if_finite,
    forgetting_evolution,
    forward_transfer,
    negative_forgetting,
    overfitting,
    overparameterized_ratio,
    theorem_terms,
    two_task_forgetting,
    two_task_generalization,
    two_task_generalization_slope,
)
from ebbing.theory import grid as grid_module

INF = np.inf


def random_problem(rng, *, T=None, uniform=False, noisy=True):
    """Both regimes and mixtures; no task closer than 4 to p."""
    T = T or int(rng.integers(2, 7))
    p = int(rng.integers(10, 60))

    def samples():
        return int(rng.choice([rng.integers(1, p - 4), rng.integers(p + 5, 4 * p)]))

    n = samples() if uniform else [samples() for _ in range(T)]
    size = None if uniform else T
    settings = {"n": n, "p": p, "sigma": rng.uniform(0.1, 2, size) * noisy, "unmodelled": rng.uniform(0, 1) * noisy}
    return Problem.from_vectors(rng.standard_normal((T, int(rng.integers(1, 6)))), **settings)


def two_tasks(w1, w2, **settings):
    return Problem.from_vectors([w1, w2], **settings)


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
        expect(Problem.orthogonal(T=2, n=20, p=20, unmodelled=0.25))


@pytest.mark.parametrize(
    "function", [forward_transfer, forgetting_evolution, negative_forgetting, theorem_terms, two_task_forgetting]
)
def test_nothing_returns_a_number_where_expectations_are_infinite(function):
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


def test_a_later_overparameterized_task_keeps_an_infinite_variance():
    e = expect(Problem.orthogonal(T=3, n=[18, 5, 5], p=20, sigma=[0.3, 0, 0]))
    assert (e.errors_std[1:] == INF).all()
    assert e.generalization_std == e.forgetting_std == INF


@pytest.mark.parametrize("infinite", [18, 22], ids=["overparameterized", "underparameterized"])
def test_an_underparameterized_task_wipes_an_infinite_variance_out(infinite):
    """Its solution does not depend on the model before: L and G are as if the first task had had no noise."""
    problem = Problem.orthogonal(T=4, n=[infinite, 5, 40, 6], p=20, sigma=0.3)
    e = expect(problem)
    clean = expect(problem.replace(sigma=[0, 0.3, 0.3, 0.3]))
    assert (e.errors_std[1:3] == INF).all()
    assert e.errors_std[3:] == pytest.approx(clean.errors_std[3:], rel=1e-15)
    assert e.generalization_std == pytest.approx(clean.generalization_std, rel=1e-15)
    assert np.isfinite(clean.forgetting_std)
    assert e.forgetting_std == INF  # L[1,1] is still in it


def test_wiped_out_and_infinite_again():
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


# ---------------------------------------------------------------- one error matrix, read in many ways


def test_expectations_agree_with_the_metrics_of_the_expected_matrix():
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
            assert e.lost[t, i] == pytest.approx(expected, rel=1e-11, abs=1e-13)


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
    assert len(forgetting_evolution(problem)) == 0
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


# ---------------------------------------------------------------- the grid


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
    problem = Problem.orthogonal(T=3, n=[5, 6, 70], p=20, sigma=[0.1, 0.2, 0.3], unmodelled=[1, 0, 2])
    assert_grid_is_a_loop(problem, p=[20, 30, 40])
    assert_grid_is_a_loop(problem, p=[20, 30, 40], sigma=0)


def test_grid_has_no_nan_deviation_where_an_infinite_mean_is_wiped_out():
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
        ({"sigma": np.inf}, "sigma = inf: every entry must be finite"),
    ],
)
def test_grid_refuses(axes, message):
    with pytest.raises(ValueError, match=message):
        expect_grid(Problem.orthogonal(T=3, n=5, p=20), **axes)


# ---------------------------------------------------------------- closed forms


def test_theorems_equal_the_recursion():
    rng = np.random.default_rng(6)
    for _ in range(100):
        problem = random_problem(rng, uniform=True)
        closed, recursed = vars(theorem_terms(problem)), vars(expect(problem).terms)
        assert closed == pytest.approx(recursed, rel=1e-11, abs=1e-13)


def test_theorem_1_as_printed():
    """Every sum written out with r = 1 - n/p."""
    W = np.random.default_rng(7).standard_normal((5, 4))
    n, p, sigma, T = 7, 20, 0.6, 5
    problem = Problem.from_vectors(W, n=n, p=p, sigma=sigma)
    r, squares = 1 - n / p, np.sum(W**2, axis=1)

    def d(i, j):
        return float(np.sum((W[i - 1] - W[j - 1]) ** 2))

    tasks, old = range(1, T + 1), range(1, T)
    pairs = [(i, j) for i in tasks for j in tasks if i < j]
    level = p * sigma**2 / (p - n - 1)
    c = {(i, j): (1 - r) * (r ** (T - i) - r ** (j - i) + r ** (T - j)) for i, j in pairs}
    assert vars(theorem_terms(problem)) == pytest.approx(
        {
            "F1": sum((r**T - r**i) * squares[i - 1] for i in old) / (T - 1),
            "F2": sum(c[i, j] * d(i, j) for i, j in pairs) / (T - 1),
            "F3": level * sum(r**i - r**T for i in old) / (T - 1),
            "G1": r**T * squares.mean(),
            "G2": (1 - r) / T * sum(r ** (T - i) * d(k, i) for i in tasks for k in tasks),
            "G3": level * (1 - r**T),
        },
        rel=1e-13,
    )
    printed = coefficients(T, n, p)
    assert [printed[i - 1, j - 1] for i, j in pairs] == pytest.approx([c[pair] for pair in pairs], rel=1e-13)
    assert not np.tril(printed).any()


def test_coefficients_underparameterized():
    """r = 0: only r^0 survives, c_{i,T} = 1 for every i and -0 elsewhere (Theorem 2)."""
    c = coefficients(T=4, n=50, p=20)
    assert c[:3, 3].tolist() == [1, 1, 1]
    assert not c[:, :3].any()
    assert overparameterized_ratio(n=50, p=20) == 0
    assert overparameterized_ratio(n=5, p=20) == 0.75


@pytest.mark.parametrize("name", ["T", "n", "p"])
def test_coefficients_refuse(name):
    with pytest.raises(ValueError, match=f"{name}=0: give a whole number"):
        coefficients(**{"T": 3, "n": 5, "p": 20} | {name: 0})


def test_two_task_corollary():
    rng = np.random.default_rng(8)
    for _ in range(50):
        p = int(rng.integers(12, 100))
        problem = two_tasks(*rng.standard_normal((2, 3)), n=int(rng.integers(1, p - 4)), p=p, sigma=rng.uniform(0, 2))
        e = expect(problem)
        largest = max(abs(e.terms.F1), e.terms.F2, e.terms.F3)
        assert two_task_forgetting(problem) == pytest.approx(e.forgetting, abs=1e-13 * largest)
        assert two_task_generalization(problem) == pytest.approx(e.generalization, rel=1e-13)
    noiseless = Problem.orthogonal(T=2, n=19, p=20)  # p = n + 1 is fine then
    assert two_task_forgetting(noiseless) == pytest.approx(expect(noiseless).forgetting, rel=1e-13)


def test_slope_equals_a_numerical_derivative():
    rng = np.random.default_rng(9)
    for sigma in (0.0, 0.01, 0.5):
        for n, p in [(5, 7), (5, 8), (5, 40), (50, 60), (50, 5000), (1, 3)]:
            W = rng.standard_normal((2, 3))
            problem = two_tasks(*W, n=n, p=p, sigma=sigma)

            def generalization(x, n=n, sigma=sigma, problem=problem):
                """Lemma 2 twice, for real p."""
                r, q = 1 - n / x, n * mp.mpf(sigma) ** 2 / (x - n - 1)
                first = [r * problem.start[i] + (1 - r) * problem.gaps[0, i] + q for i in range(2)]
                return sum(r * first[i] + (1 - r) * problem.gaps[1, i] + q for i in range(2)) / 2

            assert float(generalization(mp.mpf(p))) == pytest.approx(expect(problem).generalization, rel=1e-13)
            with mp.workdps(40):
                slope = float(mp.diff(generalization, mp.mpf(p)))
            scale = abs(problem.gram).max() * n / p**2 + sigma**2 * n / (p - n - 1) ** 2
            assert two_task_generalization_slope(problem) == pytest.approx(slope, rel=1e-11, abs=1e-13 * scale)


@pytest.mark.parametrize(
    "function", [two_task_forgetting, two_task_generalization, two_task_generalization_slope], ids=lambda f: f.__name__
)
@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (Problem.orthogonal(T=3, n=5, p=20), "about T=2 tasks, not 3; use expect"),
        (Problem.orthogonal(T=2, n=20, p=20), r"needs p >= n \+ 2 \(p > n without noise\); use expect"),
        (Problem.orthogonal(T=2, n=30, p=20, sigma=1), r"p=20, n=30: .*needs p >= n \+ 2"),
        (Problem.orthogonal(T=2, n=19, p=20, sigma=1), r"p=20, n=19: .*needs p >= n \+ 2"),
        (Problem.orthogonal(T=2, n=[5, 6], p=20), "the same n and noise for every task; use expect"),
        (Problem.orthogonal(T=2, n=5, p=20, sigma=[0, 1]), "the same n and noise for every task"),
    ],
    ids=["three tasks", "p=n", "underparameterized", "infinite", "unequal n", "unequal noise"],
)
def test_corollary_refuses(function, problem, message):
    with pytest.raises(ValueError, match=message):
        function(problem)


# ---------------------------------------------------------------- consequences


@pytest.mark.parametrize("energy", [0.0, 0.7])
def test_forward_transfer_is_a_difference_of_two_expectations(energy):
    rng = np.random.default_rng(10)
    for _ in range(30):
        problem = random_problem(rng)
        transfer = forward_transfer(problem, random_energy=energy)
        for t in range(problem.T):
            so_far = Problem(
                gram=problem.gram[: t + 1, : t + 1],
                n=problem.n[: t + 1],
                p=problem.p,
                sigma=np.sqrt(problem.noise_variance[: t + 1]),
            )
            alone = Problem(
                gram=[[problem.start[t] + energy]],
                n=int(problem.n[t]),
                p=problem.p,
                sigma=float(np.sqrt(problem.noise_variance[t])),
            )
            learnt, scratch = expect(so_far).errors[-1, t], expect(alone).generalization
            assert transfer.learnt[t] == pytest.approx(learnt, rel=1e-13)
            assert transfer.scratch[t] == pytest.approx(scratch, rel=1e-13)
            assert transfer.difference[t] == pytest.approx(learnt - scratch, abs=1e-13 * (learnt + scratch))
        keep = np.maximum(1 - problem.n / problem.p, 0)
        assert transfer.difference[0] == pytest.approx(-keep[0] * energy, abs=1e-14)


def test_forward_transfer_of_a_random_start_by_drawing_it():
    rng = np.random.default_rng(11)
    problem, runs, energy = two_tasks([1.0, 0], [0, 2.0], n=4, p=10, sigma=0.5), 4000, 1.5
    w0 = rng.standard_normal((runs, 10)) * np.sqrt(energy / 10)
    truth = np.zeros(10)
    truth[1] = 2.0
    X = rng.standard_normal((runs, 4, 10))
    residual = X @ truth + 0.5 * rng.standard_normal((runs, 4)) - np.einsum("bnp,bp->bn", X, w0)
    step = np.linalg.solve(X @ X.transpose(0, 2, 1), residual[:, :, None])
    errors = np.sum((w0 + np.einsum("bnp,bn->bp", X, step[:, :, 0]) - truth) ** 2, axis=1)
    error = errors.std() / runs**0.5

    def z(energy):
        return (errors.mean() - forward_transfer(problem, random_energy=energy).scratch[1]) / error

    assert abs(z(energy)) < 4
    assert z(0.0) > 8


def test_forward_transfer_sign():
    assert (forward_transfer(Problem.identical(T=4, n=5, p=20)).difference[1:] < 0).all()  # earlier tasks help
    assert (forward_transfer(Problem.orthogonal(T=4, n=5, p=20)).difference[1:] > 0).all()


@pytest.mark.parametrize("energy", [-1, np.nan, np.inf, [1, 2]])
def test_forward_transfer_refuses(energy):
    with pytest.raises(ValueError, match="random_energy"):
        forward_transfer(Problem.orthogonal(T=2, n=5, p=20), random_energy=energy)


def test_evolution_equals_the_forgetting_curve():
    rng = np.random.default_rng(12)
    for _ in range(100):
        problem = random_problem(rng)
        curve = expect(problem).forgetting_curve
        assert forgetting_evolution(problem) == pytest.approx(curve, rel=1e-11, abs=1e-13)


def test_negative_forgetting_if_and_only_if_forgetting_is_not_positive():
    rng = np.random.default_rng(13)
    seen = set()
    for k in range(400):
        problem = random_problem(rng, T=2, uniform=k % 2 == 0)
        if k % 4 < 2:  # tasks that resemble each other, so that both answers occur
            w = rng.standard_normal(3)
            problem = two_tasks(
                w, w + 0.3 * rng.standard_normal(3), n=problem.n, p=problem.p, sigma=0.3 * problem.sigma
            )
        answer, F = negative_forgetting(problem), expect(problem).forgetting
        learn = min(problem.n[1] / problem.p, 1)
        assert learn * answer.margin == pytest.approx(-F, rel=1e-9, abs=1e-12)
        assert answer.holds == (F <= 0)
        assert answer.noise_allows or not answer.holds
        seen.add((answer.holds, answer.noise_allows))
    assert seen == {(True, True), (False, True), (False, False)}


@pytest.mark.parametrize("sigma", np.linspace(0.1, 1.5, 15))
def test_noise_allows_means_that_repeating_the_task_helps(sigma):
    """The best second task is the first one again; the bound is sigma^2 <= (p-n-1)/p |w*_1|^2."""
    n, p = 5, 20
    answer = negative_forgetting(Problem.identical(T=2, n=n, p=p, sigma=sigma))
    assert answer.noise_allows == (sigma**2 <= (p - n - 1) / p)
    assert answer.holds == answer.noise_allows


def test_the_papers_condition():
    """2 <w*_1,w*_2> - n/p |w*_1|^2 - |w*_2|^2 - (p-n) sigma^2 / (p-n-1) is the margin."""
    n, p, sigma = 5, 20, 0.4
    w1, w2 = np.array([1.0, 0.5, -0.2]), np.array([0.7, 0.6, 0.1])
    margin = 2 * w1 @ w2 - n / p * w1 @ w1 - w2 @ w2 - (p - n) * sigma**2 / (p - n - 1)
    answer = negative_forgetting(two_tasks(w1, w2, n=n, p=p, sigma=sigma))
    assert answer.margin == pytest.approx(margin, rel=1e-12)
    assert answer.holds
    with pytest.raises(ValueError, match="about T=2 tasks, not 3"):
        negative_forgetting(Problem.identical(T=3, n=n, p=p))


# ---------------------------------------------------------------- over all p


LANDSCAPES: dict[str, Callable[[float], Problem]] = {
    "identical": lambda sigma: Problem.identical(T=8, n=10, p=100, sigma=sigma),
    "orthogonal": lambda sigma: Problem.orthogonal(T=3, n=10, p=100, sigma=sigma),
    "two similar tasks": lambda sigma: two_tasks([1, 0.0], [0.9, 0.3], n=12, p=100, sigma=sigma),
    "opposite tasks": lambda sigma: two_tasks([1, 0.0], [-1, 0.0], n=12, p=100, sigma=sigma),
    "unequal n": lambda sigma: Problem.identical(T=3, n=[4, 9, 15], p=100, sigma=[sigma, 0, sigma]),
    "missing features": lambda sigma: Problem.identical(T=3, n=9, p=100, sigma=sigma, unmodelled=0.05),
    "ABAB": lambda sigma: Problem.categories("ABAB", n=9, p=100, sigma=sigma),
}


def brute_force(problem, of, sizes):
    """The first p with the lowest value, one call of `expect` each."""
    values = [(getattr(expect(problem.replace(p=p)), of), p) for p in sizes]
    value, p = min(values)
    return p, value


@pytest.mark.parametrize("of", ["forgetting", "generalization"])
@pytest.mark.parametrize("sigma", [0.0, 0.2, 2.0])
@pytest.mark.parametrize("name", LANDSCAPES)
def test_floor_and_overfitting_against_brute_force(name, sigma, of):
    problem = LANDSCAPES[name](sigma)
    limit = 0.0 if of == "forgetting" else problem.start.mean()
    first, last = int(problem.n.max()) + 2, 400
    p, value = brute_force(problem, of, range(first, last + 1))
    floor = descent_floor(problem, of=of)
    assert floor.limit == limit
    assert floor.first == pytest.approx(getattr(expect(problem.replace(p=first)), of), rel=1e-13)
    if value < limit - 1e-9:
        assert p < last  # the search went far enough
        assert floor.p == p
        assert floor.value == pytest.approx(value, rel=1e-12)
        assert floor.exists == (p > first)
    else:
        assert not floor.exists
        assert floor.p == INF
        assert floor.value == limit

    verdict = overfitting(problem, of=of)
    under_p, under = brute_force(problem, of, range(problem.rank, int(problem.n.min()) - 1))
    assert verdict.under == pytest.approx(under, rel=1e-12)
    assert verdict.under_p == under_p or under == pytest.approx(
        getattr(expect(problem.replace(p=int(verdict.under_p))), of), rel=1e-12
    )
    assert (verdict.over_p, verdict.over) == (floor.p, floor.value)
    assert verdict.benign == (floor.value < under)
    assert verdict.advantage == pytest.approx(under - floor.value, rel=1e-9, abs=1e-12)


def test_the_landscapes_above_have_floors_and_none():
    floors = [
        descent_floor(make(sigma), of=of).exists
        for make in LANDSCAPES.values()
        for sigma in (0.0, 0.2, 2.0)
        for of in ("forgetting", "generalization")
    ]
    assert 5 < sum(floors) < len(floors) - 5


def test_no_underparameterized_p_at_all():
    verdict = overfitting(Problem.identical(T=3, n=2, p=100, sigma=0.3))
    assert np.isnan(verdict.under_p)
    assert np.isnan(verdict.under)
    assert np.isfinite(verdict.over)


@pytest.mark.parametrize("of", ["forgetting", "generalization"])
@pytest.mark.parametrize("n", [10**6, 10**9, 10**11, 10**13])
def test_the_floor_scales_with_n(n, of):
    """For large n only n/p matters. The value at p = n + 2 grows like n, and must not hide the floor."""
    floor = descent_floor(Problem.identical(T=8, n=n, p=100, sigma=0.3), of=of)
    reference = descent_floor(Problem.identical(T=8, n=10**7, p=100, sigma=0.3), of=of)
    assert floor.exists
    assert floor.value == pytest.approx(reference.value, rel=1e-5)
    assert floor.p / n == pytest.approx(reference.p / 10**7, rel=1e-3)


def test_floors_beyond_the_largest_p_are_not_denied():
    """The floor of n = 2^52 is at p > 2^53: say so, rather than that there is none."""
    with pytest.raises(ValueError, match="n"):
        descent_floor(Problem.identical(T=8, n=2**52, p=100, sigma=0.3))


@pytest.mark.parametrize("function", [descent_floor, overfitting])
def test_landscapes_refuse(function):
    with pytest.raises(ValueError, match="of='loss': give 'forgetting' or 'generalization'"):
        function(Problem.orthogonal(T=2, n=5, p=20), of="loss")


def test_everything_in_all_exists():
    assert all(hasattr(theory, name) for name in theory.__all__)
