"""Exact standard deviations over mixtures and averaged steps: against the plain case, and against runs."""

import numpy as np
import pytest
from problems import random_problem

from ebbing import Averaged, Curriculum, MinimumNorm, Problem, expect, simulate
from ebbing.curriculum import first_steps_of
from ebbing.theory import _mixture_covariance
from ebbing.theory._mixture_covariance import mixture_deviations
from ebbing.theory._mixture_moments import MixtureMoments, _of_a_line, _under

V = np.random.default_rng(0).standard_normal((4, 3))
PROBLEM = Problem.from_vectors(V, n=[6, 5, 4, 5], p=40, sigma=[0.5, 1, 0.2, 0.4])
REPLAY = Curriculum([{0: 6}, {1: 5, 0: 3}, {2: 4, 0: 2, 1: 1}, {3: 5, 0: 1, 1: 1, 2: 1}])
LARGE = Curriculum([{0: 9, 1: 3}, {1: 9, 0: 3}, {2: 9, 0: 6, 1: 5}])
BOTH = Curriculum([{0: 4, 1: 3}, {1: 20, 0: 13}, {2: 4, 0: 1, 1: 2}])
LINE = Problem.from_vectors(V[:, :1], n=3, p=1)

CASES = {
    "N < p": (PROBLEM, REPLAY, MinimumNorm()),
    "N < p, averaged": (PROBLEM, REPLAY, Averaged(0.6)),
    "N < p without noise": (PROBLEM.replace(sigma=0), REPLAY, MinimumNorm()),
    "N > p": (PROBLEM.replace(p=4), LARGE, MinimumNorm()),
    "N > p without noise, averaged": (PROBLEM.replace(p=4, sigma=0), LARGE, Averaged(0.7)),
    "both": (PROBLEM.replace(p=14), BOTH, MinimumNorm()),
    "p = 1": (LINE, Curriculum([{0: 1, 1: 1}, {2: 2, 0: 1}, {3: 5, 1: 4}]), MinimumNorm()),
    "p = 1 with noise": (LINE.replace(sigma=0.3), Curriculum([{0: 6, 1: 1}, {2: 2, 0: 8}]), MinimumNorm()),
}


def standardized(sample, std):
    """How many standard errors sample variances (runs, ...) are from exact ones."""
    squares = (sample - sample.mean(axis=0)) ** 2
    return (squares.mean(axis=0) - np.asarray(std) ** 2) / (squares.std(axis=0) / np.sqrt(len(sample)) + 1e-300)


def largest_difference(name, runs=20_000):
    problem, plan, learner = CASES[name]
    e, sample = expect(problem, plan, learner=learner), simulate(problem, runs, 3, curriculum=plan, learner=learner)
    scores = [
        *standardized(sample.errors[:, 1:], e.errors_std[1:]).ravel(),
        standardized(sample.forgetting, e.forgetting_std),
        standardized(sample.generalization, e.generalization_std),
    ]
    return np.abs(scores).max()


@pytest.mark.parametrize("name", CASES)
def test_deviations_of_mixtures_agree_with_runs(name):
    assert largest_difference(name) < 4.5


@pytest.mark.parametrize("field", ["dd", "fourth", "third", "along", "shared"])
def test_runs_would_notice_a_wrong_moment(field, monkeypatch):
    def wrong(N, p):
        right = vars(MixtureMoments.of(N, p))
        return MixtureMoments(**(right | {field: 3 * right[field]}))

    monkeypatch.setattr(_mixture_covariance, "MixtureMoments", type("Wrong", (), {"of": staticmethod(wrong)}))
    name = "N > p" if field == "fourth" else "N < p"
    assert largest_difference(name, runs=40_000) > 4.5


def test_single_tasks_are_a_special_case():
    rng = np.random.default_rng(1)
    for _ in range(40):
        problem = random_problem(rng)
        plan = Curriculum.sequential(problem, cycles=2)
        e, samples = expect(problem, plan), plan.samples(problem)
        errors, F, G = mixture_deviations(problem, samples, first_steps_of(samples), e.errors, MinimumNorm())
        assert errors == pytest.approx(e.errors_std, rel=1e-9, abs=1e-12)
        assert pytest.approx([e.forgetting_std, e.generalization_std], rel=1e-9, abs=1e-12) == [F, G]


@pytest.mark.parametrize("p", [12, 60, 10**6, 10**12])
def test_a_task_under_two_names_is_one_task(p):
    """Samples of a task and of its copy make the same step as all of them of the task: no disagreement."""
    W = np.array([[1.0, 0.2], [1.0, 0.2], [-0.5, 1.0]])
    problem = Problem.from_vectors(W, n=20, p=p, sigma=[0.3, 0.3, 0.5])
    mixed = expect(problem, Curriculum([{0: 12, 1: 8}, {2: 20}, {0: 3, 1: 1}]))
    plain = expect(problem, Curriculum([{0: 20}, {2: 20}, {0: 4}]))
    assert mixed.errors_std == pytest.approx(plain.errors_std, rel=1e-9)
    assert mixed.generalization_std == pytest.approx(plain.generalization_std, rel=1e-9)


def test_averaging_with_weight_one_is_learning_to_the_end():
    almost, exact = (expect(PROBLEM, REPLAY, learner=x) for x in (Averaged(1 - 1e-12), MinimumNorm()))
    assert almost.errors_std == pytest.approx(exact.errors_std, rel=1e-9)
    assert almost.forgetting_std == pytest.approx(exact.forgetting_std, rel=1e-9)


@pytest.mark.parametrize("N", [7, 8, 9])
def test_disagreement_next_to_p_has_infinite_variance(N):
    problem = Problem.orthogonal(T=2, n=5, p=10)
    e = expect(problem, Curriculum([{0: N - 2, 1: 2}, {1: 3}])) if N < 9 else expect(problem, Curriculum([{0: N}]))
    if N < 9:
        assert np.isinf(e.errors_std[1:]).all()
        assert np.isinf([e.forgetting_std, e.generalization_std]).all()
    else:
        assert np.isfinite(e.generalization_std)  # a single task, no noise


def test_moments_of_a_line_are_those_of_larger_p():
    line, general = _of_a_line(9), _under(9, 1)
    assert line.dd == pytest.approx(general.dd + general.crossed, rel=1e-12)
    assert [line.fourth, line.third] == pytest.approx([general.fourth, general.third], rel=1e-12)
    assert line.along == pytest.approx(general.along + general.even, rel=1e-12)


def test_deviations_of_sixty_tasks_with_replay_are_finite():
    problem = Problem.from_vectors(np.random.default_rng(2).standard_normal((60, 5)), n=20, p=10_000, sigma=0.1)
    e = expect(problem, Curriculum.replay(problem, memory=2))
    assert 0 < e.forgetting_std < e.generalization
