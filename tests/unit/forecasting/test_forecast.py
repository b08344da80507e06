"""Forecasts of networks and of data: errors of any order, mixtures, similarity, and what they say of themselves."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from random_tasks import perceptron, tasks
from torch import nn

import ebbing
from ebbing import metrics
from ebbing.forecasting import Forecast, forecast
from ebbing.forecasting._steps import forgetting_of_steps
from ebbing.forecasting._summary import describe_losses


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


def test_summary_says_what_was_computed():
    text = forecast(perceptron(), tasks()).summary(width=300)
    assert text.startswith("Forecast of 3 tasks (yes or no): tangent kernel at the present weights, 449 trained")
    assert "45 training and 15 test examples a task" in text
    assert "Forgetting (rise in squared error of the probability since just learned): " in text


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


def test_replay_takes_a_plan():
    found = forecast(perceptron(), tasks())
    plan = found.best_order()
    assert found.replay(plan, shares=[1]).names == plan.recommended


def test_forgetting_that_cancels_is_zero():
    errors = np.array([[0.5, 0.5], [0.3, 0.5], [0.1 + 0.2, 0.0]])  # 0.1 + 0.2 - 0.3 = 6e-17
    for scale in 1e-6, 1.0, 1e6:
        assert forgetting_of_steps(scale * errors, [{0: 9}, {1: 9}]) == 0.0
        assert forgetting_of_steps(scale * errors, [{0: 9}, {1: 9, 0: 2}]) == 0.0
    errors[-1, 0] += 1e-9
    assert forgetting_of_steps(errors, [{0: 9}, {1: 9}]) == pytest.approx(1e-9, rel=1e-5)


@pytest.mark.parametrize(
    ("final", "said"),
    [
        (0.5, "Learned as a > b > c, 0.25 is predicted to be forgotten on average; most of a."),
        (
            0.2,
            "Learned as a > b > c, old tasks are predicted to improve by 0.05 on average, and a to get worse by 0.1.",
        ),
        (
            0.3,
            "Learned as a > b > c, old tasks are predicted to stay as they are on average, and a to get worse by 0.2.",
        ),
        (0.05, "Learned as a > b > c, nothing is predicted to be forgotten."),
    ],
)
def test_answers_of_regression_know_gains_from_losses(final, said):
    matrix = np.array([[1.0, 1.0, 1.0], [0.1, 1.0, 1.0], [0.1, 0.3, 1.0], [final, 0.1 if final < 0.5 else 0.4, 0.1]])
    assert describe_losses("abc", matrix, "error") == said
