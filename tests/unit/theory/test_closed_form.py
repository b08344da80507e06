"""Theory's closed forms: the theorems as printed, and the corollary of two tasks, against the recursion."""

import mpmath as mp
import numpy as np
import pytest
from problems import random_problem, two_tasks

from ebbing.problem import Problem
from ebbing.theory import (
    coefficients,
    expect,
    overparameterized_ratio,
    theorem_terms,
    two_task_forgetting,
    two_task_generalization,
    two_task_generalization_slope,
)


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
    noise_floor = p * sigma**2 / (p - n - 1)
    c = {(i, j): (1 - r) * (r ** (T - i) - r ** (j - i) + r ** (T - j)) for i, j in pairs}
    assert vars(theorem_terms(problem)) == pytest.approx(
        {
            "F1": sum((r**T - r**i) * squares[i - 1] for i in old) / (T - 1),
            "F2": sum(c[i, j] * d(i, j) for i, j in pairs) / (T - 1),
            "F3": noise_floor * sum(r**i - r**T for i in old) / (T - 1),
            "G1": r**T * squares.mean(),
            "G2": (1 - r) / T * sum(r ** (T - i) * d(k, i) for i in tasks for k in tasks),
            "G3": noise_floor * (1 - r**T),
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
def test_coefficients_check_their_arguments(name):
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
def test_corollaries_raise_outside_their_conditions(function, problem, message):
    with pytest.raises(ValueError, match=message):
        function(problem)
