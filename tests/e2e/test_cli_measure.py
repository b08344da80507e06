"""`ebbing measure` as people run it: files, a network in a module, tables, a picture, a page, JSON, and bad input."""

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from command_line import NETWORKS, parse, run_command

import ebbing
from ebbing.cli.measure import reword
from ebbing.learn import Adam, Sgd

MODULE = """
import numpy as np
import torch

def build():
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))

def stream():  # examples that can be read once
    random = np.random.default_rng(0)
    rows = random.standard_normal((2, 40, 6)).astype("float32")
    return {name: ((row, int(row[0] > 0)) for row in part) for name, part in zip(("one", "two"), rows)}

def line():
    return torch.nn.Linear(6, 1)
"""
SETTINGS: dict[str, Any] = {"epochs": 5, "batch_size": 10}
OPTIONS = ("--epochs", "5", "--batch-size", "10")


def tasks():
    random, found = np.random.default_rng(0), {}
    for k, name in enumerate(("cats", "dogs", "cows")):
        inputs = random.standard_normal((60, 6)).astype(np.float32)
        found[name] = (inputs, (inputs[:, k] > 0).astype(int))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("measured")
    (folder / "tasks").mkdir()
    (folder / "my_measured.py").write_text(MODULE)
    for name, (inputs, labels) in tasks().items():
        np.savez(folder / "tasks" / f"{name}.npz", inputs=inputs, labels=labels)
    return folder


@pytest.fixture
def run(folder):
    return partial(run_command, "measure", folder=folder, module=NETWORKS)


def network():
    scope: dict = {}
    exec(MODULE, scope)
    torch.manual_seed(0)
    return scope["build"]()


def named():
    return {name: tasks()[name] for name in ("cats", "cows", "dogs")}  # as the command sorts files


def test_tables_say_what_python_says(run, folder, tmp_path):
    done = run("tasks", "--model", "my_measured:build", *OPTIONS, "--seeds", "2", "--plot", "a.png", "--html", "a.html")
    assert done.returncode == 0, done.stderr
    measured = ebbing.measure(network(), named(), method=Sgd(**SETTINGS), seeds=(0, 1), store=tmp_path)
    compared = measured.compare(ebbing.forecast(network(), named()))
    expected = reword(f"{measured.summary()} {compared.summary()}")
    assert " ".join(done.stdout.split()) == " ".join(expected.split())
    assert (folder / "a.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "a.html").read_text()
    assert "What was measured in each order" in page
    assert "What was predicted and what was measured" in page


def test_json_has_every_number(run, tmp_path):
    options = ("--optimizer", "adam", "--learning-rate", "0.01", "--order", "dogs, cats", "--order", "cats,dogs")
    done = run("tasks", "--model", "my_measured:build", *OPTIONS, *options, "--seed", "3", "--out", "other", "--json")
    assert done.returncode == 0, done.stderr
    found = parse(done.stdout)
    orders = [["dogs", "cats"], ["cats", "dogs"]]
    torch.manual_seed(3)
    scope: dict = {}
    exec(MODULE, scope)
    method = Adam(learning_rate=0.01, **SETTINGS)
    measured = ebbing.measure(scope["build"](), named(), method=method, orders=orders, seeds=[3], store=tmp_path)
    assert found["orders"] == orders
    assert found["seeds"] == [3]
    assert np.array_equal(found["errors"], measured.errors)
    assert measured.accuracies is not None
    assert np.array_equal(found["accuracies"], measured.accuracies)
    assert np.array_equal(found["forgetting"], measured.forgetting)
    assert found["seed_agreement"] is None
    assert set(found["forecast"]) == {
        *("training", "forgetting", "generalization", "accuracy", "rank_correlation", "orders_better", "regret")
    }


@pytest.fixture(scope="module")
def prices(folder):
    """CSV files of regression; the numbers of a file and of all its examples are the same in Python."""
    random = np.random.default_rng(0)
    (folder / "prices").mkdir()
    found = {}
    for name in ("flats", "houses"):
        inputs, direction = random.standard_normal((80, 6)).round(3), random.standard_normal(6)
        labels = (inputs @ direction + 0.3 * random.standard_normal(80)).round(3)
        lines = [",".join(map(str, (*row, label))) for row, label in zip(inputs, labels, strict=True)]
        (folder / "prices" / f"{name}.csv").write_text("\n".join(["a,b,c,d,e,f,price", *lines]) + "\n")
        found[name] = (inputs, labels)
    return found


REGRESSION = ("prices", "--model", "my_measured:line", "--label", "price", "--epochs", "200", "--batch-size", "60")


def test_regression_agrees_with_the_forecast_from_files(run, folder, prices, tmp_path):
    """A linear network, trained long in one batch, forgets what is predicted: every number is of the same unit."""
    done = run(*REGRESSION, "--out", "regression", "--json")
    assert done.returncode == 0, done.stderr
    found = parse(done.stdout)
    assert found["accuracies"] is None
    assert found["forecast"]["accuracy"] is None
    assert np.allclose(found["forecast"]["forgetting"], np.mean(found["forgetting"], axis=1), rtol=1e-3)
    assert np.allclose(found["forecast"]["generalization"], np.mean(found["generalization"], axis=1), rtol=1e-3)
    torch.manual_seed(0)
    method = Sgd(epochs=200, batch_size=60)
    measured = ebbing.measure(torch.nn.Linear(6, 1), prices, method=method, store=tmp_path)
    assert np.array_equal(found["errors"], measured.errors)


def test_regression_is_shown_without_accuracies(run, folder, prices):
    files = ("--plot", "prices.png", "--html", "prices.html")
    done = run(*REGRESSION, "--out", "regression", "--training-error", "0.5", *files)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "ccuracy" not in text
    assert "order predicted forgetting measured predicted error measured flats" in text
    assert "Mean squared error: " in text
    assert "Forecast: each task trained to a mean squared error of 0.5." in text
    assert (folder / "prices.png").read_bytes().startswith(b"\x89PNG")
    assert "What was predicted and what was measured" in (folder / "prices.html").read_text()


def test_streams_are_read_for_training_and_for_the_forecast(run):
    done = run("my_measured:stream", "--model", "my_measured:build", "--epochs", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert parse(done.stdout)["forecast"]["accuracy"] is not None


def test_finished_runs_are_found_again(run, folder):
    first = run("tasks", "--model", "my_measured:build", "--epochs", "2", "--out", "again", "--json")
    assert first.returncode == 0, first.stderr
    times = {file: file.stat().st_mtime_ns for file in (folder / "again").rglob("*.json")}
    assert len(times) == 1 + 3 + 6 + 6
    second = run("tasks", "--model", "my_measured:build", "--epochs", "2", "--out", "again", "--json")
    assert second.stdout == first.stdout
    assert {file: file.stat().st_mtime_ns for file in (folder / "again").rglob("*.json")} == times


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tasks",), "Missing option '--model'"),
        (("nowhere", "--model", "my_measured:build"), "nowhere: no such folder"),
        (("tasks", "--model", "my_measured:build", "--optimizer", "lion"), "--optimizer lion: give sgd or adam"),
        (("tasks", "--model", "my_measured:build", "--epochs", "0"), "--epochs 0: give a whole number"),
        (("tasks", "--model", "my_measured:build", "--batch-size", "0"), "--batch-size 0: give a whole number"),
        (("tasks", "--model", "my_measured:build", "--learning-rate", "-1"), "--learning-rate -1.0: give a positive"),
        (("tasks", "--model", "my_measured:build", "--seeds", "0"), "--seeds 0: give a whole number"),
        (("tasks", "--model", "my_measured:build", "--order", "cats,rats"), "task 'rats': there is data for 'cats'"),
        (("tasks", "--model", "my_measured:build", "--order", "cats"), "--order (('cats',),): give some orders of two"),
        (("tasks", "--model", "my_measured:build", "--training-accuracy", "2"), "--training-accuracy 2: give"),
        (("tasks", "--model", "my_measured:build", "--plot", "a.gif"), "a.gif: a picture's name ends in"),
        (
            ("tasks", "--model", "my_measured:build", "--training-error", "0.1", "--training-accuracy", "0.9"),
            "--training-accuracy 0.9, --training-error 0.1: say how far tasks are trained in one way",
        ),
    ],
)
def test_bad_input_ends_with_one_line(run, arguments, message):
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
