r"""Exact polynomials in r: the forgetting of an order of categories, and proofs of its sign on 0 < r < 1.

Notation
    r     = 1 - n/p, the overparameterized ratio, 0 < r < 1
    o     an order: o_i is the category of the task learned at place i = 1..T
    m_k   the number of tasks in category k
    c_ij  = (1 - r)(r^{T-i} - r^{j-i} + r^{T-j}), eq. (cij)

Setting (Sec. "The impact of task ordering"): equal n, sigma and norms, so Terms F1 and F3 of Theorem 1 do not
depend on the order, and d_ij = 1 between categories, 0 within one.

Normalization. F2 = 1/(T-1) sum_{i<j} c_ij d_ij carries the positive factor (1-r)/(T-1), which the paper's tables drop:
    f(o) = (T-1)/(1-r) F2(o) = sum_{i<j, o_i != o_j} (r^{T-i} + r^{T-j} - r^{j-i}).
A table row prints f(o) - f(alternating). With equal counts the terms r^{T-i} + r^{T-j} sum to the same for every order
and cancel; with unequal counts they do not (proof of Prop. order2 needs equal counts there), so they are kept here:
    f(o) = g(o) - sum_{i<j, o_i != o_j} r^{j-i},   g(o) = sum_i r^{T-i} (T - m_{o_i}) = T/(1-r) G2(o).

A polynomial is a tuple of Python ints, lowest power first, no trailing zeros; () is the zero polynomial.
Every sign below is decided in integers: Bernstein coefficients first (cheap and sufficient), then Sturm sequences.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key, lru_cache
from itertools import pairwise
from math import comb, gcd

Poly = tuple[int, ...]


# --- the polynomials of an order ---------------------------------------------------------------------------------


def generalization_polynomial(order: Sequence) -> Poly:
    """g(o) = T/(1-r) G2(o) = sum_i r^{T-i} (T - m_{o_i}): Theorem 1, eq. (general_close), Term G2.

    >>> generalization_polynomial("ABB")  # the special task first: 1 + r + 2r^2
    (1, 1, 2)
    """
    T, m = len(order), Counter(order)
    return trim(T - m[k] for k in reversed(order))


def forgetting_polynomial(order: Sequence) -> Poly:
    """f(o) = (T-1)/(1-r) F2(o): Theorem 1, eq. (forget_close), Term F2.

    >>> forgetting_polynomial("ABAB")  # 2 + 2r + 2r^2 + 2r^3 less the paper's r + r^3 + r + r
    (2, -1, 2, 1)
    """
    T = len(order)
    f = list(generalization_polynomial(order)) + [0] * T
    for i in range(T):
        for j in range(i + 1, T):
            f[j - i] -= order[i] != order[j]
    return trim(f)


def difference(order: Sequence, reference: Sequence) -> Poly:
    """f(order) - f(reference), the third column of the paper's tables: positive where `order` forgets more.

    >>> difference("AABABB", "ABABAB")  # Table validate_2_groups_6, row 2: r(2 - 2r + 2r^2 - 2r^3)
    (0, 2, -2, 2, -2)
    """
    if sorted(Counter(order).values()) != sorted(Counter(reference).values()):
        raise ValueError(f"order {order!r} and reference {reference!r} must have the same category counts")
    return subtract(forgetting_polynomial(order), forgetting_polynomial(reference))


# --- integer arithmetic ------------------------------------------------------------------------------------------


def trim(coefficients: Iterable[int]) -> Poly:
    """Drop trailing zeros (and turn NumPy integers into Python's).

    >>> trim([1, 2, 0])
    (1, 2)
    """
    p = [int(c) for c in coefficients]
    while p and not p[-1]:
        p.pop()
    return tuple(p)


def subtract(p: Poly, q: Poly) -> Poly:
    """p - q.

    >>> subtract((1, 2), (1, 0, 3))
    (0, 2, -3)
    """
    n = max(len(p), len(q))
    return trim(a - b for a, b in zip(p + (0,) * (n - len(p)), q + (0,) * (n - len(q)), strict=True))


def sign_at(p: Poly, x: Fraction) -> int:
    """The sign of p(x), by Horner's rule on numerator and denominator.

    >>> sign_at((-1, 3), Fraction(1, 3))
    0
    """
    value, scale = 0, 1
    for c in reversed(p):
        value = value * x.numerator + c * scale
        scale *= x.denominator
    return (value > 0) - (value < 0)


def _derivative(p: Poly) -> Poly:
    return tuple(k * c for k, c in enumerate(p))[1:]


def _primitive(p: Poly) -> Poly:
    content = gcd(*p)
    return tuple(c // content for c in p) if content > 1 else p


def _divide(p: Poly, q: Poly) -> tuple[Poly, Poly]:
    """Quotient and remainder of p by q, each times one positive integer and then made primitive (signs are kept)."""
    quotient, rest, lead = [0] * max(len(p) - len(q) + 1, 0), list(p), q[-1]
    for shift in reversed(range(len(quotient))):
        top = rest[shift + len(q) - 1] * (1 if lead > 0 else -1)
        quotient = [c * abs(lead) for c in quotient]
        quotient[shift] = top
        rest = [c * abs(lead) for c in rest]
        for k, c in enumerate(q):
            rest[shift + k] -= top * c
    return _primitive(trim(quotient)), _primitive(trim(rest))


def _common(p: Poly, q: Poly) -> Poly:
    """A greatest common divisor, by Euclid's algorithm."""
    while q:
        p, q = q, _divide(p, q)[1]
    return _primitive(p)


def squarefree(p: Poly) -> Poly:
    """The polynomial with the same roots, each once: p / gcd(p, p').

    >>> squarefree((1, -3, 3, -1))  # (1-r)^3
    (-1, 1)
    """
    return _divide(p, _common(p, _derivative(p)))[0]


# --- Sturm sequences: counting and isolating roots ---------------------------------------------------------------


@lru_cache(maxsize=4096)
def sturm_sequence(p: Poly) -> tuple[Poly, ...]:
    """p, p', then minus the remainders (each up to a positive factor), for squarefree p.

    >>> sturm_sequence((-1, 0, 2))
    ((-1, 0, 2), (0, 1), (1,))
    """
    chain = [_primitive(p), _primitive(_derivative(p))]
    while chain[-1]:
        chain.append(tuple(-c for c in _divide(chain[-2], chain[-1])[1]))
    return tuple(chain[:-1])


def _variations(chain: tuple[Poly, ...], x: Fraction) -> int:
    signs = [s for q in chain if (s := sign_at(q, x))]
    return sum(a != b for a, b in pairwise(signs))


def count_roots(p: Poly, a: Fraction = Fraction(0), b: Fraction = Fraction(1)) -> int:
    """The number of distinct roots of p in the open interval (a, b): Sturm's theorem.

    >>> count_roots((0, 1, -3, 2)), count_roots((1, -4, 4))  # r(1-r)(1-2r) and (1-2r)^2
    (1, 1)
    """
    if not p:
        raise ValueError("the zero polynomial has every number as a root; test `p == ()` first")
    chain = sturm_sequence(squarefree(p))
    return _variations(chain, a) - _variations(chain, b) - (sign_at(p, b) == 0)  # Sturm counts (a, b]


@dataclass(frozen=True)
class Root:
    """A real algebraic number: the only root of `polynomial` (squarefree) in (lo, hi), or lo = hi, the root itself."""

    polynomial: Poly
    lo: Fraction
    hi: Fraction

    def refined(self, width: Fraction) -> "Root":
        """The same number in an interval no wider than `width`, by bisection."""
        lo, hi, left = self.lo, self.hi, sign_at(self.polynomial, self.lo)
        while hi - lo > width:
            middle = (lo + hi) / 2
            s = sign_at(self.polynomial, middle)
            lo, hi = (middle, middle) if s == 0 else (middle, hi) if s == left else (lo, middle)
        return Root(self.polynomial, lo, hi)

    def compare(self, other: "Root") -> int:
        """-1, 0 or 1 as this number is less than, equal to or greater than the other."""
        a, b = self, other
        both = _common(a.polynomial, b.polynomial)
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


def isolate_roots(p: Poly, width: Fraction = Fraction(1, 2**20)) -> tuple[Root, ...]:
    """The distinct roots of p in (0, 1), increasing, in disjoint intervals; rational roots are found exactly.

    >>> [str(root) for root in isolate_roots((0, 1, -5, 6))], float(isolate_roots((-1, 0, 2))[0])
    (['1/3', '1/2'], 0.7071067811865476)
    """
    s = squarefree(p)
    roots, intervals = [], [(Fraction(0), Fraction(1))]
    for end in (Fraction(0), Fraction(1)):
        if sign_at(s, end) == 0:
            s = _divide(s, (-end.numerator, end.denominator))[0]
    while intervals:
        lo, hi = intervals.pop()
        if not (count := count_roots(s, lo, hi)):
            continue
        middle = (lo + hi) / 2
        if sign_at(s, middle) == 0:
            roots.append(Root((-middle.numerator, middle.denominator), middle, middle))
            s = _divide(s, roots[-1].polynomial)[0]
            intervals.append((lo, hi))
        elif count == 1:
            roots.append(_recognized(Root(s, lo, hi).refined(min(width, Fraction(1, 2 * s[-1] ** 2)))))
        else:
            intervals += [(lo, middle), (middle, hi)]
    return tuple(sorted(roots, key=cmp_to_key(Root.compare)))


def _recognized(root: Root) -> Root:
    """A rational root has a denominator dividing the leading coefficient: the only candidate is tried."""
    guess = ((root.lo + root.hi) / 2).limit_denominator(abs(root.polynomial[-1]))
    if sign_at(root.polynomial, guess) == 0 and root.lo <= guess <= root.hi:
        return Root((-guess.numerator, guess.denominator), guess, guess)
    return root


# --- signs on (0, 1) and their certificates ----------------------------------------------------------------------


@lru_cache(maxsize=65536)
def signs(p: Poly) -> tuple[tuple[Root, ...], tuple[int, ...]]:
    """The roots of p in (0, 1) and the sign of p before, between and after them, all exact.

    >>> roots, pattern = signs((1, -5, 6))
    >>> [str(root) for root in roots], pattern
    (['1/3', '1/2'], (1, -1, 1))
    """
    roots = isolate_roots(p) if p else ()
    while any(a.hi >= b.lo for a, b in pairwise(roots)) or (roots and (roots[0].lo == 0 or roots[-1].hi == 1)):
        roots = tuple(root.refined((root.hi - root.lo) / 2) for root in roots)
    lows, highs = [Fraction(0), *(x.hi for x in roots)], [*(x.lo for x in roots), Fraction(1)]
    return roots, tuple(sign_at(p, (lo + hi) / 2) for lo, hi in zip(lows, highs, strict=True))


def bernstein(p: Poly, degree: int) -> Poly:
    """The coefficients of (1+x)^degree p(x/(1+x)): none negative, one positive => p > 0 on (0, 1) (Descartes' rule).

    >>> bernstein((1, -1), 2)  # (1-r) of degree 2: 1 + x
    (1, 1, 0)
    """
    return tuple(sum(comb(degree - k, j - k) * c for k, c in enumerate(p[: j + 1])) for j in range(degree + 1))


@dataclass(frozen=True)
class Certificate:
    """What is proved about the sign of a polynomial on 0 < r < 1.

    `verdict` is "positive", "zero" (a tie at every r), "touches zero" (positive but at isolated r) or "negative
    somewhere"; `method` names the argument; `negative` lists the maximal intervals of r where the polynomial is
    negative, each as (left, right) with None for the ends 0 and 1; `zeros` lists its roots in (0, 1).
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
    """Prove p > 0 on 0 < r < 1, or say exactly where it fails.

    >>> prove_positive((0, 1, -2, 2, -2, 1)).verdict  # Table validate_2_groups_6, row 6
    'positive'
    >>> wrong = prove_positive((0, 1, -2, -2, -2, 1))  # one sign changed
    >>> wrong.verdict, [(str(left), right) for left, right in wrong.negative]
    ('negative somewhere', [('0.346014', None)])
    """
    if not p:
        return Certificate(p, "zero", "identity")
    if min(bernstein(p, len(p) - 1)) >= 0:
        return Certificate(p, "positive", "Bernstein")
    if count_roots(p) == 0 and sign_at(p, Fraction(1, 2)) > 0:
        return Certificate(p, "positive", "Sturm")
    zeros, pattern = signs(p)
    if min(pattern) > 0:
        return Certificate(p, "touches zero", "Sturm", zeros)
    ends = (None, *zeros, None)
    runs = [(ends[k], ends[k + 1]) for k, s in enumerate(pattern) if s < 0]
    return Certificate(p, "negative somewhere", "Sturm", zeros, tuple(runs))
