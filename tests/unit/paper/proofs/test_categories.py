"""Expansion of all orders in blocks, checked against one order at a time."""

from fractions import Fraction

import numpy as np
import pytest
from random_polynomials import value

from ebbing.paper.proofs import _blocks
from ebbing.paper.proofs._blocks import bernstein_positive, forgetting_coefficients, order_blocks
from ebbing.paper.proofs.categories import prove_alternating
from ebbing.paper.proofs.orders import enumerate_orders
from ebbing.paper.proofs.polynomials import forgetting_polynomial, trim
from ebbing.paper.proofs.roots import count_roots

HALF = Fraction(1, 2)


def test_bernstein_positive_accepts_only_positive_rows():
    rng = np.random.default_rng(5)
    p = rng.integers(-3, 4, (3000, 8))
    p[:, -1] -= p.sum(axis=1)  # p(1) = 0
    p = p[p.any(axis=1)]
    accepted = bernstein_positive(p)
    assert 50 < accepted.sum() < len(p)
    for row in p[accepted]:
        assert count_roots(trim(row)) == 0
        assert value(trim(row), HALF) > 0
    with pytest.raises(ValueError, match="r = 1"):
        bernstein_positive(np.ones((1, 3), int))


def test_forgetting_coefficients_equal_plain_polynomials():
    for counts in ((3, 3), (1, 2, 3), (2, 2, 1), (1, 4)):
        listed = list(enumerate_orders(counts))
        rows = np.concatenate([forgetting_coefficients(b, counts) for b in order_blocks(counts)])
        assert [trim(row) for row in rows] == [forgetting_polynomial(o) for o in listed]


def test_prove_alternating_is_the_same_for_any_block_size(monkeypatch):
    whole = prove_alternating((2, 2, 2))
    monkeypatch.setattr(_blocks, "BLOCK_SIZE", 4)
    parts = prove_alternating((2, 2, 2))
    assert list(whole.rows()) == list(parts.rows())
    assert sum(row.shared for row in parts.rows()) == 15


@pytest.mark.parametrize("counts", [(), (0, 2), (1,), (16, 16), (1, 30), (5, 5, 5, 5)])
def test_prove_alternating_names_bad_counts(counts):
    with pytest.raises(ValueError, match=r"counts="):
        prove_alternating(counts)
