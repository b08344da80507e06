"""Real roots of integer polynomials, exactly: counted and isolated by Sturm sequences."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key, lru_cache
from itertools import pairwise

from ebbing.paper.proofs.polynomials import (
    Poly,
    derivative,
    divide,
    greatest_common_divisor,
    primitive_part,
    sign_at,
    squarefree,
)

_WIDTH = Fraction(1, 2**20)
"""The largest width of the interval around an irrational root."""


@lru_cache(maxsize=4096)
def sturm_sequence(p: Poly) -> tuple[Poly, ...]:
    """Return the Sturm sequence p, p', then minus the remainders, each up to a positive factor.

    Args:
        p: A squarefree polynomial.

    Returns:
        The sequence.

    Example:
        >>> sturm_sequence((-1, 0, 2))
        ((-1, 0, 2), (0, 1), (1,))
    """
    chain = [primitive_part(p), primitive_part(derivative(p))]
    while chain[-1]:
        chain.append(tuple(-c for c in divide(chain[-2], chain[-1])[1]))
    return tuple(chain[:-1])


def _variations(chain: tuple[Poly, ...], x: Fraction) -> int:
    signs = [s for q in chain if (s := sign_at(q, x))]
    return sum(a != b for a, b in pairwise(signs))


def count_roots(p: Poly, a: Fraction = Fraction(0), b: Fraction = Fraction(1)) -> int:
    """Count the distinct roots of p in the open interval (a, b), by Sturm's theorem.

    Args:
        p: A polynomial other than zero.
        a: The left end.
        b: The right end.

    Returns:
        The number of roots.

    Raises:
        ValueError: If p is zero.

    Example:
        >>> count_roots((0, 1, -3, 2)), count_roots((1, -4, 4))  # r(1-r)(1-2r) and (1-2r)^2
        (1, 1)
    """
    if not p:
        raise ValueError("p=(): every number is a root of the zero polynomial; test for it first")
    chain = sturm_sequence(squarefree(p))
    return _variations(chain, a) - _variations(chain, b) - (sign_at(p, b) == 0)  # Sturm counts (a, b]


@dataclass(frozen=True)
class Root:
    """A real algebraic number.

    Attributes:
        polynomial: A squarefree polynomial of which it is the only root in (lo, hi).
        lo: The left end of the interval.
        hi: The right end; equal to `lo` if the root is known to be that rational number.
    """

    polynomial: Poly
    lo: Fraction
    hi: Fraction

    def refined(self, width: Fraction) -> "Root":
        """Return the same number in a smaller interval, by bisection.

        Args:
            width: The largest width of the interval.

        Returns:
            The refined root.
        """
        lo, hi, left = self.lo, self.hi, sign_at(self.polynomial, self.lo)
        while hi - lo > width:
            middle = (lo + hi) / 2
            s = sign_at(self.polynomial, middle)
            lo, hi = (middle, middle) if s == 0 else (middle, hi) if s == left else (lo, middle)
        return Root(self.polynomial, lo, hi)

    def compare(self, other: "Root") -> int:
        """Compare two numbers exactly.

        Args:
            other: Another algebraic number.

        Returns:
            -1, 0 or 1 as this number is less than, equal to or greater than the other.
        """
        a, b = self, other
        both = greatest_common_divisor(a.polynomial, b.polynomial)
        while max(a.lo, b.lo) <= min(a.hi, b.hi):
            lo, hi = max(a.lo, b.lo), min(a.hi, b.hi)
            if sign_at(both, lo) == 0 or (lo < hi and count_roots(both, lo, hi)):
                return 0
            a, b = a.refined((a.hi - a.lo) / 4), b.refined((b.hi - b.lo) / 4)
        return -1 if a.hi < b.lo else 1

    def __float__(self) -> float:
        close = self.refined(Fraction(1, 2**60))
        return float((close.lo + close.hi) / 2)

    def __str__(self) -> str:
        return str(self.lo) if self.lo == self.hi else f"{float(self):.6f}"


def isolate_roots(p: Poly) -> tuple[Root, ...]:
    """Find the distinct roots of p in (0, 1).

    Args:
        p: A polynomial other than zero.

    Returns:
        The roots, increasing, in disjoint intervals; rational roots are found exactly.

    Example:
        >>> [str(root) for root in isolate_roots((0, 1, -5, 6))], float(isolate_roots((-1, 0, 2))[0])
        (['1/3', '1/2'], 0.7071067811865476)
    """
    s = squarefree(p)
    roots, intervals = [], [(Fraction(0), Fraction(1))]
    for end in (Fraction(0), Fraction(1)):
        if sign_at(s, end) == 0:
            s = divide(s, (-end.numerator, end.denominator))[0]
    while intervals:
        lo, hi = intervals.pop()
        if not (count := count_roots(s, lo, hi)):
            continue
        middle = (lo + hi) / 2
        if sign_at(s, middle) == 0:
            roots.append(Root((-middle.numerator, middle.denominator), middle, middle))
            s = divide(s, roots[-1].polynomial)[0]
            intervals.append((lo, hi))
        elif count == 1:
            roots.append(_recognize_rational(Root(s, lo, hi).refined(min(_WIDTH, Fraction(1, 2 * s[-1] ** 2)))))
        else:
            intervals += [(lo, middle), (middle, hi)]
    return tuple(sorted(roots, key=cmp_to_key(Root.compare)))


def _recognize_rational(root: Root) -> Root:
    """Return the root as a fraction if it is one: its denominator then divides the leading coefficient."""
    guess = ((root.lo + root.hi) / 2).limit_denominator(abs(root.polynomial[-1]))
    if sign_at(root.polynomial, guess) == 0 and root.lo <= guess <= root.hi:
        return Root((-guess.numerator, guess.denominator), guess, guess)
    return root
