"""The textbook simulation, kept as the plain reference: every feature and label is drawn, every task solved."""

from __future__ import annotations

import numpy as np

from ebbing._validate import Array, check_count, check_seed
from ebbing.problem import Problem, check_problem
from ebbing.simulation.exact_law import NUMBERS_AT_ONCE, ground_truths
from ebbing.simulation.results import Simulation


def simulate_textbook(problem: Problem, runs: int = 300, seed: int = 0) -> Simulation:
    """Draw every feature and label and solve every task: the plain reference of `simulate`.

    The cost grows with n and p. The runs have the same law as those of `simulate`, but are other runs.

    Args:
        problem: The tasks, in the order of learning.
        runs: Number of independent runs.
        seed: Seed of the random numbers, a whole number >= 0.

    Returns:
        The error matrix of every run (runs, T+1, T).

    Example:
        >>> simulate_textbook(Problem.orthogonal(T=3, n=5, p=20, sigma=0.3), runs=10).errors.shape
        (10, 4, 3)
    """
    rng = np.random.default_rng(check_seed(seed))
    alpha = ground_truths(problem)
    truths = np.pad(alpha, [(0, 0), (0, problem.p - alpha.shape[1])])  # (T, p)
    check_problem(problem)
    runs = check_count("runs", runs)
    errors = np.empty((runs, problem.T + 1, problem.T))
    largest = int(problem.n.max())
    at_once = max(1, NUMBERS_AT_ONCE // (largest * problem.p))
    for first in range(0, runs, at_once):
        batch = min(at_once, runs - first)
        w = np.zeros((batch, problem.p))
        errors[first : first + batch, 0] = problem.start
        for t in range(problem.T):
            X = rng.standard_normal((batch, problem.n[t], problem.p))
            noise = np.sqrt(problem.noise_variance[t]) * rng.standard_normal((batch, problem.n[t]))
            w = solve_task(w, X, X @ truths[t] + noise)
            difference = w[:, None, :] - truths  # (batch, T, p)
            errors[first : first + batch, t + 1] = np.einsum("bip,bip->bi", difference, difference)
    return Simulation(problem, errors)


def solve_task(w: Array, X: Array, y: Array) -> Array:
    """Return the model that gradient descent on the squared error converges to.

    Overparameterized, Lemma 1: w + X'(X X')^{-1} (y - X w), the nearest to w of all that fit (X is the paper's X_t
    transposed). Underparameterized: the least-squares solution (X'X)^{-1} X'y, for any w.

    Args:
        w: The model before, one row per run (runs, p).
        X: Features (runs, n, p).
        y: Labels (runs, n).

    Returns:
        The model after (runs, p).

    Example:
        >>> w = solve_task(np.zeros((1, 3)), np.array([[[1.0, 1.0, 0.0]]]), np.array([[2.0]]))
        >>> w.round(12).tolist()
        [[1.0, 1.0, 0.0]]
    """
    n, p = X.shape[1:]
    Xt = X.transpose(0, 2, 1)
    if n < p:
        residual = y - np.einsum("bnp,bp->bn", X, w)
        return w + np.einsum("bnp,bn->bp", X, _solve_positive_definite(X @ Xt, residual))
    return _solve_positive_definite(Xt @ X, np.einsum("bnp,bn->bp", X, y))


def _solve_positive_definite(matrices: Array, vectors: Array) -> Array:
    """Solve one system per run by Cholesky factorization."""
    from scipy.linalg import cho_factor, cho_solve

    pairs = zip(matrices, vectors, strict=True)
    return np.stack([cho_solve(cho_factor(m, lower=True, check_finite=False), v, check_finite=False) for m, v in pairs])
