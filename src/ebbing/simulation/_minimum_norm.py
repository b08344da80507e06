"""The exact law of one minimum-norm step: on one task, or on a mixture of tasks. Runs are the last axis.

A law takes the model w (width, runs) and its share of standard normal and chi-squared numbers, and returns the kept
coordinates of the model after the step with the squared length of all that is outside them. docs/theory/simulation.md
has the proofs.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ebbing._validate import Array
from ebbing.simulation._steps import Step, offsets


class StepLaw(Protocol):
    """The exact law of a step.

    Attributes:
        normals: How many standard normal numbers a run takes.
        freedom: Degrees of freedom of the chi-squared numbers that a run takes; 0 gives the constant 0.
    """

    normals: int
    freedom: Array

    def learn(self, w: Array, normals: Array, chi2: Array) -> tuple[Array, Array]:
        """Return the model after the step.

        Args:
            w: Kept coordinates of the model before (width, runs).
            normals: Standard normal numbers (normals, runs).
            chi2: Chi-squared numbers (len(freedom), runs).

        Returns:
            Kept coordinates of the model after (width, runs), and the squared length of the rest (runs,).
        """
        ...


class SingleTask:
    """Learning one task to the end: the theorem of section 5.2 of docs/theory/simulation.md.

    Args:
        n: Number of samples.
        p: Number of parameters.
        target: Ground truth in the kept coordinates (width,).
        sigma: Standard deviation of the noise.
    """

    def __init__(self, n: int, p: int, target: Array, sigma: float) -> None:
        self.over, self.target, self.sigma = n < p, target[:, None], sigma
        self.normals = 1 + len(target)
        self.freedom = degrees_of_freedom(n, p, p - len(target))

    def learn(self, w: Array, normals: Array, chi2: Array) -> tuple[Array, Array]:
        """Return the model after the step.

        Args:
            w: Kept coordinates of the model before (width, runs).
            normals: Standard normal numbers (1 + width, runs).
            chi2: Chi-squared numbers (5, runs).

        Returns:
            Kept coordinates of the model after (width, runs), and the squared length of the rest (runs,).
        """
        g, h = normals[0], normals[1:]  # (runs,), (width, runs)
        not_kept, projected, remaining, across, denominator = chi2
        s = self.sigma / np.sqrt(denominator)
        if not self.over:
            return self.target + s * h, s**2 * not_kept
        unit, length = direction(self.target - w)
        both = projected + remaining
        beta, rest = projected / both, remaining / both
        root = np.sqrt(beta)
        A = s * g * root - rest * length
        D = np.sqrt(rest * (root * length + s * g) ** 2 + s**2 * across)
        h = h - inner(h, unit) * unit  # orthogonal to x
        D /= np.sqrt(inner(h, h) + not_kept)
        return self.target + A * unit + D * h, D**2 * not_kept


def degrees_of_freedom(n: int, p: int, not_kept: int) -> Array:
    """Return the degrees of freedom of the five chi-squares of a step on one task (5,); 0 gives the constant 0.

    The coordinates not kept; |Px|^2 and |x - Px|^2 up to scale; the noise across Px; the noise's denominator.
    """
    over = n < p
    return np.array([not_kept, over * n, over * (p - n), over * (n - 1), abs(p - n) + 1], dtype=float)


class Mixture:
    """Learning samples of several tasks together to the end: the theorems of sections 5.5 and 5.6.

    With V an orthonormal basis of a q-dimensional space that contains every w*_j - w, only [XV, residuals] (N, q+1)
    matters of the features and labels, and of it only a triangular factor R, from one small factor per task.

    Args:
        step: The tasks and their numbers of samples, N in all.
        p: Number of parameters.
        targets: Ground truths in the kept coordinates (T, width).
        sigma: Standard deviations of the noise (T,).
    """

    def __init__(self, step: Step, p: int, targets: Array, sigma: Array) -> None:
        tasks, N = list(step.tasks), step.size
        self.width, self.q, self.over = targets.shape[1], mixture_rank(step, targets.shape[1]), p > N
        self.targets, self.sigma = targets[tasks], sigma[tasks]
        q = self.q
        wishart = [p - N + 1] if self.over else [N - p + q, p - q]
        self.factors = [Trapezoid(freedom, q + 1) for freedom in (*step.samples, *wishart)]
        self.normals = sum(factor.normals for factor in self.factors) + self.width - q
        last = [p - self.width] if self.over else [p - self.width, N - p + q + 1]
        self.freedom = np.concatenate([*(factor.freedom for factor in self.factors), np.array(last, dtype=float)])

    def learn(self, w: Array, normals: Array, chi2: Array) -> tuple[Array, Array]:
        """Return the model after the step.

        Args:
            w: Kept coordinates of the model before (width, runs).
            normals: Standard normal numbers (normals, runs).
            chi2: Chi-squared numbers (len(freedom), runs).

        Returns:
            Kept coordinates of the model after (width, runs), and the squared length of the rest (runs,).
        """
        q, tasks = self.q, len(self.targets)
        numbers, squares = (offsets([getattr(f, k) for f in self.factors]) for k in ("normals", "rows"))
        drawn = [
            factor.draw(normals[a], chi2[b]) for factor, a, b in zip(self.factors, numbers, squares, strict=True)
        ]  # fmt: skip
        h, not_kept = normals[numbers[-1].stop :], chi2[squares[-1].stop]
        frame = Frame(self.targets.T[:, :, None] - w[:, None, :], q)  # of the w*_j - w (width, tasks, runs)
        rows = []
        for j in range(tasks):  # [A_j, z_j / sigma_j] = (an orthonormal matrix) F; then u_j = A_j c_j + z_j
            F = drawn[j]
            last = F[:, :, :q] @ frame.coordinates[j][:, :, None] + self.sigma[j] * F[:, :, q:]
            rows.append(np.concatenate([F[:, :, :q], last], axis=2))
        R = np.linalg.qr(np.concatenate(rows, axis=1), mode="r")  # (runs, q+1 or q, q+1)
        R_A, fit = R[:, :q, :q], np.linalg.solve(R[:, :q, :q], R[:, :q, q:])  # c-bar, the fit of the residuals by A
        rho = np.abs(R[:, q, q]) if R.shape[1] > q else np.zeros(len(R))
        if self.over:
            change, squared = _overparameterized(R_A, rho, fit, drawn[tasks])
        else:
            change, squared = _underparameterized(R_A, rho, fit, *drawn[tasks:])
            squared = squared / chi2[-1]
        outside = inner(h, h) + not_kept if len(h) else not_kept
        scale = np.sqrt(np.divide(squared, outside, out=np.zeros_like(squared), where=outside > 0))
        return w + frame.back(np.concatenate([change, scale * h])), scale**2 * not_kept


def _overparameterized(R_A: Array, rho: Array, fit: Array, F: Array) -> tuple[Array, Array]:
    """Return the change within V (q, runs) and the squared length of the change outside (runs,), for N <= p - q.

    With W = X_out X_out', [A, u_out]' W^-1 [A, u_out] = K'K, K = L^-1 diag(R_A, rho), L L' a standard Wishart matrix.
    """
    q = R_A.shape[1]
    padded = np.zeros((len(R_A), q + 1, q + 1))
    padded[:, :q, :q], padded[:, q, q] = R_A, rho
    K = np.linalg.solve(F.transpose(0, 2, 1), padded)
    A, u = K[:, :, :q], K[:, :, q:]
    At = A.transpose(0, 2, 1)
    left = np.linalg.solve(np.eye(q) + At @ A, fit - At @ u)  # e: the part of the fit that is not learned
    beyond = A @ left + u
    return (fit - left)[:, :, 0].T, np.sum(beyond[:, :, 0] ** 2, axis=1)


def _underparameterized(R_A: Array, rho: Array, fit: Array, F1: Array, F2: Array) -> tuple[Array, Array]:
    """Return the change within V (q, runs) and the squared length of the fit of the rest by X_out (runs,), for N >= p.

    The compression of the projection across X_out to the columns of [A, u_out] is a matrix Beta variable.
    """
    q = R_A.shape[1]
    T = np.linalg.qr(np.concatenate([F1, F2], axis=1), mode="r")
    padded = np.zeros((len(R_A), q + 1, q + 1))
    padded[:, :q, :q], padded[:, q, q] = R_A, rho
    Y = np.linalg.solve(T, padded)
    across = F1 @ Y
    left = -np.linalg.solve(across[:, :q, :q], across[:, :q, q:])
    along = F2 @ (Y[:, :, :q] @ left + Y[:, :, q:])
    return (fit - left)[:, :, 0].T, np.sum(along[:, :, 0] ** 2, axis=1)


def mixture_rank(step: Step, width: int) -> int:
    """Return q, the dimension of the space that is kept for the differences w*_j - w of a mixture."""
    return min(len(step.tasks), width)


def has_mixture_law(step: Step, p: int, width: int) -> bool:
    """Return whether `Mixture` covers a step: not within q of the interpolation threshold from below."""
    q = mixture_rank(step, width)
    return step.size <= p - q or (step.size >= p and step.size > q)


class Trapezoid:
    """The triangular factor R of a Gaussian matrix (freedom, columns) = QR (Bartlett): R'R is a Wishart matrix.

    Args:
        freedom: Number of rows of the Gaussian matrix.
        columns: Number of its columns.
    """

    def __init__(self, freedom: int, columns: int) -> None:
        self.rows, self.columns = min(freedom, columns), columns
        self.freedom = freedom - np.arange(self.rows, dtype=float)
        self._above = np.triu_indices(self.rows, 1, columns)
        self.normals = len(self._above[0])

    def draw(self, normals: Array, chi2: Array) -> Array:
        """Return the factors (runs, rows, columns).

        Args:
            normals: Standard normal numbers (normals, runs).
            chi2: Chi-squared numbers (rows, runs).

        Returns:
            Upper triangular matrices, wide if the Gaussian matrix is.
        """
        factor = np.zeros((chi2.shape[1], self.rows, self.columns))
        factor[:, *self._above] = normals.T
        diagonal = np.arange(self.rows)
        factor[:, diagonal, diagonal] = np.sqrt(chi2.T)
        return factor


class Frame:
    """An orthonormal frame of each run whose first q vectors span given vectors (Householder reflections).

    Args:
        vectors: The vectors (width, number, runs).
        q: How many vectors of the frame span them: the smaller of width and number.

    Attributes:
        coordinates: Coordinates of each vector in the first q vectors of the frame (number, runs, q).
    """

    def __init__(self, vectors: Array, q: int) -> None:
        self._reflections: list[tuple[int, Array]] = []
        if q < len(vectors):
            vectors = vectors.copy()
            for i in range(q):
                v = vectors[i:, i].copy()  # (width - i, runs)
                v[0] += np.copysign(np.sqrt(inner(v, v)), v[0])
                length = np.sqrt(inner(v, v))
                v = np.divide(v, length, out=np.zeros_like(v), where=length > 0)  # a zero vector needs no reflection
                self._reflections.append((i, v))
                vectors[i:] -= 2 * v[:, None] * inner(v[:, None], vectors[i:])
        self.coordinates = np.ascontiguousarray(vectors[:q].transpose(1, 2, 0))

    def back(self, coordinates: Array) -> Array:
        """Return vectors from their coordinates in the frame.

        Args:
            coordinates: One vector per run (width, runs).

        Returns:
            The vectors in the kept coordinates (width, runs).
        """
        for i, v in reversed(self._reflections):
            coordinates[i:] -= 2 * v * inner(v, coordinates[i:])
        return coordinates


def direction(x: Array) -> tuple[Array, Array]:
    """Return unit vectors along the columns of x (width, runs), and their lengths (runs,).

    Where x = 0 any direction will do: Px = 0, and the noise is uniform all the same.
    """
    length = np.sqrt(inner(x, x))
    if length.all():
        return x / length, length
    unit = np.divide(x, length, out=np.zeros_like(x), where=length > 0)
    unit[0, length == 0] = 1.0
    return unit, length


def inner(a: Array, b: Array) -> Array:
    """Return inner products along the first axis. Rows are added one after another: same bits for any batch."""
    return np.add.reduce(a * b, axis=0)
