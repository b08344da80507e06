"""The exact law of one step on one task that does not learn to the end.

With x = w*_t - w, X = O diag(sqrt s) Q' and f the spectral filter, w' - w = f(X'X) x + a(X'X) X'z = Q v,

    v = |x| f(s) g + f(s) / sqrt(s) zeta,    g = Q'x / |x|,    zeta = O'z ~ N(0, sigma^2 I)

Only the eigenvalues s and g matter: g is the first min(n, p) coordinates of a uniform unit vector of R^p, for any s.
What w' - w has across x is a uniform direction of length sqrt(|v|^2 - (g'v)^2). docs/theory/simulation.md, 5.7.
"""

from __future__ import annotations

import numpy as np

from ebbing._validate import Array
from ebbing.learners import OnePassSgd, SpectralFilter
from ebbing.simulation._minimum_norm import across_unit, direction, inner


class FilteredTask:
    """Learning one task by a spectral filter, at the cost of the min(n, p) eigenvalues.

    Args:
        learner: The filter.
        n: Number of samples.
        p: Number of parameters.
        target: Ground truth in the kept coordinates (width,).
        sigma: Standard deviation of the noise.
    """

    def __init__(self, learner: SpectralFilter, n: int, p: int, target: Array, sigma: float) -> None:
        self.learner, self.target, self.sigma = learner, target[:, None], sigma
        self.r, larger, width = min(n, p), max(n, p), len(target)
        self.normals = 2 * self.r + width
        below = np.arange(self.r, dtype=float)
        self.freedom = np.concatenate([[p - width, p - self.r], larger - below, self.r - 1 - below[:-1]])

    def learn(self, w: Array, normals: Array, chi2: Array) -> tuple[Array, Array]:
        """Return the model after the step.

        Args:
            w: Kept coordinates of the model before (width, runs).
            normals: Standard normal numbers (runs, 2 r + width).
            chi2: Chi-squared numbers (runs, 2 r + 1).

        Returns:
            Kept coordinates of the model after (width, runs), and the squared length of the rest (runs,).
        """
        r, normals, chi2 = self.r, np.ascontiguousarray(normals.T), np.ascontiguousarray(chi2.T)
        g, zeta, h = normals[:r], self.sigma * normals[r : 2 * r], normals[2 * r :]
        not_kept, unseen = chi2[:2]
        s = wishart_eigenvalues(chi2[2 : 2 + r], chi2[2 + r :])  # (r, runs)
        f = self.learner.filter(s)
        length = np.sqrt(inner(g, g) + unseen)
        g, unseen = g / length, unseen / length**2  # unseen = 1 - |g|^2
        unit, distance = direction(self.target - w)
        v = distance * f * g + f / np.sqrt(s) * zeta
        along, seen = inner(g, v), inner(g, g)
        A = inner(f / np.sqrt(s) * zeta, g) - distance * (unseen + inner((1 - f) * g, g))  # g'v - |x|
        across = v - along / seen * g
        D = np.sqrt(inner(across, across) + along**2 * unseen / seen)
        return across_unit(self.target + A * unit, unit, D, h, not_kept)


class OnePass:
    """Learning one task by one gradient step per sample.

    Of the error y = w - w*_t only its part a along its first direction and the length b of the rest matter. A sample x
    with coordinates g1 along the first direction, g2 along the rest, and chi2_{p-2} beyond them changes y by
    -rate x (x'y - z), x'y = g1 a + g2 b.

    Args:
        learner: The learning rate.
        n: Number of samples.
        p: Number of parameters.
        target: Ground truth in the kept coordinates (width,).
        sigma: Standard deviation of the noise.
    """

    def __init__(self, learner: OnePassSgd, n: int, p: int, target: Array, sigma: float) -> None:
        self.rate, self.n, self.line, self.target, self.sigma = learner.learning_rate, n, p == 1, target[:, None], sigma
        self.normals = 3 * n + len(target)
        self.freedom = np.concatenate([[p - len(target)], np.full(n, max(p - 2.0, 0.0))])

    def learn(self, w: Array, normals: Array, chi2: Array) -> tuple[Array, Array]:
        """Return the model after the step.

        Args:
            w: Kept coordinates of the model before (width, runs).
            normals: Standard normal numbers (runs, 3 n + width).
            chi2: Chi-squared numbers (runs, 1 + n).

        Returns:
            Kept coordinates of the model after (width, runs), and the squared length of the rest (runs,).
        """
        normals, chi2 = np.ascontiguousarray(normals.T), np.ascontiguousarray(chi2.T)
        unit, a = direction(w - self.target)
        b = np.zeros_like(a)
        for i in range(self.n):
            along, across, z = normals[3 * i : 3 * i + 3]
            move = self.rate * (along * a + across * b - self.sigma * z)
            a = a - move * along
            if not self.line:
                b = np.hypot(b - move * across, move * np.sqrt(chi2[1 + i]))
        return across_unit(self.target + a * unit, unit, b, normals[3 * self.n :], chi2[0])


def wishart_eigenvalues(diagonal: Array, beside: Array) -> Array:
    """Return the nonzero eigenvalues of X'X for a Gaussian X, from chi-squared numbers (Dumitriu and Edelman 2002).

    The bidiagonal matrix B with independent chi_{R}, ..., chi_{R-r+1} on the diagonal and chi_{r-1}, ..., chi_1 beside
    it has the singular values of a Gaussian matrix of r rows and R columns, r <= R.

    Args:
        diagonal: Squares of the diagonal (r, runs).
        beside: Squares of the entries beside it (r-1, runs).

    Returns:
        Eigenvalues of BB', increasing (r, runs).
    """
    from scipy.linalg.lapack import dsterf  # pyright: ignore[reportAttributeAccessIssue]  (made at run time)

    if len(diagonal) == 1:
        return diagonal
    d = diagonal.copy()
    d[1:] += beside
    e = np.sqrt(diagonal[:-1] * beside)
    eigenvalues = np.empty_like(d)
    for run in range(d.shape[1]):
        eigenvalues[:, run], _ = dsterf(d[:, run], e[:, run])
    return np.maximum(eigenvalues, np.finfo(float).tiny)  # rounding could make a zero of the smallest
