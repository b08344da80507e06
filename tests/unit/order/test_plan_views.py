"""Orders as text and frames: what is proved, and of what."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ebbing.order import best_order, front, stakes, worst_order
from ebbing.problem import Problem
from ebbing.theory import expect

NAMES = ["digits", "letters", "faces", "cars", "birds"]
DISTANCES = [
    [0.00, 0.60, 1.30, 1.10, 1.20],
    [0.60, 0.00, 1.25, 1.15, 1.20],
    [1.30, 1.25, 0.00, 1.00, 0.80],
    [1.10, 1.15, 1.00, 0.00, 0.70],
    [1.20, 1.20, 0.80, 0.70, 0.00],
]
PROBLEM = Problem.from_distances(DISTANCES, n=50, p=100, sigma=0.3, names=NAMES)


def test_stakes_line_by_line():
    lines = stakes(PROBLEM).summary().split("\n")
    assert lines[:13] == [
        "5 tasks, n=50, p=100, sigma=0.3: overparameterized, n/p = 0.5",
        "Model: linear, isotropic Gaussian features, each task learned to interpolation (minimum norm).",
        "",
        "Learn in this order for the least expected forgetting:",
        "  digits > faces > cars > letters > birds",
        "Proved: no order of these tasks has a lower expected forgetting in this linear model than 0.50142",
        "(branch and bound). No other order has it.",
        "",
        "expected           forgetting F  generalization error G",
        "recommended order       0.50142                 1.01822",
        "order as given         0.572716                 1.00425",
        "worst order            0.714377                 1.09371",
        "all orders, mean        0.60029",
    ]
    text = "\n".join(lines)
    assert "Of all 120 orders, 68% are worse than the given one and 99% worse than the recommended one." in text
    assert "Each task in the recommended order:" in text
    assert "letters         0.4908        0.7513       1.187      0.4362            0.4141" in lines


def test_stakes_of_a_mix_name_both_weights():
    text = " ".join(stakes(PROBLEM, {"forgetting": 0.7, "generalization": 0.3}).summary().split())
    assert "least mix of expected forgetting (weight 0.7) and generalization error (weight 0.3):" in text
    assert "expected objective forgetting F generalization error G" in text


def test_stakes_of_many_tasks_sample_random_orders():
    many = Problem.from_vectors(np.random.default_rng(0).standard_normal((7, 3)), n=50, p=100)
    found = stakes(many)
    assert len(found.random.values) == 1000
    text = found.summary()
    assert re.search(r"\nrandom orders, mean +[\d.]+ ± 0\.0\d\n", text)
    assert "Of 1,000 random orders, " in text


def test_stakes_of_few_tasks_count_every_order():
    found = stakes(Problem.categories("AAB", n=50, p=100))
    assert len(found.random.values) == 6
    assert found.random.exhaustive
    assert found.random.standard_error == 0
    assert found.random.values.min() == pytest.approx(found.plan.value, rel=1e-12)
    assert found.random.values.max() == pytest.approx(found.worst.value, rel=1e-12)


def test_stakes_of_generalization_put_the_mean_in_its_column():
    text = stakes(PROBLEM, "generalization").summary()
    mean = next(line for line in text.split("\n") if line.startswith("all orders"))
    header = next(line for line in text.split("\n") if line.startswith("expected  "))
    assert len(mean) == len(header)


def test_stakes_of_equal_orders_ignore_rounding():
    text = stakes(Problem.orthogonal(T=3, n=50, p=100, sigma=0.3)).summary()
    assert "all orders, mean        0.92092\n" in text
    assert "0% are worse than the given one and 0% worse than the recommended one" in text


def test_stakes_of_a_single_task():
    text = stakes(Problem.orthogonal(T=1, n=5, p=10), "generalization").summary()
    assert "forgetting F" not in text
    assert "nan" not in text


def test_plan_shows_the_order_and_each_task():
    plan = best_order(Problem.categories("AABB", n=50, p=100))
    text = plan.summary()
    assert "  A1 > B1 > A2 > B2\n" in text
    assert "8 orders share it." in text
    assert "Each task in this order:" in text
    assert not re.search(r"-0(?![.\d])", text)


def test_certificate_of_the_worst_order():
    text = " ".join(worst_order(PROBLEM).summary().split())
    assert "The order with the largest expected forgetting:" in text
    assert "Proved: no order of these tasks has a higher expected forgetting in this linear model than 0.714377" in text


def test_more_time_is_advised_where_it_can_help():
    plan = best_order(PROBLEM)
    unproved = replace(plan, proved=False, lower_bound=plan.value - 0.1, method="branch and bound, out of time")
    text = " ".join(unproved.summary().split())
    assert (
        "Not proved: this order has 0.50142, and no order of these tasks is below 0.40142 in this linear model" in text
    )
    assert "a gap of 0.1 (branch and bound, out of time). More time (seconds) may close the gap." in text
    assert "interrupted" not in text
    assert "The search was interrupted." in replace(unproved, interrupted=True).summary()


def test_more_time_is_not_said_to_prove_what_it_cannot():
    many = Problem.from_vectors(np.random.default_rng(0).standard_normal((24, 5)), n=300, p=1000)
    plan = best_order(many, seconds=0.5)
    text = " ".join(plan.summary().split())
    assert not plan.provable
    assert "may close the gap" not in text
    assert "There are too many tasks for a proof; more time (seconds) may find a better order, not prove it." in text
    worst = worst_order(PROBLEM.replace(n=[5, 6, 7, 8, 9]), seconds=0.5)
    text = " ".join(worst.summary().split())
    assert "no bound above it is known" in text
    assert "may close the gap" not in text


def test_plans_warn_of_tasks_hardly_learned():
    problem = PROBLEM.replace(n=2)
    for result in (best_order(problem), stakes(problem), front(problem)):
        assert "The tasks are hardly learned: n/p is 0.02" in result.summary()


def test_names_are_escaped_everywhere():
    problem = Problem.orthogonal(T=2, n=50, p=100, names=["a\nb\x1b", "<i>"])
    for result in (best_order(problem), stakes(problem), front(problem)):
        assert "a\\nb\\x1b" in result.summary()
        assert "\x1b" not in result.summary() + result._repr_html_()
        assert "<i>" not in result._repr_html_()
        assert "&lt;i&gt;" in result._repr_html_()


def test_front_line_by_line():
    lines = front(PROBLEM).summary().split("\n")
    assert lines[3:9] == [
        "Orders that balance forgetting and generalization error:",
        "",
        "forgetting F  generalization error G  order                                    certificate",
        "     0.50142                 1.01822  digits > faces > cars > letters > birds  proved",
        "    0.504037                 1.00166  digits > faces > letters > cars > birds  proved",
        "    0.528174                 1.00046  faces > digits > letters > cars > birds  proved",
    ]
    assert "no order lies below the lines between them" in lines[9]


def test_front_that_is_not_complete_says_what_may_help():
    found = front(PROBLEM)
    assert "may complete the front" in replace(found, complete=False).summary().replace("\n", " ")
    many = Problem.from_vectors(np.random.default_rng(0).standard_normal((24, 5)), n=300, p=1000)
    corner = replace(found.points[0], order=tuple(range(24)), proved=False)
    text = replace(found, problem=many, points=(corner,), complete=False).summary().replace("\n", " ")
    assert "may complete the front" not in text
    assert "too many tasks for a proof" in text
    assert "not proved" in text


def test_frames_of_orders():
    found = stakes(PROBLEM)
    plan, e = found.plan, expect(found.plan.reordered)
    frame: Any = plan.to_frame()
    assert frame["task"].tolist() == list(plan.names)
    assert [NAMES[i] for i in frame["index"]] == list(plan.names)
    assert frame["forgetting"][:-1].mean() == pytest.approx(plan.value, rel=1e-12)
    assert np.array_equal(frame["final_error"], e.errors[-1])
    frame = found.to_frame().set_index("order")
    assert frame["value"].tolist() == [plan.value, found.given, found.worst.value, found.random.mean]
    assert frame.loc["recommended", "generalization"] == e.generalization
    assert frame.loc["given", "tasks"] == tuple(NAMES)
    assert np.isnan(frame.loc["random mean", "forgetting"])


def test_frame_of_the_front():
    found = front(PROBLEM)
    frame: Any = found.to_frame()
    assert frame["forgetting"].tolist() == [point.forgetting for point in found]
    assert frame["tasks"][0] == tuple(NAMES[i] for i in found.points[0].order)
