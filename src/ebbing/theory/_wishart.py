"""Expected traces of functions of a real Wishart matrix, at any size: E tr phi(X'X), X (N, p) standard normal.

The k = min(N, p) nonzero eigenvalues have a density of mean k, known in closed form for every size. With
alpha = |N - p| and the orthonormal Laguerre functions psi_m of weight x^alpha e^-x (derived in docs/theory/steps.md),

    density(x) = sum_{m < k-1} psi_m(x)^2 + x^(-1/2) psi_{k-1}(x) ( b_{k-1} e_{k-2}(x) / 2 + [k odd] / I_{k-1} )

    b_m = sqrt(m (m + alpha)),  I_m = integral of x^(-1/2) psi_m,  e_m(x) = 1/2 integral of sgn(x - y) y^(-1/2) psi_m(y)
    b_{m+1} e_{m+1} = b_m e_{m-1} - 2 sqrt(x) psi_m                 b_{m+1} I_{m+1} = b_m I_{m-1}

k up to `EXACT`: Gauss-Legendre quadrature of this density, about 10 k points, up to a distance beyond which eigenvalues
matter for gradient steps only: `_rare_eigenvalues` adds them. Larger k: at a fixed ratio N/p, and phi
scaled with k, E tr phi / k is smooth in 1/k, and its value at 1/k = 0 is the integral over the Marchenko-Pastur law.
Interpolation between that and exact values at some moderate k' gives the rest. The error is estimated by leaving out
one k'. Where ten digits are not reached, which happens only with small penalties next to N = p, larger k' are used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from ebbing._validate import Array
from ebbing.theory._laguerre import Laguerre, cumulative, log_psi0, panels
from ebbing.theory._rare_eigenvalues import MARGIN

EXACT = 600
"""Up to this many eigenvalues the exact density is used at once."""
TOLERANCE = 3e-11
"""Relative error of the interpolation in 1/k that is accepted."""
_ROUNDING = np.finfo(float).eps
_SIZES = (
    (50, 60, 72, 90, 116, 160, 240, 400),
    (150, 180, 216, 270, 350, 480, 720, 1200),
    (400, 480, 600, 760, 1000, 1400, 2000, 3200),
)
_LARGEST = 6000
TOO_LARGE = "eigenvalues that hardly ever occur make the expectation too large to compute, above 1e280"

Functions = Callable[[Array], Array]
"""Several functions of eigenvalues (M,) at once, (functions, M)."""
Tail = Callable[[int, float, float], tuple[Array, Array]]
"""What eigenvalues beyond the quadrature add, given k, alpha and the scale of eigenvalues: as `rare_traces`."""


def expected_traces(phi: Functions, N: int, p: int, tail: Tail | None = None) -> Array:
    """Return E tr phi over the nonzero eigenvalues of X'X, to ten digits.

    What is left to learn, 1 - f, f (1 - f) and f f', may have fewer digits where f has all but converged: an error
    below rounding of tr f, or of tr f^2/s for f f', changes no result.

    Args:
        phi: f, 1 - f, f (1 - f), f^2, f^2/s and f f' of eigenvalues; each smooth on the scale of its own argument.
        N: Samples.
        p: Parameters.
        tail: What rare eigenvalues add to functions that grow faster than any fixed power.

    Returns:
        A number for each function.

    Raises:
        ArithmeticError: If ten digits are not reached.
    """
    k, alpha = min(N, p), float(abs(N - p))
    if k <= EXACT:
        return _trace(phi, tail, k, alpha)
    error = np.inf
    for sizes in _SIZES:
        if max(sizes) > k:
            break
        try:
            value, error = _interpolated(phi, tail, k, alpha, sizes)
        except OverflowError:  # rare eigenvalues are less rare at moderate sizes
            continue
        if error < TOLERANCE:
            return value
    if k <= _LARGEST:
        return _trace(phi, tail, k, alpha)
    if np.isinf(error):
        raise ArithmeticError("eigenvalues that hardly ever occur make it too large at sizes that could be computed")
    raise ArithmeticError(f"the eigenvalues next to zero would leave a relative error of {error:.1g}")


def _trace(phi: Functions, tail: Tail | None, k: int, alpha: float, scale: float = 1.0) -> Array:
    x, weights = spectrum(k, alpha)
    with np.errstate(over="ignore", invalid="ignore"):
        found = phi(scale * x) @ weights
    if tail is None:
        return found
    rare, exponents = tail(k, alpha, scale)
    with np.errstate(over="ignore", invalid="ignore"):
        found = found + rare * np.exp(exponents / 2) * np.exp(exponents / 2)
    if not np.isfinite(found).all():
        raise OverflowError(TOO_LARGE)
    return found


def _interpolated(
    phi: Functions, tail: Tail | None, k: int, alpha: float, sizes: tuple[int, ...]
) -> tuple[Array, float]:
    """Return the traces by interpolation in 1/k, and their estimated relative error."""
    exact = (_trace(phi, tail, j, alpha * j / k, k / j) * (k / j) for j in sizes)
    known = np.array([_marchenko_pastur(phi, k, alpha), *exact])
    at = np.array([0.0, *(1 / j for j in sizes)])
    value = _lagrange(at, 1 / k) @ known
    fewer = _lagrange(at[:-1], 1 / k) @ known[:-1]
    without = np.delete(np.arange(len(at)), 1)
    other = _lagrange(at[without], 1 / k) @ known[without]
    difference = np.maximum(np.abs(value - fewer), np.abs(value - other))
    beside = np.abs(value)[[0, 0, 0, 3, 4, 4]]  # f, f^2, and f^2/s
    return value, float(np.max(difference / np.maximum(np.abs(value), _ROUNDING / TOLERANCE * beside)))


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
    angle, weights = panels(np.concatenate([[0.0], np.pi * 0.5 ** np.arange(60)[::-1]]))
    # From the lower edge x_- = (sqrt n - sqrt k)^2: x - x_- = 4 sqrt(nk) sin^2(angle / 2), without cancellation.
    lower, width = (alpha / (np.sqrt(n) + np.sqrt(k))) ** 2, 2 * np.sqrt(n * k)
    x = lower + 2 * width * np.sin(angle / 2) ** 2
    return phi(x) @ (weights * (width * np.sin(angle)) ** 2 / (2 * np.pi * x))


@lru_cache(maxsize=256)
def spectrum(k: int, alpha: float) -> tuple[Array, Array]:
    """Return points and weights such that E tr phi = sum of weights phi(points), for k eigenvalues; alpha = |N - p|.

    Roots of eigenvalues that are further than MARGIN from sqrt(k + alpha) +- sqrt(k) are left out.

    >>> x, weights = spectrum(3, 4.0)
    >>> float(weights.sum().round(12)), float((weights @ x).round(12)), float((weights @ (1 / x)).round(12))
    (3.0, 21.0, 1.0)
    """
    root, excess, weights = _roots_of_eigenvalues(k, alpha)
    x = root**2
    psi = Laguerre(alpha, log_psi0(excess, x, alpha), excess)
    b = np.sqrt(np.arange(k + 1) * (np.arange(k + 1) + alpha))
    below, I0 = cumulative(2 * psi.value(), weights)
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


def _roots_of_eigenvalues(k: int, alpha: float) -> tuple[Array, Array, Array]:
    """Return sqrt(x), x - alpha and weights for integrals over sqrt(x), fine enough for k eigenvalues."""
    n = k + alpha
    low, high = np.sqrt(n) - np.sqrt(k) - MARGIN, np.sqrt(n) + np.sqrt(k) + MARGIN
    count = max(8, int(np.ceil((high - max(low, 0)) * (np.sqrt(k) + 2) / 4)))
    if low > 1:
        middle = np.sqrt(alpha)
        offset, weights = panels(np.linspace(low - middle, high - middle, count + 1))
        return middle + offset, offset * (2 * middle + offset), weights  # no cancellation when alpha is huge
    edges = np.linspace(0.0, high, count + 1)  # finer and finer toward zero, for functions that vary there
    root, weights = panels(np.concatenate([[0.0], edges[1] * 0.5 ** np.arange(40, 0, -1), edges[1:]]))
    return root, root**2 - alpha, weights
