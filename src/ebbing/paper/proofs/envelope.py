"""The orders of least forgetting on every interval of r: the lower envelope of the polynomials of all orders."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ebbing.paper.proofs._blocks import (
    bernstein_positive,
    check_expandable,
    distinct_polynomials,
    forgetting_coefficients,
    order_blocks,
    pad,
    to_letters,
)
from ebbing.paper.proofs.certificates import sign_pattern
from ebbing.paper.proofs.polynomials import Poly, subtract, trim
from ebbing.paper.proofs.roots import Root


@dataclass(frozen=True)
class Piece:
    """An interval of r and the orders that are best on all of it.

    Attributes:
        left: The left end of the interval; None for 0.
        right: The right end of the interval; None for 1.
        orders: The orders of least forgetting, which tie at every r.
        polynomial: Their forgetting, up to the factor (1-r)/(T-1).
    """

    left: Root | None
    right: Root | None
    orders: tuple[str, ...]
    polynomial: Poly


def best_orders(counts: Sequence[int]) -> tuple[Piece, ...]:
    """Find the orders of least forgetting for all 0 < r < 1, with exact breakpoints.

    Args:
        counts: The number of tasks of each category.

    Returns:
        The pieces of (0, 1), from left to right.

    Example:
        >>> [(str(piece.left), str(piece.right), piece.orders) for piece in best_orders((6, 2))]
        [('None', '1/2', ('ABAABAAA',)), ('1/2', 'None', ('ABABAAAA',))]
    """
    counts = check_expandable(counts)
    f = distinct_polynomials(counts)[0]
    real, powers = f.astype(float), np.arange(f.shape[1])
    leaders = {int((real @ x**powers).argmin()) for x in np.linspace(0.0, 1.0, 257)[1:-1]}
    for leader in f[sorted(leaders)]:  # floats choose the leaders; the proof is exact:
        f = f[~bernstein_positive(f - leader) | (f == leader).all(axis=1)]  # drop f > leader at every r
    pieces = lower_envelope([trim(row) for row in f])
    found: dict[Poly, list[str]] = {p: [] for _, _, p in pieces}
    for block in order_blocks(counts):
        coefficients = forgetting_coefficients(block, counts)
        for p in found:
            found[p] += map(to_letters, block[(coefficients == pad(p, block.shape[1])).all(axis=1)])
    return tuple(Piece(left, right, tuple(found[p]), p) for left, right, p in pieces)


def lower_envelope(polynomials: Sequence[Poly]) -> list[tuple[Root | None, Root | None, Poly]]:
    """Return the least of several polynomials on (0, 1), piece by piece.

    Args:
        polynomials: The polynomials.

    Returns:
        The pieces (left, right, polynomial) from left to right; None stands for the ends 0 and 1.

    Example:
        >>> [(str(left), str(right), p) for left, right, p in lower_envelope([(0, 1), (1, -1), (1,)])]
        [('None', '1/2', (0, 1)), ('1/2', 'None', (1, -1))]
    """
    length = max(map(len, polynomials))
    best = min(polynomials, key=lambda p: p + (0,) * (length - len(p)))  # least as r -> 0: first coefficients decide
    left, pieces = None, []
    while True:
        crossing, follower = None, best
        for p in polynomials:
            root = _falls_below(subtract(p, best), left)
            order = -1 if root and crossing is None else root.compare(crossing) if root and crossing else 1
            if order < 0 or (order == 0 and root and _sign_after(subtract(p, follower), root) < 0):
                crossing, follower = root, p
        pieces.append((left, crossing, best))
        if crossing is None:
            return pieces
        left, best = crossing, follower


def _falls_below(p: Poly, left: Root | None) -> Root | None:
    """Return the first root after `left` behind which p is negative."""
    roots, pattern = sign_pattern(p)
    later = (x for x, s in zip(roots, pattern[1:], strict=True) if s < 0 and (not left or x.compare(left) > 0))
    return next(later, None)


def _sign_after(p: Poly, x: Root) -> int:
    """Return the sign of p on a short interval to the right of x."""
    roots, pattern = sign_pattern(p)
    return pattern[sum(root.compare(x) <= 0 for root in roots)]
