"""Second moments of what the disagreement and the noise of a step do to the weights: exact rational numbers.

A step learns N samples x_a of several tasks to the end. With c the mean of their ground truths, h_a = w*_j(a) - c and
u_a = <x_a, h_a> + z_a, it leads from w to c + (I - P)(w - c) + e, e = X^+ u. Since sum_a h_a = 0, all that matters of
the samples are sums over them (docs/theory/steps.md, section 6, has the derivation)

    D1 = sum |h_a|^2    D2 = sum |h_a|^4    H = sum h_a h_a'    D3 = tr H^2    S1 = sum s_a^2    S2 = sum s_a^4

    Var |e|^2              = dd D1^2 + fourth D2 + crossed D3 + ds D1 S1 + both sum s_a^2 |h_a|^2 + ss S1^2 + noisy S2
    E |e|^2 <e, g>         = third sum |h_a|^2 <h_a, g> + third_noise sum s_a^2 <h_a, g>
    E <e, g> <e, g'>       = (even D1 + even_noise S1) <g, g'> + along g'Hg'
    Cov(x'(I-P)g, |e|^2)   = 2 shared (D1 <x, g> / p - x'Hg)

The coefficients are quotients of whole numbers, which Python divides exactly: nothing cancels, even at p = 10^12.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MixtureMoments:
    """The coefficients of this module's formulas, for N samples and p parameters with |p - N| > 3."""

    dd: float
    fourth: float
    crossed: float
    ds: float
    both: float
    ss: float
    noisy: float
    third: float
    third_noise: float
    even: float
    even_noise: float
    along: float
    shared: float

    @classmethod
    def of(cls, N: int, p: int) -> MixtureMoments:
        """Return the coefficients."""
        return _over(N, p) if p > N else _of_a_line(N) if p == 1 else _under(N, p)


def _over(N: int, p: int) -> MixtureMoments:
    a = p - N - 1
    return MixtureMoments(
        dd=2 * (p**4 - p**3 - 6 * p**2 + 9 * p - 3 + N * (3 * p - 1)) / (p**2 * (p - 1) * (p + 2) * (a - 2) * a**2),
        fourth=2 * (p - 3) * (p - 1) / (p * (p + 2) * (a - 2) * a),
        crossed=2 * (3 * p - 1) / (p * (p - 1) * (p + 2) * (a - 2) * a),
        ds=4 * (p - 1) / (p * (a - 2) * a**2),
        both=4 * (p - 3) / (p * (a - 2) * a),
        ss=2 / ((a - 2) * a**2),
        noisy=2 / ((a - 2) * a),
        third=2 * (p - 1) / (p * (p + 2) * a),
        third_noise=2 / (p * a),
        even=(p**2 - p + N) / (p * (p - 1) * (p + 2) * a),
        even_noise=1 / (p * a),
        along=((p - 1) * (p - 2) - N * p) / (p * (p - 1) * (p + 2) * a),
        shared=(p - N) / (p * (p + 2) * a),
    )


def _under(N: int, p: int) -> MixtureMoments:
    a, M = N - p - 1, N * (N - 1) * (N + 2)
    dd = (
        N**8 * (p + 2)
        - N**7 * (p**2 + 7 * p + 18)
        + N**6 * (p**3 + 17 * p**2 + 24 * p - 21)
        - N**5 * (4 * p**3 - 9 * p**2 - 21 * p + 12)
        - N**4 * (17 * p**3 + 131 * p**2 + 179 * p - 51)
        + N**3 * (42 * p**3 + 318 * p**2 + 994 * p + 1150)
        - N**2 * (84 * p**3 + 748 * p**2 + 2508 * p + 2612)
        + N * (88 * p**3 + 1016 * p**2 + 2536 * p + 1608)
        - (96 * p**3 + 480 * p**2 + 672 * p + 288)
    )
    fourth = (
        N**3 * (p + 3) * (p + 5)
        - N**2 * (3 * p**2 + 40 * p + 125)
        + N * (6 * p**2 + 96 * p + 234)
        - 24 * (p + 1) * (p + 3)
    )
    crossed = (
        N**4
        - N**3 * (8 * p + 21)
        + N**2 * (10 * p**2 + 72 * p + 148)
        - N * (28 * p**2 + 128 * p + 180)
        - (16 * p**2 - 32 * p - 48)
    )
    ds = (
        N**4 * (p + 1)
        - N**3 * (p**2 + 5 * p + 12)
        + N**2 * (p**3 + 11 * p**2 + 29 * p + 15)
        - N * (3 * p**3 + 24 * p**2 + 41 * p + 4)
        + 4 * p * (p + 1) * (p + 3)
    )
    return MixtureMoments(
        dd=2 * dd / (M**2 * (N - 2) * (N + 4) * (N + 6) * a**2 * (a - 2)),
        fourth=2 * fourth / (M * (N + 4) * (N + 6) * a * (a - 2)),
        crossed=2 * crossed / (M * (N - 2) * (N + 4) * (N + 6) * a * (a - 2)),
        ds=4 * ds / (N * M * (N + 4) * a**2 * (a - 2)),
        both=4 * (p + 2) * (N**2 * (p + 3) - N * (3 * p + 17) + 4 * p + 12) / (M * (N + 4) * a * (a - 2)),
        ss=2 * p * (N**2 - N * p - N + p**2 + 3 * p) / (N**2 * (N + 2) * a**2 * (a - 2)),
        noisy=2 * p * (p + 2) / (N * (N + 2) * a * (a - 2)),
        third=2 * (N**2 * (p + 3) - N * (p + 11) + 4 * p + 4) / (M * (N + 4) * a),
        third_noise=2 * (p + 2) / (N * (N + 2) * a),
        even=N**2 / (M * a),
        even_noise=1 / (N * a),
        along=(N**2 - N * (p + 5) + 2 * p + 2) / (M * a),
        shared=0.0,
    )


def _of_a_line(N: int) -> MixtureMoments:
    """Return the coefficients for p = 1: disagreement leads to a mean with weights x_a^2, which has all moments.

    There D3 = D1^2, so that `crossed` may be part of `dd`. The noise takes N > 4; below, its coefficients are zero.
    """
    line = N * (N + 2) * (N + 4)
    noise = _under(N, 1) if N > 4 else None
    return MixtureMoments(
        dd=12 / (line * (N + 6)) - 4 / (N * (N + 2)) ** 2,
        fourth=48 / (line * (N + 6)),
        crossed=0.0,
        ds=noise.ds if noise else 0.0,
        both=noise.both if noise else 0.0,
        ss=noise.ss if noise else 0.0,
        noisy=noise.noisy if noise else 0.0,
        third=8 / line,
        third_noise=noise.third_noise if noise else 0.0,
        even=0.0,
        even_noise=noise.even_noise if noise else 0.0,
        along=2 / (N * (N + 2)),
        shared=0.0,
    )
