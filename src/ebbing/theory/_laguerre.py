"""The orthonormal Laguerre functions psi_m of weight x^alpha e^-x, and quadrature of them.

psi_0(x) = sqrt(x^alpha e^-x / Gamma(alpha + 1)),   b_m = sqrt(m (m + alpha))
b_{m+1} psi_{m+1} = (x - alpha - 2m - 1) psi_m - b_m psi_{m-1}
I_m = integral of x^(-1/2) psi_m,                   b_{m+1} I_{m+1} = b_m I_{m-1},  I_1 = 0
"""

from __future__ import annotations

from math import lgamma, log, log1p, pi

import numpy as np
from numpy.polynomial import legendre

from ebbing._validate import Array

_NODES, _WEIGHTS = legendre.leggauss(16)
_PANEL = np.linalg.inv(legendre.legvander(_NODES, len(_NODES) - 1))  # from values at the nodes to coefficients
_INTEGRALS = legendre.legval(_NODES, legendre.legint(_PANEL, lbnd=-1)).T  # from values to integrals up to each node


def panels(edges: Array) -> tuple[Array, Array]:
    """Return the nodes and weights of Gauss-Legendre quadrature on each interval between the edges."""
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    return (middle[:, None] + half[:, None] * _NODES).ravel(), (half[:, None] * _WEIGHTS).ravel()


def cumulative(values: Array, weights: Array) -> tuple[Array, float]:
    """Return the integral of a function up to each node of `panels`, from its values there, and over all panels."""
    panel = values.reshape(-1, len(_NODES))
    half = weights.reshape(-1, len(_NODES))[:, :1] / _WEIGHTS[0]
    whole = np.cumsum(np.concatenate([[0.0], (panel * half) @ _WEIGHTS]))
    return (whole[:-1, None] + (panel * half) @ _INTEGRALS.T).ravel(), float(whole[-1])


def log_psi0(excess: Array, x: Array, alpha: float) -> Array:
    """Return log psi_0(x) = (alpha log x - x - log Gamma(alpha + 1)) / 2."""
    if alpha < 50:
        return (alpha * np.log(x) - x - lgamma(alpha + 1)) / 2
    u = excess / alpha
    return (-alpha * _minus_log1p(u) - np.log(2 * np.pi * alpha) / 2 - _stirling(alpha)) / 2


def log_integral(m: int, alpha: float) -> float:
    """Return log I_m, m even: I_0^2 = 2 sqrt(pi) Gamma((alpha + 1) / 2) / Gamma(alpha / 2 + 1)."""
    z = alpha / 2
    if z < 25:
        ratio = lgamma(z + 0.5) - lgamma(z + 1)
    else:
        ratio = z * log1p(-0.5 / z) + 0.5 - log(z) / 2 + _stirling(z - 0.5) - _stirling(z)
    odd = np.arange(1.0, m, 2)  # b_i / b_{i+1}, i = 1, 3, ..., m - 1
    return (log(4 * pi) / 2 + ratio + float(np.sum(np.log(odd / (odd + 1) * (odd + alpha) / (odd + 1 + alpha))))) / 2


def _minus_log1p(u: Array) -> Array:
    """Return u - log(1 + u) without cancellation for small u."""
    series = np.zeros_like(u)
    for j in range(16, 1, -1):
        series = series * -u + 1 / j
    small = np.abs(u) < 0.05
    with np.errstate(divide="ignore"):  # log 0, where x is below rounding
        return np.where(small, u**2 * series, u - np.log1p(np.where(small, 0, u)))


def _stirling(a: float) -> float:
    """Return log Gamma(a + 1) - (a log a - a + log(2 pi a) / 2), for a >= 50."""
    return 1 / (12 * a) - 1 / (360 * a**3) + 1 / (1260 * a**5) - 1 / (1680 * a**7)


class Laguerre:
    """The Laguerre functions psi_m at some points, m = 0, 1, ..., by their recurrence.

    b_{m+1} psi_{m+1} = (x - alpha - 2m - 1) psi_m - b_m psi_{m-1}. psi_0 may be as small as exp(-10^4) where psi_k is
    not, so that a power is kept apart.
    """

    def __init__(self, alpha: float, log_psi0: Array, excess: Array) -> None:
        self._alpha, self._excess, self._m = alpha, excess, 0
        self._before, self._now = np.zeros_like(excess), np.ones_like(excess)
        self._log = log_psi0
        self._power = np.exp(self._log)

    def value(self) -> Array:
        """Return psi_m."""
        return self._now * self._power

    def log(self) -> Array:
        """Return log |psi_m|, which may be far below the smallest number's."""
        return np.log(np.abs(self._now)) + self._log

    def advance(self) -> None:
        """Go from m to m + 1."""
        m, alpha = self._m, self._alpha
        b, after = np.sqrt(m * (m + alpha)), np.sqrt((m + 1) * (m + 1 + alpha))
        new = (self._excess - (2 * m + 1)) * self._now
        new -= b * self._before
        new /= after
        self._before, self._now, self._m = self._now, new, m + 1
        if m % 8 == 7:
            large = np.abs(new) > 1e100
            if large.any():
                self._before[large] *= 1e-100
                self._now[large] *= 1e-100
                self._log = self._log + np.where(large, np.log(1e100), 0.0)
                self._power[large] = np.exp(self._log[large])
