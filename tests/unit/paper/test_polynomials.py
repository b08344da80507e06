"""The exact machine under the order propositions: signs, roots and certificates, checked against independent ways."""

import random
from fractions import Fraction
from itertools import pairwise
from math import comb, prod
from typing import Any

import numpy as np
import pytest
import sympy

from ebbing.paper.proofs import categories, polynomials
from ebbing.paper.proofs.polynomials import Poly, Root, count_roots, isolate_roots, prove_positive, signs, trim

HALF = Fraction(1, 2)


def value(p: Poly, x: Fraction) -> Fraction:
    return sum((c * x**k for k, c in enumerate(p)), Fraction(0))


def times(*factors: Poly) -> Poly:
    out = [1]
    for f in factors:
        new = [0] * (len(out) + len(f) - 1)
        for i, a in enumerate(out):
            for j, b in enumerate(f):
                new[i + j] += a * b
        out = new
    return trim(out)


def linear(x: Fraction) -> Poly:
    return (-x.numerator, x.denominator)


def random_polynomial(rng: random.Random) -> Poly:
    """Dense ones, and products with repeated roots, roots at 0 and at 1, and irreducible quadratics."""
    if rng.random() < 0.4:
        p = trim(rng.randint(-9, 9) for _ in range(rng.randint(1, 10)))
        return p or (1,)
    pool = [(0, 1), (1, -1), (-1, 2), (-1, 3), (-2, 3), (-5, 7), (1, 1), (2, -3, 2), (-1, 1, 1), (1, -4, 1), (-1, 0, 2)]
    return times((rng.choice([-2, -1, 1, 3]),), *rng.choices(pool, k=rng.randint(1, 6)))


def as_sympy(p: Poly) -> Any:
    return sympy.Poly(list(reversed(p)), sympy.Symbol("r"))


def test_count_roots_equals_sympy_on_thousands_of_polynomials():
    rng = random.Random(0)
    for _ in range(4000):
        p = random_polynomial(rng)
        a, b = sorted(rng.sample([Fraction(k, 12) for k in range(-6, 19)], 2))
        a, b = rng.choice([(Fraction(0), Fraction(1)), (a, b)])
        closed = as_sympy(p).count_roots(
            sympy.Rational(a.numerator, a.denominator), sympy.Rational(*b.as_integer_ratio())
        )
        assert count_roots(p, a, b) == closed - (value(p, a) == 0) - (value(p, b) == 0), (p, a, b)


def test_isolated_roots_equal_sympy():
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


def test_known_rational_roots_are_found_exactly_with_the_right_signs():
    rng = random.Random(2)
    for _ in range(400):
        inside = [Fraction(rng.randint(1, 19), 20) for _ in range(rng.randint(0, 4))]
        ends = [Fraction(rng.choice([0, 1, -1, 2])) for _ in range(rng.randint(0, 3))]
        p = times((rng.choice([-1, 2]),), *map(linear, inside + ends))
        roots, pattern = signs(p)
        assert [x.lo for x in roots] == sorted(set(inside))
        assert all(x.lo == x.hi for x in roots)
        cuts = [Fraction(0), *sorted(set(inside)), Fraction(1)]
        for (a, b), s in zip(pairwise(cuts), pattern, strict=True):
            v = value(p, (2 * a + b) / 3)
            assert s == (v > 0) - (v < 0)


def test_prove_positive_gives_the_verdict_of_the_exact_sign_pattern():
    rng = random.Random(3)
    seen = set()
    for _ in range(2000):
        p = random_polynomial(rng)
        proof = prove_positive(p)
        seen.add((proof.verdict, proof.method))
        roots, pattern = signs(p)
        assert proof.positive == (not roots and pattern == (1,))
        assert (proof.verdict == "touches zero") == (bool(roots) and min(pattern) > 0)
        assert len(proof.negative) == sum(s < 0 for s in pattern)
        for left, right in proof.negative:  # a rational point of each interval of the counterexample
            lo, hi = left.hi if left else Fraction(0), right.lo if right else Fraction(1)
            assert lo < hi
            assert value(p, (lo + hi) / 2) < 0
    assert len(seen) == 4, seen  # every verdict and method occurred


def test_zero_polynomial_is_a_tie():
    assert prove_positive(()).verdict == "zero"
    assert not prove_positive(()).positive
    with pytest.raises(ValueError, match="zero polynomial"):
        count_roots(())


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
def test_narrow_cases(p, verdict):
    assert prove_positive(p).verdict == verdict


def test_counterexample_interval_refines_to_the_requested_precision():
    ((left, right),) = prove_positive((2498, -10000, 10000)).negative  # 10^4 (r - 1/2)^2 < 2
    assert left is not None
    assert right is not None
    width = Fraction(1, 10**40)
    for root, sign in ((left, -1), (right, 1)):
        close = root.refined(width)
        assert 0 < close.hi - close.lo <= width
        inner, outer = sorted(sign * (100 * x - 50) for x in (close.lo, close.hi))
        assert 0 < inner**2 < 2 < outer**2  # sqrt 2 stands between them


def test_roots_compare_across_polynomials():
    sqrt_half = isolate_roots((-1, 0, 2))[0]
    same = isolate_roots(times((-1, 0, 2), (-1, 3), (-1, 1, 1)))
    assert [sqrt_half.compare(x) for x in same] == [1, 1, 0]
    assert same[2].compare(sqrt_half) == 0
    exact = Root(linear(Fraction(7071, 10000)), Fraction(7071, 10000), Fraction(7071, 10000))
    assert sqrt_half.compare(exact) == 1
    assert exact.compare(sqrt_half) == -1


def test_bernstein_is_the_substitution():
    rng = random.Random(4)
    for _ in range(200):
        p = random_polynomial(rng)
        n = len(p) - 1 + rng.randint(0, 3)
        x = Fraction(rng.randint(0, 30), rng.randint(1, 9))
        assert value(polynomials.bernstein(p, n), x) == (1 + x) ** n * value(p, x / (1 + x))


def test_vectorised_bernstein_never_accepts_what_sturm_refuses():
    rng = np.random.default_rng(5)
    p = rng.integers(-3, 4, (3000, 8))
    p[:, -1] -= p.sum(axis=1)  # p(1) = 0
    p = p[p.any(axis=1)]
    accepted = categories._bernstein_positive(p)
    assert 50 < accepted.sum() < len(p)
    for row in p[accepted]:
        assert count_roots(trim(row)) == 0
        assert value(trim(row), HALF) > 0
    with pytest.raises(ValueError, match="r = 1"):
        categories._bernstein_positive(np.ones((1, 3), int))


def test_lower_envelope_equals_the_minimum_at_rational_points():
    rng = random.Random(6)
    for _ in range(60):
        family = [trim(rng.randint(-6, 6) for _ in range(5)) or (1,) for _ in range(8)]
        pieces = categories.lower_envelope(family)
        assert pieces[0][0] is None
        assert pieces[-1][1] is None
        for left, right, p in pieces:
            lo, hi = left.hi if left else Fraction(0), right.lo if right else Fraction(1)
            for k in range(1, 8):
                x = lo + (hi - lo) * Fraction(k, 8)
                assert value(p, x) == min(value(q, x) for q in family)


def forgetting_term(order: str, r: Fraction) -> Fraction:
    """Term F2 of Theorem 1 from the definition of c_ij, places counted from 1."""
    T, total = len(order), Fraction(0)
    for i in range(1, T):
        for j in range(i + 1, T + 1):
            c = (1 - r) * (r ** (T - i) - r ** (j - i) + r ** (T - j))
            total += c * (0 if order[i - 1] == order[j - 1] else 1)
    return total / (T - 1)


def test_forgetting_polynomial_is_theorem_1_term_F2():
    rng = random.Random(7)
    for _ in range(200):
        T = rng.randint(2, 9)
        order = "".join(rng.choice("ABCD") for _ in range(T))
        r = Fraction(rng.randint(1, 12), 13)
        f = value(polynomials.forgetting_polynomial(order), r)
        assert forgetting_term(order, r) == (1 - r) / (T - 1) * f


def test_generalization_polynomial_is_theorem_1_term_G2():
    rng = random.Random(8)
    for _ in range(100):
        order = "".join(rng.choice("ABC") for _ in range(rng.randint(2, 8)))
        T, r = len(order), Fraction(rng.randint(1, 12), 13)
        G2 = sum((1 - r) * r ** (T - 1 - i) * sum(a != b for b in order) for i, a in enumerate(order)) / T
        assert (1 - r) / T * value(polynomials.generalization_polynomial(order), r) == G2


def test_block_coefficients_equal_the_plain_polynomials():
    for counts in ((3, 3), (1, 2, 3), (2, 2, 1), (1, 4)):
        listed = list(categories.orders(counts))
        rows = np.concatenate([categories._coefficients(b, counts) for b in categories._blocks(counts)])
        assert [trim(row) for row in rows] == [polynomials.forgetting_polynomial(o) for o in listed]


@pytest.mark.parametrize("counts", [(2, 2), (3, 3), (2, 2, 2), (1, 2, 3), (2, 1, 2), (1, 1, 1), (1, 5), (4,)])
def test_orders_are_all_orders_up_to_renaming(counts):
    listed = list(categories.orders(counts))
    assert listed == sorted(set(listed))
    assert len(listed) == categories.number_of_orders(counts)
    multinomial = prod(comb(sum(counts[: k + 1]), m) for k, m in enumerate(counts))
    names = prod(len([m for m in counts[: k + 1] if m == counts[k]]) for k in range(len(counts)))
    assert len(listed) * names == multinomial
    assert all(tuple(o.count(k) for k in "ABCDEF"[: len(counts)]) == counts for o in listed)


def test_blocks_of_any_size_give_the_same_result(monkeypatch):
    whole = categories.prove_alternating((2, 2, 2))
    monkeypatch.setattr(categories, "_BLOCK", 4)
    parts = categories.prove_alternating((2, 2, 2))
    assert list(whole.rows()) == list(parts.rows())
    assert sum(row.shared for row in parts.rows()) == 15


def test_reversal_is_a_symmetry_of_equal_counts_only():
    for o in categories.orders((2, 2, 2)):
        assert polynomials.forgetting_polynomial(o) == polynomials.forgetting_polynomial(o[::-1])
    assert polynomials.forgetting_polynomial("ABB") != polynomials.forgetting_polynomial("BBA")
    assert len(list(categories.orders((2, 2, 2), reversal=True))) == 11
    with pytest.raises(ValueError, match="equal counts"):
        list(categories.orders((1, 2), reversal=True))


@pytest.mark.parametrize("counts", [(), (0, 2), (1,), (16, 16), (1, 30), (5, 5, 5, 5)])
def test_bad_counts_are_refused_with_their_value(counts):
    with pytest.raises(ValueError, match=r"counts="):
        categories.prove_alternating(counts)


def test_difference_of_unlike_orders_is_refused():
    with pytest.raises(ValueError, match="category counts"):
        polynomials.difference("AAB", "ABC")
