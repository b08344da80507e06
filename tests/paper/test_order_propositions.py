"""Sec. "The impact of task ordering": every table row and proposition, and Theorem 1 evaluated independently."""

import csv
import io
import itertools
import json
import math
import random
from fractions import Fraction

import pytest

from ebbing.paper import order_report, order_tables
from ebbing.paper.proofs import (
    Poly,
    best_orders,
    count_orders,
    difference,
    enumerate_orders,
    forgetting_polynomial,
    one_versus_many,
    prove_alternating,
    prove_positive,
    sign_pattern,
)
from ebbing.paper.proofs.polynomials import subtract, to_text

RATIOS = [Fraction(1, 50), Fraction(1, 7), Fraction(1, 3), Fraction(3, 5), Fraction(7, 9), Fraction(19, 20)]


def F2(order: str, r: Fraction) -> Fraction:
    """Term F2 of Theorem 1, eq. (forget_close) with c_ij of eq. (cij); written from the paper, places from 1."""
    T = len(order)
    c = {
        (i, j): (1 - r) * (r ** (T - i) - r ** (j - i) + r ** (T - j)) for i in range(1, T) for j in range(i + 1, T + 1)
    }
    return sum((c[i, j] for i, j in c if order[i - 1] != order[j - 1]), Fraction(0)) / (T - 1)


def arrangements(letters: str) -> set[str]:
    return {"".join(p) for p in itertools.permutations(letters)}


def value(p: Poly, x: Fraction) -> Fraction:
    return sum((c * x**k for k, c in enumerate(p)), Fraction(0))


@pytest.fixture(scope="module")
def result() -> order_tables.Result:
    return order_tables.run()


# --- the two tables -----------------------------------------------------------------------------------------------


def check_row(row: order_tables.TableRow, reference: str) -> None:
    assert row.equal, (row.text, row.printed)
    assert row.text == row.printed.replace(r"\left", "").replace(r"\right", "").replace("{", "").replace("}", "")
    assert row.verdict == ("zero" if row.index == 1 else "positive")
    for r in RATIOS:
        T = len(row.order)
        assert F2(row.order, r) - F2(reference, r) == (1 - r) / (T - 1) * value(row.coefficients, r)


@pytest.mark.parametrize("index", range(1, 11))
def test_row_of_table_validate_2_groups_6(result, index):
    check_row(result.two[index - 1], "ABABAB")


@pytest.mark.parametrize("index", range(1, 16))
def test_row_of_table_validate_3_groups_6(result, index):
    check_row(result.three[index - 1], "ABCABC")


@pytest.mark.parametrize(("name", "counts"), [("two", (3, 3)), ("three", (2, 2, 2))])
def test_tables_list_every_order_once(result, name, counts):
    listed = [row.order for row in getattr(result, name)]
    assert sorted(listed) == list(enumerate_orders(counts))


def test_table_reports_a_wrong_printed_row():
    order, printed = order_tables.TWO_CATEGORIES[5]
    wrong = (order_tables.TWO_CATEGORIES[0], (order, printed.replace("+2r^{2}", "-2r^{2}")))
    assert [row.equal for row in order_tables._table(wrong)] == [True, False]


@pytest.mark.parametrize("power", [1, 2, 3, 4, 5])
def test_row_6_with_a_changed_sign_is_not_positive(power):
    p = list(difference("ABBABA", "ABABAB"))
    p[power] = -p[power]
    proof = prove_positive(tuple(p))
    assert proof.positive == (power in (2, 4))  # turning -2r^2 or -2r^4 into + keeps it positive; the others do not
    for left, right in proof.negative:
        x = ((left.hi if left else 0) + (right.lo if right else Fraction(1))) / 2
        assert value(tuple(p), Fraction(x)) < 0


def test_blocked_order_is_never_optimal():
    proofs = [prove_positive(difference(o, "AAABBB")) for o in enumerate_orders((3, 3)) if o != "AAABBB"]
    assert all(proof.verdict == "negative somewhere" for proof in proofs)  # it is in fact the worst
    assert all(proof.negative == ((None, None),) for proof in proofs)


# --- Props. order2 and order3 -------------------------------------------------------------------------------------


def test_proposition_order2_T4_displays():
    r = Fraction(2, 7)
    shown = {"AABB": r**2 + r**3 + r + r**2, "ABAB": r + r**3 + r + r, "ABBA": r + r**2 + r + r**2}
    for order, total in shown.items():
        assert F2(order, r) - F2("ABAB", r) == (1 - r) / 3 * (shown["ABAB"] - total)


@pytest.mark.parametrize(("counts", "best"), [((2, 2), "ABAB"), ((3, 3), "ABABAB"), ((2, 2, 2), "ABCABC")])
def test_propositions_order2_and_order3(counts, best):
    proof = prove_alternating(counts)
    assert proof.reference == best
    assert proof.proved
    assert proof.unique
    everything = arrangements("".join(sorted(best)))
    renamed = {
        best.translate(str.maketrans(best[: len(counts)], "".join(p)))
        for p in itertools.permutations(best[: len(counts)])
    }
    for r in RATIOS:  # brute force over all orders, renamed ones included
        least = min(F2(o, r) for o in everything)
        assert {o for o in everything if F2(o, r) == least} == renamed


EQUAL = [(4, 4), (5, 5), (6, 6), (7, 7), (3, 3, 3), (4, 4, 4), (2,) * 4, (3,) * 4, (2,) * 5, (2,) * 6, (5, 5, 5)]


@pytest.mark.parametrize("counts", EQUAL, ids=str)
def test_alternating_is_the_only_optimum_for_equal_counts(counts):
    proof = prove_alternating(counts)
    assert proof.orders == count_orders(counts)
    assert sum(proof.methods.values()) == proof.distinct
    assert proof.proved
    assert proof.unique


@pytest.mark.parametrize("counts", [(3, 3, 3), (5, 5), (2, 2, 2, 2)], ids=str)
def test_equal_counts_by_sturm_alone(counts):
    rows = list(prove_alternating(counts).rows())
    for row in rows:
        assert not row.polynomial or sign_pattern(row.polynomial) == ((), (1,))
    assert sum(not row.polynomial for row in rows) == 1


def cheapest(u: tuple[Fraction, ...], steps: int, r: Fraction) -> Fraction:
    """J_k of the theorem in `categories`, from its definition."""
    if steps == 0:
        return Fraction(0)
    after = [tuple(r * x + (k == s) for k, x in enumerate(u)) for s in range(len(u))]
    return min(r * u[s] + cheapest(after[s], steps - 1, r) for s in range(len(u)))


def test_theorem_equal_counts_smallest_coordinate_is_best():
    rng = random.Random(0)
    for _ in range(60):
        c, steps = rng.choice([(2, 7), (3, 5), (4, 4)])
        r = Fraction(rng.randint(1, 29), 30)
        u = tuple(Fraction(rng.randint(0, 40), 10) for _ in range(c))
        cost = [r * u[s] + cheapest(tuple(r * x + (k == s) for k, x in enumerate(u)), steps - 1, r) for s in range(c)]
        for a, b in itertools.permutations(range(c), 2):
            if u[a] <= u[b]:
                assert (cost[a] < cost[b]) == (u[a] < u[b])


@pytest.mark.parametrize(("c", "T"), [(2, 7), (2, 8), (3, 7), (4, 6)])
def test_theorem_equal_counts_alternating_beats_all_sequences(c, T):
    letters = "ABCD"[:c]
    alternating = (letters * T)[:T]

    def repeats(o: str) -> Poly:  # sum_{i<j} r^{j-i} [o_i = o_j]
        return tuple([0] + [sum(a == b for a, b in zip(o, o[k:], strict=False)) for k in range(1, T)])

    for o in map("".join, itertools.product(letters, repeat=T)):
        first = "".join(dict.fromkeys(o))
        if o.translate(str.maketrans(first, letters[: len(first)])) != alternating:
            assert prove_positive(subtract(repeats(o), repeats(alternating))).positive


# --- Prop. order1 -------------------------------------------------------------------------------------------------


def special(T: int, place: int) -> str:
    return "B" * (place - 1) + "A" + "B" * (T - place)


@pytest.mark.parametrize("T", range(2, 13))
def test_proposition_order1_closed_form(T):
    for i in range(1, T + 1):
        assert one_versus_many.closed_form(T, i) == forgetting_polynomial(special(T, i))
        for r in RATIOS:  # the last display of the proof, before division by 1 - r
            shown = (1 - r) * (T - 2) * r ** (T - i) + (r ** (T - i) - 1) * (1 - r ** (i - 1)) * r + (1 - r)
            assert shown == (T - 1) * F2(special(T, i), r)


@pytest.mark.parametrize("T", range(2, 15))
def test_proposition_order1_best_place_equals_brute_force(T):
    last = T
    for r in [Fraction(k, 60) for k in range(1, 60)]:
        values = [F2(special(T, i), r) for i in range(1, T + 1)]
        best = tuple(i for i, v in enumerate(values, 1) if v == min(values))
        assert one_versus_many.best_places(T, r) == best
        assert best[-1] <= last  # non-increasing with r: non-decreasing with n/p
        last = best[-1]
        if T >= 4:
            assert 2 <= best[0] <= best[-1] <= T / 2
            assert abs(one_versus_many.best_real_place(T, float(r)) - best[0]) < 0.5 + 1e-9


@pytest.mark.parametrize("T", range(4, 12))
def test_proposition_order1_breakpoints_equal_the_envelope(T):
    pieces = best_orders((1, T - 1))
    changes = one_versus_many.breakpoints(T)
    assert [piece.orders for piece in reversed(pieces)] == [(special(T, i),) for i in range(2, T // 2 + 1)]
    for piece, rho in zip(pieces[1:], reversed(changes), strict=True):
        assert piece.left is not None
        assert piece.left.compare(rho) == 0


def test_proposition_order1_known_breakpoints():
    assert [str(x) for x in one_versus_many.breakpoints(6)] == ["1/3"]
    assert [round(float(x), 2) for x in one_versus_many.breakpoints(8)] == [0.78, 0.2]
    assert [round(float(x), 3) for x in one_versus_many.breakpoints(10)] == [0.897, 0.672, 0.143]
    assert [one_versus_many.check_proposition_order1(T).places for T in (4, 5, 7, 12)] == [
        (2,),
        (2,),
        (2, 3),
        (2, 3, 4, 5, 6),
    ]
    assert all(str(one_versus_many.breakpoints(T)[-1]) == f"1/{T - 3}" for T in range(6, 20, 2))


@pytest.mark.parametrize("T", [2, 3])
def test_proposition_order1_range_is_empty_below_T4(T):
    assert one_versus_many.closed_form(T, 1) == one_versus_many.closed_form(T, 2)  # a tie at every r
    assert not one_versus_many.check_proposition_order1(T).every_place


def test_erratum_alpha_of_proposition_order1():
    T, r = 8, 0.6

    def slope(alpha: float) -> float:  # of ((1-r)(T-2)+r) alpha + r^T / alpha
        return (1 - r) * (T - 2) + r - r**T / alpha**2

    right, printed = (math.sqrt(r**T / (T - 2 - k * r)) for k in (T - 3, T - 1))
    assert abs(slope(right)) < 1e-12
    assert abs(slope(printed)) > 0.1
    assert one_versus_many.best_real_place(T, r) == pytest.approx(T - math.log(right) / math.log(r))


# --- forgetting against generalization ----------------------------------------------------------------------------


@pytest.mark.parametrize("T", range(4, 13))
def test_special_case_I_optimal_orders_for_F_and_G_differ(T):
    assert one_versus_many.generalization_places(T) == (1,)
    for r in RATIOS:
        G2 = [r ** (T - i) * (T - 1) + sum(r ** (T - k) for k in range(1, T + 1) if k != i) for i in range(1, T + 1)]
        assert min(range(T), key=G2.__getitem__) == 0
    assert one_versus_many.check_proposition_order1(T).differs


def test_special_case_I_does_not_differ_for_three_tasks():
    assert not one_versus_many.check_proposition_order1(3).differs


def test_special_cases_II_and_III_have_one_G(result):
    assert next(s for s in result.statements if s.name.startswith("Special cases II and III")).holds


# --- unequal counts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "counts", [(2, 3), (2, 4), (3, 4), (1, 2, 3), (2, 6), (1, 1, 3), (1, 1, 5), (1, 2, 5), (2, 2, 3)], ids=str
)
def test_unequal_counts_best_orders_equal_brute_force(counts):
    listed = list(enumerate_orders(counts))
    for piece in best_orders(counts):
        lo, hi = piece.left.hi if piece.left else Fraction(0), piece.right.lo if piece.right else Fraction(1)
        for k in (1, 5, 9):
            r = lo + (hi - lo) * Fraction(k, 10)
            least = min(F2(o, r) for o in listed)
            assert tuple(o for o in listed if F2(o, r) == least) == piece.orders


def test_unequal_counts_counterexamples():
    assert {c for c in [(2, 3), (2, 4), (3, 4), (1, 2, 3), (2, 2, 3)] if not prove_alternating(c).proved} == set()
    proof = prove_alternating((6, 2))
    (worse,) = [row for row in proof.counterexamples if row.order == "ABAABAAA"]
    ((left, right),) = worse.certificate.negative
    assert left is None
    assert str(right) == "1/2"
    assert [p.orders for p in best_orders((3, 1, 1))] == [("ABCAA",)]  # beats ABACA, which has no equal neighbors


# --- the module of the tables -------------------------------------------------------------------------------------


def test_only_the_known_statements_fail(result):
    fails = {s.name for s in result.statements if not s.holds}
    assert len(fails) == 4
    assert all("T = 2, 3" in name or "besides" in name or "unequal counts" in name for name in fails)


def test_json_csv_and_text_agree(result):
    data, sheets, page = (
        json.loads(order_report.to_json(result)),
        order_report.to_csv(result),
        order_report.to_text(result),
    )
    for name in order_report.TABLES:
        rows = list(csv.DictReader(io.StringIO(sheets[name])))
        assert len(rows) == len(getattr(result, name)) == len(data[name])
        assert order_report.TABLES[name] in page
    assert "r(1-2r+2r^2-2r^3+r^4)" in page
    assert order_report.to_json(result) == order_report.to_json(order_tables.run())


@pytest.mark.parametrize(
    ("p", "shown"), [((), "0"), ((0, 1), "r"), ((0, 0, -3), "-3r^2"), ((1,), "1"), ((-1, 1), "-1+r")]
)
def test_text_of_small_polynomials(p, shown):
    assert to_text(p) == shown


def test_config_raises_an_error_for_bad_sizes():
    with pytest.raises(ValueError, match="max_tasks_special=3"):
        order_tables.Config(max_tasks_special=3)
    with pytest.raises(ValueError, match="30 tasks"):
        order_tables.Config(max_tasks_equal=40)


@pytest.mark.parametrize(("T", "r"), [(6, 0), (6, 1), (6, 1.5)])
def test_best_places_raises_an_error_for_a_bad_ratio(T, r):
    with pytest.raises(ValueError, match="r=") as error:
        one_versus_many.best_places(T, r)
    assert "between 0 and 1" in str(error.value)
