"""A forecast beside what training measured: numbers, words and tables."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from ebbing.runs import ForecastComparison

ORDERS = (("a", "b"), ("b", "a"), ("a", "c"))
COMPARISON = ForecastComparison(
    ORDERS,
    np.array([0.3, 0.1, 0.6]),
    np.array([0.2, 0.3, 0.7]),
    np.array([0.7, 0.75, 0.5]),
    np.array([0.71, 0.7, 0.4]),
    "each task trained until it is fitted",
)


def test_scores_are_those_of_the_definition():
    assert COMPARISON.advised == ("b", "a")
    assert COMPARISON.rank_correlation == pytest.approx(0.5)
    assert COMPARISON.orders_better == pytest.approx(1 / 3)
    assert COMPARISON.regret == pytest.approx((0.3 - 0.2) / (0.4 - 0.2))
    assert "rank_correlation=0.50, orders_better=0.33, regret=0.50" in repr(COMPARISON)


def test_equal_orders_have_no_regret():
    equal = ForecastComparison(ORDERS, np.array([0.3, 0.1, 0.6]), np.full(3, 0.2))
    assert (equal.regret, equal.orders_better, equal.rank_correlation) == (0, 0, 0)


@pytest.mark.parametrize("unit", [1.0, 1e-14, 1e14])
def test_scores_have_no_unit(unit):
    """Errors of regression are in squared units of the labels."""
    found = replace(COMPARISON, predicted=unit * COMPARISON.predicted, measured=unit * COMPARISON.measured)
    assert (found.orders_better, found.regret) == pytest.approx((1 / 3, 0.5))


def test_equal_orders_have_no_regret_for_rounding_errors():
    equal = ForecastComparison(ORDERS, np.array([0.3, 0.1, 0.6]), np.array([0.3, 0.1 + 0.2, 0.3]))
    assert (equal.regret, equal.orders_better) == (0, 0)


def test_summary_lists_orders_by_measured_forgetting():
    lines = COMPARISON.summary().splitlines()
    assert lines[0] == "Predicted and measured; least measured forgetting first"
    assert [line.split("  ")[0] for line in lines if " > " in line][:3] == ["a > b", "b > a", "a > c"]
    text = " ".join(COMPARISON.summary().split())
    assert "a > b 0.3 0.2 70% 71%" in text
    assert "Rank correlation" not in text  # of three orders, it would mean little
    assert "b > a is predicted to forget least. Measured: 0.3; the best order 0.2, a mean order 0.4." in text
    assert text.endswith("Forecast: each task trained until it is fitted.")


def test_summary_of_regression_has_no_accuracies():
    text = ForecastComparison(ORDERS, COMPARISON.predicted, COMPARISON.measured).summary()
    assert "ccuracy" not in text
    assert "Forecast:" not in text


def test_summary_of_regression_has_errors_at_the_end():
    found = replace(
        ForecastComparison(ORDERS, 1000 * COMPARISON.predicted, 1000 * COMPARISON.measured),
        predicted_generalization=np.array([1200.5, 3, 4]),
        measured_generalization=np.array([1234.5, 6, 7]),
    )
    text = " ".join(found.summary().split())
    assert "order predicted forgetting measured predicted error measured a > b 300 200 1200 1234 b > a 100" in text
    assert "Error: mean squared error at the end, the mean of all tasks. Of these orders, b > a is predicted" in text
    assert "Measured: 300; the best order 200, a mean order 400." in text


def test_gains_are_not_called_forgetting():
    note = "Where forgetting is negative, old tasks got better."
    for name in ("predicted", "measured"):
        lower = replace(COMPARISON, **{name: getattr(COMPARISON, name) - 0.35})
        assert note in lower.summary()
    assert note not in COMPARISON.summary()


def test_one_order_has_no_ranking():
    one = ForecastComparison(ORDERS[:1], np.array([0.3]), np.array([0.2]))
    assert np.isnan(one.rank_correlation)
    text = one.summary()
    assert text.startswith("Predicted and measured\n")
    assert "Rank correlation" not in text


def test_many_orders_are_abridged():
    orders = tuple(permutations("abcd"))
    text = ForecastComparison(orders, np.arange(24.0), np.arange(24.0)).summary()
    assert "the first and the last 5 of 24" in text
    assert "over 24 orders: 1.00 (1: the same ranking; 0: chance)" in " ".join(text.split())
    assert sum(" > " in line for line in text.splitlines()) == 10 + 1  # and the advised one


def test_frame_has_a_row_for_each_order():
    frame = COMPARISON.to_frame()
    assert list(frame.columns) == ["order", "predicted", "measured", "predicted_accuracy", "measured_accuracy"]
    assert frame["order"].tolist() == list(ORDERS)
    both = replace(COMPARISON, predicted_generalization=np.ones(3), measured_generalization=np.ones(3))
    assert list(both.to_frame().columns)[5:] == ["predicted_generalization", "measured_generalization"]
    assert both.summary() == COMPARISON.summary()  # which accuracies tell
    short = ForecastComparison(ORDERS, COMPARISON.predicted, COMPARISON.measured).to_frame()
    assert list(short.columns) == ["order", "predicted", "measured"]


@pytest.mark.parametrize(
    ("measured", "advice"),
    [
        (0.65, "70% accuracy predicted, 65% measured, on average. Forecast:"),
        (0.55, "55% measured, on average. If training stops early, give the training_accuracy that it reaches."),
        (0.85, "85% measured, on average. This training generalizes better: trust predicted ranks of orders, not"),
    ],
)
def test_forecast_that_learns_otherwise_is_named(measured, advice):
    learned = {"predicted_learned": np.array([0.6, 0.7, 0.8]), "measured_learned": np.full(3, measured)}
    assert advice in " ".join(replace(COMPARISON, **learned).summary().split())


@pytest.mark.parametrize(
    ("measured", "advice"),
    [
        (3, "mean squared error 2.5 predicted, 3 measured, on average. Forecast:"),
        (5, "2.5 predicted, 5 measured, on average. If training stops early, give the training_error that it reaches."),
        (1, "1 measured, on average. This training generalizes better: trust predicted ranks of orders, not"),
    ],
)
def test_forecast_of_errors_that_learns_otherwise_is_named(measured, advice):
    learned = {"predicted_learned": np.array([2.0, 2.5, 3.0]), "measured_learned": np.full(3, measured)}
    one = ForecastComparison(
        ORDERS, COMPARISON.predicted, COMPARISON.measured, **learned, initial_error=10.0, training="to 3"
    )
    assert advice in " ".join(one.summary().split())
