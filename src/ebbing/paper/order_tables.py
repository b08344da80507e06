"""The two T = 6 tables on task order, Props. order1, order2, order3, and what the same proofs say beyond the paper.

Tables validate_2_groups_6 and validate_3_groups_6 (proofs of Props. order2 and order3) list, for each order of two or
three categories, (T-1)/(1-r) times the difference of forgetting from the alternating order, a polynomial in r. Each row
is generated, compared with the printed one, and proved positive on 0 < r < 1. Every statement is exact; nothing is
sampled. Theorems and proofs: `ebbing.paper.proofs.categories`, `ebbing.paper.proofs.one_versus_many`.
"""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise

from ebbing.paper.proofs.categories import best_orders, number_of_orders, orders, prove_alternating
from ebbing.paper.proofs.one_versus_many import proposition1
from ebbing.paper.proofs.polynomials import Poly, count_roots, difference, generalization_polynomial, prove_positive

# Proof of Prop. order2, Table validate_2_groups_6, columns 2 and 3 as printed (A for C_1, B for C_2).
TWO_CATEGORIES = (
    ("ABABAB", r"0"),
    ("AABABB", r"r\left(2-2r+2r^{2}-2r^{3}\right)"),
    ("AABBAB", r"r\left(2-3r+2r^{2}-r^{3}\right)"),
    ("AABBBA", r"r\left(3-3r-r^{3}+r^{4}\right)"),
    ("ABBAAB", r"r\left(2-4r+2r^{2}\right)"),
    ("ABBABA", r"r\left(1-2r+2r^{2}-2r^{3}+r^{4}\right)"),
    ("AAABBB", r"r\left(4-2r-2r^{3}\right)"),
    ("ABABBA", r"r\left(1-2r+2r^{2}-2r^{3}+r^{4}\right)"),
    ("ABAABB", r"r\left(2-3r+2r^{2}-r^{3}\right)"),
    ("ABBBAA", r"r\left(3-3r-r^{3}+r^{4}\right)"),
)
# Proof of Prop. order3, Table validate_3_groups_6.
THREE_CATEGORIES = (
    ("ABCABC", r"0"),
    ("ABABCC", r"r\left(1+2r-3r^{2}\right)"),
    ("ABBCCA", r"r\left(2-3r^{2}+r^{4}\right)"),
    ("ABACBC", r"r^{2}\left(2-2r\right)"),
    ("ABCBAC", r"r^{2}\left(1-2r+r^{2}\right)"),
    ("ABCACB", r"r^{2}\left(1-2r+r^{2}\right)"),
    ("AABCBC", r"r\left(1+2r-3r^{2}\right)"),
    ("ABBACC", r"r\left(2-2r^{2}\right)"),
    ("AABBCC", r"r\left(3-3r^{2}\right)"),
    ("ABACCB", r"r\left(1+r-3r^{2}+r^{3}\right)"),
    ("ABCCAB", r"r\left(1-3r^{2}+2r^{3}\right)"),
    ("ABCCBA", r"r\left(1-2r^{2}+r^{4}\right)"),
    ("ABBCAC", r"r\left(1+r-3r^{2}+r^{3}\right)"),
    ("AABCCB", r"r\left(2-2r^{2}\right)"),
    ("ABCBCA", r"r^{2}\left(2-3r+r^{3}\right)"),
)


@dataclass(frozen=True)
class Config:
    """How far to go beyond the paper. The paper's own tables and propositions are always complete.

    `special_up_to`: the largest T of Prop. order1; `equal_up_to`, `unequal_up_to`: the largest T of category problems
    with equal and with unequal counts; `orders_up_to`: problems with more orders than this are left out (a million take
    a few seconds).
    """

    special_up_to: int = 24
    equal_up_to: int = 16
    unequal_up_to: int = 8
    orders_up_to: int = 200_000

    def __post_init__(self) -> None:
        if self.special_up_to < 4:
            raise ValueError(f"special_up_to={self.special_up_to}: Prop. order1 starts at T = 4")
        if max(self.equal_up_to, self.unequal_up_to) > 30:
            raise ValueError("equal_up_to and unequal_up_to: every order is expanded, so at most 30 tasks are accepted")


@dataclass(frozen=True)
class Row:
    """A row of the paper's tables: its polynomial as generated (`text`) and as `printed`, and its proved sign.

    `roots` counts the distinct roots in 0 < r < 1 by a Sturm sequence, a second proof beside `method`.
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
    """A statement of the paper, whether it holds, and what exactly was proved."""

    name: str
    holds: bool
    proved: str


@dataclass(frozen=True)
class Equal:
    """Equal counts: is the alternating order best for every 0 < r < 1, and the only one?"""

    counts: tuple[int, ...]
    T: int
    orders: int
    polynomials: int
    proved: bool
    unique: bool


@dataclass(frozen=True)
class Unequal:
    """Unequal counts: the best order from each breakpoint of r to the next.

    `alternating` is the order that deals the categories in turn, the largest first; `counterexample`: another order
    beats it at some r. `neighbors`: an order without equal neighbors exists, but none is best at any r.
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
    """Both tables, the paper's statements, and the new results."""

    config: Config
    two: tuple[Row, ...]
    three: tuple[Row, ...]
    statements: tuple[Statement, ...]
    equal: tuple[Equal, ...]
    unequal: tuple[Unequal, ...]


def run(config: Config = Config()) -> Result:  # noqa: B008 (frozen)
    """Generate everything.

    >>> result = run(Config(equal_up_to=6, unequal_up_to=5))
    >>> result.two[5].text, result.two[5].equal, result.two[5].verdict
    ('r(1-2r+2r^2-2r^3+r^4)', True, 'positive')
    >>> [(row.counts, row.orders, row.polynomials, row.unique) for row in result.equal]
    [((2, 2), 3, 3, True), ((3, 3), 10, 7, True), ((2, 2, 2), 15, 11, True)]
    """
    two, three = _table(TWO_CATEGORIES), _table(THREE_CATEGORIES)
    reach = [c for T in range(2, 31) for c in _partitions(T, T) if len(c) > 1 and _within(config, T, c)]
    equal = tuple(_equal(counts) for counts in reach if len(set(counts)) == 1 and counts[0] > 1)
    unequal = tuple(_unequal(counts) for counts in reach if len(set(counts)) > 1)
    return Result(config, two, three, _statements(config, two, three, equal, unequal), equal, unequal)


def _within(config: Config, T: int, counts: tuple[int, ...]) -> bool:
    limit = config.equal_up_to if len(set(counts)) == 1 else config.unequal_up_to
    return limit >= T and number_of_orders(counts) <= config.orders_up_to


def _partitions(T: int, largest: int) -> Iterator[tuple[int, ...]]:
    if T == 0:
        yield ()
    for m in range(min(T, largest), 0, -1):
        yield from ((m, *rest) for rest in _partitions(T - m, m))


def _table(printed: tuple[tuple[str, str], ...]) -> tuple[Row, ...]:
    rows = []
    for index, (order, theirs) in enumerate(printed, 1):
        p = difference(order, printed[0][0])
        proof = prove_positive(p)
        roots = count_roots(p) if p else None
        rows.append(Row(index, order, text(p), theirs, latex(p) == theirs, proof.verdict, proof.method, roots, p))
    return tuple(rows)


def _equal(counts: tuple[int, ...]) -> Equal:
    proof = prove_alternating(counts)
    return Equal(counts, sum(counts), proof.orders, proof.distinct, proof.proved, proof.unique)


def _unequal(counts: tuple[int, ...]) -> Unequal:
    proof, pieces = prove_alternating(counts), best_orders(counts)
    T, best = sum(counts), tuple(piece.orders for piece in pieces)
    apart = any(all(a != b for a, b in pairwise(o)) for tied in best for o in tied)
    cuts = tuple(str(piece.left) for piece in pieces[1:])
    lost = not apart and 2 * max(counts) <= T + 1
    return Unequal(counts, proof.orders, proof.distinct, proof.reference, not proof.proved, lost, cuts, best)


def _statements(
    config: Config,
    two: tuple[Row, ...],
    three: tuple[Row, ...],
    equal: tuple[Equal, ...],
    unequal: tuple[Unequal, ...],
) -> tuple[Statement, ...]:
    special = [proposition1(T) for T in range(2, config.special_up_to + 1)]
    four, six, triple = (prove_alternating(c) for c in ((2, 2), (3, 3), (2, 2, 2)))
    flat = all(len({generalization_polynomial(o) for o in orders(c)}) == 1 for c in ((2, 2), (3, 3), (2, 2, 2)))
    beaten = [u.counts for u in unequal if u.counterexample]
    apart = [u.counts for u in unequal if u.neighbors]
    Ts = f"T = 4..{config.special_up_to} by exact breakpoints (every T >= 4 by the proof in one_vs_many)"
    return (
        Statement("Prop. order1, 1) i* takes every value in 2..T/2", all(s.every_place for s in special[2:]), Ts),
        Statement("Prop. order1, 1) at T = 2, 3", any(s.every_place for s in special[:2]),
                  "the range is empty; places 1 and 2 tie at every r"),
        Statement("Prop. order1, 2) i* is non-decreasing with n/p", all(s.monotone for s in special[2:]), Ts),
        Statement("Prop. order2, T = 4", four.unique, "the only optimum for 0 < r < 1, up to renaming"),
        Statement("Prop. order2, T = 6", six.unique, "the only optimum for 0 < r < 1, up to renaming"),
        Statement("Prop. order3, T = 6", triple.unique, "the only optimum for 0 < r < 1, up to renaming"),
        Statement("Tables: every printed polynomial", all(r.equal for r in two + three), "equal, row by row"),
        Statement("Tables: every polynomial is positive for 0 < r < 1",
                  all(r.verdict == "positive" and r.roots == 0 for r in two[1:] + three[1:]),
                  "by Bernstein coefficients and by Sturm sequences, in exact arithmetic"),
        Statement("Tables: no effective order is missing",
                  {r.order for r in two} == set(orders((3, 3))) and {r.order for r in three} == set(orders((2, 2, 2))),
                  "10 and 15 orders, the alternating one included"),
        Statement("Proof of Prop. order2: 10 orders besides the alternating one", len(two) - 1 == 10,
                  "9 besides it: the table's 10 rows include it"),
        Statement("F- and G-optimal orders differ in Special case I", all(s.differs for s in special[2:]),
                  "T >= 4; at T = 2, 3 the special task first is best for both"),
        Statement("F- and G-optimal orders agree in Special cases II and III", flat, "G is the same for every order"),
        Statement("Expected beyond: alternating is best, equal counts", all(e.unique for e in equal),
                  f"{len(equal)} problems by machine, the only optimum; every T by the theorem in categories"),
        Statement("Expected beyond: dealing categories in turn is best, unequal counts", not beaten,
                  f"fails for {len(beaten)} of {len(unequal)} problems" + (f", first {beaten[0]}" if beaten else "")),
        Statement("New: dealing categories in turn is best as r -> 1, unequal counts",
                  all(u.alternating in u.best[-1] for u in unequal), "on the last interval of r, up to T = "
                  f"{config.unequal_up_to}; every T by the theorem in docs/order.md, 7.6"),
        Statement("Expected beyond: a best order has no equal neighbors if it can, unequal counts", not apart,
                  f"fails for {len(apart)} of {len(unequal)} problems" + (f", first {apart[0]}" if apart else "")),
    )  # fmt: skip


# --- rendering ---------------------------------------------------------------------------------------------------


def latex(p: Poly) -> str:
    r"""The polynomial as the paper's tables print it: the lowest power of r in front.

    >>> print(latex((0, 0, 2, -2)))
    r^{2}\left(2-2r\right)
    """
    if not p:
        return "0"
    low = next(k for k, c in enumerate(p) if c)
    alone = low > 0 and len(p) == low + 1  # one term: nothing to put in brackets
    body = ""
    for k, c in enumerate(p[low:]):
        if c:
            size = "" if abs(c) == 1 and (k > 0 or alone) else str(abs(c))
            body += ("-" if c < 0 else "+" if body else "") + size + _power(k)
    return body + _power(low) if low == 0 or alone else rf"{_power(low)}\left({body}\right)"


def _power(k: int) -> str:
    return "" if k == 0 else "r" if k == 1 else f"r^{{{k}}}"


def text(p: Poly) -> str:
    """`latex` in plain characters.

    >>> text((0, 1, 0, -1))
    'r(1-r^2)'
    """
    return latex(p).replace(r"\left", "").replace(r"\right", "").replace("{", "").replace("}", "")


def to_json(result: Result) -> str:
    """Everything, as one JSON document.

    >>> json.loads(to_json(run(Config(equal_up_to=4, unequal_up_to=3))))["equal"][0]["counts"]
    [2, 2]
    """
    return json.dumps(asdict(result), indent=2)


def to_csv(result: Result) -> dict[str, str]:
    """One CSV text per table: two, three, statements, equal, unequal.

    >>> to_csv(run(Config(equal_up_to=4, unequal_up_to=3)))["equal"].splitlines()[1]
    '2 2,4,3,3,True,True'
    """
    return {name: _csv([asdict(row) for row in getattr(result, name)]) for name in TABLES}


TABLES = {
    "two": "Table validate_2_groups_6 (proof of Prop. order2): (T-1)/(1-r) times the difference of forgetting",
    "three": "Table validate_3_groups_6 (proof of Prop. order3)",
    "statements": "The paper's statements",
    "equal": "New: equal counts, every 0 < r < 1",
    "unequal": "New: unequal counts, the best orders from one breakpoint of r to the next",
}


def _csv(rows: list[dict]) -> str:
    out = io.StringIO()
    if rows:
        writer = csv.DictWriter(out, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: _cell(v) for k, v in row.items()} for row in rows)
    return out.getvalue()


def _cell(value: object) -> object:
    """Lists of lists as "a=b | c=d", lists as "a b"."""
    if not isinstance(value, tuple):
        return value
    if value and isinstance(value[0], tuple):
        return " | ".join("=".join(tied) for tied in value)
    return " ".join(map(str, value))


def to_text(result: Result) -> str:
    """Every table in aligned plain text.

    >>> print(to_text(run(Config(equal_up_to=4, unequal_up_to=3))).split("New: equal")[1].splitlines()[2])
    2 2     4  3       3            True    True
    """
    parts = []
    for name, title in TABLES.items():
        table = list(csv.reader(io.StringIO(to_csv(result)[name])))
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in table]
        parts.append("\n".join([title, *lines]))
    return "\n\n".join(parts)
