"""Proof that the alternating order of categories forgets least, for every r at once.

Setting and normalization: `ebbing.paper.proofs.polynomials`. A category problem is given by its counts, say (3, 3) or
(1, 2, 3): the numbers of tasks of A, of B, of C, with squared distance 1 between categories and equal norms. Orders are
strings "ABABAB", up to renaming categories of equal counts (`ebbing.paper.proofs.orders`). With equal counts
f(o) - f(o') is also unchanged by reversal (it depends only on the lags j - i); with unequal counts it is not, because
of the terms r^{T-i} (T - m_{o_i}).

Theorem (new: the paper proves T = 4 and 6, and expects more). With c categories of equal counts, for every T and every
0 < r < 1, the alternating order 1, 2, .., c, 1, 2, .., c, .. is, up to renaming, the only order of least forgetting.
Proof. f(o) = const + sum_{i<j} r^{j-i} [o_i = o_j]; we minimize the sum over all sequences of c letters, whatever their
counts. Keep u in R^c, u = 0 at first; learning k costs r u_k and turns u into r u + e_k: this adds up to the sum. Let
J_k(u) be the least cost of k more steps. As a minimum of affine functions it is concave, and it is symmetric in the
coordinates, so (M): with u_a + u_b and the other coordinates fixed, J_k does not increase with |u_a - u_b|.
Claim: to choose a smallest coordinate is best, to choose any larger one is strictly worse. Induction on the steps
left; with one step it is clear. Let v = r u and d = v_b - v_a > 0; with J for one step fewer, we need
J(v + e_a) - J(v + e_b) < d. From v + e_b follow a best sequence that always chooses a smallest coordinate: it chooses a
before b, after s steps choosing neither (if it chooses neither to the end, the same steps from v + e_a cost the same).
From v + e_a do the same s steps, then choose b instead of a. With q = r^{s+1} this step costs q v_b instead of q v_a;
afterwards both sides have the same sum of coordinates a and b, and gaps |q d + (1-q)| >= |q d - (1-q)|, so by (M) the
rest costs no more. Hence J(v + e_a) - J(v + e_b) <= q d < d. And a smallest coordinate is a category not yet learned,
or the one not learned for longest: the alternating order. QED
The functions below do not use the theorem: they expand every order and prove each polynomial positive.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ebbing.paper.proofs._blocks import bernstein_positive, check_expandable, distinct_polynomials, pad, to_letters
from ebbing.paper.proofs.certificates import Certificate, prove_positive
from ebbing.paper.proofs.orders import alternating_order
from ebbing.paper.proofs.polynomials import Poly, forgetting_polynomial, trim


@dataclass(frozen=True)
class OrderDifference:
    """The forgetting of an order minus that of the reference.

    Attributes:
        order: The order.
        polynomial: f(order) - f(reference).
        shared: The number of orders that have this polynomial, `order` included.
    """

    order: str
    polynomial: Poly
    shared: int

    @cached_property
    def certificate(self) -> Certificate:
        """Prove the polynomial's sign on 0 < r < 1.

        Returns:
            The proof.
        """
        return prove_positive(self.polynomial)


@dataclass(frozen=True, eq=False)
class AlternatingProof:
    """What is proved about the alternating order of a category problem.

    Attributes:
        counts: The number of tasks of each category.
        reference: The alternating order.
        orders: The number of orders.
        distinct: The number of distinct polynomials.
        methods: How many distinct polynomials each argument decides.
        unique: Whether every other order forgets strictly more at every 0 < r < 1.
        counterexamples: The differences that are negative somewhere; their certificates give the r at which their
            orders are better than the reference.
        differences: The distinct polynomials f(order) - f(reference) (distinct, T).
        examples: One order for each of them (distinct, T), as category indices.
        shared: The number of orders for each of them (distinct,).
    """

    counts: tuple[int, ...]
    reference: str
    orders: int
    distinct: int
    methods: dict[str, int]
    unique: bool
    counterexamples: tuple[OrderDifference, ...]
    differences: np.ndarray = field(repr=False)
    examples: np.ndarray = field(repr=False)
    shared: np.ndarray = field(repr=False)

    @property
    def proved(self) -> bool:
        """Whether no order forgets less than the reference at any 0 < r < 1."""
        return not self.counterexamples

    def rows(self) -> Iterator[OrderDifference]:
        """Enumerate the distinct polynomials.

        Yields:
            The differences, the smallest at r -> 0 first.
        """
        for difference, example, shared in zip(self.differences, self.examples, self.shared, strict=True):
            yield OrderDifference(to_letters(example), trim(difference), int(shared))


def prove_alternating(counts: Sequence[int]) -> AlternatingProof:
    """Compare every order with the alternating one, exactly and for all 0 < r < 1.

    Args:
        counts: The number of tasks of each category.

    Returns:
        The proof that the alternating order is best, or all counterexamples.

    Example:
        >>> proof = prove_alternating((3, 3))  # Prop. order2 for T = 6
        >>> proof.orders, proof.distinct, proof.proved, proof.unique
        (10, 7, True, True)
        >>> worse = prove_alternating((1, 5)).counterexamples[0]  # Prop. order1: place 3 beats 2 below r = 1/3
        >>> worse.order, [str(right) for left, right in worse.certificate.negative]
        ('BBABBB', ['1/3'])
    """
    counts, reference = check_expandable(counts), alternating_order(counts)
    f, example, shared = distinct_polynomials(counts)
    difference = f - pad(forgetting_polynomial(reference), f.shape[1])
    zero, easy = ~difference.any(axis=1), bernstein_positive(difference)
    methods = {"identity": 1, "Bernstein": int((easy & ~zero).sum())}
    bad, unique = [], bool(shared[zero].sum() == 1)
    for i in np.flatnonzero(~easy & ~zero):
        row = OrderDifference(to_letters(example[i]), trim(difference[i]), int(shared[i]))
        methods[row.certificate.method] = methods.get(row.certificate.method, 0) + 1
        unique &= row.certificate.positive
        if row.certificate.negative:
            bad.append(row)
    total = int(shared.sum())
    return AlternatingProof(counts, reference, total, len(f), methods, unique, tuple(bad), difference, example, shared)
