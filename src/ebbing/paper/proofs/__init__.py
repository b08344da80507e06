"""Proofs of the paper's propositions on task order, in exact arithmetic and for every r = 1 - n/p at once.

===================  ==================================================================================================
module               what it has
===================  ==================================================================================================
`polynomials`        the forgetting of an order of categories as a polynomial in r; integer arithmetic
`roots`              real roots of integer polynomials, counted and isolated by Sturm sequences
`certificates`       proofs of the sign of a polynomial on 0 < r < 1
`orders`             the orders of a category problem, up to renaming
`categories`         Props. order2 and order3, and their generalization: the alternating order forgets least
`envelope`           the best orders of any category problem, with the exact r at which they change
`one_versus_many`    Prop. order1: the best place of one special task among equal ones
===================  ==================================================================================================
"""

from ebbing.paper.proofs.categories import AlternatingProof, OrderDifference, prove_alternating
from ebbing.paper.proofs.certificates import Certificate, bernstein_coefficients, prove_positive, sign_pattern
from ebbing.paper.proofs.envelope import Piece, best_orders, lower_envelope
from ebbing.paper.proofs.one_versus_many import (
    PropositionOrder1,
    best_places,
    best_real_place,
    breakpoints,
    check_proposition_order1,
    closed_form,
    generalization_places,
    step_polynomial,
)
from ebbing.paper.proofs.orders import alternating_order, count_orders, enumerate_orders
from ebbing.paper.proofs.polynomials import Poly, difference, forgetting_polynomial, generalization_polynomial
from ebbing.paper.proofs.roots import Root, count_roots, isolate_roots

__all__ = [
    "AlternatingProof",
    "Certificate",
    "OrderDifference",
    "Piece",
    "Poly",
    "PropositionOrder1",
    "Root",
    "alternating_order",
    "bernstein_coefficients",
    "best_orders",
    "best_places",
    "best_real_place",
    "breakpoints",
    "check_proposition_order1",
    "closed_form",
    "count_orders",
    "count_roots",
    "difference",
    "enumerate_orders",
    "forgetting_polynomial",
    "generalization_places",
    "generalization_polynomial",
    "isolate_roots",
    "lower_envelope",
    "prove_alternating",
    "prove_positive",
    "sign_pattern",
    "step_polynomial",
]
