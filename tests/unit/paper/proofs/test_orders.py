"""Orders of categories: every order once, up to renaming."""

from math import comb, prod

import pytest

from ebbing.paper.proofs.orders import count_orders, enumerate_orders
from ebbing.paper.proofs.polynomials import forgetting_polynomial


@pytest.mark.parametrize("counts", [(2, 2), (3, 3), (2, 2, 2), (1, 2, 3), (2, 1, 2), (1, 1, 1), (1, 5), (4,)])
def test_enumerate_orders_gives_all_up_to_renaming(counts):
    listed = list(enumerate_orders(counts))
    assert listed == sorted(set(listed))
    assert len(listed) == count_orders(counts)
    multinomial = prod(comb(sum(counts[: k + 1]), m) for k, m in enumerate(counts))
    names = prod(len([m for m in counts[: k + 1] if m == counts[k]]) for k in range(len(counts)))
    assert len(listed) * names == multinomial
    assert all(tuple(o.count(k) for k in "ABCDEF"[: len(counts)]) == counts for o in listed)


def test_reversal_is_a_symmetry_of_equal_counts_only():
    for o in enumerate_orders((2, 2, 2)):
        assert forgetting_polynomial(o) == forgetting_polynomial(o[::-1])
    assert forgetting_polynomial("ABB") != forgetting_polynomial("BBA")
