"""Kernels of data without a network: a linear model, and random features.

========  ===================================================  ==========
here      meaning                                              shape
========  ===================================================  ==========
X         inputs, flattened                                    (N, d)
========  ===================================================  ==========
"""

from __future__ import annotations

import numpy as np

from ebbing._validate import Array


def linear_kernel(features: np.ndarray) -> Array:
    """Compute the kernel of a linear model with a bias: K = X X' + 1.

    With the outputs of a frozen backbone as features, a forecast with this kernel is exact for a linear head.

    Args:
        features: X (N, d), or inputs of any shape (N, ...).

    Returns:
        K (N, N).

    Example:
        >>> linear_kernel(np.array([[1.0, 2.0], [3.0, 0.0]])).tolist()
        [[6.0, 4.0], [4.0, 10.0]]
    """
    X = _flat(features)
    with np.errstate(over="ignore"):  # `normalize` refuses what is not finite
        return X @ X.T + 1.0


def random_feature_kernel(inputs: np.ndarray) -> Array:
    """Compute the kernel of infinitely many random features relu(<w, x>), w Gaussian (Cho and Saul 2009), with a bias.

    Inputs are standardized: each column gets mean 0 and variance 1 over all rows, so that units do not matter. With
    angles theta between inputs (and a 1 appended to each),
    K[a, b] = |x_a| |x_b| (sin theta + (pi - theta) cos theta) / (2 pi).

    Args:
        inputs: X (N, d), or inputs of any shape (N, ...).

    Returns:
        K (N, N).

    Example:
        >>> random_feature_kernel(np.array([[-1.0], [1.0]])).round(3).tolist()
        [[1.0, 0.318], [0.318, 1.0]]
    """
    X = _flat(inputs)
    largest = np.abs(X).max(axis=0, initial=0.0)
    X = X / np.where(largest > 0, largest, 1.0)  # squares of the largest and the smallest numbers would be lost
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    X = np.column_stack([X, np.ones(len(X))])
    lengths = np.linalg.norm(X, axis=1)
    scale = np.outer(lengths, lengths)
    cosine = np.clip(X @ X.T / scale, -1.0, 1.0)
    angle = np.arccos(cosine)
    return scale * (np.sin(angle) + (np.pi - angle) * cosine) / (2 * np.pi)


def normalize(kernel: Array) -> Array:
    """Return a kernel scaled to mean diagonal 1.

    Args:
        kernel: K (N, N).

    Returns:
        The scaled kernel.

    Raises:
        ValueError: If the kernel is zero or not finite.

    Example:
        >>> normalize(np.diag([1.0, 3.0])).tolist()
        [[0.5, 0.0], [0.0, 1.5]]
    """
    scale = mean_diagonal(kernel)
    if not np.isfinite(scale) or not np.isfinite(kernel).all():
        raise ValueError("the kernel is not finite: check that weights and inputs are finite, and scale large inputs")
    if scale <= 0:
        raise ValueError("the kernel is zero: no example moves the outputs, so nothing would be learned")
    return kernel / scale


def mean_diagonal(kernel: Array) -> float:
    """Return the mean of a kernel's diagonal: the mean squared gradient.

    Args:
        kernel: K (N, N).

    Returns:
        The mean.
    """
    return float(np.trace(kernel)) / len(kernel)


def _flat(inputs: np.ndarray) -> Array:
    return np.asarray(inputs, dtype=np.float64).reshape(len(inputs), -1)
