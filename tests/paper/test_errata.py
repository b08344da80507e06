"""The paper's errata, numbered as in docs/theory/errata.md: each has a verdict, and some more tests than that."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ebbing.paper import claims, order_report
from ebbing.paper.order_tables import TWO_CATEGORIES
from ebbing.paper.proofs import best_places, enumerate_orders, generalization_places
from ebbing.problem import Problem
from ebbing.theory import coefficients, expect, forward_transfer, negative_forgetting, two_task_generalization_slope


def test_erratum_3_noise_of_forward_transfer():
    """The last term is p s^2 / (p-n-1) (1 - r^t); without the bracket it is wrong already for the first task."""
    n, p, s2, T = 20, 50, 0.25, 5
    problem = Problem.orthogonal(T=T, n=n, p=p, sigma=s2**0.5)
    r, t = 1 - n / p, np.arange(1, T + 1)
    gaps = np.array([sum(n / p * r ** (k - i) * problem.gaps[i - 1, k - 1] for i in range(1, k + 1)) for k in t])
    without = r**t * problem.start + gaps
    noise_floor = p * s2 / (p - n - 1)
    learned = forward_transfer(problem).learned
    assert without + noise_floor * (1 - r**t) == pytest.approx(learned, rel=1e-14)
    assert np.all(without + noise_floor - learned > 0.01)


def test_erratum_4_sign_of_forward_transfer():
    problem = Problem.identical(T=2, n=50, p=100)
    transfer = forward_transfer(problem)
    assert transfer.learned[1] < transfer.scratch[1]  # the second task is learned better after the first
    assert transfer.difference[1] < 0  # yet the paper calls positive values a benefit


@pytest.mark.parametrize(("n", "negative"), [(39, True), (38, False)])
def test_erratum_5_sign_of_c12(n, negative):
    """c_12 < 0 only for r < (sqrt 5 - 1)/2 = 0.618...: r = 0.61 below, r = 0.62 above."""
    assert (coefficients(4, n, 100)[0, 1] < 0) == negative


def test_erratum_8_slope_of_G2():
    """Agreeing tasks, low noise: the slope is negative just above n and positive far out, so a floor is a minimum."""

    def problem(p):
        return Problem(gram=[[1.0, 0.8], [0.8, 1.0]], n=50, p=p, sigma=0.1)

    assert two_task_generalization_slope(problem(52)) < 0 < two_task_generalization_slope(problem(500))
    near, floor, far = (expect(problem(p)).generalization for p in (52, 61, 500))
    assert floor < near
    assert floor < far


def test_erratum_9_negative_forgetting_is_an_equivalence():
    """With noise above the proposition's bound the condition still decides the sign of E F_2, both ways."""
    n, p = 50, 100
    for sigma, second, negative in ((0.1, 1.0, True), (0.1, -1.0, False), (1.5, 0.5, False)):
        problem = Problem.from_vectors([[1.0], [second]], n=n, p=p, sigma=sigma)
        found = negative_forgetting(problem)
        assert found.noise_allows == (sigma**2 < (p - n - 1) / p)
        assert found.holds == negative == (expect(problem).forgetting <= 0)
        assert expect(problem).forgetting == pytest.approx(-n / p * found.margin, rel=1e-12)


def test_erratum_10_nine_other_orders():
    assert len(set(enumerate_orders((3, 3))) - {"ABABAB"}) == 9
    assert len(TWO_CATEGORIES) == 10
    assert TWO_CATEGORIES[0][0] == "ABABAB"


@pytest.mark.parametrize("T", [2, 3])
def test_erratum_16_order1_needs_four_tasks(T):
    for r in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)):
        assert best_places(T, r) == (1, 2)
    assert 1 in generalization_places(T)


def test_every_erratum_has_a_verdict():
    table = (Path(__file__).parents[2] / "docs" / "theory" / "errata.md").read_text("utf-8")
    listed = set(re.findall(r"^\| (E\d+) ", table, re.MULTILINE))
    sources = [claim.source for claim in claims.CLAIMS.values()] + list(order_report.PLACES.values())
    assert len(listed) == 17
    assert {number for source in sources for number in re.findall(r"erratum (E\d+)", source)} == listed
