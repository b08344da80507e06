"""Expected traces of functions of a real Wishart matrix, at any size: E tr phi(X'X), X (N, p) standard normal.

The k = min(N, p) nonzero eigenvalues have a density of mean k, known in closed form for every size. With
alpha = |N - p| and the orthonormal Laguerre functions psi_m of weight x^alpha e^-x (derived in docs/theory/steps.md),

    density(x) = sum_{m < k-1} psi_m(x)^2 + x^(-1/2) psi_{k-1}(x) ( b_{k-1} e_{k-2}(x) / 2 + [k odd] / I_{k-1} )

    b_m = sqrt(m (m + alpha)),  I_m = integral of x^(-1/2) psi_m,  e_m(x) = 1/2 integral of sgn(x - y) y^(-1/2) psi_m(y)
    b_{m+1} e_{m+1} = b_m e_{m-1} - 2 sqrt(x) psi_m                 b_{m+1} I_{m+1} = b_m I_{m-1}

k up to `EXACT`: Gauss-Legendre quadrature of this density, about 10 k points. Larger k: at a fixed ratio N/p, and phi
scaled with k, E tr phi / k is smooth in 1/k, and its value at 1/k = 0 is the integral over the Marchenko-Pastur law.
Interpolation between that and exact values at some moderate k' gives the rest. The error is estimated by leaving out
one k'. Where ten digits are not reached, which happens only with small penalties next to N = p, larger k' are used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import lgamma

import numpy as np
from numpy.polynomial import legendre

from ebbing._validate import Array

EXACT = 600
"""Up to this many eigenvalues the exact density is used at once."""
TOLERANCE = 3e-11
"""Relative error of the interpolation in 1/k that is accepted."""
_MARGINS = (10.0, 20.0, 40.0)  # P(root of an eigenvalue beyond sqrt(n) +- sqrt(k) by t) < exp(-t^2 / 2), 10^-21 for 10
_NODES, _WEIGHTS = legendre.leggauss(16)
_PANEL = np.linalg.inv(legendre.legvander(_NODES, len(_NODES) - 1))  # from values at the nodes to coefficients
_INTEGRALS = legendre.legval(_NODES, legendre.legint(_PANEL, lbnd=-1)).T  # from values to integrals up to each node
_SIZES = (
    (50, 60, 72, 90, 116, 160, 240, 400),
    (150, 180, 216, 270, 350, 480, 720, 1200),
    (400, 480, 600, 760, 1000, 1400, 2000, 3200),
)
_LARGEST = 6000

Functions = Callable[[Array], Array]
"""Several functions of eigenvalues (M,) at once, (functions, M)."""


def expected_traces(phi: Functions, N: int, p: int) -> Array:
    """Return E tr phi over the nonzero eigenvalues of X'X, to ten digits.

    Args:
        phi: The functions; each positive, and smooth on the scale of its own argument.
        N: Samples.
        p: Parameters.

    Returns:
        A number for each function.

    Raises:
        ArithmeticError: If ten digits are not reached.
    """
    k, alpha = min(N, p), float(abs(N - p))
    if k <= EXACT:
        return _trace(phi, k, alpha)
    error = np.inf
    for sizes in _SIZES:
        if max(sizes) > k:
            break
        value, error = _interpolated(phi, k, alpha, sizes)
        if error < TOLERANCE:
            return value
    if k <= _LARGEST:
        return _trace(phi, k, alpha)
    raise ArithmeticError(f"the eigenvalues next to zero would leave a relative error of {error:.1g}")


def _trace(phi: Functions, k: int, alpha: float, scale: float = 1.0) -> Array:
    for margin in _MARGINS:
        x, weights = spectrum(k, alpha, margin)
        with np.errstate(over="ignore", invalid="ignore"):
            values = phi(scale * x)
            total = values @ weights
            last = np.abs(values[:, -len(_NODES) :]) @ np.abs(weights[-len(_NODES) :])
        if np.all(np.isfinite(total)) and np.all(last <= 1e-13 * np.abs(total)):
            return total
    raise ArithmeticError("the expectation is dominated by eigenvalues that hardly ever occur")


def _interpolated(phi: Functions, k: int, alpha: float, sizes: tuple[int, ...]) -> tuple[Array, float]:
    """Return the traces by interpolation in 1/k, and their estimated relative error."""
    exact = (_trace(phi, j, alpha * j / k, k / j) * (k / j) for j in sizes)
    known = np.array([_marchenko_pastur(phi, k, alpha), *exact])
    at = np.array([0.0, *(1 / j for j in sizes)])
    value = _lagrange(at, 1 / k) @ known
    fewer = _lagrange(at[:-1], 1 / k) @ known[:-1]
    without = np.delete(np.arange(len(at)), 1)
    other = _lagrange(at[without], 1 / k) @ known[without]
    return value, float(np.max(np.maximum(np.abs(value - fewer), np.abs(value - other)) / np.abs(value)))


def _lagrange(nodes: Array, at: float) -> Array:
    """Return the weights of values at the nodes in the interpolating polynomial."""
    difference = nodes[:, None] - nodes[None, :]
    np.fill_diagonal(difference, 1.0)
    numerator = np.tile(at - nodes, (len(nodes), 1))
    np.fill_diagonal(numerator, 1.0)
    return np.prod(numerator / difference, axis=1)


def _marchenko_pastur(phi: Functions, k: int, alpha: float) -> Array:
    """Return k times the integral of phi over the Marchenko-Pastur law of k eigenvalues, alpha = |N - p|."""
    n = k + alpha
    angle, weights = _panels(np.concatenate([[0.0], np.pi * 0.5 ** np.arange(60)[::-1]]))
    # From the lower edge x_- = (sqrt n - sqrt k)^2: x - x_- = 4 sqrt(nk) sin^2(angle / 2), without cancellation.
    lower, width = (alpha / (np.sqrt(n) + np.sqrt(k))) ** 2, 2 * np.sqrt(n * k)
    x = lower + 2 * width * np.sin(angle / 2) ** 2
    return phi(x) @ (weights * (width * np.sin(angle)) ** 2 / (2 * np.pi * x))


def _panels(edges: Array) -> tuple[Array, Array]:
    """Return the nodes and weights of Gauss-Legendre quadrature on each interval between the edges."""
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    return (middle[:, None] + half[:, None] * _NODES).ravel(), (half[:, None] * _WEIGHTS).ravel()


def _cumulative(values: Array, weights: Array) -> tuple[Array, float]:
    """Return the integral of a function up to each node of `_panels`, from its values there, and over all panels."""
    panel = values.reshape(-1, len(_NODES))
    half = weights.reshape(-1, len(_NODES))[:, :1] / _WEIGHTS[0]
    whole = np.cumsum(np.concatenate([[0.0], (panel * half) @ _WEIGHTS]))
    return (whole[:-1, None] + (panel * half) @ _INTEGRALS.T).ravel(), float(whole[-1])


@lru_cache(maxsize=256)
def spectrum(k: int, alpha: float, margin: float = 10.0) -> tuple[Array, Array]:
    """Return points and weights such that E tr phi = sum of weights phi(points), for k eigenvalues; alpha = |N - p|.

    Roots of eigenvalues that are further than `margin` from sqrt(k + alpha) +- sqrt(k) are left out.

    >>> x, weights = spectrum(3, 4.0)
    >>> float(weights.sum().round(12)), float((weights @ x).round(12)), float((weights @ (1 / x)).round(12))
    (3.0, 21.0, 1.0)
    """
    root, excess, weights = _roots_of_eigenvalues(k, alpha, margin)
    x = root**2
    psi = _Laguerre(alpha, _log_psi0(excess, x, alpha), excess)
    b = np.sqrt(np.arange(k + 1) * (np.arange(k + 1) + alpha))
    below, I0 = _cumulative(2 * psi.value(), weights)
    e = below - I0 / 2 if k % 2 == 0 else np.zeros_like(x)  # e_0; or e_-1, which b_0 = 0 multiplies
    density = np.zeros_like(x)
    for m in range(k - 1):
        value = psi.value()
        density += value**2
        if (k - m) % 2:  # the chain that ends at e_{k-2}
            e = (b[m] * e - 2 * root * value) / b[m + 1]
        psi.advance()
    end = b[k - 1] / 2 * e
    if k % 2:
        end = end + np.exp(-np.log(b[1 : k - 1 : 2] / b[2:k:2]).sum()) / I0
    density = density + psi.value() * end / root
    weights = weights * 2 * root * density
    return x, weights * (k / weights.sum())  # the density integrates to k; rounding of huge exponents cancels here


def _roots_of_eigenvalues(k: int, alpha: float, margin: float) -> tuple[Array, Array, Array]:
    """Return sqrt(x), x - alpha and weights for integrals over sqrt(x), fine enough for k eigenvalues."""
    n = k + alpha
    low, high = np.sqrt(n) - np.sqrt(k) - margin, np.sqrt(n) + np.sqrt(k) + margin
    panels = max(8, int(np.ceil((high - max(low, 0)) * (np.sqrt(k) + 2) / 4)))
    if low > 1:
        middle = np.sqrt(alpha)
        offset, weights = _panels(np.linspace(low - middle, high - middle, panels + 1))
        return middle + offset, offset * (2 * middle + offset), weights  # no cancellation when alpha is huge
    edges = np.linspace(0.0, high, panels + 1)  # finer and finer toward zero, for functions that vary there
    root, weights = _panels(np.concatenate([[0.0], edges[1] * 0.5 ** np.arange(40, 0, -1), edges[1:]]))
    return root, root**2 - alpha, weights


def _log_psi0(excess: Array, x: Array, alpha: float) -> Array:
    """Return log psi_0(x) = (alpha log x - x - log Gamma(alpha + 1)) / 2."""
    if alpha < 50:
        return (alpha * np.log(x) - x - lgamma(alpha + 1)) / 2
    u = excess / alpha
    return (-alpha * _minus_log1p(u) - np.log(2 * np.pi * alpha) / 2 - _stirling(alpha)) / 2


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


class _Laguerre:
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
