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

def numbers():
    rows = np.eye(6, dtype="float32")
    return {name: (rows, rows[:, 0] - 0.3) for name in ("one", "two")}
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
    assert np.array_equal(found["accuracies"], measured.accuracies)
    assert np.array_equal(found["forgetting"], measured.forgetting)
    assert found["seed_agreement"] is None
    assert set(found["forecast"]) == {
        *("training", "forgetting", "accuracy", "rank_correlation", "orders_better", "regret")
    }


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
        (("tasks", "--model", "my_measured:build", "--order", "cats,rats"), "task 'rats': there is data for cats"),
        (("tasks", "--model", "my_measured:build", "--order", "cats"), "--order (('cats',),): give some orders of two"),
        (("tasks", "--model", "my_measured:build", "--training-accuracy", "2"), "--training-accuracy 2: give"),
        (("tasks", "--model", "my_measured:build", "--plot", "a.gif"), "a.gif: a picture's name ends in"),
        (("my_measured:numbers", "--model", "my_measured:build"), "labels are numbers: `measure` trains yes-or-no"),
    ],
)
def test_bad_input_ends_with_one_line(run, arguments, message):
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
