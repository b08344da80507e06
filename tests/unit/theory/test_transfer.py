"""Consequences of the theory: forward transfer, how forgetting evolves, and when it is negative."""

import numpy as np
import pytest
from problems import random_problem, two_tasks

from ebbing.problem import Problem
from ebbing.theory import expect, forgetting_curve_by_recursion, forward_transfer, negative_forgetting


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
            learned, scratch = expect(so_far).errors[-1, t], expect(alone).generalization
            assert transfer.learned[t] == pytest.approx(learned, rel=1e-13)
            assert transfer.scratch[t] == pytest.approx(scratch, rel=1e-13)
            assert transfer.difference[t] == pytest.approx(learned - scratch, abs=1e-13 * (learned + scratch))
        retained = np.maximum(1 - problem.n / problem.p, 0)
        assert transfer.difference[0] == pytest.approx(-retained[0] * energy, abs=1e-14)


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
def test_forward_transfer_checks_the_random_energy(energy):
    with pytest.raises(ValueError, match="random_energy"):
        forward_transfer(Problem.orthogonal(T=2, n=5, p=20), random_energy=energy)


def test_evolution_equals_the_forgetting_curve():
    rng = np.random.default_rng(12)
    for _ in range(100):
        problem = random_problem(rng)
        curve = expect(problem).forgetting_curve
        assert forgetting_curve_by_recursion(problem) == pytest.approx(curve, rel=1e-11, abs=1e-13)


def test_negative_forgetting_is_equivalent_to_its_condition():
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
        replaced = min(problem.n[1] / problem.p, 1)
        assert replaced * answer.margin == pytest.approx(-F, rel=1e-9, abs=1e-12)
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
