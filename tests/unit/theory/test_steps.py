"""Curricula: mixtures, repeats and terms against plain references and draws of the features."""

import numpy as np
import plain_steps
import pytest
from problems import random_problem

from ebbing import Averaged, Curriculum, MinimumNorm, OnePassSgd, Problem, Ridge, expect
from ebbing.order import best_penalty
from ebbing.theory import expectation_if_finite
from ebbing.theory._step_rates import StepRates

PROBLEM = Problem.categories("AABB", n=50, p=200, sigma=0.3)


def test_sequences_stay_the_same_to_the_last_bit():
    rng = np.random.default_rng(0)
    for _ in range(20):
        problem = random_problem(rng)
        plain, planned = expect(problem), expect(problem, Curriculum.sequential(problem))
        assert np.array_equal(plain.errors, planned.errors)
        assert np.array_equal(plain.forgetting_matrix, planned.forgetting_matrix)
        assert np.array_equal(plain.forgetting_curve, planned.forgetting_curve)
        assert (plain.terms, plain.forgetting_std) == (planned.terms, planned.forgetting_std)
        assert plain.summary() == planned.summary()
        assert planned.curriculum.is_sequential(problem)


def test_one_task_a_step_is_the_papers_recursion():
    """The same sequence with a task nobody learns: the general recursion instead of that of sequences."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        problem = random_problem(rng, T=5)
        fewer = Problem(
            gram=problem.gram[:4, :4], n=problem.n[:4], p=problem.p, sigma=problem.noise_variance[:4] ** 0.5
        )
        e = expect(problem, Curriculum([{t: int(n)} for t, n in enumerate(problem.n[:4])]))
        exact = expect(fewer)
        assert e.errors[:, :4] == pytest.approx(exact.errors, rel=1e-13)
        assert e.forgetting == pytest.approx(exact.forgetting, rel=1e-11, abs=1e-13)
        assert e.first_steps.tolist() == [1, 2, 3, 4, 0]
        for name in ("F1", "F2", "F3", "F4"):
            assert getattr(e.terms, name) == pytest.approx(getattr(exact.terms, name), rel=1e-11, abs=1e-13)


def test_mixtures_equal_the_formulas_with_loops():
    rng = np.random.default_rng(2)
    for _ in range(200):
        problem, plan = plain_steps.random_case(rng)
        e = expect(problem, plan)
        assert e.errors == pytest.approx(plain_steps.expected_errors(problem, plan), rel=1e-12)


def test_terms_add_up_and_follow_their_definitions():
    rng = np.random.default_rng(3)
    for _ in range(100):
        problem, plan = plain_steps.random_case(rng)
        e = expect(problem, plan, learner=Averaged(0.7))
        terms, S, first = e.terms, len(plan), e.first_steps
        learned = (first > 0) & (first < S)
        forgotten = e.errors[S] - e.errors[first, np.arange(problem.T)]
        assert e.forgetting == pytest.approx(forgotten[learned].mean(), rel=1e-10, abs=1e-12)
        assert e.generalization == pytest.approx(e.errors[S].mean())
        assert pytest.approx(e.forgetting, rel=1e-10, abs=1e-12) == terms.F1 + terms.F2 + terms.F3 + terms.F4
        assert pytest.approx(e.generalization, rel=1e-12) == terms.G1 + terms.G2 + terms.G3 + terms.G4
        assert terms.G4 >= 0
        without = expect(problem.replace(sigma=0), plan, learner=Averaged(0.7)).terms
        assert (0, pytest.approx(terms.G2)) == (without.G3, without.G2)
        assert len(e.forgetting_curve) == S - 1
        assert e.forgetting_curve[-1] == e.forgetting


@pytest.mark.parametrize(
    ("steps", "learner"),
    [
        ([{0: 4}, {1: 3, 0: 2}, {2: 2, 1: 3, 0: 1}], MinimumNorm()),
        ([{0: 10, 1: 8}, {2: 3, 1: 1}, {1: 9, 2: 15}], MinimumNorm()),
        ([{0: 4, 2: 3}, {1: 20, 0: 4}, {2: 2, 0: 2}], Averaged(0.6)),
    ],
    ids=["overparameterized", "both regimes", "averaged"],
)
def test_expectations_agree_with_drawn_features(steps, learner):
    p, sigma, plan = 12, np.array([0.3, 1.5, 0.6]), Curriculum(steps)
    W = np.random.default_rng(4).standard_normal((3, 3))
    problem = Problem.from_vectors(W, n=5, p=p, sigma=sigma)
    rng = np.random.default_rng(5)
    sample = plain_steps.draw_errors(rng, W, plan.samples(problem), p, sigma, learner=learner, runs=8000)
    e = expect(problem, plan, learner=learner)
    assert np.abs(plain_steps.z_scores(sample, e.errors)).max() < 4.5
    # Power: without the conflict of tasks, or with the noise of the wrong tasks, it would fail.
    assert np.abs(plain_steps.z_scores(sample[:, -1].mean(axis=1), e.generalization - e.terms.G4)) > 6
    other = expect(problem.replace(sigma=np.roll(sigma, 1)), plan, learner=learner).errors
    assert np.abs(plain_steps.z_scores(sample, other)).max() > 6


def test_one_pass_sgd_agrees_with_drawn_samples():
    p, runs, rate, sigma = 6, 20_000, 0.08, np.array([0.5, 1.0])
    W = np.random.default_rng(6).standard_normal((2, 2))
    problem = Problem.from_vectors(W, n=[7, 4], p=p, sigma=sigma)
    rng, truth = np.random.default_rng(7), np.pad(W, ((0, 0), (0, p - 2)))
    w, rows = np.zeros((runs, p)), []
    for t, n in enumerate([7, 4]):
        for _ in range(n):
            x = rng.standard_normal((runs, p))
            y = x @ truth[t] + sigma[t] * rng.standard_normal(runs)
            w = w + rate * x * (y - (x * w).sum(axis=1))[:, None]
        rows.append(((w[:, None] - truth) ** 2).sum(axis=2))
    sample = np.stack(rows, axis=1)
    assert np.abs(plain_steps.z_scores(sample, expect(problem, learner=OnePassSgd(rate)).errors[1:])).max() < 4.5
    other = expect(problem, learner=OnePassSgd(0.9 * rate)).errors[1:]
    assert np.abs(plain_steps.z_scores(sample, other)).max() > 6


def test_averaging_with_weight_one_is_minimum_norm():
    plan = Curriculum.replay(PROBLEM, memory=10)
    assert expect(PROBLEM, plan, learner=Averaged(1)).errors == pytest.approx(expect(PROBLEM, plan).errors, rel=1e-14)


def test_forgetting_keeps_its_digits_in_huge_models():
    """At p = 10^12 forgetting is 10^-10 of the errors; fresh and stored digits must not cancel."""
    small = {"gram": np.eye(2), "n": 50, "sigma": 0.3}
    plan = Curriculum([{0: 50}, {1: 50, 0: 10}])
    e = expect(Problem(**small, p=10**12), plan)  # type: ignore[arg-type]
    # 60/p (gap to the mean - L_1) + noise and conflict of second order
    first_order = 60 * ((5 / 6) ** 2 * 2 - (1 - 50e-12)) / 10**12
    conflict_and_noise = 60 * (10 / 36 * 1.0 + 0.09) / 10**12
    assert e.forgetting == pytest.approx(first_order + conflict_and_noise, rel=1e-9)


def test_conflict_acts_as_noise_of_its_dispersion():
    """To the end and n < p: (1 - 1/p) times the mean squared distance to the mean ground truth."""
    plan = Curriculum([{0: 20, 2: 30}])
    e, mean = expect(PROBLEM, plan), np.array([0.4, 0, 0.6, 0]) @ PROBLEM.gram @ np.array([0.4, 0, 0.6, 0])
    dispersion = 0.4 * 1 + 0.6 * 1 - mean
    variance = (1 - 1 / 200) * dispersion
    assert pytest.approx(expect(PROBLEM.replace(sigma=variance**0.5), plan).terms.G3, rel=1e-13) == e.terms.G4


@pytest.mark.parametrize("p", [1, 2, 5])
def test_few_parameters_agree_with_drawn_features(p):
    W, sigma = np.array([[1.0], [-0.5]]), np.array([0.5, 0.2])
    problem, plan = Problem.from_vectors(W, n=5, p=p, sigma=sigma), Curriculum([{0: 5, 1: 6}])
    sample = plain_steps.draw_errors(np.random.default_rng(8), W, plan.samples(problem), p, sigma, runs=20_000)
    assert np.abs(plain_steps.z_scores(sample, expect(problem, plan).errors)).max() < 4.5


def test_one_parameter_has_a_finite_conflict_everywhere():
    """With p = 1 the weights are a weighted mean of the ground truths: nothing diverges without noise."""
    problem = Problem.from_vectors([[1.0], [-1.0]], n=1, p=1)
    assert expect(problem, Curriculum([{0: 1, 1: 1}])).errors[-1].tolist() == [1.5, 1.5]  # 1 + (2/4) 1
    assert StepRates.of(np.array([1]), 1, MinimumNorm()).conflict == 0


# ---------------------------------------------------------------- refused


@pytest.mark.parametrize("N", [19, 20, 21])
def test_infinite_expectations_of_steps_are_refused(N):
    problem = Problem.orthogonal(T=2, n=5, p=20, sigma=0.3)
    single, mixed = Curriculum([{0: 5}, {1: N}]), Curriculum([{0: 5}, {1: N - 5, 0: 5}])
    with pytest.raises(ValueError, match=rf"step 2 has N={N} samples and p=20: .*there is noise; .*Ridge"):
        expect(problem, Curriculum([*single, {0: 3}]))
    with pytest.raises(ValueError, match="the tasks of the step disagree"):
        expect(problem.replace(sigma=0), mixed)
    assert expectation_if_finite(problem, mixed) is None
    assert np.isfinite(expect(problem.replace(sigma=0), Curriculum([*single, {0: 3}])).errors).all()
    identical = Problem.identical(T=2, n=5, p=20)
    assert np.isfinite(expect(identical, mixed).errors).all()


def test_one_pass_sgd_on_mixtures_is_refused():
    plan = Curriculum([{0: 50}, {1: 50, 0: 10}])
    with pytest.raises(ValueError, match=r"step 2 mixes tasks, .*a step of its own"):
        expect(PROBLEM, plan, learner=OnePassSgd(0.001))
    assert expectation_if_finite(PROBLEM, plan, learner=OnePassSgd(0.001)) is None


def test_one_pass_sgd_that_diverges_is_refused():
    with pytest.raises(ValueError, match=r"with p=200 .* from a learning rate of 2 / \(p \+ 2\) = 0.009901 on"):
        expect(PROBLEM, learner=OnePassSgd(2 / 202))
    assert np.isfinite(expect(PROBLEM, learner=OnePassSgd(0.0099)).errors).all()


def test_joint_training_has_nothing_to_forget():
    e = expect(PROBLEM.replace(n=20), Curriculum.joint(PROBLEM.replace(n=20)))
    with pytest.raises(ValueError, match="at least two steps, not 1"):
        _ = e.forgetting
    assert np.isnan(e.terms.F4)
    assert "forgetting F" not in e.summary()
    assert "nan" not in e.summary() + repr(e)


def test_a_list_of_steps_is_a_curriculum():
    steps: list[dict[int, int]] = [{0: 50}, {1: 50, 0: 10}]
    assert expect(PROBLEM, steps).forgetting == expect(PROBLEM, Curriculum(steps)).forgetting
    one, other = best_penalty(PROBLEM, steps), best_penalty(PROBLEM, Curriculum(steps))
    assert one.value == other.value


def test_other_things_than_curricula_and_learners_are_refused():
    with pytest.raises(ValueError, match="give a Curriculum"):
        expect(PROBLEM, "AB")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"curriculum=Ridge\(penalty=1.0\) is a learner: write learner=Ridge\(penalty"):
        expect(PROBLEM, Ridge(1))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="step 2 is 7: give task -> samples"):
        expect(PROBLEM, [{0: 50}, 7])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="give MinimumNorm"):
        expect(PROBLEM, learner=Ridge)  # type: ignore[arg-type]
