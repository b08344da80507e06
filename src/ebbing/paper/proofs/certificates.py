"""Proofs of the sign of a polynomial on 0 < r < 1.

Signs are decided in integers: by Bernstein coefficients first, a cheap and sufficient test, then by Sturm sequences.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import comb

from ebbing.paper.proofs.polynomials import Poly, sign_at
from ebbing.paper.proofs.roots import Root, count_roots, isolate_roots


@lru_cache(maxsize=65536)
def sign_pattern(p: Poly) -> tuple[tuple[Root, ...], tuple[int, ...]]:
    """Return the roots of p in (0, 1) and the signs of p before, between and after them, all exact.

    Args:
        p: A polynomial.

    Returns:
        The roots, increasing, and one sign more than roots.

    Example:
        >>> roots, pattern = sign_pattern((1, -5, 6))
        >>> [str(root) for root in roots], pattern
        (['1/3', '1/2'], (1, -1, 1))
    """
    roots = isolate_roots(p) if p else ()
    while any(a.hi >= b.lo for a, b in pairwise(roots)) or (roots and (roots[0].lo == 0 or roots[-1].hi == 1)):
        roots = tuple(root.refined((root.hi - root.lo) / 2) for root in roots)
    lows, highs = [Fraction(0), *(x.hi for x in roots)], [*(x.lo for x in roots), Fraction(1)]
    return roots, tuple(sign_at(p, (lo + hi) / 2) for lo, hi in zip(lows, highs, strict=True))


def bernstein_coefficients(p: Poly, degree: int) -> Poly:
    """Return the coefficients of (1+x)^degree p(x/(1+x)).

    If none is negative and one is positive, then p > 0 on (0, 1) (Descartes' rule).

    Args:
        p: A polynomial.
        degree: Its degree or more.

    Returns:
        The coefficients (degree + 1,), zeros included.

    Example:
        >>> bernstein_coefficients((1, -1), 2)  # (1-r) of degree 2: 1 + x
        (1, 1, 0)
    """
    return tuple(sum(comb(degree - k, j - k) * c for k, c in enumerate(p[: j + 1])) for j in range(degree + 1))


@dataclass(frozen=True)
class Certificate:
    """The proved sign of a polynomial on 0 < r < 1.

    Attributes:
        polynomial: The polynomial.
        verdict: "positive", "zero" (a tie at every r), "touches zero" (positive except at isolated r) or "negative
            somewhere".
        method: The argument of the proof: "identity", "Bernstein" or "Sturm".
        zeros: The roots in (0, 1).
        negative: The maximal intervals of r where the polynomial is negative, each as (left, right) with None for the
            ends 0 and 1.
    """

    polynomial: Poly
    verdict: str
    method: str
    zeros: tuple[Root, ...] = ()
    negative: tuple[tuple[Root | None, Root | None], ...] = ()

    @property
    def positive(self) -> bool:
        """Whether the polynomial is proved positive on the whole open interval."""
        return self.verdict == "positive"


def prove_positive(p: Poly) -> Certificate:
    """Prove p > 0 on 0 < r < 1, or find where it fails.

    Args:
        p: A polynomial.

    Returns:
        The proof, or the exact intervals on which p is negative.

    Example:
        >>> prove_positive((0, 1, -2, 2, -2, 1)).verdict  # Table validate_2_groups_6, row 6
        'positive'
        >>> wrong = prove_positive((0, 1, -2, -2, -2, 1))  # one sign changed
        >>> wrong.verdict, [(str(left), right) for left, right in wrong.negative]
        ('negative somewhere', [('0.346014', None)])
    """
    if not p:
        return Certificate(p, "zero", "identity")
    if min(bernstein_coefficients(p, len(p) - 1)) >= 0:
        return Certificate(p, "positive", "Bernstein")
    if count_roots(p) == 0 and sign_at(p, Fraction(1, 2)) > 0:
        return Certificate(p, "positive", "Sturm")
    zeros, pattern = sign_pattern(p)
    if min(pattern) > 0:
        return Certificate(p, "touches zero", "Sturm", zeros)
    ends = (None, *zeros, None)
    runs = [(ends[k], ends[k + 1]) for k, s in enumerate(pattern) if s < 0]
    return Certificate(p, "negative somewhere", "Sturm", zeros, tuple(runs))
