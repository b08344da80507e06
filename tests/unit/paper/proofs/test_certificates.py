"""Proofs of signs on (0, 1), checked against exact sign patterns."""

import random
from fractions import Fraction
from itertools import pairwise

import pytest
from random_polynomials import linear, random_polynomial, times, value

from ebbing.paper.proofs.certificates import bernstein_coefficients, prove_positive, sign_pattern


def test_sign_pattern_of_known_rational_roots_is_exact():
    rng = random.Random(2)
    for _ in range(400):
        inside = [Fraction(rng.randint(1, 19), 20) for _ in range(rng.randint(0, 4))]
        ends = [Fraction(rng.choice([0, 1, -1, 2])) for _ in range(rng.randint(0, 3))]
        p = times((rng.choice([-1, 2]),), *map(linear, inside + ends))
        roots, pattern = sign_pattern(p)
        assert [x.lo for x in roots] == sorted(set(inside))
        assert all(x.lo == x.hi for x in roots)
        cuts = [Fraction(0), *sorted(set(inside)), Fraction(1)]
        for (a, b), s in zip(pairwise(cuts), pattern, strict=True):
            v = value(p, (2 * a + b) / 3)
            assert s == (v > 0) - (v < 0)


def test_prove_positive_agrees_with_the_sign_pattern():
    rng = random.Random(3)
    seen = set()
    for _ in range(2000):
        p = random_polynomial(rng)
        proof = prove_positive(p)
        seen.add((proof.verdict, proof.method))
        roots, pattern = sign_pattern(p)
        assert proof.positive == (not roots and pattern == (1,))
        assert (proof.verdict == "touches zero") == (bool(roots) and min(pattern) > 0)
        assert len(proof.negative) == sum(s < 0 for s in pattern)
        for left, right in proof.negative:  # a rational point of each interval of the counterexample
            lo, hi = left.hi if left else Fraction(0), right.lo if right else Fraction(1)
            assert lo < hi
            assert value(p, (lo + hi) / 2) < 0
    assert len(seen) == 4, seen  # every verdict and method occurred


def test_prove_positive_calls_the_zero_polynomial_a_tie():
    assert prove_positive(()).verdict == "zero"
    assert not prove_positive(()).positive


@pytest.mark.parametrize(
    ("p", "verdict"),
    [
        ((1, -4, 4), "touches zero"),  # (1-2r)^2
        ((0, 1, -1), "positive"),  # r(1-r): roots at the ends only
        (times((0, 1), (0, 1), (1, -1), (1, -1), (1, -1)), "positive"),
        (times((1, -1), (-1, 2), (-1, 2), (-1, 2)), "negative somewhere"),  # triple root: the sign changes
        ((10001, -20000, 10000), "positive"),  # 10^4 (1-r)^2 + 1
        ((2501, -10000, 10000), "positive"),  # 10^4 (r - 1/2)^2 + 1: Bernstein fails, Sturm decides
        ((2499, -10000, 10000), "negative somewhere"),
        ((-1,), "negative somewhere"),
        ((7,), "positive"),
    ],
)
def test_prove_positive_decides_narrow_cases(p, verdict):
    assert prove_positive(p).verdict == verdict


def test_bernstein_coefficients_are_those_of_the_substitution():
    rng = random.Random(4)
    for _ in range(200):
        p = random_polynomial(rng)
        n = len(p) - 1 + rng.randint(0, 3)
        x = Fraction(rng.randint(0, 30), rng.randint(1, 9))
        assert value(bernstein_coefficients(p, n), x) == (1 + x) ** n * value(p, x / (1 + x))
