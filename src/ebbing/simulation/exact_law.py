"""Samples of the error matrix with its exact law, at a cost that does not depend on n and p.

Why n and p do not matter. Everything is rotationally symmetric about span{w*_i}, of dimension k <= T. So a run lives
in that span plus one further direction whose orientation is irrelevant: w_t = (a in R^k, b >= 0), and
L[t,i] = |a - alpha_i|^2 + b^2, where the rows alpha_i factor the Gram matrix.

Learning task t overparameterized, with x = w*_t - w_{t-1} and P the projection on the row space of X (Lemma 1):

    w_t = w*_t - (x - Px) + X^+ z = w*_t + A x/|x| + D v

where v is uniform on the unit sphere orthogonal to x and, independently of v,

    A = -(1-beta) |x| + s g sqrt(beta),                    beta ~ Beta(n/2, (p-n)/2): |Px|^2 = beta |x|^2
    D^2 = (1-beta) (sqrt(beta) |x| + s g)^2 + s^2 chi2_{n-1},   g ~ N(0, 1),  s = sigma / sqrt(chi2_{p-n+1}).

(The part of Px and the part of X^+ z orthogonal to x form a uniformly rotated pair, so their sum is one uniform
direction.) Underparameterized: w_t = w*_t + s h, h ~ N(0, I_p), s = sigma / sqrt(chi2_{n-p+1}).

Of a Gaussian vector of R^p only the k+1 kept coordinates and the length of all others are drawn; what falls outside
the span is folded into b. docs/theory/simulation.md has the proof. `simulate_textbook` draws X and y themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ebbing import metrics
from ebbing._limits import check_memory
from ebbing._validate import Array, check_count, check_seed
from ebbing.problem import Problem, check_problem
from ebbing.simulation.results import SimulatedMetrics, Simulation

Progress = Callable[[float], None]
"""Called with the finished fraction, 0 to 1."""

NUMBERS_AT_ONCE = 2**21
"""Random numbers and errors held at a time, 16 MB."""

_LEAST_BATCH = 8
"""A sum over a single column would be taken in another order, and differ in its last bit."""


def simulate(problem: Problem, runs: int = 300, seed: int = 0, *, progress: Progress | None = None) -> Simulation:
    """Sample the error matrix of learning the tasks one after another, with its exact law.

    The same seed gives the same runs, and more runs begin with the same ones.

    Args:
        problem: The tasks, in the order of learning.
        runs: Number of independent runs.
        seed: Seed of the random numbers, a whole number >= 0.
        progress: Called with the finished fraction, 0 to 1.

    Returns:
        The error matrix of every run (runs, T+1, T).

    Example:
        >>> from ebbing import MeanEstimate, expect
        >>> problem = Problem.orthogonal(T=8, n=50, p=10**9, sigma=0.3)
        >>> sample = simulate(problem, runs=1000, seed=1)
        >>> sample.errors.shape
        (1000, 9, 8)
        >>> estimate = MeanEstimate.of(sample.forgetting)
        >>> abs(estimate.mean - expect(problem).forgetting) < 4 * estimate.standard_error
        True
    """
    check_problem(problem)
    runs = check_count("runs", runs)
    size = 8.0 * runs * (problem.T + 1) * problem.T
    check_memory(f"the error matrices of {runs:,} runs", size, "use fewer runs, or simulate_metrics")
    errors = np.empty((runs, problem.T + 1, problem.T))
    for first, batch in _batches(problem, runs, seed):
        errors[first : first + len(batch)] = batch
        if progress:
            progress((first + len(batch)) / runs)
    return Simulation(problem, errors)


def simulate_metrics(
    problem: Problem, runs: int = 300, seed: int = 0, *, progress: Progress | None = None
) -> SimulatedMetrics:
    """Sample as `simulate` does, and keep only F_T and G_T of every run: ten million runs fit into 200 MB.

    Args:
        problem: The tasks, in the order of learning.
        runs: Number of independent runs.
        seed: Seed of the random numbers, a whole number >= 0.
        progress: Called with the finished fraction, 0 to 1.

    Returns:
        F_T and G_T of every run (runs,), and the mean error matrix (T+1, T).

    Example:
        >>> problem = Problem.orthogonal(T=8, n=50, p=100, sigma=0.3)
        >>> bool(np.all(simulate_metrics(problem, 100).forgetting == simulate(problem, 100).forgetting))
        True
    """
    check_problem(problem)
    runs = check_count("runs", runs)
    check_memory(f"the metrics of {runs:,} runs", 16.0 * runs, "use fewer runs")
    F, G = np.empty(runs), np.empty(runs)
    total = np.zeros((problem.T + 1, problem.T))
    for first, batch in _batches(problem, runs, seed):
        rows = slice(first, first + len(batch))
        F[rows] = metrics.forgetting(batch, kind="error") if problem.T > 1 else np.nan
        G[rows] = metrics.generalization_error(batch, kind="error")
        total += batch.sum(axis=0)
        if progress:
            progress((first + len(batch)) / runs)
    return SimulatedMetrics(problem, F, G, total / runs)


# -------------------------------------------------------------------- the exact law


def _batches(problem: Problem, runs: int, seed: int) -> Iterator[tuple[int, Array]]:
    """Yield the index of the first run and the error matrices of a batch of runs (batch, T+1, T).

    Each stream of random numbers is consumed run by run, so no result depends on the size of the batches.
    """
    alpha = ground_truths(problem)
    T, k = alpha.shape
    width = min(k + 1, problem.p)  # the span, and one direction outside it if there is any
    streams = np.random.SeedSequence(check_seed(seed)).spawn(2)
    normal, gamma = np.random.default_rng(streams[0]), np.random.default_rng(streams[1])
    shapes = _gamma_shapes(problem, not_kept=problem.p - width)
    at_once = max(_LEAST_BATCH, NUMBERS_AT_ONCE // (T * (T + width + 6)))
    for first in range(0, runs, at_once):
        wanted = min(at_once, runs - first)
        batch = max(wanted, _LEAST_BATCH)
        normals = normal.standard_normal((batch, T, 1 + width))
        gammas = gamma.standard_gamma(shapes, size=(batch, T, 5))
        yield first, _learn_all(problem, alpha, normals, gammas)[:wanted]


def ground_truths(problem: Problem) -> Array:
    """Return coordinates alpha_i of the ground truths, seen from the initial model, in their span.

    They come from gaps and start, not from the Gram matrix: tasks that are near each other but far from the initial
    model keep their distance. With beta_i the coordinates about the mean c, and x = w_0 - c, alpha_i = beta_i - x.

    Args:
        problem: The tasks.

    Returns:
        One row per task (T, k), where k is the dimension of the span.
    """
    tiny, mean = problem.T * np.finfo(float).eps, problem.gaps.mean(axis=0)
    centered = (mean + mean[:, None] - mean.mean() - problem.gaps) / 2  # <beta_i, beta_j>
    eigenvalues, eigenvectors = np.linalg.eigh(centered)
    inside = eigenvalues > tiny * eigenvalues[-1]
    inside[: -problem.p] = False  # more than p dimensions can only be rounding
    scale = np.sqrt(eigenvalues[inside])
    beta = eigenvectors[:, inside] * scale  # (T, k')
    lengths = np.sum(beta**2, axis=1)
    height = max(float(problem.start.mean() - lengths.mean()), 0.0)  # |x|^2, as the beta_i sum to zero
    x = eigenvectors[:, inside].T @ ((lengths + height - problem.start) / 2) / scale  # from <beta_i, x>
    beyond = height - float(x @ x)  # the part of x outside the span of the beta_i
    if beyond <= tiny * height or beta.shape[1] == problem.p:
        return beta - x
    return np.column_stack([beta - x, np.full(problem.T, -(beyond**0.5))])


def _gamma_shapes(problem: Problem, not_kept: int) -> Array:
    """Return half the degrees of freedom of the five chi-squares of each task (T, 5); 0 gives the constant 0.

    The coordinates not kept; |Px|^2 and |x - Px|^2 up to scale; the noise across Px; the noise's denominator.
    """
    n, p = problem.n, problem.p
    over = n < p
    freedom = [np.full(problem.T, not_kept), over * n, over * (p - n), over * (n - 1), np.abs(p - n) + 1]
    return np.stack(freedom, axis=1) / 2


def _learn_all(problem: Problem, alpha: Array, normals: Array, gammas: Array) -> Array:
    """Return the error matrices (batch, T+1, T) that the random numbers lead to."""
    (T, k), width, batch = alpha.shape, normals.shape[2] - 1, len(normals)
    targets = np.pad(alpha, [(0, 0), (0, width - k)])[:, :, None]  # (T, width, 1)
    sigma = np.sqrt(problem.noise_variance)
    # Runs last and contiguous: every operation below is one long sweep over them.
    normals, chi2 = np.ascontiguousarray(normals.transpose(1, 2, 0)), 2 * gammas.transpose(1, 2, 0)
    w = np.zeros((width, batch))
    difference = np.empty((T, width, batch))
    errors = np.empty((T + 1, T, batch))
    errors[0] = problem.start[:, None]
    for t in range(T):
        g, h = normals[t, 0], normals[t, 1:]  # (batch,), (width, batch)
        not_kept, projected, remaining, across, denominator = chi2[t]
        s = sigma[t] / np.sqrt(denominator)
        if problem.n[t] < problem.p:
            x = targets[t] - w
            length = np.sqrt(_inner(x, x))
            if length.all():
                unit = x / length
            else:  # any direction will do where x = 0: Px = 0, and the noise is uniform all the same
                unit = np.divide(x, length, out=np.zeros_like(x), where=length > 0)
                unit[0, length == 0] = 1.0
            both = projected + remaining
            beta, rest = projected / both, remaining / both
            root = np.sqrt(beta)
            A = s * g * root - rest * length
            D = np.sqrt(rest * (root * length + s * g) ** 2 + s**2 * across)
            h = h - _inner(h, unit) * unit  # orthogonal to x
            D /= np.sqrt(_inner(h, h) + not_kept)
            w = targets[t] + A * unit + D * h
        else:
            D = s
            w = targets[t] + s * h
        if width > k:
            w[-1] = np.sqrt(w[-1] ** 2 + D**2 * not_kept)  # b: all that is outside the span
        np.subtract(w, targets, out=difference)
        difference *= difference
        np.add.reduce(difference, axis=1, out=errors[t + 1])
    return errors.transpose(2, 0, 1)


def _inner(a: Array, b: Array) -> Array:
    """Return inner products of columns (width, batch). Rows are added one after another: same bits for any batch."""
    return np.add.reduce(a * b, axis=0)
