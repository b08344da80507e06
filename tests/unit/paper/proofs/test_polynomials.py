"""Polynomials of orders, checked against Theorem 1 written out."""

import random
from fractions import Fraction

import pytest
from random_polynomials import value

from ebbing.paper.proofs.polynomials import difference, forgetting_polynomial, generalization_polynomial


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
        f = value(forgetting_polynomial(order), r)
        assert forgetting_term(order, r) == (1 - r) / (T - 1) * f


def test_generalization_polynomial_is_theorem_1_term_G2():
    rng = random.Random(8)
    for _ in range(100):
        order = "".join(rng.choice("ABC") for _ in range(rng.randint(2, 8)))
        T, r = len(order), Fraction(rng.randint(1, 12), 13)
        G2 = sum((1 - r) * r ** (T - 1 - i) * sum(a != b for b in order) for i, a in enumerate(order)) / T
        assert (1 - r) / T * value(generalization_polynomial(order), r) == G2


def test_difference_of_unlike_orders_raises_an_error():
    with pytest.raises(ValueError, match="category counts"):
        difference("AAB", "ABC")
