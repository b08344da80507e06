"""A forecast corrected by training runs: half of what pairs differ is added, whole orders are averaged with it."""

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


def test_orders_are_averaged_with_a_fifth_of_the_forecast(forecast):
    runs = measured(forecast, length=3)
    runs.errors = runs.errors + RANDOM.random(runs.errors.shape)
    found = calibrate(forecast, runs)
    for order, (matrix,) in zip(runs.orders, runs.errors, strict=True):
        forgetting = np.mean(matrix[3, :2] - np.diagonal(matrix[1:])[:2])
        assert found.forgetting(order) == pytest.approx(0.8 * forgetting + 0.2 * forecast.forgetting(order))
        assert found.generalization(order) == pytest.approx(
            0.8 * matrix[3].mean() + 0.2 * forecast.generalization(order)
        )
    assert found.names == min(runs.orders, key=found.forgetting)
    assert tuple(found.task_names[t] for t in found.order) == found.names
    assert "corrected by training runs of all orders" in found.summary()


def test_more_runs_leave_less_to_the_forecast(forecast):
    runs = measured(forecast, (0.0, 0.1, 0.2), length=3)
    runs.errors[..., 3, 0] += 1.0  # of the first task, at the end
    expected = {seeds: forecast.forgetting(NAMES) + 0.5 * 4 * seeds / (4 * seeds + 1) for seeds in (1, 2, 3)}
    for seeds, value in expected.items():
        some = SimpleNamespace(orders=runs.orders, errors=runs.errors[:, :seeds])
        assert calibrate(forecast, some).forgetting(NAMES) == pytest.approx(value)


def test_pairs_of_two_tasks_are_whole_orders():
    two = {name: TASKS[name] for name in ("a", "b")}
    forecast = ebbing.forecast("linear", two, train_size=50, test_size=50)
    errors = RANDOM.random((2, 1, 3, 2))
    found = calibrate(forecast, SimpleNamespace(orders=[("a", "b"), ("b", "a")], errors=errors))
    assert found.runs == "all orders"
    assert found.generalization(("b", "a")) == pytest.approx(
        0.8 * errors[1, 0, 2].mean() + 0.2 * forecast.generalization(("b", "a"))
    )


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


def test_some_longer_orders_count_as_their_pairs(forecast):
    short, long = measured(forecast), measured(forecast, length=3)
    long.errors[:, :, 3] += RANDOM.random()  # what follows the pair
    long.orders.append(long.orders.pop()[:2])  # not every order
    assert np.allclose(calibrate(forecast, short).values, calibrate(forecast, long).values)


def test_noise_is_that_of_the_runs_alone(forecast):
    runs = measured(forecast, (0.0, 0.0), length=3)
    runs.errors = runs.errors + RANDOM.random(runs.errors.shape)
    found = calibrate(forecast, runs)
    lost = (runs.errors[:, :, 3, :2] - np.diagonal(runs.errors[:, :, 1:], axis1=2, axis2=3)[..., :2]).mean(axis=2)
    assert found.noise == pytest.approx(np.sqrt(lost.var(axis=1, ddof=1).mean()))
    best = [found.orders[k].tolist() for k in found.values.argmin(axis=1)]
    places = [[NAMES.index(name) for name in order] for order in runs.orders]
    gains = [lost[:, k].mean() - lost[places.index(best[1 - k]), k] for k in (0, 1)]
    assert found.gain == pytest.approx(np.mean(gains))


def test_noise_between_runs_is_said(forecast):
    one = calibrate(forecast, measured(forecast))
    assert np.isnan(one.noise)
    assert "two seeds or more" in one.summary()
    quiet = measured(forecast, (0.0, 0.1))  # which shifts the errors and leaves forgetting
    assert calibrate(forecast, quiet).noise == pytest.approx(0)
    assert calibrate(forecast, quiet).seed_agreement == pytest.approx(1.0)
    assert "keep your order" not in " ".join(calibrate(forecast, quiet).summary().split())
    contrary = measured(forecast, (0.0, 0.0))  # what is good with one seed is bad with the other
    contrary.errors[:, 1] = 2 * contrary.errors[:, 0].mean(axis=0) - contrary.errors[:, 0]
    found = calibrate(forecast, contrary)
    assert found.gain <= 0 < found.noise
    assert found.seed_agreement < 0
    assert "keep your order" in " ".join(found.summary().split())


@pytest.mark.parametrize("length", [2, 3])
def test_equal_seeds_do_not_certify_zero_noise(forecast, length):
    runs = measured(forecast, length=length)
    once = calibrate(forecast, runs)
    repeated = calibrate(forecast, SimpleNamespace(orders=runs.orders, errors=np.repeat(runs.errors, 3, axis=1)))
    assert np.isnan([repeated.noise, repeated.gain, repeated.seed_agreement]).all()
    assert np.array_equal(repeated.values, np.repeat(once.values, 3, axis=0))  # no more weight than one run has
    text = " ".join(repeated.summary().split())
    assert "Seeds change nothing here" in text
    assert "batch_size" in text
    assert "differs between training runs by" not in text
    assert "Seeds change nothing here" not in once.summary()


def test_all_orders_are_listed_best_first(forecast):
    found = calibrate(forecast, measured(forecast), objective="generalization")
    frame = found.to_frame()
    assert len(frame) == 6
    assert frame["value"].is_monotonic_increasing
    assert tuple(frame["order"][0]) == found.names
    assert frame["value"].tolist()[0] == pytest.approx(found.generalization(found.names))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: (m.orders[:-1], m.errors[:-1]), "1 pair was not measured, as c > b; give measure"),
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


def test_anything_but_a_forecast_and_runs_is_refused(forecast):
    runs = measured(forecast)
    with pytest.raises(ValueError, match=r"^calibrate\(SimpleNamespace, Forecast\): the first is .*; swap them$"):
        calibrate(runs, forecast)  # type: ignore[arg-type]
    for wrong in ((forecast, forecast), (forecast, 3), ("linear", runs)):
        with pytest.raises(ValueError, match=r"^calibrate\(\w+, \w+\): .* ebbing\.measure\(.*; give these two$"):
            calibrate(*wrong)  # type: ignore[arg-type]


def test_page_has_a_title_in_words_and_a_picture(forecast):
    found = calibrate(forecast, measured(forecast, length=3))
    page = found.to_html()
    assert "<title>In which order your model should learn, after training runs</title>" in page
    assert "calibrated_orders.csv" in page
    assert "CalibratedForecast" not in page
    assert page.count("<svg") == 1


def test_plot_draws_every_order(forecast):
    found = calibrate(forecast, measured(forecast, (0.0, 0.1), length=3))
    curve, *_ = found.plot().lines
    assert np.allclose(curve.get_ydata(), np.sort(found.values.mean(axis=0)))
    legend = found.plot().get_legend()
    assert legend is not None
    marks = dict(text.get_text().split(": ") for text in legend.get_texts())
    assert float(marks["advised"]) == pytest.approx(found.values.mean(axis=0).min(), abs=0.006)
    assert float(marks["as given"]) == pytest.approx(found.forgetting(NAMES), abs=0.006)
