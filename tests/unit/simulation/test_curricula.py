"""Simulations of curricula and learners: one seed, one result; what a step does; forgetting; bad input."""

import numpy as np
import pytest

from ebbing import Averaged, Curriculum, GradientFlow, GradientSteps, MinimumNorm, OnePassSgd, Problem, Ridge
from ebbing.simulation import exact_law, simulate, simulate_metrics, simulate_textbook
from ebbing.simulation._minimum_norm import Mixture
from ebbing.simulation._small_matrices import add_gram, cholesky, multiply_upper, solve_gram
from ebbing.simulation._span import ground_truths
from ebbing.simulation._steps import Schedule
from ebbing.simulation.textbook import learn_step

V = np.random.default_rng(0).standard_normal((4, 3))
PROBLEM = Problem.from_vectors(V, n=[6, 5, 4, 5], p=30, sigma=[0.5, 1, 0.2, 0.4])
REPLAY = Curriculum([{0: 6}, {1: 5, 0: 3}, {2: 4, 0: 2, 1: 1}, {3: 5, 0: 1, 1: 1, 2: 1}])
STORED = Curriculum(REPLAY.steps, stored=True)
CASES = {
    "replay": (REPLAY, MinimumNorm()),
    "averaged": (REPLAY, Averaged(0.5)),
    "ridge": (None, Ridge(1.0)),
    "SGD": (None, OnePassSgd(0.02)),
    "ridge and replay": (REPLAY, Ridge(1.0)),
    "stored": (STORED, MinimumNorm()),
}
cases = pytest.mark.parametrize("name", CASES)


def run(sampler, name, runs=20, seed=3):
    curriculum, learner = CASES[name]
    return sampler(PROBLEM, runs, seed, curriculum=curriculum, learner=learner)


@cases
@pytest.mark.parametrize("sampler", [simulate, simulate_textbook])
def test_same_seed_same_runs(sampler, name):
    a, b, other = (run(sampler, name, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(a.errors, b.errors)
    assert not np.isclose(a.errors[:, 1:], other.errors[:, 1:]).any()
    assert a.errors.shape == (20, 5, 4)
    assert (a.errors[:, 0] == PROBLEM.start).all()
    assert (a.curriculum, a.learner) == CASES[name]


@cases
def test_more_runs_begin_with_the_same_ones(name):
    assert np.array_equal(run(simulate, name, 5).errors, run(simulate, name, 40).errors[:5])


@cases
def test_batches_change_nothing(monkeypatch, name):
    whole, light = run(simulate, name, 40), run(simulate_metrics, name, 40)
    monkeypatch.setattr(exact_law, "NUMBERS_AT_ONCE", 1000)
    batches = list(exact_law._batches(Schedule.of(PROBLEM, *CASES[name]), 40, 3))
    assert len(batches) > 1
    assert np.array_equal(run(simulate, name, 40).errors, whole.errors)
    assert np.array_equal(run(simulate_metrics, name, 40).generalization, whole.generalization)
    assert np.array_equal(light.forgetting, whole.forgetting)
    assert light.mean_errors == pytest.approx(whole.errors.mean(axis=0), rel=1e-12)


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("sampler", [simulate, simulate_metrics, simulate_textbook])
def test_the_papers_curriculum_is_the_default(sampler, stored):
    given = sampler(PROBLEM, 20, 1, curriculum=Curriculum.sequential(PROBLEM, stored=stored))
    default = sampler(PROBLEM, 20, 1)
    assert np.array_equal(given.forgetting, default.forgetting)
    assert np.array_equal(given.generalization, default.generalization)


def test_each_step_has_the_cheapest_law():
    def laws(curriculum, learner):
        found = exact_law.step_laws(Schedule.of(PROBLEM, curriculum, learner), ground_truths(PROBLEM))
        return found and [type(law).__name__ for law in found]

    assert laws(REPLAY, MinimumNorm()) == ["SingleTask", "Mixture", "Mixture", "Mixture"]
    assert laws(None, Averaged(0.5)) == ["SingleTask"] * 4
    assert laws(None, Ridge(1)) == ["FilteredTask"] * 4
    assert laws(None, OnePassSgd(0.01)) == ["OnePass"] * 4
    assert laws(REPLAY, Ridge(1)) is None
    assert laws(STORED, MinimumNorm()) is None


def test_cost_in_numbers_does_not_depend_on_n_and_p():
    def numbers(scale):
        problem = PROBLEM.replace(n=PROBLEM.n * scale, p=30 * scale)
        steps = Curriculum([{t: n * scale for t, n in step.items()} for step in REPLAY])
        laws = exact_law.step_laws(Schedule.of(problem, steps, MinimumNorm()), ground_truths(problem))
        assert laws is not None
        return [(law.normals, len(law.freedom)) for law in laws]

    assert numbers(10**3) == numbers(10**9)


# ---------------------------------------------------------------- forgetting


def test_forgetting_counts_from_the_first_step():
    plan = Curriculum([{1: 5}, {0: 6, 1: 2}, {1: 3}, {2: 4, 0: 1}])
    for sampler in (simulate, simulate_textbook):
        sample = sampler(PROBLEM, 10, curriculum=plan)
        L = sample.errors
        expected = ((L[:, 4, 1] - L[:, 1, 1]) + (L[:, 4, 0] - L[:, 2, 0])) / 2
        assert sample.forgetting == pytest.approx(expected, rel=1e-12)
        assert sample.generalization == pytest.approx(L[:, 4].mean(axis=1), rel=1e-12)


def test_joint_training_has_nothing_to_forget():
    joint = Curriculum.joint(PROBLEM)
    with pytest.raises(ValueError, match="every task is first learned in the last step"):
        _ = simulate(PROBLEM, 5, curriculum=joint).forgetting
    sample = simulate_metrics(PROBLEM, 5, curriculum=joint)
    assert np.isnan(sample.forgetting).all()
    assert "forgetting" not in sample.summary().split("\n\n")[1]
    with pytest.raises(ValueError, match="first learned in the last step"):
        sample.plot()


def test_summary_compares_with_theory():
    text = run(simulate, "ridge and replay").summary()
    assert text.startswith("4 tasks in 4 steps of 6..8 samples, p=30")
    assert "; 20 runs\nModel: linear, isotropic Gaussian features, each step learned by Ridge(penalty=1.0)" in text
    assert "z-score of the mean" in text
    assert "nan" not in text


# ---------------------------------------------------------------- the textbook's steps


def data(N, p, runs=3):
    rng = np.random.default_rng([N, p])
    return rng.standard_normal((runs, p)), rng.standard_normal((runs, N, p)), rng.standard_normal((runs, N))


@pytest.mark.parametrize(("N", "p"), [(4, 9), (9, 4), (5, 5), (1, 1)])
def test_ridge_solves_its_equations(N, p):
    w, X, y = data(N, p)
    learned = learn_step(w, X, y, Ridge(0.7))
    for run in range(3):
        normal = X[run].T @ X[run] + 0.7 * np.eye(p)
        assert learned[run] == pytest.approx(np.linalg.solve(normal, X[run].T @ y[run] + 0.7 * w[run]), rel=1e-9)


@pytest.mark.parametrize(("N", "p"), [(4, 9), (9, 4), (1, 1)])
def test_gradient_steps_are_gradient_steps(N, p):
    w, X, y = data(N, p)
    learned, flowed = learn_step(w, X, y, GradientSteps(0.03, 6)), learn_step(w, X, y, GradientFlow(0.18))
    fine = learn_step(w, X, y, GradientSteps(0.18 / 10**6, 10**6))
    for _ in range(6):
        w = w + 0.03 * np.einsum("bnp,bn->bp", X, y - np.einsum("bnp,bp->bn", X, w))
    assert learned == pytest.approx(w, rel=1e-9)
    assert flowed == pytest.approx(fine, rel=1e-4)


def test_one_pass_sgd_and_averaging_of_one_sample():
    w, X, y = data(1, 3)
    x = X[:, 0]
    step = w + 0.1 * x * (y - np.sum(x * w, axis=1, keepdims=True))
    assert learn_step(w, X, y, OnePassSgd(0.1)) == pytest.approx(step, rel=1e-12)
    end = learn_step(w, X, y, MinimumNorm())
    assert learn_step(w, X, y, Averaged(0.25)) == pytest.approx(0.75 * w + 0.25 * end, rel=1e-12)


def test_a_model_that_fits_its_memory_stays():
    """Minimum norm on stored samples alone changes nothing; on fresh ones it does."""
    plan = [{0: 6}, {0: 4}, {0: 6}]
    for sampler in (simulate, simulate_textbook):
        stored = sampler(PROBLEM, 5, curriculum=Curriculum(plan, stored=True)).errors
        assert stored[:, 1] == pytest.approx(stored[:, 2], rel=1e-9)
        assert stored[:, 1] == pytest.approx(stored[:, 3], rel=1e-9)
        fresh = sampler(PROBLEM, 5, curriculum=Curriculum(plan)).errors
        assert not np.isclose(fresh[:, 1], fresh[:, 2]).any()


@pytest.mark.parametrize("sampler", [simulate, simulate_metrics, simulate_textbook])
def test_a_list_of_steps_is_a_curriculum(sampler):
    steps = [{0: 5}, {1: 5, 0: 2}]
    listed, same = sampler(PROBLEM, 5, curriculum=steps), sampler(PROBLEM, 5, curriculum=Curriculum(steps))
    np.testing.assert_array_equal(listed.forgetting, same.forgetting)
    assert listed.curriculum == Curriculum(steps)
    assert listed.summary() == same.summary()


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("sampler", [simulate, simulate_metrics, simulate_textbook])
def test_bad_input(sampler):
    with pytest.raises(ValueError, match="learner="):
        sampler(PROBLEM, 3, learner=Ridge)
    with pytest.raises(ValueError, match="give a Curriculum"):
        sampler(PROBLEM, 3, curriculum="AB")
    with pytest.raises(ValueError, match="write learner=Ridge"):
        sampler(PROBLEM, 3, curriculum=Ridge(1))
    with pytest.raises(ValueError, match=r"tasks 0\.\.3"):
        sampler(PROBLEM, 3, curriculum=Curriculum([{7: 5}]))
    with pytest.raises(ValueError, match=r"step 2 mixes tasks.*step of its own"):
        sampler(PROBLEM, 3, curriculum=REPLAY, learner=OnePassSgd(0.01))
    with pytest.raises(ValueError, match=r"diverges along eigenvalues of X'X above 2 / learning_rate"):
        sampler(PROBLEM, 3, learner=GradientSteps(0.5, 10))


@pytest.mark.parametrize("sigma", [0, 0.3, [0.0, 1.0, 0.2, 0.5]], ids=["no noise", "equal", "unequal"])
@pytest.mark.parametrize("p", [400, 10**6])
def test_mixtures_with_runs_last_equal_the_plain_version(p, sigma, monkeypatch):
    """The same random numbers, by Cholesky factors of squares or by LAPACK's QR for each run."""
    W = np.random.default_rng(2).standard_normal((4, 3))
    problem = Problem.from_vectors(W, n=40, p=p, sigma=sigma)
    plan = Curriculum.replay(problem, memory=7)
    fast = simulate(problem, 50, 1, curriculum=plan).errors
    monkeypatch.setattr(Mixture, "learn", Mixture._learn_any)
    plain = simulate(problem, 50, 1, curriculum=plan).errors
    assert fast == pytest.approx(plain, rel=1e-12)


def test_small_matrices_equal_those_of_lapack():
    rng = np.random.default_rng(0)
    U, b = rng.standard_normal((20, 4, 3)), rng.standard_normal((4, 3))
    gram = np.zeros((4, 4, 3))
    add_gram(gram, U)
    R = cholesky(gram)
    for run in range(3):
        square = U[..., run].T @ U[..., run]
        assert np.triu(gram[..., run]) == pytest.approx(np.triu(square))
        assert np.triu(R[..., run]) == pytest.approx(np.linalg.cholesky(square).T)
        assert solve_gram(R, b)[:, run] == pytest.approx(np.linalg.solve(square, b[:, run]))
        assert multiply_upper(R, b)[:, run] == pytest.approx(np.triu(R[..., run]) @ b[:, run])
