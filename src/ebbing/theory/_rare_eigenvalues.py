"""What eigenvalues far above all others add to the expected traces of gradient steps.

Along an eigenvalue s > 2 / rate every gradient step increases the error, and |1 - rate s|^steps may outgrow what is
left of the density: the expectation then comes from eigenvalues that hardly ever occur. In the notation of `_wishart`,

    density(x) = x^(-1/2) psi_{k-1}(x) c,   c = b_{k-1} I_{k-2} / 4 (k even) or 1 / I_{k-1} (k odd)

holds up to a share of 10^-20 where root = sqrt(x) is beyond sqrt(n) + sqrt(k) + 10: there e_{k-2} is I_{k-2} / 2, and
sums of psi_m^2 are the square of what matters. The zeros z_i of psi_{k-1} are all below. As a function of the root, the
logarithm of density |1 - rate x|^(j steps) has the derivative

    root (2 j steps / (x - 1/rate) + sum_{i<k-1} 2 / (x - z_i) + alpha / x - 1),

for x > 1/rate, and a second derivative below -1. So it has one maximum, and 10 away from it nothing is left.
Everything is computed in logarithms: the factors overflow, their product does not.
"""

from __future__ import annotations

from math import log

import numpy as np

from ebbing._validate import Array
from ebbing.theory._laguerre import Laguerre, log_integral, log_psi0, panels

MARGIN = 10.0
"""Roots of eigenvalues beyond sqrt(n) + sqrt(k) by this much are rare: P < exp(-MARGIN^2 / 2) = 10^-21."""
_WIDTH = 0.5  # of a panel of 16 nodes: what is integrated varies on a scale of 0.4 or more
_NOTHING = -1000.0  # a logarithm; that of the smallest number is -745


def rare_traces(rate: float, steps: int, k: int, alpha: float, scale: float = 1.0) -> tuple[Array, Array]:
    """Return what rare eigenvalues add to E tr of f, 1 - f, f (1 - f), f^2, f^2/s and f f', f = 1 - (1 - rate s)^steps.

    Args:
        rate: The learning rate.
        steps: The number of steps.
        k: The number of nonzero eigenvalues, min(N, p).
        alpha: |N - p|.
        scale: s is that many times an eigenvalue x of X'X.

    Returns:
        Six numbers and an exponent for each, never negative: exp(exponents) times the numbers is added, which may be
        larger than the largest number.
    """
    eta, zero, edge = rate * scale, np.sqrt(alpha), np.sqrt(k + alpha) + np.sqrt(k)
    start = edge + MARGIN
    low = max(start, _maximum(eta, steps, k, alpha, 0.0))
    high = max(start, _maximum(eta, 2 * steps, k, alpha, edge**2))
    x, density = _log_density(k, alpha, np.linspace(low, high, int(high - low) + 2) - zero)
    growth = steps * np.maximum(np.log(np.abs(1 - eta * x)), 0)
    largest = [float(np.max(density + j * growth)) for j in (1, 2)]
    if max(largest) < _NOTHING:
        return np.zeros(6), np.zeros(6)
    exponents = np.maximum(np.array(largest)[[0, 0, 1, 1, 1, 1]], 0.0)
    first = max(start, low - MARGIN)
    offset, weights = panels(np.linspace(first, high + MARGIN, int((high + MARGIN - first) / _WIDTH) + 2) - zero)
    x, density = _log_density(k, alpha, offset)
    left, log = 1 - eta * x, density + np.log(weights) - exponents[:, None]  # (6, points)
    power, sign = steps * np.log(np.abs(left)), np.where(left < 0, (-1.0) ** (steps % 2), 1.0)
    none, once = np.exp(log), sign * np.exp(log + power)
    twice = np.exp(log[2:] + 2 * power)  # not in the first two
    square = none[2:] - 2 * once[2:] + twice
    parts = [none[0] - once[0], once[1], once[2] - twice[0], square[1], square[2] / (scale * x)]
    return np.array([*parts, rate * steps * (once[5] - twice[3]) / left]).sum(axis=1), exponents


def _maximum(rate: float, power: int, k: int, alpha: float, zeros: float) -> float:
    """Return the root where the derivative of the module is zero, if all zeros of psi_{k-1} are in one place."""
    pole = max(1 / rate, zeros)
    low, high = pole, pole + 2 * power + 2 * (k - 1) + alpha
    for _ in range(60):
        x = (low + high) / 2
        rises = 2 * power / (x - 1 / rate) + 2 * (k - 1) / (x - zeros) + alpha / x > 1
        low, high = (x, high) if rises else (low, x)
    return float(np.sqrt(high))


def _log_density(k: int, alpha: float, offset: Array) -> tuple[Array, Array]:
    """Return x and the logarithm of the density of the root, at roots sqrt(alpha) + offset."""
    excess = offset * (2 * np.sqrt(alpha) + offset)  # x - alpha, without cancellation
    x = alpha + excess
    psi = Laguerre(alpha, log_psi0(excess, x, alpha), excess)
    for _ in range(k - 1):
        psi.advance()
    if k % 2:
        log_c = -log_integral(k - 1, alpha)
    else:
        log_c = log((k - 1) * (k - 1 + alpha)) / 2 + log_integral(k - 2, alpha) - log(4)
    return x, psi.log() + log_c + log(2)
