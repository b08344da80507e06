"""Expected traces of Wishart matrices in many digits, by three other ways than quadrature of the density.

All start from E tr phi = sum_{m<k} phi(J)_mm + sum_{j>=1} u_j phi(J)_{k-1,k-1+2j}, J the Jacobi matrix of the Laguerre
polynomials: a_m = 2m + 1 + alpha, b_m^2 = m (m + alpha), u_j = prod_{i<j} b_{k+2i} / b_{k+1+2i} (docs/theory/steps.md).
"""

from decimal import Decimal, localcontext
from itertools import pairwise
from math import ceil, log2, sqrt

import mpmath as mp
from mpmath.calculus.quadrature import GaussLegendre

DIGITS = 60


def ridge(penalty, N, p):
    """E tr of f, f(1-f), f^2, f^2/s and f f' by continued fractions of the resolvent, differentiated numerically."""
    with localcontext() as context:
        context.prec = DIGITS + 30
        at, h = Decimal(penalty), Decimal(penalty) * Decimal("1e-24")
        low, middle, high = (_resolvent(at + shift, N, p) for shift in (-h, Decimal(0), h))
        R, R2, R3 = middle, (low - high) / (2 * h), (high - 2 * middle + low) / h**2 / 2
        k = min(N, p)
        f, square = k - at * R, k - 2 * at * R + at**2 * R2
        return [float(x) for x in (f, f - square, square, R - at * R2, at * R2 - at**2 * R3)]


def _resolvent(at, N, p):
    """E tr (X'X + at)^-1 over the nonzero eigenvalues."""
    k, alpha = min(N, p), abs(N - p)
    last = int((sqrt(k) + 40 / sqrt(float(at))) ** 2) + 200
    right = [Decimal(0)] * (last + 2)  # pivots from infinity: q_{m-1} / q_m
    right[last + 1] = Decimal(2 * last)
    for m in range(last, 0, -1):
        right[m] = 2 * m + 1 + alpha + at - Decimal((m + 1) * (m + 1 + alpha)) / right[m + 1]
    total, left = Decimal(0), Decimal(1)
    diagonal = Decimal(0)
    for m in range(k):
        left = 2 * m + 1 + alpha + at - (Decimal(m * (m + alpha)) / left if m else 0)
        diagonal = 1 / (left - Decimal((m + 1) * (m + 1 + alpha)) / right[m + 1])
        total += diagonal
    entry = diagonal
    for m in range(k - 1, last - 1, 2):
        entry *= Decimal((m + 1) * (m + 1 + alpha)) / (right[m + 1] * right[m + 2])
        total += entry
        if entry < total * Decimal(10) ** -(DIGITS + 25):
            break
    return total


def gradient_flow(time, N, p):
    """The same traces by closed forms of exp(-u J); E tr f^2/s is an integral over u."""
    with localcontext() as context:
        context.prec = DIGITS
        k = min(N, p)
        one, two = (_exponential(Decimal(time) * c, N, p) for c in (1, 2))
        with mp.workdps(40):
            noise, pieces = Decimal(0), max(2, ceil(log2(time * (sqrt(N) + sqrt(p)) ** 2)) + 2)
            nodes = GaussLegendre(mp.mp).calc_nodes(3, 140)
            edges = [Decimal(0), *(Decimal(time) * Decimal(2) ** -j for j in range(pieces, -1, -1))]
            for a, b in pairwise(edges):
                for x, w in nodes:
                    u = (a + b) / 2 + (b - a) / 2 * Decimal(str(x))
                    integrand = 2 * (_exponential(u, N, p) - _exponential(2 * u, N, p))
                    noise += integrand * Decimal(str(w)) * (b - a) / 2
        return [float(x) for x in (k - one, one - two, k - 2 * one + two, noise, Decimal(time) * (one - two))]


def _exponential(u, N, p):
    """E tr exp(-u X'X) over the nonzero eigenvalues: sums of positive numbers."""
    k, alpha = min(N, p), abs(N - p)
    q, g = u / (1 + u), 1 / (1 + u) ** 2
    total, front = Decimal(0), (1 + u) ** -(alpha + 1)

    def entry(m, n):
        # exp(-u J)_mn for n - m even, up to the factor that the term j = m has apart from g and q:
        # sum_{j<=m} C(alpha+j, j) g^j q^(m+n-2j) C(alpha+m, m-j) C(alpha+n, n-j) / sqrt(C(alpha+m, m) C(alpha+n, n))
        term, found = g**m * q ** (n - m), Decimal(0)
        ratio = q**2 / g
        for j in range(m, -1, -1):
            found += term
            if j:
                term *= ratio * j * (alpha + j) / (Decimal(m - j + 1) * (n - j + 1))
        return found * front

    for m in range(k):
        total += entry(m, m)
    n = k - 1
    scale = Decimal(1)
    while True:  # the factor b_{m+1} ... b_n / (n-m)! times u_j gains b_{n+1}^2 / ((n+2-m) (n+1-m)) from n to n + 2
        n += 2
        scale *= Decimal((n - 1) * (n - 1 + alpha)) / ((n - (k - 1)) * (n - 1 - (k - 1)))
        added = entry(k - 1, n) * scale
        total += added
        if added < total * Decimal(10) ** -45:
            return total


def gradient_steps(rate, steps, N, p):
    """The same traces by the powers of 1 - rate J themselves."""
    return [float(x) for x in gradient_steps_in_digits(rate, steps, N, p)]


def gradient_steps_in_digits(rate, steps, N, p):
    """The same as Decimal numbers, of which there is no largest one."""
    with localcontext() as context:
        context.prec = DIGITS
        k, alpha, eta = min(N, p), abs(N - p), Decimal(rate)
        size = k + 4 * steps + 4
        a = [1 - eta * (2 * m + 1 + alpha) for m in range(size)]
        b = [Decimal(0), *(-eta * Decimal(m * (m + alpha)).sqrt() for m in range(1, size + 1))]

        def apply(v):  # (1 - rate J) v
            new = {}
            for m, x in v.items():
                new[m] = new.get(m, 0) + a[m] * x
                new[m + 1] = new.get(m + 1, 0) + b[m + 1] * x
                if m:
                    new[m - 1] = new.get(m - 1, 0) + b[m] * x
            return new

        def power_and_sum(v):  # (1 - rate J)^steps v, (1 - rate J)^(steps-1) v and rate sum_j (1 - rate J)^j v
            total, before = {}, v
            for _ in range(steps):
                for m, x in v.items():
                    total[m] = total.get(m, 0) + eta * x
                before, v = v, apply(v)
            return v, before, total

        def minus(v, w):
            return {m: v.get(m, 0) - w.get(m, 0) for m in {*v, *w}}

        def columns(v):  # f v, f(1-f) v, f^2 v, f^2/s v, f f' v
            power, before, _ = power_and_sum(v)
            f = minus(v, power)
            f_power, _, f_total = power_and_sum(f)
            slope, _, _ = power_and_sum(before)
            slope = {m: steps * eta * (before.get(m, 0) - slope.get(m, 0)) for m in {*before, *slope}}
            return f, f_power, minus(f, f_power), f_total, slope

        totals = [Decimal(0)] * 5
        for m in range(k):
            for i, column in enumerate(columns({m: Decimal(1)})):
                totals[i] += column.get(m, 0)
        last, weight, n = columns({k - 1: Decimal(1)}), Decimal(1), k - 1
        while n + 2 < size:
            weight *= b[n + 1] / b[n + 2]
            n += 2
            for i, column in enumerate(last):
                totals[i] += weight * column.get(n, 0)
        return totals
