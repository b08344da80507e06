"""The exact-law sampler against the textbook: the same law of the whole error matrix, not only the same means.

`p_value` compares two samples of error matrices: the energy distance between whole matrices, and Kolmogorov-Smirnov on
every entry and on F and G. It is shown to have power: samplers with one mistake each are rejected by the same function.
`moment_p_value` does the same for means and standard deviations against theory.
"""

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_2samp, norm
from two_samples import ALPHA, RUNS_ENERGY, energy_p_value, sample_p_value

from ebbing.problem import Problem
from ebbing.simulation import _minimum_norm, exact_law, simulate, simulate_textbook
from ebbing.theory import expect

RUNS_TEXTBOOK, RUNS_EXACT = 3000, 30_000


def vectors(T, k, seed=0):
    return np.random.default_rng([T, k, seed]).standard_normal((T, k))


def problem(T, k, **settings: Any):
    return Problem.from_vectors(vectors(T, k), **settings)


PROBLEMS = {
    "overparameterized": problem(3, 3, n=4, p=12, sigma=0.7),
    "underparameterized": problem(3, 3, n=20, p=8, sigma=1.0),
    "no noise": problem(3, 2, n=[2, 5, 4], p=8),
    "much noise": problem(3, 3, n=5, p=9, sigma=3.0),
    "many tasks": Problem.categories("ABABCA", n=6, p=10, sigma=0.5),
    "larger": problem(3, 3, n=20, p=60, sigma=0.5),
    "all n about p": problem(5, 3, n=[6, 7, 8, 9, 10], p=8, sigma=0.5),
    "n and sigma mixed": problem(4, 3, n=[1, 15, 3, 7], p=8, sigma=[0.5, 0, 2, 0.1]),
    "features missing": problem(3, 2, n=[3, 3, 9], p=7, sigma=[0, 0.3, 0.3], unmodeled=[0.5, 0, 1]),
    "already learned": Problem(gram=[[0, 0, 0], [0, 1, 0.5], [0, 0.5, 2]], n=3, p=7, sigma=0.5),
    "the same task": Problem.identical(T=3, n=4, p=6, sigma=0.3),
    "no ground truth": Problem(gram=np.zeros((3, 3)), n=[2, 3, 9], p=5, sigma=0.5),
    "p = 1": problem(3, 1, n=[1, 4, 2], p=1, sigma=[0.5, 1, 0.5]),
    "p = 2, k = 1": problem(3, 1, n=[1, 1, 3], p=2, sigma=[0.5, 0, 0.5]),
    "p = 2, k = 2": problem(3, 2, n=[1, 1, 2], p=2, sigma=[0.5, 0, 0.5]),
    "p = 3 = k": problem(4, 3, n=[1, 2, 1, 2], p=3, sigma=[0.5, 0, 0, 0.5]),
    "p = 3 = k + 1": problem(4, 2, n=[2, 1, 5, 1], p=3, sigma=0.4),
    "p = 6 = k": problem(6, 6, n=[1, 5, 3, 2, 4, 1], p=6, sigma=0.4),
    "p = 6 = k + 1": problem(5, 5, n=[1, 5, 3, 2, 4], p=6, sigma=0.4),
}
everywhere = pytest.mark.parametrize("name", PROBLEMS)


# ---------------------------------------------------------------- the test


def columns(problem: Problem, errors):
    """What is compared: every error after the start, F_T and G_T, one row a run."""
    T = problem.T
    F = (errors[:, T, : T - 1] - np.diagonal(errors[:, 1:], axis1=1, axis2=2)[:, : T - 1]).mean(axis=1)
    return np.column_stack([errors[:, 1:].reshape(len(errors), -1), F, errors[:, T].mean(axis=1)])


def p_value(problem: Problem, a, b) -> float:
    """How likely two samples of error matrices (runs, T+1, T) are to differ this much if they have the same law.

    Entries without randomness must be equal. For the rest: the smaller of two p-values, doubled; of all columns'
    Kolmogorov-Smirnov tests, and of the energy distance in ranks (heavy tails do not matter then).
    """
    unit = np.abs(problem.gram).max() + problem.noise_variance.max()
    return sample_p_value(columns(problem, a), columns(problem, b), unit)


@functools.cache
def textbook(name):
    return simulate_textbook(PROBLEMS[name], RUNS_TEXTBOOK, seed=1).errors


def exact(problem: Problem):
    return simulate(problem, RUNS_EXACT, seed=2).errors


# ---------------------------------------------------------------- the same law


@everywhere
def test_exact_law_and_textbook_agree(name):
    assert p_value(PROBLEMS[name], textbook(name), exact(PROBLEMS[name])) > ALPHA


def test_p_values_are_spread_out_when_the_laws_are_the_same():
    """A test that never rejects would have p-values near 1 only; these are about uniform."""
    ordinary = PROBLEMS["overparameterized"]
    sample = columns(ordinary, simulate(ordinary, 60 * 2 * 200, seed=3).errors).reshape(60, 2, 200, -1)
    found = np.array([energy_p_value(a, b, permutations=100) for a, b in sample])
    assert found.min() > ALPHA
    assert 0.35 < found.mean() < 0.65
    assert 2 <= np.count_nonzero(found < 0.2) <= 24


# ---------------------------------------------------------------- power


def with_shapes(monkeypatch, change):
    """The sampler with other degrees of freedom; `change` edits (1, 5) halves of those of a step in place."""
    true = _minimum_norm.degrees_of_freedom

    def wrong(n, p, not_kept):
        shapes = true(n, p, not_kept)[None] / 2
        change(shapes, SimpleNamespace(n=np.array([n]), p=p))
        return 2 * shapes[0]

    monkeypatch.setattr(_minimum_norm, "degrees_of_freedom", wrong)


def beta_with_p_instead_of_p_minus_n(shapes, problem):
    shapes[:, 2] = np.where(problem.n < problem.p, problem.p / 2, 0)


def beta_with_one_degree_too_many(shapes, problem):
    shapes[:, 2] += np.where(problem.n < problem.p, 0.5, 0)


def noise_over_chi2_of_p_minus_n(shapes, problem):
    shapes[:, 4] -= 0.5


def noise_of_n_plus_one_samples(shapes, problem):
    shapes[:, 3] += np.where(problem.n < problem.p, 0.5, 0)


def one_direction_forgotten(shapes, problem):
    shapes[:, 0] = np.maximum(shapes[:, 0] - 0.5, 0)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (beta_with_p_instead_of_p_minus_n, "overparameterized"),
        (beta_with_p_instead_of_p_minus_n, "no noise"),
        (beta_with_p_instead_of_p_minus_n, "larger"),
        (beta_with_p_instead_of_p_minus_n, "p = 3 = k"),
        (beta_with_one_degree_too_many, "overparameterized"),
        (beta_with_one_degree_too_many, "p = 2, k = 2"),
        (noise_over_chi2_of_p_minus_n, "much noise"),
        (noise_over_chi2_of_p_minus_n, "underparameterized"),
        (noise_over_chi2_of_p_minus_n, "p = 6 = k + 1"),
        (noise_of_n_plus_one_samples, "much noise"),
        (noise_of_n_plus_one_samples, "p = 3 = k"),
        (one_direction_forgotten, "underparameterized"),
        (one_direction_forgotten, "no ground truth"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_wrong_degrees_of_freedom_are_rejected(monkeypatch, change, name):
    with_shapes(monkeypatch, change)
    assert p_value(PROBLEMS[name], textbook(name), exact(PROBLEMS[name])) < ALPHA


@pytest.mark.parametrize("name", ["much noise", "underparameterized", "all n about p", "no ground truth"])
def test_noise_ten_percent_too_large_is_rejected(name):
    true = PROBLEMS[name]
    wrong = true.replace(sigma=1.1 * true.sigma)
    assert p_value(true, textbook(name), exact(wrong)) < ALPHA


@pytest.mark.parametrize("name", ["features missing"])
def test_features_left_out_of_account_are_rejected(name):
    assert p_value(PROBLEMS[name], textbook(name), exact(PROBLEMS[name].replace(unmodeled=0))) < ALPHA


@pytest.mark.parametrize("name", ["overparameterized", "p = 6 = k"])
def test_tasks_in_another_order_are_rejected(name):
    """The same entries, marginally close, in the wrong places."""
    true = PROBLEMS[name]
    wrong = true.reordered([1, 0, *range(2, true.T)])
    assert p_value(true, textbook(name), exact(wrong)) < ALPHA


@pytest.mark.parametrize("name", ["overparameterized", "much noise", "underparameterized"])
def test_a_wrong_joint_law_with_right_entries_is_rejected(name):
    """Every entry alone has the right law, and the runs are mixed up between rows: only whole matrices show it."""
    errors, rng = exact(PROBLEMS[name]), np.random.default_rng(4)
    for t in range(1, PROBLEMS[name].T + 1):
        errors[:, t] = errors[rng.permutation(len(errors)), t]
    a, b = columns(PROBLEMS[name], textbook(name))[:, :-2], columns(PROBLEMS[name], errors)[:, :-2]
    alone = [ks_2samp(x, y, method="asymp").pvalue for x, y in zip(a.T, b.T, strict=True)]  # type: ignore[union-attr]
    together = energy_p_value(a[:RUNS_ENERGY], b[:RUNS_ENERGY])
    assert min(alone) * len(alone) > ALPHA
    if name == "underparameterized":  # there rows are independent indeed
        assert together > ALPHA
    else:
        assert together < ALPHA
        assert p_value(PROBLEMS[name], textbook(name), errors) < ALPHA


# ---------------------------------------------------------------- the recipe, in full space


def unit_orthogonal_to(rng, *others):
    """Uniform on the unit sphere orthogonal to given orthonormal vectors (runs, p)."""
    h = rng.standard_normal(others[0].shape)
    for other in others:
        h -= np.sum(h * other, axis=1, keepdims=True) * other
    return h / np.linalg.norm(h, axis=1, keepdims=True)


def recipe(problem: Problem, runs, seed, *, noise_in_row_space=True):
    """One overparameterized task after another in R^p by the recipe of beta, rho, c, v, v2, each drawn as it is named.

    The recipe puts the noise into the row space of X: c along Px, the rest orthogonal to x and v. With
    noise_in_row_space=False its direction is uniform, independent of Px: all lengths right, one correlation lost.
    """
    rng, p = np.random.default_rng(seed), problem.p
    truths = np.zeros((problem.T, p))
    truths[:, : problem.rank] = exact_law.ground_truths(problem)
    w = np.zeros((runs, p))
    errors = [np.tile(problem.start, (runs, 1))]
    for t in range(problem.T):
        n, sigma = int(problem.n[t]), np.sqrt(problem.noise_variance[t])
        x = truths[t] - w
        length = np.linalg.norm(x, axis=1, keepdims=True)
        beta = rng.beta(n / 2, (p - n) / 2, size=(runs, 1))
        v = unit_orthogonal_to(rng, x / length)
        Px = beta * x + np.sqrt(beta * (1 - beta)) * length * v
        rho = sigma * np.sqrt(rng.chisquare(n, (runs, 1)) / rng.chisquare(p - n + 1, (runs, 1)))
        sphere = rng.standard_normal((runs, n))
        c = sphere[:, :1] / np.linalg.norm(sphere, axis=1, keepdims=True)
        v2 = unit_orthogonal_to(rng, x / length, v)
        direction = c * Px / np.linalg.norm(Px, axis=1, keepdims=True) + np.sqrt(1 - c**2) * v2
        if not noise_in_row_space:
            direction = rng.standard_normal((runs, p))
            direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        w = w + Px + rho * direction
        errors.append(np.sum((w[:, None] - truths) ** 2, axis=2))
    return np.stack(errors, axis=1)


OVERPARAMETERIZED = ["overparameterized", "much noise", "p = 3 = k", "p = 6 = k", "larger"]


@pytest.mark.parametrize("name", OVERPARAMETERIZED)
def test_the_recipe_has_the_same_law(name):
    drawn = recipe(PROBLEMS[name], RUNS_TEXTBOOK, seed=5)
    assert p_value(PROBLEMS[name], drawn, exact(PROBLEMS[name])) > ALPHA
    assert p_value(PROBLEMS[name], drawn, textbook(name)) > ALPHA


@pytest.mark.parametrize("name", ["overparameterized", "much noise", "p = 6 = k"])
def test_noise_independent_of_the_projection_is_rejected(name):
    wrong = recipe(PROBLEMS[name], RUNS_EXACT, seed=5, noise_in_row_space=False)
    assert p_value(PROBLEMS[name], textbook(name), wrong) < ALPHA


# ---------------------------------------------------------------- means and standard deviations

RUNS_MOMENTS = 20_000
# At least 14 between n and p: then noise has moments enough for the error of a variance to be known.
MOMENTS = {
    "overparameterized": problem(4, 4, n=10, p=40, sigma=0.7),
    "underparameterized": problem(4, 4, n=40, p=15, sigma=0.7),
    "mixed": problem(5, 3, n=[3, 50, 12, 1, 60], p=30, sigma=[1, 0.5, 0, 2, 0.3], unmodeled=[0, 0, 0.5, 0, 0]),
    "no noise": problem(4, 3, n=10, p=40),
    "huge": problem(4, 4, n=1000, p=10**9, sigma=20.0),
    "p = k": problem(5, 5, n=[1, 2, 4, 3, 1], p=5, sigma=0),
}


def moment_z(problem: Problem, errors):
    """z-scores of means and of variances of every error, F and G, where theory says that they vary."""
    e = expect(problem)
    sample = columns(problem, errors)
    mean = np.append(e.errors[1:], [e.forgetting, e.generalization])
    std = np.append(e.errors_std[1:], [e.forgetting_std, e.generalization_std])
    varies = std > 0
    sample, mean, std = sample[:, varies], mean[varies], std[varies]
    z_mean = (sample.mean(axis=0) - mean) / (std / len(sample) ** 0.5)
    squares = (sample - mean) ** 2
    z_variance = (squares.mean(axis=0) - std**2) / (squares.std(axis=0) / len(sample) ** 0.5)
    return z_mean, z_variance


def moment_p_value(z) -> float:
    """The largest |z| of several, by Bonferroni."""
    return min(1.0, 2 * len(z) * float(norm.sf(np.abs(z).max())))


@pytest.mark.parametrize("name", MOMENTS)
def test_means_and_standard_deviations_are_those_of_theory(name):
    z_mean, z_variance = moment_z(MOMENTS[name], simulate(MOMENTS[name], RUNS_MOMENTS, seed=6).errors)
    assert moment_p_value(z_mean) > ALPHA
    assert moment_p_value(z_variance) > ALPHA


@pytest.mark.parametrize("name", ["overparameterized", "underparameterized", "mixed", "huge"])
def test_means_show_noise_five_percent_too_large(name):
    wrong = MOMENTS[name].replace(sigma=1.05 * MOMENTS[name].sigma)
    z_mean, _ = moment_z(MOMENTS[name], simulate(wrong, RUNS_MOMENTS, seed=6).errors)
    assert moment_p_value(z_mean) < ALPHA


@pytest.mark.parametrize("name", ["overparameterized", "no noise", "p = k"])
def test_standard_deviations_show_what_means_cannot(monkeypatch, name):
    """Beta(n/4, (p-n)/4) has the right mean n/p. Nothing but the spread is wrong."""

    def halve(shapes, problem):
        shapes[:, 1:3] /= 2

    with_shapes(monkeypatch, halve)
    z_mean, z_variance = moment_z(MOMENTS[name], simulate(MOMENTS[name], RUNS_MOMENTS, seed=6).errors)
    assert moment_p_value(z_mean) > ALPHA
    assert moment_p_value(z_variance) < ALPHA
