"""Regression is measured in the units of a forecast: by squared error, number by number, and without accuracies."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import ebbing
from ebbing.forecasting import calibrate
from ebbing.learn import Adam, FineTuning, Schedule, Sgd, Trgp
from ebbing.runs import measure

ORDERS = [("a", "b", "c"), ("c", "a", "b")]


def data(features=6, outputs=1, train=25, seed=0):
    """Tasks with labels of several units: outputs differ in scale, none has mean 0, and there is noise."""
    random, found = np.random.default_rng(seed), {}
    scale, mean = np.array([3.0, 0.5])[:outputs], np.array([2.0, -1.0])[:outputs]
    for name in "abc":
        x = random.standard_normal((train + 30, features))
        y = x @ random.standard_normal((features, outputs)) / features**0.5
        y = scale * (y + 0.2 * random.standard_normal(y.shape)) + mean
        y = y[:, 0] if outputs == 1 else y
        found[name] = {"train": (x[:train], y[:train]), "test": (x[train:], y[train:])}
    return found


def linear(features, outputs) -> Any:
    torch.manual_seed(1)
    return nn.Linear(features, outputs)


def network(outputs=1) -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, outputs))


LONG = {
    "more weights than examples": (40, 1, 20, Sgd(0.1, epochs=1500)),
    "several outputs": (40, 2, 20, Sgd(0.1, epochs=1500)),
    "fewer weights than examples": (5, 2, 60, Sgd(0.1, epochs=400)),
    "Adam": (5, 2, 60, Adam(0.05, epochs=800, batch_size=None)),
}


def both(tmp_path, features, outputs, train, method, **extent):
    """Errors of a linear network, measured and predicted."""
    net, tasks = linear(features, outputs), data(features, outputs, train)
    found = measure(net, tasks, method=method, orders=ORDERS, store=tmp_path)
    forecast = ebbing.forecast(net, tasks, **extent)
    return found.errors[:, 0], np.array([forecast.errors(order) for order in ORDERS])


@pytest.mark.parametrize("case", LONG)
def test_long_training_gives_the_errors_of_the_forecast(tmp_path, case):
    measured, predicted = both(tmp_path, *LONG[case])
    assert np.allclose(measured, predicted, rtol=1e-4)


def test_brief_training_gives_the_errors_of_the_forecast(tmp_path):
    measured, predicted = both(tmp_path, 40, 2, 20, Sgd(0.002, epochs=200), learning_rate=0.002, steps=200)
    assert np.allclose(measured, predicted, rtol=2e-3)


def sum_of_outputs(outputs, labels):
    return (outputs - labels).square().sum(dim=1).mean()


def half(outputs, labels):
    return (outputs - labels).square().mean() / 2


def of_probabilities(outputs, labels):
    return (outputs.sigmoid() - labels).square().mean()


def standardized(outputs, labels):
    return ((outputs - labels) / labels.std(dim=0)).square().mean()


@pytest.mark.parametrize("wrong", [sum_of_outputs, half, of_probabilities, standardized])
def test_wrong_errors_would_be_noticed(tmp_path, monkeypatch, wrong):
    monkeypatch.setattr("ebbing.learn._errors.squared_error", wrong)
    measured, predicted = both(tmp_path, *LONG["several outputs"])
    assert np.abs(measured / predicted - 1).min() > 0.01


@pytest.mark.parametrize("wrong", [sum_of_outputs, half, of_probabilities])
def test_wrong_losses_would_be_noticed(tmp_path, monkeypatch, wrong):
    monkeypatch.setattr("ebbing.learn.methods.sgd.squared_error", wrong)
    measured, predicted = both(tmp_path, 40, 2, 20, Sgd(0.002, epochs=200), learning_rate=0.002, steps=200)
    assert np.allclose(measured[:, 0], predicted[:, 0])  # before training
    assert np.abs(measured / predicted - 1).max() > 0.1


def test_errors_have_the_unit_of_the_labels(tmp_path):
    found = {}
    for factor in (1.0, 0.25):
        scaled = {
            name: {split: (x, factor * y) for split, (x, y) in parts.items()} for name, parts in data(40, 1, 20).items()
        }
        net = linear(40, 1)
        nn.init.zeros_(net.weight)
        nn.init.zeros_(net.bias)
        found[factor] = measure(net, scaled, method=Sgd(0.1, epochs=300), orders=ORDERS, store=tmp_path).errors
    assert np.allclose(found[0.25], 0.25**2 * found[1.0], rtol=1e-4)


@pytest.mark.parametrize(
    "method", [Sgd(0.05, 20, 10), Adam(0.01), FineTuning(Schedule(0.05, 20)), Trgp(Schedule(0.05))]
)
def test_every_method_learns_regression(tmp_path, method):
    found = measure(network(2), data(outputs=2), method=method, orders=[("a", "b")], store=tmp_path)
    before, after_a, after_b = found.errors[0, 0]
    assert after_a[0] < 0.7 * before[0]
    assert after_b[1] < 0.9 * before[1]


def test_regression_is_told_by_errors_without_accuracies(tmp_path):
    net, tasks = network(), data()
    found = measure(net, tasks, method=Sgd(0.02, 20, 5), seeds=(0, 1), store=tmp_path)
    assert (found.kind, found.accuracies, found.final_accuracy) == ("error", None, None)
    text = " ".join(found.summary().split())
    assert "ccuracy" not in text
    end = found.errors[:, :, -1].mean()
    assert (
        f"Mean squared error: {found.initial_error:.4g} before training, {found.learned_error:.4g} just learned, "
        f"{end:.4g} at the end." in text
    )
    assert list(found.to_frame().columns) == ["order", "seed", "forgetting", "generalization"]
    page = found.to_html()
    assert "accuracy" not in page
    assert "<svg" in page


def test_forecast_of_regression_is_compared_by_errors(tmp_path):
    net, tasks = network(), data()
    found = measure(net, tasks, method=Sgd(0.02, 20, 5), store=tmp_path)
    forecast = ebbing.forecast(net, tasks)
    compared = found.compare(forecast)
    predicted, measured = compared.predicted_generalization, compared.measured_generalization
    assert predicted is not None
    assert measured is not None
    assert predicted.tolist() == [forecast.generalization(order) for order in found.orders]
    assert np.allclose(measured, found.errors[:, 0, -1].mean(axis=1))
    assert (compared.predicted_accuracy, compared.measured_accuracy) == (None, None)
    text = " ".join(compared.summary().split())
    best = int(compared.measured.argmin())
    numbers = [compared.predicted, compared.measured, predicted, measured]
    assert " ".join([" > ".join(found.orders[best]), *(f"{values[best]:.4g}" for values in numbers)]) in text
    assert "Error: mean squared error at the end, the mean of all tasks." in text
    assert "training_accuracy" not in text
    columns = ["order", "predicted", "measured", "predicted_generalization", "measured_generalization"]
    assert list(compared.to_frame().columns) == columns
    learned = np.mean([np.diag(forecast.errors(order)[1:]) for order in found.orders])
    assert f"Tasks just learned: mean squared error {learned:.4g} predicted, {found.learned_error:.4g} measured" in text
    better = calibrate(forecast, found)
    assert set(better.names) == set(tasks)
    assert len(found.compare(better).orders) == 6  # type: ignore[arg-type]


def test_forecast_of_other_labels_is_not_compared(tmp_path):
    net, tasks = network(), data()
    answers = {
        name: {split: (x, (y > 2).astype(int)) for split, (x, y) in parts.items()} for name, parts in tasks.items()
    }
    numbers = measure(net, tasks, method=Sgd(0.02, 2, 5), orders=ORDERS, store=tmp_path)
    said = (
        r"^the forecast is of labels that are answers, but labels that are numbers \(regression\) were measured: give"
    )
    with pytest.raises(ValueError, match=said):
        numbers.compare(ebbing.forecast(net, answers))
    yes = measure(net, answers, method=Sgd(0.02, 2, 5), orders=ORDERS, store=tmp_path)
    with pytest.raises(
        ValueError, match=r"^the forecast is of labels that are numbers \(regression\), but labels that"
    ):
        yes.compare(ebbing.forecast(net, tasks))


def test_stored_regression_is_found_and_not_mixed_up(tmp_path):
    tasks = data()
    first = measure(network(), tasks, method=Sgd(0.02, 5, 5), orders=ORDERS, store=tmp_path)
    shares = []
    again = measure(network(), tasks, method=Sgd(0.02, 5, 5), orders=ORDERS, store=tmp_path, progress=shares.append)
    assert shares == [1.0]
    assert np.array_equal(again.errors, first.errors)
    longer = [(*order, "b") if order[-1] != "b" else (*order, "a") for order in ORDERS]
    other = measure(network(), tasks, method=Sgd(0.02, 5, 5), orders=longer, store=tmp_path)
    assert np.array_equal(other.errors[:, :, :4, :3], first.errors)


def test_divergence_says_to_scale_the_labels(tmp_path):
    tasks = {name: {k: (x, 1e6 * y) for k, (x, y) in parts.items()} for name, parts in data().items()}
    wide = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    with pytest.raises(FloatingPointError, match=r"lower it, or scale the labels of all tasks to a mean of 0 and a"):
        measure(wide, tasks, method=Sgd(0.1, 20, 5), store=tmp_path)


def test_labels_that_float32_cannot_hold_are_named(tmp_path):
    tasks = {name: {k: (x, 1e60 * y) for k, (x, y) in parts.items()} for name, parts in data().items()}
    with pytest.raises(ValueError, match=r"^task 'a', train: labels\[0, 0\] = .*e\+60; every label must be finite in"):
        measure(network(), tasks, store=tmp_path)
