"""Roots of polynomials, checked against SymPy and against polynomials of known roots."""

import random
from fractions import Fraction
from typing import Any

import pytest
import sympy
from random_polynomials import linear, random_polynomial, times, value

from ebbing.paper.proofs.certificates import prove_positive
from ebbing.paper.proofs.polynomials import Poly
from ebbing.paper.proofs.roots import Root, count_roots, isolate_roots


def as_sympy(p: Poly) -> Any:
    return sympy.Poly(list(reversed(p)), sympy.Symbol("r"))


def test_count_roots_equals_sympy():
    rng = random.Random(0)
    for _ in range(4000):
        p = random_polynomial(rng)
        a, b = sorted(rng.sample([Fraction(k, 12) for k in range(-6, 19)], 2))
        a, b = rng.choice([(Fraction(0), Fraction(1)), (a, b)])
        closed = as_sympy(p).count_roots(
            sympy.Rational(a.numerator, a.denominator), sympy.Rational(*b.as_integer_ratio())
        )
        assert count_roots(p, a, b) == closed - (value(p, a) == 0) - (value(p, b) == 0), (p, a, b)


def test_isolate_roots_equals_sympy():
    rng = random.Random(1)
    for _ in range(150):
        p = random_polynomial(rng)
        expected = sorted({x for x in as_sympy(p).real_roots() if 0 < x < 1})
        roots = isolate_roots(p)
        assert len(roots) == len(expected), p
        for root, x in zip(roots, expected, strict=True):
            assert abs(float(root) - float(x)) < 1e-12
            if x.is_Rational:
                assert root.lo == root.hi == Fraction(int(x.p), int(x.q))


def test_root_refines_to_the_requested_width():
    ((left, right),) = prove_positive((2498, -10000, 10000)).negative  # 10^4 (r - 1/2)^2 < 2
    assert left is not None
    assert right is not None
    width = Fraction(1, 10**40)
    for root, sign in ((left, -1), (right, 1)):
        close = root.refined(width)
        assert 0 < close.hi - close.lo <= width
        inner, outer = sorted(sign * (100 * x - 50) for x in (close.lo, close.hi))
        assert 0 < inner**2 < 2 < outer**2  # sqrt 2 stands between them


def test_roots_of_different_polynomials_compare_exactly():
    sqrt_half = isolate_roots((-1, 0, 2))[0]
    same = isolate_roots(times((-1, 0, 2), (-1, 3), (-1, 1, 1)))
    assert [sqrt_half.compare(x) for x in same] == [1, 1, 0]
    assert same[2].compare(sqrt_half) == 0
    exact = Root(linear(Fraction(7071, 10000)), Fraction(7071, 10000), Fraction(7071, 10000))
    assert sqrt_half.compare(exact) == 1
    assert exact.compare(sqrt_half) == -1


def test_count_roots_of_the_zero_polynomial_raises_an_error():
    with pytest.raises(ValueError, match="zero polynomial"):
        count_roots(())
