"""Which order of categories forgets least, proved for every r at once.

Setting and normalization: `ebbing.paper.proofs.polynomials`. A category problem is its counts, say (3, 3) or (1, 2, 3): so
many tasks of A, of B, of C, with squared distance 1 between categories and equal norms. Orders are strings "ABABAB".
Two orders are the same if they differ by renaming categories of equal counts; the representative names these in order
of first occurrence. With equal counts f(o) - f(o') is also unchanged by reversal (it sees only lags j - i); with
unequal counts it is not, because of the terms r^{T-i} (T - m_{o_i}).

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
rest costs no more. Hence J(v + e_a) - J(v + e_b) <= q d < d. And a smallest coordinate is a category not yet learned, or
the one not learned for longest: the alternating order. QED
The machine below does not rely on the theorem: it expands every order and proves each polynomial positive on its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import comb, factorial, prod

import numpy as np

from ebbing.paper.proofs.polynomials import (
    Certificate,
    Poly,
    Root,
    forgetting_polynomial,
    prove_positive,
    signs,
    subtract,
    trim,
)

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_ORDERS = 10_000_000  # every order is expanded: about a minute and some gigabytes
_BLOCK = 1 << 17  # orders expanded at a time


def _checked(counts: Sequence[int]) -> tuple[int, ...]:
    counts = tuple(int(m) for m in counts)
    if not 1 <= len(counts) <= len(LETTERS) or min(counts) < 1 or not 2 <= sum(counts) <= 30:
        raise ValueError(f"counts={counts}: give 1 to 26 categories with at least one task each, 2 to 30 tasks in all")
    return counts


def _expandable(counts: Sequence[int]) -> tuple[int, ...]:
    counts = _checked(counts)
    if (N := number_of_orders(counts)) > MOST_ORDERS:
        raise ValueError(f"counts={counts}: {N} orders, more than {MOST_ORDERS}; take fewer tasks or categories")
    return counts


def number_of_orders(counts: Sequence[int]) -> int:
    """T! / prod m_k! / prod (multiplicity of each count)!: orders up to renaming categories of equal counts.

    >>> number_of_orders((3, 3)), number_of_orders((2, 2, 2)), number_of_orders((1, 2, 3))  # the paper's tables: 10, 15
    (10, 15, 60)
    """
    names = prod(factorial(counts.count(m)) for m in set(counts))
    return factorial(sum(counts)) // prod(map(factorial, counts)) // names


def alternating(counts: Sequence[int]) -> str:
    """The categories in turn, the largest first, each until it is used up.

    >>> alternating((2, 2, 2)), alternating((1, 2, 3))
    ('ABCABC', 'CBACBC')
    """
    counts = _checked(counts)
    turn = sorted(range(len(counts)), key=lambda k: -counts[k])
    return "".join(LETTERS[k] for lap in range(max(counts)) for k in turn if counts[k] > lap)


def orders(counts: Sequence[int], reversal: bool = False) -> Iterator[str]:
    """Every effectively different order; with `reversal` (equal counts only) one of each mirror pair.

    >>> list(orders((2, 2)))
    ['AABB', 'ABAB', 'ABBA']
    >>> sum(1 for _ in orders((3, 3), reversal=True))
    7
    """
    counts = _checked(counts)
    if reversal and len(set(counts)) > 1:
        raise ValueError(f"counts={counts}: reversal is a symmetry only of equal counts; use reversal=False")
    for block in _blocks(counts):
        for order in map(_letters, block):
            if not reversal or order <= _first_occurrence(order[::-1]):
                yield order


def _letters(row: np.ndarray) -> str:
    return "".join(LETTERS[k] for k in row)


def _first_occurrence(order: str) -> str:
    return order.translate({ord(k): LETTERS[i] for i, k in enumerate(dict.fromkeys(order))})


def _blocks(counts: tuple[int, ...]) -> Iterator[np.ndarray]:
    """Blocks (orders, T) of all orders, in lexicographic order: prefixes grown one place at a time."""
    twin = [max((j for j in range(k) if counts[j] == counts[k]), default=None) for k in range(len(counts))]
    stack = [np.zeros((1, 0), np.uint8)]
    while stack:
        prefix = stack.pop()  # (N, t)
        if prefix.shape[1] == sum(counts):
            yield prefix
            continue
        used = np.stack([(prefix == k).sum(axis=1) for k in range(len(counts))], axis=1)  # (N, c)
        grown = []
        for k, twin_k in enumerate(twin):
            allowed = used[:, k] < counts[k]
            if twin_k is not None:  # categories of equal counts are named as they first occur
                allowed &= used[:, twin_k] > 0
            grown.append(np.insert(prefix[allowed], prefix.shape[1], k, axis=1))
        rows = np.concatenate(grown)
        rows = rows[np.lexsort(rows.T[::-1])]
        stack += [rows[i : i + _BLOCK] for i in reversed(range(0, len(rows), _BLOCK))]


def _coefficients(block: np.ndarray, counts: tuple[int, ...]) -> np.ndarray:
    """f(o) for a block of orders (N, T): coefficients (N, T) of r^0..r^{T-1}, int16."""
    T = block.shape[1]
    f = (T - np.array(counts, np.int16))[block[:, ::-1]]  # g(o): r^{T-i} (T - m_{o_i})
    for lag in range(1, T):
        f[:, lag] -= (block[:, lag:] != block[:, :-lag]).sum(axis=1, dtype=np.int16)
    return f


def _distinct(counts: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct polynomials f (M, T), one order of each (M, T), and how many orders share it (M,)."""
    T = sum(counts)
    kept: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for block in _blocks(counts):
        kept.append(_merge(_coefficients(block, counts), block, np.ones(len(block), np.int64), T))
        while len(kept) > 1 and len(kept[-1][0]) * 2 > len(kept[-2][0]):
            (f, o, n), (f2, o2, n2) = kept.pop(-2), kept.pop()
            kept.append(_merge(np.concatenate([f, f2]), np.concatenate([o, o2]), np.concatenate([n, n2]), T))
    f, o, n = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    return _merge(f, o, n, T)


def _merge(f: np.ndarray, example: np.ndarray, shared: np.ndarray, T: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    key = np.ascontiguousarray(f + T * T).astype(">u2").view(f"S{2 * T}").ravel()  # positive, so never a zero byte pair
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return f[first], example[first], np.bincount(inverse, weights=shared).astype(np.int64)


def _bernstein_positive(p: np.ndarray) -> np.ndarray:
    """Which rows of p (M, T), all with p(1) = 0, have non-negative Bernstein coefficients after division by 1 - r.

    Exact: every number is an integer below 2^53, so float64 holds it (checked); sufficient, not necessary.
    """
    if len(p) > _BLOCK:
        return np.concatenate([_bernstein_positive(p[i : i + _BLOCK]) for i in range(0, len(p), _BLOCK)])
    quotient = np.cumsum(p.astype(np.int64), axis=1)  # p = (1-r) quotient, last column p(1) = 0
    if quotient[:, -1].any():
        raise ValueError("p(1) != 0: orders of one category problem agree at r = 1")
    quotient = quotient[:, :-1]
    n = quotient.shape[1] - 1
    matrix = np.array([[comb(n - k, j - k) if j >= k else 0 for j in range(n + 1)] for k in range(n + 1)])
    if np.abs(quotient).sum(axis=1).max(initial=0) * matrix.max() >= 2**53:
        return np.zeros(len(p), bool)
    return (quotient.astype(float) @ matrix.astype(float)).min(axis=1) >= 0


# --- is the alternating order optimal? ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One polynomial f(order) - f(reference) and the number of orders that share it, `order` among them."""

    order: str
    polynomial: Poly
    shared: int

    @cached_property
    def certificate(self) -> Certificate:
        """The proof of its sign on 0 < r < 1."""
        return prove_positive(self.polynomial)


@dataclass(frozen=True, eq=False)
class Result:
    """What is proved about the alternating order of a category problem.

    `proved`: no order forgets less at any 0 < r < 1; `unique`: and every other order forgets strictly more at every r.
    `methods` counts the distinct polynomials by the argument that settles them. `counterexamples` are rows that are
    negative somewhere: their certificate says for which r the row's order is better than the reference.
    """

    counts: tuple[int, ...]
    reference: str
    orders: int
    distinct: int
    methods: dict[str, int]
    unique: bool
    counterexamples: tuple[Row, ...]
    differences: np.ndarray = field(repr=False)  # (distinct, T)
    examples: np.ndarray = field(repr=False)  # (distinct, T)
    shared: np.ndarray = field(repr=False)  # (distinct,)

    @property
    def proved(self) -> bool:
        """Whether no order forgets less than the reference at any r."""
        return not self.counterexamples

    def rows(self) -> Iterator[Row]:
        """Every distinct polynomial, the smallest at r -> 0 first."""
        for difference, example, shared in zip(self.differences, self.examples, self.shared, strict=True):
            yield Row(_letters(example), trim(difference), int(shared))


def prove_alternating(counts: Sequence[int]) -> Result:
    """Compare every order with the alternating one, exactly and for all 0 < r < 1.

    >>> result = prove_alternating((3, 3))  # Prop. order2 for T = 6
    >>> result.orders, result.distinct, result.proved, result.unique
    (10, 7, True, True)
    >>> worse = prove_alternating((1, 5)).counterexamples[0]  # Prop. order1: place 3 beats 2 below r = 1/3
    >>> worse.order, [str(right) for left, right in worse.certificate.negative]
    ('BBABBB', ['1/3'])
    """
    counts, reference = _expandable(counts), alternating(counts)
    f, example, shared = _distinct(counts)
    difference = f - _padded(forgetting_polynomial(reference), f.shape[1])
    zero, easy = ~difference.any(axis=1), _bernstein_positive(difference)
    methods = {"identity": 1, "Bernstein": int((easy & ~zero).sum())}
    bad, unique = [], bool(shared[zero].sum() == 1)
    for i in np.flatnonzero(~easy & ~zero):
        row = Row(_letters(example[i]), trim(difference[i]), int(shared[i]))
        methods[row.certificate.method] = methods.get(row.certificate.method, 0) + 1
        unique &= row.certificate.positive
        if row.certificate.negative:
            bad.append(row)
    total = int(shared.sum())
    return Result(counts, reference, total, len(f), methods, unique, tuple(bad), difference, example, shared)


def _padded(p: Poly, length: int) -> np.ndarray:
    return np.array(p + (0,) * (length - len(p)), dtype=np.int16)


# --- which order is optimal, on which interval of r ---------------------------------------------------------------


@dataclass(frozen=True)
class Piece:
    """For left < r < right (None: the end 0 or 1) no order forgets less than `orders`, which tie at every r."""

    left: Root | None
    right: Root | None
    orders: tuple[str, ...]
    polynomial: Poly


def best_orders(counts: Sequence[int]) -> tuple[Piece, ...]:
    """The orders of least forgetting on all of 0 < r < 1, with exact breakpoints: the lower envelope of every f(o).

    >>> [(str(piece.left), str(piece.right), piece.orders) for piece in best_orders((6, 2))]
    [('None', '1/2', ('ABAABAAA',)), ('1/2', 'None', ('ABABAAAA',))]
    """
    counts = _expandable(counts)
    f = _distinct(counts)[0]
    real, powers = f.astype(float), np.arange(f.shape[1])
    leaders = {int((real @ x**powers).argmin()) for x in np.linspace(0.0, 1.0, 257)[1:-1]}
    for leader in f[sorted(leaders)]:  # floats choose the leaders, the proof is exact:
        f = f[~_bernstein_positive(f - leader) | (f == leader).all(axis=1)]  # drop f > leader at every r
    pieces = lower_envelope([trim(row) for row in f])
    found: dict[Poly, list[str]] = {p: [] for _, _, p in pieces}
    for block in _blocks(counts):
        coefficients = _coefficients(block, counts)
        for p in found:
            found[p] += map(_letters, block[(coefficients == _padded(p, block.shape[1])).all(axis=1)])
    return tuple(Piece(left, right, tuple(found[p]), p) for left, right, p in pieces)


def lower_envelope(polynomials: Sequence[Poly]) -> list[tuple[Root | None, Root | None, Poly]]:
    """The least of the polynomials on (0, 1), piece by piece from left to right: (left, right, polynomial).

    >>> [(str(left), str(right), p) for left, right, p in lower_envelope([(0, 1), (1, -1), (1,)])]
    [('None', '1/2', (0, 1)), ('1/2', 'None', (1, -1))]
    """
    length = max(map(len, polynomials))
    best = min(polynomials, key=lambda p: p + (0,) * (length - len(p)))  # least as r -> 0: first coefficients decide
    left, pieces = None, []
    while True:
        include_crossing, follower = None, best
        for p in polynomials:
            root = _falls_below(subtract(p, best), left)
            order = (
                -1
                if root and include_crossing is None
                else root.compare(include_crossing)
                if root and include_crossing
                else 1
            )
            if order < 0 or (order == 0 and root and _sign_after(subtract(p, follower), root) < 0):
                include_crossing, follower = root, p
        pieces.append((left, include_crossing, best))
        if include_crossing is None:
            return pieces
        left, best = include_crossing, follower


def _falls_below(p: Poly, left: Root | None) -> Root | None:
    """The first root after `left` behind which p is negative."""
    roots, pattern = signs(p)
    later = (x for x, s in zip(roots, pattern[1:], strict=True) if s < 0 and (not left or x.compare(left) > 0))
    return next(later, None)


def _sign_after(p: Poly, x: Root) -> int:
    """The sign of p on a short interval to the right of x."""
    roots, pattern = signs(p)
    return pattern[sum(root.compare(x) <= 0 for root in roots)]
