"""The lower envelope, checked against the minimum at rational points."""

import random
from fractions import Fraction

from random_polynomials import value

from ebbing.paper.proofs.envelope import lower_envelope
from ebbing.paper.proofs.polynomials import trim


def test_lower_envelope_is_the_minimum_at_rational_points():
    rng = random.Random(6)
    for _ in range(60):
        family = [trim(rng.randint(-6, 6) for _ in range(5)) or (1,) for _ in range(8)]
        pieces = lower_envelope(family)
        assert pieces[0][0] is None
        assert pieces[-1][1] is None
        for left, right, p in pieces:
            lo, hi = left.hi if left else Fraction(0), right.lo if right else Fraction(1)
            for k in range(1, 8):
                x = lo + (hi - lo) * Fraction(k, 8)
                assert value(p, x) == min(value(q, x) for q in family)
