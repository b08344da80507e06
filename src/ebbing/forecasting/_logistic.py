"""Logistic regression with a kernel and a penalty on the distance from the previous weights, by Newton's method.

========  ==================================================================  ==========
here      meaning                                                             shape
========  ==================================================================  ==========
K         kernel of the training rows                                         (n, n)
u         outputs (log-odds): u = u0 + K a                                    (n,)
a         dual weights: the weights move by sum_i a_i grad f(x_i)             (n,)
p         probabilities 1 / (1 + exp(-u));  W = p (1 - p)                     (n,)
R         the ridge
========  ==================================================================  ==========

What is made small:  sum_i log(1 + exp(-(2 y_i - 1) u_i)) + R/2 a' K a.  At the minimum R a = y - p. A Newton step
solves (W K + R) d = y - p - R a; with S = sqrt(W) the matrix of S^-1 d is S K S + R, which has a Cholesky factor.
Outputs that are right by _MARGIN are near the minimum of tasks that are fitted, and halve the number of steps.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, get_lapack_funcs

from ebbing._validate import Array

# What cho_factor and cho_solve call, without their checks.
_factorize, _solve = get_lapack_funcs(("potrf", "potrs"), dtype=np.float64)

_STEPS = 60
"""Newton steps at most; some seven are needed."""

_MARGIN = 6.0
"""Log-odds of the right label where Newton's method starts."""

_TOLERANCE = 1e-8
"""The share of the objective that a further step may still gain."""

_LEAST_STEP = 1e-4
"""The part of a Newton step below which nothing more is gained."""

_LEAST_WEIGHT = 1e-14
"""The least W: rows that are all but certain, whose W would vanish."""

_LEAST_DIAGONAL = 1e-9
"""What is added first to the diagonal of a matrix that is not positive definite, as a share of the largest entry."""


def fit_logistic(kernel: Array, outputs: Array, labels: Array, ridge: float) -> Array:
    """Learn labels, starting from given outputs.

    Args:
        kernel: K (n, n).
        outputs: u0 of several models (n, models).
        labels: 0 or 1 (n,).
        ridge: R, positive.

    Returns:
        The dual weights a of each model (n, models).

    Example:
        >>> a = fit_logistic(np.eye(2), np.zeros((2, 1)), np.array([0.0, 1.0]), 0.1)
        >>> a[:, 0].round(2).tolist()  # 0.1 a = y - p, outputs a
        [-1.63, 1.63]
    """
    sign = (2.0 * labels - 1.0)[:, None]
    right = sign * np.maximum(_MARGIN, sign * outputs)
    start = np.linalg.solve(kernel + 4.0 * ridge * np.eye(len(kernel)), right - outputs)
    found = [_fit(kernel, u0, a, labels, ridge) for u0, a in zip(outputs.T, start.T, strict=True)]
    return np.stack(found, axis=1)


def _fit(K: Array, u0: Array, a: Array, y: Array, R: float) -> Array:
    """Return the dual weights of one model by steps that never raise the objective, from a or from 0."""
    sign = 2.0 * y - 1.0
    u = u0 + K @ a
    value = _objective(a, u, u0, sign, R)
    if (at_rest := _objective(np.zeros_like(a), u0, u0, sign, R)) < value:
        a, u, value = np.zeros_like(a), u0, at_rest
    for _ in range(_STEPS):
        p = 0.5 * (1.0 + np.tanh(0.5 * u))
        S = np.sqrt(np.maximum(p * (1.0 - p), _LEAST_WEIGHT))
        system = S[:, None] * K * S
        system.flat[:: len(K) + 1] += R
        direction = S * _solve(_factor(system), (y - p - R * a) / S)[0]
        change = K @ direction
        size, trial = 1.0, np.inf
        while size > _LEAST_STEP:
            trial = _objective(a + size * direction, u + size * change, u0, sign, R)
            if trial <= value:
                break
            size /= 2
        if trial > value:
            break
        a, u, before, value = a + size * direction, u + size * change, value, trial
        if before - value <= _TOLERANCE * value:
            break
    return a


def _factor(system: Array) -> Array:
    """Return the upper Cholesky factor of a matrix that rounding errors may have made indefinite by a little.

    A kernel of low rank, from gradients in single precision, has eigenvalues of -1e-7 of the largest. With a larger
    diagonal, Newton's step is a little shorter.
    """
    added, largest = 0.0, float(system.diagonal().max())
    while True:
        factor, failed_at = _factorize(system, clean=False)
        if not failed_at:
            return factor
        added = max(10.0 * added, _LEAST_DIAGONAL * largest)
        if not added < largest:
            raise LinAlgError("the kernel is not positive semidefinite")
        system.flat[:: len(system) + 1] += added


def _objective(a: Array, u: Array, u0: Array, sign: Array, R: float) -> float:
    return float(np.logaddexp(0.0, -sign * u).sum() + 0.5 * R * a @ (u - u0))
