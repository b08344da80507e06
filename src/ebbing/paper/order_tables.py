"""The paper's tables and propositions on task order (Props. order1, order2, order3), and results beyond the paper.

Tables validate_2_groups_6 and validate_3_groups_6 (proofs of Props. order2 and order3) list, for each order of two or
three categories, (T-1)/(1-r) times the difference of forgetting from the alternating order, a polynomial in r. Each row
is computed, compared with the printed one, and proved positive on 0 < r < 1. Every statement is exact; nothing is
sampled. Theorems and proofs are in `ebbing.paper.proofs`; `ebbing.paper.order_report` writes the tables.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from ebbing.paper._printed_tables import THREE_CATEGORIES, TWO_CATEGORIES
from ebbing.paper.proofs import (
    Poly,
    best_orders,
    check_proposition_order1,
    count_orders,
    count_roots,
    difference,
    enumerate_orders,
    generalization_polynomial,
    prove_alternating,
    prove_positive,
)
from ebbing.paper.proofs.polynomials import to_latex, to_text


@dataclass(frozen=True)
class Config:
    """The sizes of the problems beyond the paper. The paper's tables and propositions are always complete.

    Attributes:
        max_tasks_special: The largest T of Prop. order1.
        max_tasks_equal: The largest T of category problems with equal counts.
        max_tasks_unequal: The largest T of category problems with unequal counts.
        max_orders: Problems with more orders than this are left out; a million take a few seconds.
    """

    max_tasks_special: int = 24
    max_tasks_equal: int = 16
    max_tasks_unequal: int = 8
    max_orders: int = 200_000

    def __post_init__(self) -> None:
        if self.max_tasks_special < 4:
            raise ValueError(f"max_tasks_special={self.max_tasks_special}: Prop. order1 needs T >= 4; give 4 or more")
        if (largest := max(self.max_tasks_equal, self.max_tasks_unequal)) > 30:
            raise ValueError(
                f"max_tasks_equal, max_tasks_unequal: {largest}, but every order is expanded; give at most 30 tasks"
            )


@dataclass(frozen=True)
class TableRow:
    """A row of the paper's tables, as computed and as printed.

    Attributes:
        index: The number of the row, from 1.
        order: The order of categories.
        text: The computed polynomial.
        printed: The polynomial as printed, in LaTeX.
        equal: Whether both agree.
        verdict: The proved sign on 0 < r < 1: "positive", "zero", "touches zero" or "negative somewhere".
        method: The argument of the proof.
        roots: The number of distinct roots in 0 < r < 1 by a Sturm sequence, a second proof; None for zero.
        coefficients: The computed coefficients, the lowest power first.
    """

    index: int
    order: str
    text: str
    printed: str
    equal: bool
    verdict: str
    method: str
    roots: int | None
    coefficients: Poly


@dataclass(frozen=True)
class Statement:
    """A statement on task order and its proof.

    Attributes:
        name: The statement; "new" if the paper does not make it.
        holds: Whether it holds.
        proved: What exactly was proved.
    """

    name: str
    holds: bool
    proved: str


@dataclass(frozen=True)
class EqualCounts:
    """A category problem with equal counts.

    Attributes:
        counts: The number of tasks of each category.
        T: The number of tasks.
        orders: The number of orders up to renaming.
        polynomials: The number of distinct polynomials of forgetting.
        proved: Whether the alternating order is best for every 0 < r < 1.
        unique: Whether it is the only best order.
    """

    counts: tuple[int, ...]
    T: int
    orders: int
    polynomials: int
    proved: bool
    unique: bool


@dataclass(frozen=True)
class UnequalCounts:
    """A category problem with unequal counts.

    Attributes:
        counts: The number of tasks of each category.
        orders: The number of orders up to renaming.
        polynomials: The number of distinct polynomials of forgetting.
        alternating: The order that takes the categories in turn, the largest first.
        counterexample: Whether another order is better at some r.
        neighbors: Whether orders without equal neighbors exist, but none is best at any r.
        breakpoints: The r at which the best orders change.
        best: The best orders on each interval between breakpoints.
    """

    counts: tuple[int, ...]
    orders: int
    polynomials: int
    alternating: str
    counterexample: bool
    neighbors: bool
    breakpoints: tuple[str, ...]
    best: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Result:
    """The tables and statements on task order.

    Attributes:
        config: The settings.
        two: The rows of the table of two categories.
        three: The rows of the table of three categories.
        statements: The paper's statements, and new ones.
        equal: The problems with equal counts.
        unequal: The problems with unequal counts.
    """

    config: Config
    two: tuple[TableRow, ...]
    three: tuple[TableRow, ...]
    statements: tuple[Statement, ...]
    equal: tuple[EqualCounts, ...]
    unequal: tuple[UnequalCounts, ...]


def run(config: Config = Config()) -> Result:  # noqa: B008 (frozen)
    """Compute the tables and prove or refute every statement.

    Args:
        config: The sizes of the problems.

    Returns:
        The tables and statements.

    Example:
        >>> result = run(Config(max_tasks_equal=6, max_tasks_unequal=5))
        >>> result.two[5].text, result.two[5].equal, result.two[5].verdict
        ('r(1-2r+2r^2-2r^3+r^4)', True, 'positive')
        >>> [(row.counts, row.orders, row.polynomials, row.unique) for row in result.equal]
        [((2, 2), 3, 3, True), ((3, 3), 10, 7, True), ((2, 2, 2), 15, 11, True)]
    """
    two, three = _table(TWO_CATEGORIES), _table(THREE_CATEGORIES)
    problems = [c for T in range(2, 31) for c in _partitions(T, T) if len(c) > 1 and _within_limits(config, T, c)]
    equal = tuple(_equal_counts(counts) for counts in problems if len(set(counts)) == 1 and counts[0] > 1)
    unequal = tuple(_unequal_counts(counts) for counts in problems if len(set(counts)) > 1)
    return Result(config, two, three, _statements(config, two, three, equal, unequal), equal, unequal)


def _within_limits(config: Config, T: int, counts: tuple[int, ...]) -> bool:
    limit = config.max_tasks_equal if len(set(counts)) == 1 else config.max_tasks_unequal
    return limit >= T and count_orders(counts) <= config.max_orders


def _partitions(T: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Yield the partitions of T into decreasing parts of at most `largest`."""
    if T == 0:
        yield ()
    for m in range(min(T, largest), 0, -1):
        yield from ((m, *rest) for rest in _partitions(T - m, m))


def _table(printed: tuple[tuple[str, str], ...]) -> tuple[TableRow, ...]:
    rows = []
    for index, (order, theirs) in enumerate(printed, 1):
        p = difference(order, printed[0][0])
        proof = prove_positive(p)
        roots = count_roots(p) if p else None
        equal = to_latex(p) == theirs
        rows.append(TableRow(index, order, to_text(p), theirs, equal, proof.verdict, proof.method, roots, p))
    return tuple(rows)


def _equal_counts(counts: tuple[int, ...]) -> EqualCounts:
    proof = prove_alternating(counts)
    return EqualCounts(counts, sum(counts), proof.orders, proof.distinct, proof.proved, proof.unique)


def _unequal_counts(counts: tuple[int, ...]) -> UnequalCounts:
    proof, pieces = prove_alternating(counts), best_orders(counts)
    T, best = sum(counts), tuple(piece.orders for piece in pieces)
    apart = any(all(a != b for a, b in pairwise(o)) for tied in best for o in tied)
    cuts = tuple(str(piece.left) for piece in pieces[1:])
    lost = not apart and 2 * max(counts) <= T + 1
    return UnequalCounts(counts, proof.orders, proof.distinct, proof.reference, not proof.proved, lost, cuts, best)


def _statements(
    config: Config,
    two: tuple[TableRow, ...],
    three: tuple[TableRow, ...],
    equal: tuple[EqualCounts, ...],
    unequal: tuple[UnequalCounts, ...],
) -> tuple[Statement, ...]:
    special = [check_proposition_order1(T) for T in range(2, config.max_tasks_special + 1)]
    four, six, triple = (prove_alternating(c) for c in ((2, 2), (3, 3), (2, 2, 2)))
    flat = all(
        len({generalization_polynomial(o) for o in enumerate_orders(c)}) == 1 for c in ((2, 2), (3, 3), (2, 2, 2))
    )
    beaten = [u.counts for u in unequal if u.counterexample]
    apart = [u.counts for u in unequal if u.neighbors]
    Ts = f"T = 4..{config.max_tasks_special} by exact breakpoints (every T >= 4 by the proof in ebbing.paper.proofs)"
    only = "the only optimum for 0 < r < 1, up to renaming"
    return (
        Statement("Prop. order1, 1) the best place i* takes every value in 2..T/2",
                  all(s.every_place for s in special[2:]), Ts),
        Statement("Prop. order1, 1) the same at T = 2, 3", any(s.every_place for s in special[:2]),
                  "the range is empty; places 1 and 2 tie at every r"),
        Statement("Prop. order1, 2) the best place i* is non-decreasing with n/p",
                  all(s.monotone for s in special[2:]), Ts),
        Statement("Prop. order2: the alternating order is best, T = 4", four.unique, only),
        Statement("Prop. order2: the alternating order is best, T = 6", six.unique, only),
        Statement("Prop. order3: the alternating order is best, T = 6", triple.unique, only),
        Statement("Tables: every printed polynomial is right", all(r.equal for r in two + three), "equal, row by row"),
        Statement("Tables: every polynomial is positive for 0 < r < 1",
                  all(r.verdict == "positive" and r.roots == 0 for r in two[1:] + three[1:]),
                  "by Bernstein coefficients and by Sturm sequences, in exact arithmetic"),
        Statement("Tables: no order is missing, up to renaming",
                  {r.order for r in two} == set(enumerate_orders((3, 3)))
                  and {r.order for r in three} == set(enumerate_orders((2, 2, 2))),
                  "10 and 15 orders, the alternating one included"),
        Statement("Proof of Prop. order2: 10 orders besides the alternating one", len(two) - 1 == 10,
                  "9 besides it: the table's 10 rows include it"),
        Statement("Special case I: the best orders for forgetting and for generalization error differ",
                  all(s.differs for s in special[2:]),
                  "T >= 4; at T = 2, 3 it is best for both to learn the special task first"),
        Statement("Special cases II and III: the best orders for both agree", flat,
                  "the generalization error is the same for every order"),
        Statement("Expected by the paper: the alternating order is best, equal counts", all(e.unique for e in equal),
                  f"{len(equal)} problems in exact arithmetic, the only optimum; every T by the theorem in "
                  "ebbing.paper.proofs.categories"),
        Statement("Expected by the paper: taking categories in turn is best, unequal counts", not beaten,
                  f"fails for {len(beaten)} of {len(unequal)} problems" + (f", first {beaten[0]}" if beaten else "")),
        Statement("New: taking categories in turn is best as r -> 1, unequal counts",
                  all(u.alternating in u.best[-1] for u in unequal), "on the last interval of r, up to T = "
                  f"{config.max_tasks_unequal}; every T by the theorem in docs/theory/order_categories.md, 7.6"),
        Statement("Expected by the paper: a best order has no equal neighbors if possible, unequal counts", not apart,
                  f"fails for {len(apart)} of {len(unequal)} problems" + (f", first {apart[0]}" if apart else "")),
    )  # fmt: skip
