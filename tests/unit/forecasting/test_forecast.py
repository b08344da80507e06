"""Forecasts of networks and of data: errors of any order, mixtures, similarity, and what they say of themselves."""

import copy
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

import ebbing
from ebbing import metrics
from ebbing.forecasting import Forecast, fitting, forecast, forecast_memory


def tasks(T=3, n=60, d=12, seed=0, kind="yes or no"):
    random = np.random.default_rng(seed)
    found = {}
    for name in "abcdefghijklm"[:T]:
        x = random.standard_normal((n, d)).astype(np.float32)
        y = x @ random.standard_normal(d)
        found[name] = (x, {"yes or no": (y > 0).astype(int), "classes": np.digitize(y, [-1, 1])}.get(kind, y))
    return found


def perceptron(outputs=1, d=12):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, outputs))


def test_public_name():
    assert ebbing.forecasting.forecast is forecast
    assert ebbing.forecast is forecast  # the package does not hide the function


def test_data_alone_needs_no_torch():
    script = (
        "import sys, numpy as np, ebbing\n"
        "x = np.random.default_rng(0).standard_normal((40, 5))\n"
        "f = ebbing.forecast('linear', {'a': (x, x[:, 0] > 0), 'b': (x, x[:, 1] > 0)})\n"
        "f.best_order().summary(), f.replay().summary(), f.summary()\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("kind", ["yes or no", "classes", "regression"])
def test_frozen_backbone_is_exact(kind):
    """A linear head on frozen features, whose squared error is trained to the end, has the errors predicted."""
    data = tasks(2, n=80, kind="regression" if kind == "regression" else kind)
    outputs = 3 if kind == "classes" else 1
    network = nn.Sequential(nn.Linear(12, 60), nn.Tanh(), nn.Linear(60, outputs)).double()
    network[0].requires_grad_(False)
    for p in network[2].parameters():
        nn.init.zeros_(p)
    found = forecast(network, data, train_size=25, test_size=20, loss="squared")
    model, targets = found.model, found.model.targets
    features = torch.from_numpy(np.concatenate([read_rows(found, data)])).double()
    with torch.no_grad():
        hidden = torch.cat([network[1](network[0](features)), torch.ones(len(features), 1)], dim=1).numpy()
    f, expected = targets.predictions(None), []
    for rows in model.train:
        f = f + hidden @ np.linalg.pinv(hidden[rows]) @ (targets.values[rows] - f[rows])
        expected.append([float(targets.errors(f[test][:, None], test)[0]) for test in model.test])
    assert np.allclose(found.errors()[1:], expected, rtol=1e-6)


def read_rows(found, data):
    from ebbing.forecasting import Examples

    return Examples.read(data, train_size=25, test_size=20).inputs


def test_features_equal_a_linear_network():
    data = tasks()
    network = nn.Linear(12, 1).double()
    nn.init.zeros_(network.weight)
    nn.init.zeros_(network.bias)
    assert np.allclose(forecast("linear", data).errors(), forecast(network, data).errors(), rtol=1e-6)


def test_initial_errors_are_those_of_the_network():
    data = tasks(kind="classes")
    network = perceptron(3)
    found = forecast(network, {name: {"train": d, "test": d} for name, d in data.items()})
    for i, (x, y) in enumerate(data.values()):
        with torch.no_grad():
            wrong = (network(torch.from_numpy(x)).argmax(1).numpy() != y).mean()
        assert found.errors()[0, i] == pytest.approx(wrong)


def test_orders_by_name_place_and_part():
    found = forecast(perceptron(), tasks())
    assert np.array_equal(found.errors(["c", "a", "b"]), found.errors([2, 0, 1]))
    assert np.array_equal(found.errors(), found.errors(["a", "b", "c"]))
    assert found.errors(["c", "a"]).shape == (3, 2)
    assert found.errors(["c", "a"])[0].tolist() == found.errors()[0, [2, 0]].tolist()
    again = found.errors(["a", "b", "a"])
    assert again.shape == (4, 3)
    assert np.array_equal(again[:, 0], again[:, 2])
    assert found.forgetting(["c", "a", "b"]) == metrics.forgetting(found.errors(["c", "a", "b"]), kind="error")
    assert found.generalization(["c", "a"]) == found.errors(["c", "a"])[-1].mean()


def test_mixtures():
    found = forecast(perceptron(), tasks(), train_size=40)
    size = len(found.model.train[0])
    plain = [{"a": size}, {"b": size}, {"c": size}]
    assert np.allclose(found.errors(plain), found.errors())
    mixed = [{"a": size}, {"b": size, "a": size}, {"c": size, "a": 5}]
    errors = found.errors(mixed)
    assert errors.shape == (4, 3)
    assert errors[2, 0] < found.errors()[2, 0]  # a is kept by replaying all of it
    assert found.forgetting(mixed) == pytest.approx(
        (errors[3, 0] - errors[1, 0] + errors[3, 1] - errors[2, 1]) / 2, rel=1e-12
    )
    joint = found.errors([{"a": size, "b": size, "c": size}])
    assert joint.shape == (2, 3)

    class Curriculum:
        steps = tuple(mixed)

    assert np.array_equal(found.errors(Curriculum()), errors)


def test_similarity_of_equal_data_is_one():
    x, y = tasks(1)["a"]
    found = forecast(perceptron(), {"a": (x, y), "b": (x, y), "c": (x, 1 - y)})
    assert np.all(np.diagonal(found.similarity) == 1)
    assert np.array_equal(found.similarity, found.similarity.T)
    assert found.similarity[0, 1] == pytest.approx(1, abs=1e-9)
    assert found.similarity[0, 2] < -0.9


def test_several_networks_average_their_kernels():
    data = tasks()
    one, two = perceptron(), nn.Sequential(nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 1))
    kernels = [forecast(network, data).model.kernel for network in (one, two)]
    both = forecast([one, two], data)
    assert np.allclose(both.model.kernel, (kernels[0] + kernels[1]) / 2)
    assert "tangent kernel of 2 networks" in both.summary()


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


@pytest.mark.parametrize("loss", ["squared", "cross-entropy"])
def test_training_accuracy_is_reached(loss):
    goal = 0.9
    found = forecast(perceptron(), tasks(), training_accuracy=goal, loss=loss)
    further = forecast(perceptron(), tasks(), loss=loss)
    one_answer = 1 / (3 * len(found.model.train[0]))  # of three tasks, on average
    assert goal <= 1 - fitting.training_mistakes(found.model) <= goal + 3 * one_answer
    assert fitting.training_mistakes(further.model) == 0


def test_regression_has_no_training_accuracy():
    data = {name: (x, x[:, :1]) for name, (x, _) in tasks().items()}
    with pytest.raises(ValueError, match=r"labels are numbers \(regression\), .* give training_error$"):
        forecast("linear", data, training_accuracy=0.9)
    assert "(if yours is not, give training_error)" in forecast("linear", data).training


def test_labels_beyond_the_outputs_name_their_task():
    data = tasks()
    data["b"] = (data["b"][0], np.arange(len(data["b"][1])) % 4)
    with pytest.raises(ValueError, match=r"^task 'b': labels are whole numbers from 0 to 3, but the network has"):
        forecast(perceptron(), data)


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


def test_summary_says_what_was_computed():
    text = forecast(perceptron(), tasks()).summary(width=300)
    assert text.startswith("Forecast of 3 tasks (yes or no): tangent kernel at the present weights, 449 trained")
    assert "45 training and 15 test examples a task" in text
    assert "Forgetting (rise in squared error of the probability since just learned): " in text


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


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("a", "order='a': give a list of steps"),
        ([], "give at least one step"),
        (["a", "z"], "task 'z': give one of a, b, c, or a place from 0 to 2"),
        ([3], "task 3"),
        ([{"a": 1000}], "1000 examples of 'a': the forecast has 45 training examples"),
        ([{"a": 0}], "examples of 'a'=0"),
        ([{}], "a step without any task"),
    ],
)
def test_bad_orders(order, message):
    found = forecast("linear", tasks())
    assert isinstance(found, Forecast)
    with pytest.raises(ValueError, match=message):
        found.errors(order)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ("cubic", "network='cubic': give a PyTorch network, 'linear' or 'random features'"),
        (3, "network=int: give a PyTorch network"),
        (nn.Linear, r"network=Linear, a class: give a network of this class, Linear\(...\)"),
        ([], "an empty list"),
        (nn.Linear(12, 3).requires_grad_(False), "no parameter with requires_grad=True"),
    ],
)
def test_bad_networks(network, message):
    with pytest.raises(ValueError, match=message):
        forecast(network, tasks())


def test_frame_and_figures():
    found = forecast("random features", tasks())
    frame = found.to_frame()
    assert list(frame.columns) == ["step", "task", "error", "accuracy"]
    assert len(frame) == 12
    assert found.plot().get_ylabel() == "predicted accuracy"
    assert found.plot_similarity().get_images()
    assert found._repr_html_().startswith("<div>")


def test_accuracies_are_shares_of_right_answers():
    found = forecast(perceptron(), tasks())
    model, order = found.model, ("b", "a")
    predictions, expected = model.initial(), []
    for step in (None, *order):
        if step is not None:
            predictions = model.learn(predictions, model.train[found.names.index(step)])
        probabilities = model.predicted(predictions)[:, 0, 0]
        right = (probabilities > 0.5) == (model.targets.values[:, 0] > 0.5)
        expected.append([right[model.test[found.names.index(name)]].mean() for name in order])
    assert found.accuracies(order) == pytest.approx(np.array(expected))


def test_accuracies_of_classes_are_one_minus_errors():
    data = {name: (x, (x[:, :3]).argmax(axis=1)) for name, (x, _) in tasks().items()}
    found = forecast("random features", data)
    assert found.kind == "accuracy"
    assert found.accuracies() == pytest.approx(1 - found.errors())


def test_regression_is_told_by_errors():
    found = forecast("linear", {name: (x, x[:, 0] * k) for k, (name, (x, _)) in enumerate(tasks().items(), 1)})
    assert found.kind == "error"
    assert np.array_equal(found.matrix, found.errors())
    assert list(found.to_frame().columns) == ["step", "task", "error"]
    assert "is predicted to be forgotten on average" in found._answer()
    with pytest.raises(ValueError, match="which have no accuracy; ask for errors"):
        found.accuracies()


def test_answer_names_the_task_that_loses_most():
    found = forecast(perceptron(), tasks())
    learned, final = np.diagonal(found.accuracies()[1:])[:-1], found.accuracies()[-1, :-1]
    worst = int((learned - final).argmax())
    assert found._answer().endswith(f"on {found.names[worst]} from {learned[worst]:.0%} to {final[worst]:.0%}.")


def test_a_network_that_does_not_fit_is_an_error_in_words():
    with pytest.raises(ValueError, match=r"Sequential fails on one example with inputs of shape \(12,\).*RuntimeError"):
        forecast(perceptron(d=13), tasks())
    whole = {name: (np.round(x).astype(int), y) for name, (x, y) in tasks().items()}
    with pytest.raises(ValueError, match=r"torch\.int64: .*whole numbers are not converted"):
        forecast(perceptron(), whole)


def test_memory_is_known_before():
    data = tasks(n=80)  # 60 and 20 examples of each
    kernels = 4 * 8 * 240**2
    assert forecast_memory("linear", data) == kernels
    gradients = forecast_memory(perceptron(), data) - kernels
    assert gradients == 240 * 4 * ((12 + 32) + (32 + 1))  # inputs and output gradients of two linear layers
    assert forecast_memory(perceptron(), data, train_size=30, test_size=10) < gradients + kernels / 2


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


HALVES = {"a": slice(0, 20), "b": slice(20, 40)}


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


def test_summary_gives_the_range_of_unequal_sizes():
    data = tasks()
    data["b"] = tuple(part[:8] for part in data["b"])
    assert "6 to 45 training and 2 to 15 test examples" in " ".join(forecast("linear", data).summary().split())


def test_replay_of_one_task_says_what_is_missing():
    with pytest.raises(ValueError, match="1 task: nothing is older than it to be mixed in; give two tasks or more"):
        forecast("linear", tasks(T=1)).replay()


@pytest.mark.parametrize("shares", [0.3, "half", None, [0.1, 2]])
def test_replay_of_odd_shares_raises(shares):
    with pytest.raises(ValueError, match=r"shares=.*: give (a list of )?numbers from 0 to 1"):
        forecast("linear", tasks(T=2)).replay(shares=shares)


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


class WithoutGradients(nn.Linear):
    @torch.no_grad()
    def forward(self, input):
        return super().forward(input)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (
            nn.Sequential(nn.Linear(12, 2), nn.Softmax(dim=1)),
            "takes logits: leave out the last Softmax",
        ),
        (nn.Sequential(nn.Linear(12, 1), nn.Sigmoid()), "takes logits: leave out the last Sigmoid"),
        (WithoutGradients(12, 1), "have no gradients: is there torch.no_grad"),
        (nn.Linear(12, 1, device="meta"), "are on the device 'meta': load them first"),
    ],
)
def test_networks_that_cannot_be_forecast_raise(network, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        forecast(network, tasks())


def test_log_probabilities_are_logits():
    torch.manual_seed(0)
    linear = nn.Linear(12, 2)
    found = forecast(nn.Sequential(linear, nn.LogSoftmax(dim=1)), tasks())
    np.testing.assert_allclose(found.errors(), forecast(linear, tasks()).errors(), atol=1e-6)


class Compiled(nn.Module):
    """Holds a network as the result of torch.compile does, whose gradients cannot be taken example by example."""

    def __init__(self, network):
        super().__init__()
        self._orig_mod = network


def test_compiled_network_is_the_network_inside():
    linear = nn.Linear(12, 1)
    assert np.array_equal(forecast(Compiled(linear), tasks()).errors(), forecast(linear, tasks()).errors())


def test_replay_takes_a_plan():
    found = forecast(perceptron(), tasks())
    plan = found.best_order()
    assert found.replay(plan, shares=[1]).names == plan.recommended
