"""Simulation: reproducible from one seed, right at the edges, light on memory; and what learning one task means.

That the samples have the right law is tested in tests/properties/test_law.py.
"""

import json
import subprocess
import sys

import numpy as np
import pytest

from ebbing import metrics
from ebbing._limits import TASKS_WITH_DEVIATIONS
from ebbing.learners import MinimumNorm
from ebbing.problem import Problem
from ebbing.simulation import (
    MeanEstimate,
    _minimum_norm,
    exact_law,
    simulate,
    simulate_metrics,
    simulate_textbook,
    solve_task,
)
from ebbing.simulation._steps import Schedule
from ebbing.theory import expect

RNG = np.random.default_rng(0)
PROBLEMS = {
    "overparameterized": Problem.from_vectors(RNG.standard_normal((4, 3)), n=5, p=20, sigma=0.3),
    "underparameterized": Problem.from_vectors(RNG.standard_normal((4, 3)), n=30, p=20, sigma=0.3),
    "mixed": Problem.from_vectors(RNG.standard_normal((5, 5)), n=[3, 30, 20, 19, 1], p=20, sigma=[0, 1, 0.3, 0.2, 2]),
    "p = k": Problem.from_vectors(RNG.standard_normal((4, 3)), n=[2, 1, 5, 2], p=3, sigma=0.3),
    "p = k + 1": Problem.from_vectors(RNG.standard_normal((4, 3)), n=[2, 1, 5, 3], p=4, sigma=0.3),
    "one task": Problem.orthogonal(T=1, n=5, p=20, sigma=0.3),
    "huge": Problem.orthogonal(T=3, n=[2**53 - 1, 2**52, 7], p=2**53, sigma=0.3),
}
problems = pytest.mark.parametrize("name", PROBLEMS)


# ---------------------------------------------------------------- one seed, one result


@problems
def test_same_seed_same_runs(name):
    problem = PROBLEMS[name]
    a, b, other = (simulate(problem, 20, seed) for seed in (3, 3, 4))
    assert np.array_equal(a.errors, b.errors)
    assert not np.isclose(a.errors[:, 1:], other.errors[:, 1:]).any()
    assert a.errors.shape == (20, problem.T + 1, problem.T)
    assert np.isfinite(a.errors).all()
    assert a.problem is problem


def test_runs_differ_and_rows_start_at_the_initial_model():
    problem = PROBLEMS["overparameterized"]
    errors = simulate(problem, 50).errors
    assert np.array_equal(errors[:, 0], np.tile(problem.start, (50, 1)))
    assert len(np.unique(errors[:, 1, 0])) == 50


@problems
@pytest.mark.parametrize("runs_at_once", [8, 9, 13, 39])
def test_batches_change_nothing(monkeypatch, name, runs_at_once):
    """To the last bit: with whom a run shares its batch must not show (39: the last run is alone)."""
    problem = PROBLEMS[name]
    whole = simulate(problem, 40, seed=5)
    width = min(problem.rank + 1, problem.p)
    monkeypatch.setattr(exact_law, "NUMBERS_AT_ONCE", runs_at_once * problem.T * (problem.T + width + 6))
    batches = [len(batch) for _, batch in exact_law._batches(Schedule.of(problem, None, MinimumNorm()), 40, 5)]
    assert batches[0] == runs_at_once
    assert sum(batches) == 40
    assert np.array_equal(simulate(problem, 40, seed=5).errors, whole.errors)
    sample = simulate_metrics(problem, 40, seed=5)
    assert np.array_equal(sample.generalization, whole.generalization)


@problems
@pytest.mark.parametrize("runs", [1, 2, 17])
def test_more_runs_begin_with_the_same_ones(name, runs):
    problem = PROBLEMS[name]
    assert np.array_equal(simulate(problem, runs, seed=6).errors, simulate(problem, 18, seed=6).errors[:runs])


@problems
def test_metrics_only_equals_the_whole_simulation(name):
    problem = PROBLEMS[name]
    whole, light = simulate(problem, 100, seed=7), simulate_metrics(problem, 100, seed=7)
    assert np.array_equal(light.generalization, whole.generalization)
    assert light.mean_errors == pytest.approx(whole.errors.mean(axis=0), rel=1e-12)
    if problem.T > 1:
        assert np.array_equal(light.forgetting, whole.forgetting)
    assert light.problem is problem


@problems
def test_metrics_of_a_simulation_are_those_of_its_matrices(name):
    sample = simulate(PROBLEMS[name], 10)
    assert np.array_equal(sample.generalization, sample.errors[:, -1].mean(axis=-1))
    if sample.problem.T > 1:
        assert np.array_equal(sample.forgetting, [metrics.forgetting(L, kind="error") for L in sample.errors])


def test_one_task_has_nothing_to_forget():
    problem = PROBLEMS["one task"]
    with pytest.raises(ValueError, match="forgetting"):
        _ = simulate(problem, 5).forgetting
    assert np.isnan(simulate_metrics(problem, 5).forgetting).all()


@pytest.mark.parametrize("seed", [0, 2**32, 2**64 - 1, 10**400, np.uint64(2**63), np.int8(5)])
def test_seeds_of_any_size(seed):
    problem = PROBLEMS["overparameterized"]
    assert np.array_equal(simulate(problem, 3, seed).errors, simulate(problem, 3, int(seed)).errors)


@pytest.mark.parametrize("sampler", [simulate, simulate_metrics, simulate_textbook], ids=lambda f: f.__name__)
@pytest.mark.parametrize("seed", [-1, 1.5, float("inf"), "1", None, True, [1], np.True_])
def test_bad_seeds(sampler, seed):
    with pytest.raises(ValueError, match=r"seed=.*: give a whole number >= 0"):
        sampler(PROBLEMS["overparameterized"], 3, seed)


@pytest.mark.parametrize("sampler", [simulate, simulate_metrics, simulate_textbook], ids=lambda f: f.__name__)
@pytest.mark.parametrize("runs", [0, -5, 1.5, "10", None, True, 2**53 + 1, float("nan"), [3]])
def test_bad_numbers_of_runs(sampler, runs):
    with pytest.raises(ValueError, match=r"runs=.*: give a whole number"):
        sampler(PROBLEMS["overparameterized"], runs)


@pytest.mark.parametrize("sampler", [simulate, simulate_metrics, simulate_textbook], ids=lambda f: f.__name__)
@pytest.mark.parametrize("runs", [10.0, np.int16(10), np.float32(10)], ids=lambda runs: type(runs).__name__)
def test_whole_numbers_of_runs_of_any_type(sampler, runs):
    """As for n and p, 10.0 counts as 10."""
    sample = sampler(PROBLEMS["overparameterized"], runs)
    assert np.array_equal(sample.forgetting, sampler(PROBLEMS["overparameterized"], 10).forgetting)


@pytest.mark.parametrize("sampler", [simulate, simulate_metrics], ids=lambda f: f.__name__)
def test_progress(monkeypatch, sampler):
    monkeypatch.setattr(exact_law, "NUMBERS_AT_ONCE", 1000)
    fractions = []
    problem = PROBLEMS["overparameterized"]
    silent, reported = sampler(problem, 100), sampler(problem, 100, progress=fractions.append)
    assert len(fractions) > 3
    assert fractions == sorted(set(fractions))
    assert fractions[0] > 0
    assert fractions[-1] == 1
    assert np.array_equal(silent.generalization, reported.generalization)


def test_estimate():
    estimate = MeanEstimate.of(np.array([1.0, 2.0, 3.0, 6.0]))
    assert estimate.mean == 3
    assert estimate.std == pytest.approx((14 / 3) ** 0.5)
    assert estimate.standard_error == pytest.approx((14 / 3) ** 0.5 / 2)
    single = MeanEstimate.of(np.array([4.0]))
    assert single.mean == 4
    assert np.isnan(single.std)
    assert np.isnan(single.standard_error)


# ---------------------------------------------------------------- the edges


def z_scores(problem, runs=4000, seed=0):
    """Sample means of all errors in exact standard errors; entries without spread must be equal."""
    e, errors = expect(problem), simulate(problem, runs, seed).errors
    spread = e.errors_std > 0
    still = np.broadcast_to(e.errors[~spread], (runs, len(e.errors[~spread])))
    assert errors[:, ~spread] == pytest.approx(still, rel=1e-9, abs=1e-12)
    return (errors.mean(axis=0) - e.errors)[spread] / (e.errors_std[spread] / runs**0.5)


EDGES = {
    "p = 1": Problem.from_vectors([[1.0], [-2.0]], n=[9, 6], p=1, sigma=0.5),
    "p = 2, k = 1": Problem.from_vectors([[1.0], [-2.0], [3.0]], n=[1, 7, 1], p=2, sigma=[0, 0.5, 0]),
    "p = 2, k = 2": Problem.from_vectors([[1.0, 0], [1, 2], [0, 3]], n=[1, 7, 1], p=2, sigma=[0, 0.5, 0]),
    "p = 2, k = 0": Problem(gram=np.zeros((3, 3)), n=[1, 7, 1], p=2, sigma=[0, 0.5, 0]),
    "p = k": Problem.from_vectors(RNG.standard_normal((6, 6)), n=[1, 2, 1, 2, 11, 1], p=6, sigma=0.5),
    "p = k + 1": Problem.from_vectors(RNG.standard_normal((6, 6)), n=[1, 3, 1, 2, 12, 1], p=7, sigma=0.5),
    "k = 0": Problem(gram=np.zeros((3, 3)), n=4, p=20, sigma=0.5),
    "k = 0 without noise": Problem(gram=np.zeros((3, 3)), n=4, p=20),
    "first task already learned": Problem(gram=[[0, 0], [0, 4]], n=4, p=20, sigma=0.5),
    "x = 0 without noise": Problem(gram=np.diag([0.0, 0.0, 4.0]), n=4, p=20),
    "same task learned to the end": Problem.identical(T=3, n=[30, 5, 5], p=20),
    "n = 1": Problem.orthogonal(T=3, n=1, p=20, sigma=0.5),
    "huge p": Problem.orthogonal(T=3, n=50, p=10**10, sigma=0.5),
    "huge n and p": Problem.orthogonal(T=3, n=2**52, p=2**53, sigma=0.5),
    "huge n": Problem.orthogonal(T=3, n=2**53, p=20, sigma=0.5),
}


@pytest.mark.parametrize("name", EDGES)
def test_means_at_the_edges(name):
    z = z_scores(EDGES[name])
    assert (np.abs(z) < 4.5).all()


def test_the_edges_would_show_a_wrong_sampler(monkeypatch):
    """With one degree of freedom too few in |x - Px|^2 the same test fails at small p."""
    true = _minimum_norm.degrees_of_freedom

    def wrong(n, p, not_kept):
        return np.maximum(true(n, p, not_kept) - [0, 0, 1, 0, 0], 0)

    monkeypatch.setattr(_minimum_norm, "degrees_of_freedom", wrong)
    for name in ("p = k", "p = k + 1", "p = 2, k = 2"):
        assert (np.abs(z_scores(EDGES[name])) > 5).any()


def test_without_signal_and_noise_nothing_happens():
    assert not simulate(EDGES["k = 0 without noise"], 10).errors.any()


def test_a_task_already_learned_leaves_the_model_unchanged():
    errors = simulate(EDGES["x = 0 without noise"], 100).errors
    assert not errors[:, :3, :2].any()
    assert (errors[:, :3, 2] == 4).all()


@pytest.mark.parametrize("p", [1, 2, 20])
def test_underparameterized_without_noise_finds_the_truth(p):
    problem = Problem.from_vectors(RNG.standard_normal((4, min(p, 3))), n=p + 1, p=p)
    errors = simulate(problem, 10).errors
    assert errors[:, 1:] == pytest.approx(np.broadcast_to(problem.gaps, (10, 4, 4)), rel=1e-12, abs=1e-14)


def test_without_noise_learning_never_hurts_its_task():
    problem = Problem.from_vectors(RNG.standard_normal((5, 4)), n=[1, 3, 5, 7, 9], p=10)
    errors = simulate(problem, 500).errors
    for t in range(5):
        assert (errors[:, t + 1, t] < errors[:, t, t]).all()


def test_near_identical_tasks_keep_their_gap():
    """w*_2 - w*_1 is 1e-5 of their length: theory knows the gap of 1e-10, and simulation must too."""
    problem = Problem.from_vectors([[1, 0], [1, 1e-5]], n=50, p=10)
    assert expect(problem).forgetting == pytest.approx(1e-10, rel=1e-12)
    assert simulate(problem, 5).forgetting == pytest.approx(np.full(5, 1e-10), rel=1e-5)


def test_errors_satisfy_the_triangle_inequality():
    """|w_t - w*_i| and |w_t - w*_j| differ by no more than |w*_i - w*_j|."""
    for problem in PROBLEMS.values():
        lengths = np.sqrt(simulate(problem, 50).errors)  # (runs, T+1, T)
        difference = np.abs(lengths[..., :, None] - lengths[..., None, :])
        bound = np.sqrt(problem.gaps) + 1e-8 * lengths.max(axis=-1)[..., None, None]
        assert (difference <= bound).all()


# ---------------------------------------------------------------- memory

MEMORY = """
import json, re
from pathlib import Path
from ebbing import Problem, simulate_metrics
from ebbing.simulation import MeanEstimate

def peak():  # getrusage would count the process that started this one, too
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])

problem = Problem.orthogonal(T=4, n=50, p=100, sigma=0.3)
peaks = []
for runs in (200_000, 1_000_000):
    sample = simulate_metrics(problem, runs)
    estimate = MeanEstimate.of(sample.forgetting), MeanEstimate.of(sample.generalization)
    peaks.append(peak())
print(json.dumps(peaks))
"""


def test_ten_million_runs_would_fit_into_one_gigabyte():
    """Memory grows by the two metrics of every run and what averaging them takes, not by the error matrices."""
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    few, many = json.loads(done.stdout)
    per_run = (many - few) / 800_000
    assert 12 < per_run < 48  # bytes; the whole matrices of T=4 would take 160
    assert many + 9_000_000 * per_run < 1e9


# ---------------------------------------------------------------- learning one task


def one_task(n, p, runs=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((runs, n, p))
    w, truth = rng.standard_normal((2, runs, p))
    y = np.einsum("bnp,bp->bn", X, truth) + 0.5 * rng.standard_normal((runs, n))
    return w, X, y


def descend(w, X, y, steps):
    """Plain gradient descent on 1/(2n) |X w - y|^2 of one run."""
    n = len(y)
    rate = n / np.linalg.norm(X, 2) ** 2
    for _ in range(steps):
        w = w - rate * (X.T @ (X @ w - y)) / n
    return w


@pytest.mark.parametrize(("n", "p"), [(4, 25), (1, 2), (40, 8), (6, 1)])
def test_gradient_descent_converges_to_the_solution_of_lemma_1(n, p):
    w, X, y = one_task(n, p)
    learned = solve_task(w, X, y)
    for run in range(len(w)):
        reached = descend(w[run], X[run], y[run], steps=2000)
        assert reached == pytest.approx(learned[run], rel=1e-9, abs=1e-10)
        if min(n, p) > 1:  # else the first step arrives
            assert np.linalg.norm(descend(w[run], X[run], y[run], steps=1) - learned[run]) > 1e-3
        if n < p:  # it matters where descent starts, and Lemma 1 knows
            from_zero = descend(np.zeros(p), X[run], y[run], steps=2000)
            assert np.linalg.norm(from_zero - learned[run]) > 1e-2
            assert from_zero == pytest.approx(
                solve_task(np.zeros((1, p)), X[run : run + 1], y[run : run + 1])[0], rel=1e-9, abs=1e-10
            )


@pytest.mark.parametrize(("n", "p"), [(1, 2), (4, 5), (4, 25), (19, 20), (20, 20), (21, 20), (40, 8), (1, 1), (9, 1)])
def test_learning_equals_least_squares(n, p):
    w, X, y = one_task(n, p, runs=5, seed=1)
    learned = solve_task(w, X, y)
    for run in range(5):
        start = w[run] if n < p else np.zeros(p)
        pseudo = start + np.linalg.pinv(X[run]) @ (y[run] - X[run] @ start)
        assert learned[run] == pytest.approx(pseudo, rel=1e-7, abs=1e-7)
        if n < p:
            assert X[run] @ learned[run] == pytest.approx(
                y[run], rel=1e-9, abs=1e-9
            )  # fits, and is the nearest that does
            nearest, *_ = np.linalg.lstsq(X[run], y[run] - X[run] @ w[run], rcond=None)
            assert learned[run] - w[run] == pytest.approx(nearest, rel=1e-7, abs=1e-7)
        else:
            assert learned[run] == pytest.approx(np.linalg.lstsq(X[run], y[run], rcond=None)[0], rel=1e-7, abs=1e-7)


def test_the_textbook_learns_task_after_task():
    """Its matrices are those of models learned with the very numbers it draws."""
    problem = Problem.from_vectors([[1.0, 2], [0, 1], [3, 0]], n=[2, 9, 3], p=5, sigma=[0.1, 0.2, 0.3], unmodeled=0.5)
    sample = simulate_textbook(problem, runs=4, seed=11)
    rng = np.random.default_rng(11)
    truths = np.zeros((3, 5))
    truths[:, : problem.rank] = exact_law.ground_truths(problem)
    assert truths @ truths.T == pytest.approx(problem.gram, rel=1e-12, abs=1e-12)
    w = np.zeros((4, 5))
    errors = [np.tile(problem.start, (4, 1))]
    for t in range(3):
        n = int(problem.n[t])
        X = rng.standard_normal((4, n, 5))
        y = X @ truths[t] + np.sqrt(problem.sigma[t] ** 2 + 0.5) * rng.standard_normal((4, n))
        start = w if n < 5 else np.zeros((4, 5))
        w = np.array([v + np.linalg.pinv(A) @ (b - A @ v) for v, A, b in zip(start, X, y, strict=True)])
        errors.append(np.sum((w[:, None] - truths) ** 2, axis=2))
    assert sample.errors == pytest.approx(np.stack(errors, axis=1), rel=1e-8, abs=1e-10)


def test_the_textbook_is_reproducible():
    problem = PROBLEMS["mixed"]
    a, b, other = (simulate_textbook(problem, 5, seed).errors for seed in (1, 1, 2))
    assert np.array_equal(a, b)
    assert not np.isclose(a[:, 1:], other[:, 1:]).any()


@pytest.mark.parametrize("sampler", [simulate, simulate_metrics])
def test_runs_that_do_not_fit_into_memory_are_refused(sampler):
    with pytest.raises(ValueError, match=r"of 1,000,000,000,000 runs take .* GB, and .* has .* GB; use fewer"):
        sampler(Problem.orthogonal(T=8, n=50, p=100), runs=10**12)


def test_seeds_may_have_an_exponent():
    problem = Problem.orthogonal(T=2, n=50, p=100)
    assert np.array_equal(simulate(problem, 3, seed=1e3).errors, simulate(problem, 3, seed=1000).errors)  # type: ignore[arg-type]


def test_many_tasks_are_compared_without_standard_deviations():
    text = simulate_metrics(Problem.identical(TASKS_WITH_DEVIATIONS + 1, n=50, p=100, sigma=0.3), runs=2).summary()
    assert "theory: expected" in text
    assert "theory: standard deviation" not in text
