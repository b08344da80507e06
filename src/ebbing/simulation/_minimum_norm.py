"""The exact law of one minimum-norm step: on one task, or on a mixture of tasks.

A law takes the model w (width, runs) and its share of standard normal and chi-squared numbers, and returns the kept
coordinates of the model after the step with the squared length of all that is outside them. docs/theory/simulation.md
has the proofs.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ebbing._validate import Array
from ebbing.simulation._small_matrices import add_gram, cholesky, multiply_upper, solve_gram
from ebbing.simulation._steps import Step, offsets
from ebbing.simulation._triangular import TriangularFactor, qr_factor, sample_factor


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
            normals: Standard normal numbers (runs, normals).
            chi2: Chi-squared numbers (runs, len(freedom)).

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
            normals: Standard normal numbers (runs, 1 + width).
            chi2: Chi-squared numbers (runs, 5).

        Returns:
            Kept coordinates of the model after (width, runs), and the squared length of the rest (runs,).
        """
        normals = np.ascontiguousarray(normals.T)
        g, h = normals[0], normals[1:]  # (runs,), (width, runs)
        not_kept, projected, remaining, across, denominator = np.ascontiguousarray(chi2.T)
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

    Let 0 be the task with the most samples, V an orthonormal basis of a q-dimensional space that contains all w*_j - w,
    A = XV, and u = X_j (w*_j - w*_0) + z the residuals at w*_0, task by task. Of features and labels only [A, u]
    (N, q+1) matters, and of it only its triangular factor.

    Args:
        step: The tasks and their numbers of samples, N in all.
        p: Number of parameters.
        targets: Ground truths in the kept coordinates (T, width).
        sigma: Standard deviations of the noise (T,).
    """

    def __init__(self, step: Step, p: int, targets: Array, sigma: Array) -> None:
        order = sorted(range(len(step.tasks)), key=lambda i: -step.samples[i])
        tasks, samples, N = [step.tasks[i] for i in order], [step.samples[i] for i in order], step.size
        self.target, self.sigma, width = targets[tasks[0]], sigma[tasks], targets.shape[1]
        # The first vectors of the basis span the differences between tasks; the last one, if any, differs between runs.
        self.fixed = min(len(tasks) - 1, width)
        self.q = q = self.fixed + (width > self.fixed)
        self.basis, coefficients = np.linalg.qr((targets[tasks] - self.target)[1:].T, mode="complete")
        self.coefficients = np.column_stack([np.zeros(self.fixed), coefficients[: self.fixed]])  # of w*_j - w*_0
        self.same_noise = bool(np.all(self.sigma == self.sigma[0]))
        self.over, self.all_seen = p > N, p == q
        wishart = [p - N + 1] if self.over else [] if self.all_seen else [N - p + q, p - q]
        self.samples = sample_factor(samples, q, noisy=not self.same_noise)
        self.factors = [self.samples, *(TriangularFactor.of(freedom, q + 1) for freedom in wishart)]
        self.normals = sum(factor.normals for factor in self.factors) + width - self.fixed + q + 1
        last = [p - width, max(N - q - 1, 0), 0 if self.over else N - p + q + 1]
        self.freedom = np.concatenate([*(factor.freedom for factor in self.factors), np.array(last, dtype=float)])
        self.beyond = q < N  # whether noise has a part that A cannot fit
        self.well_conditioned = min(N, p - N) > 2 * (q + 1)  # so squares may be formed, which is faster

    def learn(self, w: Array, normals: Array, chi2: Array) -> tuple[Array, Array]:
        """Return the model after the step.

        Args:
            w: Kept coordinates of the model before (width, runs).
            normals: Standard normal numbers (runs, normals).
            chi2: Chi-squared numbers (runs, len(freedom)).

        Returns:
            Kept coordinates of the model after (width, runs), and the squared length of the rest (runs,).
        """
        if self.well_conditioned:
            return self._learn_runs_last(w, np.ascontiguousarray(normals.T), np.ascontiguousarray(chi2.T))
        return self._learn_any(w, normals, chi2)

    def _learn_runs_last(self, w: Array, normals: Array, chi2: Array) -> tuple[Array, Array]:
        """As `_learn_any` for N < p, with the random numbers (numbers, runs)."""
        q, fixed = self.q, self.fixed
        numbers, squares = (offsets([getattr(f, k) for f in self.factors]) for k in ("normals", "rows"))
        U, F = (
            factor.draw_runs_last(normals[a], chi2[b])
            for factor, a, b in zip(self.factors, numbers, squares, strict=True)
        )
        noise, h = np.split(normals[numbers[-1].stop :], [q + 1])
        not_kept, unfitted, _ = chi2[squares[-1].stop :]
        for j, rows in enumerate(self.samples.parts):
            if not self.same_noise:
                U[rows, q] *= self.sigma[j]
            if own := min(j, fixed):
                U[rows, q] += np.add.reduce(U[rows, :own] * self.coefficients[:own, j, None], axis=1)
        gram = np.zeros((q + 1, q + 1, w.shape[1]))
        add_gram(gram, U)
        R = cholesky(gram)
        if self.same_noise:
            R[:q, q] += self.sigma[0] * noise[:q]
            R[q, q] = np.hypot(R[q, q] + self.sigma[0] * noise[q], self.sigma[0] * np.sqrt(unfitted))
        unit, distance = self._distance(w)
        R[:q, q] += multiply_upper(R[:q, :q], distance)
        # As `_overparameterized`: (F'F + diag(R_A R_A', 0)) eta = R_u
        gram[:] = 0.0
        add_gram(gram, F)
        for i in range(q):
            for j in range(i, q):
                gram[i, j] += np.add.reduce(R[i, j:q] * R[j, j:q], axis=0)
        eta = solve_gram(cholesky(gram), R[:, q])
        change = np.stack([np.add.reduce(R[: i + 1, i] * eta[: i + 1], axis=0) for i in range(q)])
        outside = multiply_upper(F, eta)
        return self._moved(w, unit, change, inner(outside, outside), (h, not_kept))

    def _learn_any(self, w: Array, normals: Array, chi2: Array) -> tuple[Array, Array]:
        q = self.q
        numbers, squares = (offsets([getattr(f, k) for f in self.factors]) for k in ("normals", "rows"))
        U, *drawn = [
            factor.draw(normals[:, a], chi2[:, b]) for factor, a, b in zip(self.factors, numbers, squares, strict=True)
        ]
        noise, h = np.split(normals[:, numbers[-1].stop :], [q + 1], axis=1)
        not_kept, unfitted, denominator = chi2[:, squares[-1].stop :].T
        for j, rows in enumerate(self.samples.parts):
            if not self.same_noise:
                U[:, rows, q] *= self.sigma[j]
            if own := min(j, self.fixed):
                U[:, rows, q] += U[:, rows, :own] @ self.coefficients[:own, j]
        R = qr_factor(U)  # (runs, q+1, q+1), or one row less
        R *= np.copysign(1.0, np.diagonal(R, axis1=1, axis2=2))[:, :, None]
        if R.shape[1] == q:
            R = np.concatenate([R, np.zeros((len(R), 1, q + 1))], axis=1)
        if self.same_noise:  # the same in every direction, so it may be drawn in the basis of R
            R[:, :q, q] += self.sigma[0] * noise[:, :q]
            if self.beyond:
                R[:, q, q] = np.hypot(R[:, q, q] + self.sigma[0] * noise[:, q], self.sigma[0] * np.sqrt(unfitted))
        unit, distance = self._distance(w)
        R[:, :q, q:] += R[:, :q, :q] @ distance.T[:, :, None]
        if self.over:
            change, squared = _overparameterized(R, *drawn)
        elif self.all_seen:
            change, squared = np.linalg.solve(R[:, :q, :q], R[:, :q, q:]), np.zeros(len(R))
        else:
            change, squared = _underparameterized(R, *drawn)
            squared = squared / denominator
        return self._moved(
            w, unit, np.asarray(change[:, :, 0].T, dtype=float), squared, (np.ascontiguousarray(h.T), not_kept)
        )

    def _distance(self, w: Array) -> tuple[Array, Array]:
        """Return the last vector of the basis (width - fixed, runs), and w*_0 - w in the basis (q, runs)."""
        distance = np.empty((self.q, w.shape[1]))
        rotated = self.basis.T @ (self.target[:, None] - w)
        unit = rotated[self.fixed :]
        distance[: self.fixed] = rotated[: self.fixed]
        if self.q > self.fixed:
            unit, distance[self.fixed] = direction(unit)
        return unit, distance

    def _moved(
        self, w: Array, unit: Array, change: Array, squared: Array, others: tuple[Array, Array]
    ) -> tuple[Array, Array]:
        """Return the model after a change within V (q, runs) and of some squared length outside (runs,)."""
        fixed, (h, not_kept) = self.fixed, others
        if self.q == fixed:
            return w + self.basis @ change, squared
        rest, beyond = across_unit(change[fixed] * unit, unit, np.sqrt(squared), h, not_kept)
        return w + self.basis @ np.concatenate([change[:fixed], rest]), beyond


def _overparameterized(R: Array, F: Array) -> tuple[Array, Array]:
    """Return the change within V (runs, q, 1) and the squared length of the change outside (runs,), for N < p.

    Compressed to the columns of [A, u], (XX')^-1 is (F'F + diag(R_A R_A', 0))^-1, F'F a Wishart matrix.
    """
    q = R.shape[1] - 1
    R_A, Ft = R[:, :q, :q], F.transpose(0, 2, 1)
    gram = Ft @ F
    gram[:, :q, :q] += R_A @ R_A.transpose(0, 2, 1)
    eta = np.linalg.solve(gram, R[:, :, q:])
    return R_A.transpose(0, 2, 1) @ eta[:, :q], np.sum((F @ eta)[:, :, 0] ** 2, axis=1)


def _underparameterized(R: Array, F1: Array, F2: Array) -> tuple[Array, Array]:
    """Return the change within V (runs, q, 1), and |y|^2 of the rest, to be divided by a chi-square, for N >= p > q.

    Compressed to the columns of [A, u], the projection across X_out is T'^-1 F1'F1 T^-1, T'T = F1'F1 + F2'F2: a matrix
    Beta variable.
    """
    q = R.shape[1] - 1
    T = qr_factor(np.concatenate([F1, F2], axis=1))
    T *= np.copysign(1.0, np.diagonal(T, axis1=1, axis2=2))[:, :, None]  # signs that depend on F1 would bias the law
    Tt = T.transpose(0, 2, 1)
    across, along = (np.asarray(np.linalg.solve(Tt, F.transpose(0, 2, 1))).transpose(0, 2, 1) for F in (F1, F2))
    left = R[:, :, q:].copy()  # [r - y, rho]: the residuals that A leaves
    left[:, :q] = -R[:, q:, q:] * np.linalg.solve(across[:, :q, :q], across[:, :q, q:])
    change: Array = np.asarray(np.linalg.solve(R[:, :q, :q], R[:, :q, q:] - left[:, :q]), dtype=float)
    return change, np.sum((along @ left)[:, :, 0] ** 2, axis=1)


def across_unit(center: Array, unit: Array, length: Array, h: Array, not_kept: Array) -> tuple[Array, Array]:
    """Return center + length v with v uniform on the unit sphere orthogonal to `unit`.

    Args:
        center: Kept coordinates (width, runs).
        unit: Unit vectors (width, runs).
        length: Lengths (runs,).
        h: Standard normal numbers (width, runs).
        not_kept: Squared length of the other coordinates of h (runs,).

    Returns:
        Kept coordinates of the sum (width, runs), and the squared length of the rest (runs,).
    """
    h = h - inner(h, unit) * unit
    whole = inner(h, h) + not_kept
    scale = np.divide(length, np.sqrt(whole), out=np.zeros_like(length), where=whole > 1e-30)  # p = 1: nothing across
    return center + scale * h, scale**2 * not_kept


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
