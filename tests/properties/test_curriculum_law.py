"""Curricula and learners: the exact law against the textbook, means against theory, and power."""

import functools

import numpy as np
import pytest
from two_samples import ALPHA, sample_p_value

from ebbing import Averaged, Curriculum, GradientFlow, GradientSteps, MinimumNorm, OnePassSgd, Problem, Ridge
from ebbing.simulation import _filters, _minimum_norm, _reduced, simulate, simulate_textbook
from ebbing.simulation._span import ground_truths
from ebbing.simulation._steps import Schedule
from ebbing.simulation.exact_law import step_laws
from ebbing.theory import expect

RUNS, RUNS_ENERGY = 2000, 300
V = np.random.default_rng(5).standard_normal((4, 3))
ORDINARY = Problem.from_vectors(V, n=[6, 5, 4, 5], p=40, sigma=[0.5, 1, 0.2, 0.4])
MIXED = Curriculum([{0: 6}, {1: 5, 0: 3}, {2: 4, 0: 2, 1: 1}, {3: 5, 0: 1, 1: 1, 2: 1}])
SEVERAL = Curriculum([{0: 6}, {1: 5, 0: 3}, {2: 4, 0: 2, 1: 1}])
STORED = Curriculum(MIXED.steps, stored=True)
LINE = Problem.from_vectors(V[:, :1], n=[6, 5, 4, 5], p=1, sigma=0.4)
PLANE = Problem.from_vectors(V[:2, :2], n=2, p=3, sigma=0.4)
MANY = Problem.from_vectors(np.tile(V[:, :2], (2, 1)), n=4, p=30, sigma=np.linspace(0, 1, 8))
END = MinimumNorm()

CASES = {
    "replay": (ORDINARY, MIXED, END),
    "replay, equal noise": (ORDINARY.replace(sigma=0.7), MIXED, END),
    "replay without noise": (ORDINARY.replace(sigma=0), MIXED, END),
    "replay, p near N": (ORDINARY.replace(p=9), Curriculum([{0: 6}, {1: 4, 0: 3}, {2: 4, 0: 2, 1: 2}]), END),
    "replay, N >= p": (ORDINARY.replace(p=4), SEVERAL, END),
    "replay, p = k": (ORDINARY.replace(p=3), SEVERAL, END),
    "N = p = q + 1": (PLANE, Curriculum([{0: 1, 1: 2}]), END),
    "N = p = q": (PLANE.replace(p=2), Curriculum([{0: 1, 1: 1}]), END),
    "one sample each": (ORDINARY, Curriculum([{0: 1, 1: 1}, {2: 1, 3: 1}]), END),
    "same tasks": (Problem.identical(T=3, n=4, p=12), Curriculum([{0: 2, 1: 2}, {2: 3, 0: 1}]), END),
    "more tasks than dimensions": (MANY, Curriculum([{j: 1 + j % 3 for j in range(8)}, {5: 4, 4: 3}]), END),
    "joint": (ORDINARY, Curriculum.joint(ORDINARY), END),
    "cycles": (ORDINARY, Curriculum.sequential(ORDINARY, cycles=2), END),
    "replay, averaged": (ORDINARY, MIXED, Averaged(0.6)),
    "ridge": (ORDINARY.replace(p=10), None, Ridge(2.0)),
    "ridge, n >= p": (ORDINARY.replace(p=4), None, Ridge(2.0)),
    "ridge, p = k": (Problem.from_vectors(V, n=[6, 2, 1, 3], p=3, sigma=0.4), None, Ridge(0.3)),
    "ridge, p = 1": (LINE, None, Ridge(0.3)),
    "gradient steps": (ORDINARY, None, GradientSteps(0.01, 7)),
    "gradient flow": (ORDINARY, None, GradientFlow(0.02)),
    "one-pass SGD": (ORDINARY, None, OnePassSgd(0.03)),
    "one-pass SGD, p = 1": (LINE, None, OnePassSgd(0.3)),
    "ridge and replay": (ORDINARY, MIXED, Ridge(2.0)),
    "stored, p small": (ORDINARY.replace(p=14), STORED, END),
    "stored, ridge, N >= p": (ORDINARY.replace(p=5), STORED, Ridge(1.0)),
    "stored, cycles of SGD": (ORDINARY, Curriculum.sequential(ORDINARY, cycles=2, stored=True), OnePassSgd(0.04)),
}
everywhere = pytest.mark.parametrize("name", CASES)


def columns(sample):
    """What is compared: every error after the start, F if there is any, and G."""
    errors = sample.errors
    metrics = [sample.generalization] if errors.shape[1] < 3 else [sample.forgetting, sample.generalization]
    return np.column_stack([errors[:, 1:].reshape(len(errors), -1), *metrics])


@functools.cache
def textbook(name):
    problem, curriculum, learner = CASES[name]
    return columns(simulate_textbook(problem, RUNS, 1, curriculum=curriculum, learner=learner))


def exact(name):
    problem, curriculum, learner = CASES[name]
    closed = step_laws(Schedule.of(problem, curriculum, learner), ground_truths(problem)) is not None
    return columns(simulate(problem, 4 * RUNS if closed else RUNS, 2, curriculum=curriculum, learner=learner))


def p_value(name):
    problem = CASES[name][0]
    unit = np.abs(problem.gram).max() + problem.noise_variance.max()
    return sample_p_value(textbook(name), exact(name), unit, RUNS_ENERGY)


@everywhere
def test_exact_law_and_textbook_agree(name):
    assert p_value(name) > ALPHA


# ---------------------------------------------------------------- power: one mistake each


def test_a_wishart_matrix_with_one_degree_too_many_is_rejected(monkeypatch):
    true = _minimum_norm.TriangularFactor.of
    monkeypatch.setattr(_minimum_norm.TriangularFactor, "of", lambda freedom, columns: true(freedom + 1, columns))
    assert p_value("replay, p near N") < ALPHA
    assert p_value("N = p = q + 1") < ALPHA


def test_signs_that_depend_on_the_factor_are_rejected(monkeypatch):
    monkeypatch.setattr(np, "copysign", lambda a, b: np.ones_like(b))
    assert p_value("N = p = q + 1") < ALPHA


def test_one_sample_too_few_is_rejected(monkeypatch):
    true = _minimum_norm.sample_factor

    def fewer(samples, q, *, noisy):
        factor = true(samples, q, noisy=noisy)
        factor.freedom = np.maximum(factor.freedom - 1, 0.5)
        return factor

    monkeypatch.setattr(_minimum_norm, "sample_factor", fewer)
    assert p_value("replay, equal noise") < ALPHA


def test_eigenvalues_too_small_are_rejected(monkeypatch):
    true = _filters.wishart_eigenvalues
    monkeypatch.setattr(_filters, "wishart_eigenvalues", lambda diagonal, beside: true(0.75 * diagonal, beside))
    assert p_value("gradient flow") < ALPHA


def test_fresh_samples_instead_of_stored_ones_are_rejected():
    problem, curriculum, learner = CASES["stored, p small"]
    fresh = columns(simulate(problem, RUNS, 2, curriculum=Curriculum(curriculum.steps), learner=learner))
    assert sample_p_value(textbook("stored, p small"), fresh, 1.0, RUNS_ENERGY) < ALPHA


def test_a_triangular_factor_of_too_few_dimensions_is_rejected(monkeypatch):
    true = _reduced._draw
    monkeypatch.setattr(_reduced, "_draw", lambda rngs, N, D, others: true(rngs, N, D, others - 2))
    assert p_value("stored, p small") < ALPHA


def test_sgd_with_one_dimension_too_few_is_rejected(monkeypatch):
    true = _filters.OnePass.__init__

    def narrow(self, learner, n, p, *rest):
        true(self, learner, n, p - 4, *rest)

    monkeypatch.setattr(_filters.OnePass, "__init__", narrow)
    assert p_value("one-pass SGD") < ALPHA


# ---------------------------------------------------------------- means against theory

UNKNOWN = ("replay, p near N", "N = p = q + 1", "N = p = q", "stored, ridge, N >= p", "stored, cycles of SGD")
"""Infinite expectations, and stored samples that no exact formula covers."""


@pytest.mark.parametrize("name", [name for name in CASES if name not in UNKNOWN])
def test_means_are_those_of_theory(name):
    problem, curriculum, learner = CASES[name]
    z = z_scores(problem, curriculum, learner, expect(problem, curriculum, learner=learner))
    assert np.abs(z).max(initial=0) < 4.5


def z_scores(problem, curriculum, learner, e):
    sample = simulate(problem, RUNS, 3, curriculum=curriculum, learner=learner)
    values = columns(sample)
    expected = np.append(e.errors[1:], [e.generalization] if len(e.errors) < 3 else [e.forgetting, e.generalization])
    spread = values.std(axis=0)
    varies = spread > 1e-9
    assert values[0, ~varies] == pytest.approx(expected[~varies], abs=1e-9)
    return (values.mean(axis=0) - expected)[varies] / (spread[varies] / RUNS**0.5)


def test_means_show_a_mixture_without_conflict():
    """The same curriculum with the gaps of one task left out of account."""
    problem, curriculum, learner = CASES["replay"]
    wrong = Problem.from_vectors(np.vstack([V[:3], V[2]]), n=[6, 5, 4, 5], p=40, sigma=problem.sigma)
    assert np.abs(z_scores(problem, curriculum, learner, expect(wrong, curriculum, learner=learner))).max() > 10
