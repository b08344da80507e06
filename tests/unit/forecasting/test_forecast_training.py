"""How far a forecast trains each task: to the end, for a time, to an error or an accuracy, by which loss."""

import copy

import numpy as np
import pytest
import torch
from random_tasks import perceptron, tasks

import ebbing
from ebbing.forecasting import fitting, forecast


@pytest.mark.parametrize("loss", ["squared", "cross-entropy"])
def test_stopping_at_once_learns_nothing(loss):
    data = tasks()
    stopped, brief, end = (forecast(perceptron(), data, time=time, loss=loss).errors() for time in (0, 50.0, 1e12))
    assert np.allclose(stopped, stopped[0])
    assert end[1, 0] <= brief[1, 0] < stopped[0, 0]
    assert forecast(perceptron(), data, ridge=1e9, loss=loss).errors()[3] == pytest.approx(stopped[0], abs=1e-6)


def test_long_training_ends_at_interpolation():
    long, end = (forecast(perceptron(), tasks(), time=time, loss="squared").errors() for time in (1e12, None))
    assert np.allclose(long, end, atol=1e-4)


@pytest.mark.parametrize("loss", ["squared", "cross-entropy"])
def test_training_error_is_reached(loss):
    found = forecast(perceptron(), tasks(), training_error=0.05, loss=loss)
    assert fitting.training_error(found.model) == pytest.approx(0.05, rel=0.03)


@pytest.mark.parametrize("loss", ["squared", "cross-entropy"])
def test_training_accuracy_is_reached(loss):
    goal = 0.9
    found = forecast(perceptron(), tasks(), training_accuracy=goal, loss=loss)
    further = forecast(perceptron(), tasks(), loss=loss)
    one_answer = 1 / (3 * len(found.model.train[0]))  # of three tasks, on average
    assert goal <= 1 - fitting.training_mistakes(found.model) <= goal + 3 * one_answer
    assert fitting.training_mistakes(further.model) == 0


def test_yes_or_no_is_learned_until_it_is_fitted():
    found = forecast(perceptron(), tasks())
    assert found.model.loss == "cross-entropy"
    assert fitting.training_error(found.model) == pytest.approx(fitting.TRAINING_ERROR, rel=0.05)
    assert forecast(perceptron(3), tasks(kind="classes")).model.loss == "squared"


def test_logistic_regression_on_frozen_features_is_exact():
    """A linear head that gradient descent trains on the cross-entropy with weight decay to the start is predicted."""
    data = tasks(2, n=80, kind="yes or no")
    found = forecast("linear", data, train_size=25, test_size=20, ridge=0.5)
    model = found.model
    X = np.linalg.cholesky(model.kernel + 1e-12 * np.eye(len(model.kernel)))  # any features with that kernel
    w, expected = np.zeros(X.shape[1]), []
    for rows in model.train:
        start = w.copy()
        for _ in range(4000):
            p = 1 / (1 + np.exp(-X[rows] @ w))
            w = w - 0.2 * (X[rows].T @ (p - model.targets.values[rows, 0]) + 0.5 * (w - start))
        p = 1 / (1 + np.exp(-X @ w))
        expected.append([np.square(p[test] - model.targets.values[test, 0]).mean() for test in model.test])
    assert np.allclose(found.errors()[1:], expected, atol=1e-5)


HALVES = {"a": slice(0, 20), "b": slice(20, 40)}


def test_learning_rate_and_steps_give_the_time():
    """A linear head that is trained by gradient descent on the squared error: the forecast is that descent."""
    random = np.random.default_rng(0)
    X = random.standard_normal((40, 6))
    targets = X @ random.standard_normal((6, 2)) + 0.3
    tasks = {name: {"train": (X[rows], targets[rows]), "test": (X, targets)} for name, rows in HALVES.items()}
    rate, steps = 1e-3, 200
    head = torch.nn.Linear(6, 2).double()
    torch.nn.init.zeros_(head.weight)
    torch.nn.init.zeros_(head.bias)
    schedule = {"learning_rate": rate, "steps": steps}
    found = ebbing.forecast(head, tasks, train_size=40, test_size=40, **schedule).errors(["a", "b"])
    inputs, wanted = torch.from_numpy(X), torch.from_numpy(targets)
    errors = [float((head(inputs) - wanted).detach().square().mean())]
    optimizer = torch.optim.SGD(head.parameters(), lr=rate)
    for rows in HALVES.values():
        for _ in range(steps):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(head(inputs[rows]), wanted[rows]).backward()
            optimizer.step()
        errors.append(float((head(inputs) - wanted).detach().square().mean()))
    np.testing.assert_allclose(found[:, 0], errors, rtol=2e-3)  # flow and descent differ by the size of a step


def test_regression_has_no_training_accuracy():
    data = {name: (x, x[:, :1]) for name, (x, _) in tasks().items()}
    with pytest.raises(ValueError, match=r"labels are numbers \(regression\), .* give training_error$"):
        forecast("linear", data, training_accuracy=0.9)
    assert "(if yours is not, give training_error)" in forecast("linear", data).training


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "hinge"}, "loss='hinge': give 'squared' or 'cross-entropy'"),
        ({"training_error": 0.3}, "before anything is learned"),
        ({"training_accuracy": 0.3}, "training_accuracy=0.3: the accuracy is 0.5 before anything is learned"),
        ({"training_accuracy": 95}, "training_accuracy=95: give a share from 0 to 1, such as 0.95"),
    ],
)
def test_wrong_training_raises(settings, message):
    with pytest.raises(ValueError, match=message):
        forecast("linear", tasks(), **settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"steps": 5},
        {"learning_rate": 0.1},
        {"learning_rate": 0.1, "steps": 5, "time": 1},
        {"training_error": 0.1, "time": 1},
        {"training_error": 0.1, "ridge": 1},
        {"training_error": 0.1, "training_accuracy": 0.9},
        {"training_accuracy": 0.9, "learning_rate": 0.1, "steps": 5},
        {"training_accuracy": 0.9, "ridge": 1},
    ],
)
def test_half_a_schedule_raises(settings):
    with pytest.raises(ValueError, match="say how far tasks are trained in one way") as raised:
        ebbing.forecast("linear", {"a": (np.eye(4), np.arange(4) % 2)}, **settings)
    given = str(raised.value).partition(":")[0]
    assert sorted(given.split(", ")) == sorted(f"{name}={value}" for name, value in settings.items())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "until it is fitted (if yours is not, give training_accuracy)"),
        ({"training_accuracy": 0.9}, "to an accuracy of 0.9 on its training data"),
        ({"learning_rate": 0.01, "steps": 2000}, "for 2,000 steps with learning rate 0.01"),
        ({"training_error": 0.1}, "to a mean squared error of 0.1"),
        ({"time": 3}, "for a time of 3"),
        ({"ridge": 0.5}, "with ridge 0.5"),
        ({"time": 3, "ridge": 0.5}, "for a time of 3, with ridge 0.5"),
    ],
)
def test_summary_says_how_far_tasks_are_trained(settings, words):
    assert f"; each task trained {words}; " in forecast("linear", tasks(), **settings).summary(width=300)


def noisy_tasks():
    """Two tasks of ten inputs and noisy labels that no linear model fits."""
    random = np.random.default_rng(0)
    weights = random.standard_normal((2, 10))

    def draw(k, n):
        x = random.standard_normal((n, 10)).astype(np.float32)
        return x, (x @ weights[k] + 1 + 0.8 * random.standard_normal(n) > 0).astype(int)

    return {name: {"train": draw(k, 60), "test": draw(k, 500)} for k, name in enumerate("ab")}


@pytest.mark.parametrize("loss", ["cross-entropy", "squared"])
def test_rounding_errors_of_a_small_network_are_not_learned(loss):
    data = noisy_tasks()
    head = torch.nn.Linear(10, 1)
    for parameter in head.parameters():
        torch.nn.init.zeros_(parameter)
    single, double = (forecast(one, data, test_size=500, loss=loss) for one in (head, copy.deepcopy(head).double()))
    assert single.accuracies() == pytest.approx(double.accuracies(), abs=0.01)
    assert forecast("linear", data, test_size=500, loss=loss).accuracies() == pytest.approx(
        double.accuracies(), abs=0.01
    )
    assert single.accuracies()[1, 0] > 0.8


def test_two_classes_are_learned_as_yes_or_no():
    class Difference(torch.nn.Module):
        def __init__(self, network):
            super().__init__()
            self.network = network

        def forward(self, x):
            outputs = self.network(x)
            return outputs[:, 1] - outputs[:, 0]

    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(10, 30), torch.nn.ReLU(), torch.nn.Linear(30, 2))
    two, one = forecast(network, noisy_tasks()), forecast(Difference(network), noisy_tasks())
    assert (two.model.targets.kind, one.model.targets.kind) == ("two classes", "yes or no")
    assert two.model.loss == "cross-entropy"
    for order in (["a", "b"], ["b", "a"]):
        assert two.accuracies(order) == pytest.approx(one.accuracies(order))
        assert two.errors(order) == pytest.approx(1 - two.accuracies(order))
    assert "two classes" in two.summary()
