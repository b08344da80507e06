"""Figures of measured orders: every run has a dot, the best order is on top; predicted and measured are compared."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from ebbing import metrics
from ebbing.plot.measurements import save
from ebbing.runs import ForecastComparison, Measurement

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def measurement(names=("news", "mail", "chat"), seeds=3):
    orders, T = tuple(permutations(names)), len(names)
    errors = np.random.default_rng(0).random((len(orders), seeds, T + 1, T))
    return Measurement(orders, tuple(range(seeds)), errors, 1 - errors)


def test_every_run_has_a_dot_and_the_best_order_is_on_top():
    found = measurement()
    ax = found.plot()
    dots, means, _ = ax.lines
    ranked = np.argsort(found.forgetting.mean(axis=1))
    assert np.array_equal(dots.get_xdata(), found.forgetting[ranked].ravel())
    assert np.array_equal(dots.get_ydata(), np.repeat(np.arange(6), 3))
    assert np.allclose(means.get_xdata(), np.sort(found.forgetting.mean(axis=1)))
    assert [label.get_text() for label in ax.get_yticklabels()] == [" > ".join(found.orders[k]) for k in ranked]
    low, high = ax.get_ylim()
    assert low > high  # place 0 is above the others


def test_one_seed_has_no_mean():
    ax = measurement(seeds=1).plot()
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text().partition(":")[0] for text in legend.get_texts()] == ["order", "mean order"]
    assert len(ax.lines) == 2


def test_many_orders_are_not_named():
    ax = measurement("abcde").plot()
    assert not ax.get_yticklabels()
    assert ax.get_ylabel().startswith("120 orders")


def test_given_axes_and_names_with_dollars_are_drawn():
    figure, ax = plt.subplots()
    assert measurement(("a$b$", "a long name of a task", "c")).plot(ax) is ax
    figure.canvas.draw()
    assert r"a\$b\$" in ax.get_yticklabels()[0].get_text()


def test_page_has_the_picture():
    page = measurement().to_html()
    assert "<svg" in page
    assert "a dot what it forgot with one seed" in page


def test_regression_is_drawn_whatever_its_scale():
    made = measurement()
    large = Measurement(made.orders, made.seeds, 1e9 * made.errors)
    ax = large.plot()
    assert np.allclose(ax.lines[0].get_xdata(), 1e9 * np.asarray(made.plot().lines[0].get_xdata()))
    assert "accuracy" not in large.to_html()


def test_rounding_errors_are_drawn_and_written_as_zero():
    errors = np.full((2, 1, 3, 2), 0.3)
    errors[0, 0, 2, 0] = 0.1 + 0.2  # forgets 5.6e-17
    found = Measurement((("a", "b"), ("b", "a")), (0,), errors, 1 - errors)
    assert metrics.forgetting(errors, kind="error").max() > 0
    assert found.forgetting.max() == 0
    assert "e-1" not in found.summary()
    ax = found.plot()
    assert np.array_equal(ax.lines[0].get_xdata(), [0.0, 0.0])
    legend = ax.get_legend()
    assert legend is not None
    assert legend.get_texts()[-1].get_text() == "mean order: 0.00"


def test_saved_picture_names_the_orders(tmp_path):
    save(measurement(), tmp_path / "orders.svg")
    assert "news &gt; mail &gt; chat" in (tmp_path / "orders.svg").read_text()


@pytest.mark.parametrize("measured", [[0.2, 0.5, 0.4], [0.3, 0.3, 0.3]])
def test_predictions_are_drawn_against_measurements(measured):
    orders, predicted = (("a", "b"), ("b", "a"), ("a", "c")), np.array([0.3, 0.1, 0.6])
    ax = ForecastComparison(orders, predicted, np.array(measured)).plot()
    equal, dots, chosen = ax.lines
    assert np.array_equal(equal.get_xdata(), equal.get_ydata())
    assert np.array_equal(dots.get_xdata(), predicted)
    assert np.array_equal(dots.get_ydata(), measured)
    assert [*np.asarray(chosen.get_xydata())[0]] == [0.1, measured[1]]
    assert ax.get_xlim() == ax.get_ylim()
    assert "training forgot what was predicted" in ForecastComparison(orders, predicted, np.array(measured)).to_html()


def test_answer_names_the_best_and_the_worst_order():
    found = measurement()
    means = found.forgetting.mean(axis=1)
    best, worst = (" > ".join(found.orders[k]) for k in (means.argmin(), means.argmax()))
    text = f"The order {best} forgot least: {means.min():.4g}. {worst} forgot most: {means.max():.4g}."
    assert found._answer() == ""  # tasks were not learned
    errors = found.errors.copy()
    errors[:, :, 0] = 9  # before training
    assert replace(found, errors=errors)._answer().startswith(text)
