"""The textbook simulation, kept as the plain reference: every feature and label is drawn, every step solved."""

from __future__ import annotations

import numpy as np

from ebbing._validate import Array, check_count, check_seed
from ebbing.curriculum import CurriculumLike
from ebbing.learners import Averaged, LinearLearner, MinimumNorm, OnePassSgd
from ebbing.problem import Problem, check_problem
from ebbing.simulation._span import NUMBERS_AT_ONCE, ground_truths
from ebbing.simulation._steps import Schedule, Step, offsets
from ebbing.simulation.results import Simulation

Memory = dict[int, tuple[Array, Array]]
"""Features and labels that a task was first learned from, by task."""


def simulate_textbook(
    problem: Problem,
    runs: int = 300,
    seed: int = 0,
    *,
    curriculum: CurriculumLike | None = None,
    learner: LinearLearner = MinimumNorm(),  # noqa: B008  (frozen)
) -> Simulation:
    """Draw every feature and label and solve every step: the plain reference of `simulate`.

    The cost grows with n and p. The runs have the same law as those of `simulate`, but are other runs.

    Args:
        problem: The tasks, in the order of learning.
        runs: Number of independent runs.
        seed: Seed of the random numbers, a whole number >= 0.
        curriculum: What is learned at each step, a `Curriculum` or a list of steps; one task after another if None.
            Stored samples are the first ones that the task was learned from.
        learner: How a step learns its samples.

    Returns:
        The error matrix of every run (runs, S+1, T).

    Example:
        >>> problem = Problem.orthogonal(T=3, n=5, p=20, sigma=0.3)
        >>> simulate_textbook(problem, runs=10).errors.shape
        (10, 4, 3)
        >>> simulate_textbook(problem, runs=10, curriculum=[{0: 5, 1: 5, 2: 5}]).errors.shape
        (10, 2, 3)
    """
    rng = np.random.default_rng(check_seed(seed))
    check_problem(problem)
    alpha = ground_truths(problem)
    truths = np.pad(alpha, [(0, 0), (0, problem.p - alpha.shape[1])])  # (T, p)
    schedule = Schedule.of(problem, curriculum, learner)
    runs = check_count("runs", runs)
    errors = np.empty((runs, len(schedule.steps) + 1, problem.T))
    largest = max(step.size for step in schedule.steps)
    at_once = max(1, NUMBERS_AT_ONCE // (largest * problem.p))
    for first in range(0, runs, at_once):
        batch = min(at_once, runs - first)
        w = np.zeros((batch, problem.p))
        errors[first : first + batch, 0] = problem.start
        memory: Memory = {}
        for s, step in enumerate(schedule.steps):
            X, y = _draw(rng, problem, truths, step, memory, batch=batch)
            if schedule.stored:
                memory |= {t: part for t, part in _parts(step, X, y).items() if t not in memory}
            w = learn_step(w, X, y, learner)
            difference = w[:, None, :] - truths  # (batch, T, p)
            errors[first : first + batch, s + 1] = np.einsum("bip,bip->bi", difference, difference)
    return Simulation(problem, errors, schedule.curriculum, learner)


def _draw(
    rng: np.random.Generator, problem: Problem, truths: Array, step: Step, memory: Memory, *, batch: int
) -> tuple[Array, Array]:
    """Return features (batch, N, p) and labels (batch, N): those in memory, fresh ones of the other tasks."""
    X, y = [], []
    for t, n in zip(step.tasks, step.samples, strict=True):
        if t in memory:
            X.append(memory[t][0][:, :n])
            y.append(memory[t][1][:, :n])
        else:
            X.append(rng.standard_normal((batch, n, problem.p)))
            noise = np.sqrt(problem.noise_variance[t]) * rng.standard_normal((batch, n))
            y.append(X[-1] @ truths[t] + noise)
    return (X[0], y[0]) if len(X) == 1 else (np.concatenate(X, axis=1), np.concatenate(y, axis=1))


def _parts(step: Step, X: Array, y: Array) -> Memory:
    """Return the features and labels of each task."""
    rows = offsets(list(step.samples))
    return {t: (X[:, part], y[:, part]) for t, part in zip(step.tasks, rows, strict=True)}


def learn_step(w: Array, X: Array, y: Array, learner: LinearLearner) -> Array:
    """Return the model after a step.

    Spectral filters are applied by eigendecomposition: with X'X = Q diag(s) Q', w + Q diag(f(s)/s) Q' X'(y - Xw).

    Args:
        w: The model before, one row per run (runs, p).
        X: Features (runs, N, p).
        y: Labels (runs, N).
        learner: How the step learns.

    Returns:
        The model after (runs, p).

    Example:
        >>> learn_step(np.zeros((1, 1)), np.array([[[2.0]]]), np.array([[4.0]]), Averaged(0.5)).tolist()
        [[1.0]]
    """
    match learner:
        case MinimumNorm():
            return solve_task(w, X, y)
        case Averaged():
            return w + learner.weight * (solve_task(w, X, y) - w)
        case OnePassSgd():
            for a in range(X.shape[1]):
                x = X[:, a]  # (runs, p)
                w = w + learner.learning_rate * x * (y[:, a] - np.einsum("bp,bp->b", x, w))[:, None]
            return w
    Xt = X.transpose(0, 2, 1)
    residual = y[:, :, None] - X @ w[:, :, None]  # (runs, N, 1)
    wide = X.shape[1] < X.shape[2]
    s, vectors = np.linalg.eigh(X @ Xt if wide else Xt @ X)  # the nonzero eigenvalues are the same
    gain = (learner.filter(s) / s)[:, :, None]  # (runs, min(N, p), 1)
    back = vectors.transpose(0, 2, 1)
    change = Xt @ (vectors @ (gain * (back @ residual))) if wide else vectors @ (gain * (back @ (Xt @ residual)))
    return w + change[:, :, 0]


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
