"""Random integer polynomials, and their plain evaluation in fractions."""

import random
from fractions import Fraction

from ebbing.paper.proofs.polynomials import Poly, trim


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
