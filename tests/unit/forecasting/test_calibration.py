"""A forecast corrected by measured pairs: half of what they differ is added."""

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest

import ebbing
from ebbing.forecasting import calibrate

RANDOM = np.random.default_rng(0)
INPUTS = RANDOM.standard_normal((200, 8))
NAMES = ("a", "b", "c")
TASKS = {name: (INPUTS, (INPUTS @ RANDOM.standard_normal(8) > 0).astype(int)) for name in NAMES}


@pytest.fixture(scope="module")
def forecast():
    return ebbing.forecast("linear", TASKS, train_size=50, test_size=50)


def measured(forecast, shifts=(0.0,), length=2):
    """A measurement of all pairs: the forecast's errors, shifted for each seed."""
    orders = list(permutations(NAMES, length))
    return SimpleNamespace(orders=orders, errors=np.array([[forecast.errors(o) + s for s in shifts] for o in orders]))


def test_two_tasks_are_between_forecast_and_measurement():
    two = {name: TASKS[name] for name in ("a", "b")}
    forecast = ebbing.forecast("linear", two, train_size=50, test_size=50)
    errors = RANDOM.random((2, 3, 3, 2))
    orders = [("a", "b"), ("b", "a")]
    found = calibrate(forecast, SimpleNamespace(orders=orders, errors=errors))
    for order, matrices in zip(orders, errors, strict=True):
        forgetting = np.mean(matrices[:, 2, 0] - matrices[:, 1, 0])
        assert found.forgetting(order) == pytest.approx((forgetting + forecast.forgetting(order)) / 2)
        assert found.generalization(order) == pytest.approx(
            (matrices[:, 2].mean() + forecast.generalization(order)) / 2
        )
    best = min(orders, key=found.forgetting)
    assert found.order == best


def test_pairs_as_predicted_leave_the_forecast_as_it_is(forecast):
    found = calibrate(forecast, measured(forecast))
    for order in permutations(NAMES):
        assert found.forgetting(order) == pytest.approx(forecast.forgetting(order))
        assert found.generalization(order) == pytest.approx(forecast.generalization(order))


def test_half_of_what_pairs_differ_is_added(forecast):
    runs = measured(forecast)
    runs.errors = runs.errors + RANDOM.random(runs.errors.shape)
    for order, errors in zip(runs.orders, runs.errors, strict=True):
        errors[:, 1, 0] = 0.1 * NAMES.index(order[0])  # orders with the same first task share its training
    found = calibrate(forecast, runs)
    differ = {o: errors[0] - forecast.errors(o) for o, errors in zip(runs.orders, runs.errors, strict=True)}
    for order in permutations(NAMES):
        first, middle, last = order
        learned = np.array([differ[first, last][1, 0], differ[first, middle][2, 1]])
        final = np.array([differ[first, last][2, 0], differ[middle, last][2, 0]])
        expected = forecast.forgetting(order) + np.mean(final - learned) / 2
        assert found.forgetting(order) == pytest.approx(expected)


def test_longer_measured_orders_count_as_their_pairs(forecast):
    short, long = (calibrate(forecast, measured(forecast, length=length)) for length in (2, 3))
    assert np.allclose(short.values, long.values)


def test_noise_between_runs_is_said(forecast):
    one = calibrate(forecast, measured(forecast))
    assert np.isnan(one.noise)
    assert "two seeds or more" in one.summary()
    quiet = measured(forecast, (0.0, 0.0))
    assert calibrate(forecast, quiet).noise == 0
    assert calibrate(forecast, quiet).seed_agreement == pytest.approx(1.0)
    assert "keep your order" not in " ".join(calibrate(forecast, quiet).summary().split())
    contrary = measured(forecast, (0.0, 0.0))  # what is good with one seed is bad with the other
    contrary.errors[:, 1] = 2 * contrary.errors[:, 0].mean(axis=0) - contrary.errors[:, 0]
    found = calibrate(forecast, contrary)
    assert found.gain <= 0 < found.noise
    assert found.seed_agreement < 0
    assert "keep your order" in " ".join(found.summary().split())


def test_all_orders_are_listed_best_first(forecast):
    found = calibrate(forecast, measured(forecast), objective="generalization")
    frame = found.to_frame()
    assert len(frame) == 6
    assert frame["value"].is_monotonic_increasing
    assert tuple(frame["order"][0]) == found.order
    assert frame["value"].tolist()[0] == pytest.approx(found.generalization(found.order))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: (m.orders[:-1], m.errors[:-1]), "1 pairs were not measured, as c > b; give measure"),
        (lambda m: ([*m.orders, ("a", "z")], [*m.errors, m.errors[0]]), "task 'z' was measured, but the forecast has"),
    ],
)
def test_missing_and_unknown_pairs_raise(forecast, change, message):
    orders, errors = change(measured(forecast))
    with pytest.raises(ValueError, match=message):
        calibrate(forecast, SimpleNamespace(orders=orders, errors=errors))


def test_wrong_orders_and_numbers_of_tasks_raise(forecast):
    found = calibrate(forecast, measured(forecast))
    with pytest.raises(ValueError, match="give each of a, b, c once"):
        found.forgetting(["a", "b"])
    single = ebbing.forecast("linear", {"a": TASKS["a"]}, train_size=20, test_size=20)
    with pytest.raises(ValueError, match="1 tasks: calibration computes all orders"):
        calibrate(single, measured(forecast))
