"""Plain references for curricula: the formulas of steps with loops, and draws of the features themselves."""

import numpy as np

from ebbing.curriculum import Curriculum
from ebbing.learners import MinimumNorm
from ebbing.problem import Problem


def mixture_step(L, counts, gaps, variance, p):
    """One step to the end, in the gaps between pairs of tasks: docs/theory/steps.md, section 3."""
    T, N = len(L), sum(counts)
    disagreement = sum(counts[j] * counts[k] * gaps[j][k] for k in range(T) for j in range(k))
    noise = sum(counts[j] * variance[j] for j in range(T))
    if p > N:
        rest = ((disagreement / p + noise) / (p - N - 1)) if disagreement or noise else 0.0
        return [(1 - N / p) * L[i] + sum(counts[j] / p * gaps[i][j] for j in range(T)) + rest for i in range(T)]
    if not (disagreement or noise):
        return [sum(counts[j] / N * gaps[i][j] for j in range(T)) for i in range(T)]
    g = (N**2 - N + 2 - 2 * N * p) / ((N - p - 1) * (N - 1) * N * (N + 2))
    rest = p / (N - p - 1) * noise / N - g * disagreement
    return [sum(counts[j] / N * gaps[i][j] for j in range(T)) + rest for i in range(T)]


def expected_errors(problem, curriculum):
    """The expected error matrix of fresh samples, each step learned to the end."""
    rows = [list(problem.start)]
    for counts in curriculum.samples(problem).tolist():
        rows.append(mixture_step(rows[-1], counts, problem.gaps, problem.noise_variance, problem.p))
    return np.array(rows)


def random_case(rng, *, p=None, together=3):
    """A problem with unequal noise and a curriculum of mixtures in both regimes, no step closer than 4 to p."""
    T, p = int(rng.integers(2, 6)), p or int(rng.integers(12, 40))
    problem = Problem.from_vectors(rng.standard_normal((T, 3)), n=5, p=p, sigma=rng.uniform(0.1, 2, T))

    def step():
        while True:
            tasks = rng.choice(T, size=int(rng.integers(1, min(T, together) + 1)), replace=False)
            counts = {int(j): int(rng.integers(1, p)) for j in tasks}
            if abs(sum(counts.values()) - p) >= 4:
                return counts

    return problem, Curriculum([step() for _ in range(int(rng.integers(2, 7)))])


def draw_errors(rng, vectors, curriculum_samples, p, sigma, *, learner=None, stored=False, runs):
    """L of every run (runs, S+1, T): features drawn, weights learned by the singular value decomposition.

    With stored samples, a task seen before has the first of the samples that it had then.
    """
    learner = learner or MinimumNorm()
    T, k = vectors.shape
    W = np.zeros((T, p))
    W[:, :k] = vectors
    w = np.zeros((runs, p))
    memory = {}
    errors = [((w[:, None] - W) ** 2).sum(axis=2)]
    for counts in curriculum_samples:
        batch = []
        for j, n in enumerate(counts):
            if not (stored and j in memory):
                X = rng.standard_normal((runs, n, p))
                y = X @ W[j] + sigma[j] * rng.standard_normal((runs, n))
                if n:
                    memory[j] = X, y
            else:
                X, y = memory[j]
            batch.append((X[:, :n], y[:, :n]))
        X, y = (np.concatenate(parts, axis=1) for parts in zip(*batch, strict=True))
        U, root, V = np.linalg.svd(X, full_matrices=False)
        residual = y - np.einsum("rnp,rp->rn", X, w)
        along = np.einsum("rnk,rn->rk", U, residual) * learner.filter(root**2) / root
        w = w + np.einsum("rkp,rk->rp", V, along)
        errors.append(((w[:, None] - W) ** 2).sum(axis=2))
    return np.stack(errors, axis=1)


def z_scores(sample, mean):
    """How far the mean of the runs is from a claimed mean, in standard errors (of 10^-12 at least: rounding)."""
    error = sample.std(axis=0, ddof=1) / np.sqrt(len(sample))
    return (sample.mean(axis=0) - mean) / np.maximum(error, 1e-12)
