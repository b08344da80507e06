"""`ebbing forecast` as people run it: files of MNIST-like images, a network in a module, tables, JSON and a figure."""

import json
import sys
from functools import partial

import numpy as np
import pytest
import torch
from command_line import NETWORKS, parse, run_command
from safetensors.torch import save_file

import ebbing
from ebbing.cli.wording import name_options

MODULE = """
import numpy as np
import torch

def build():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))

def tasks():  # streams of examples, which can be read once
    return {name: ((row, k % 2) for k, row in enumerate(np.eye(8))) for name in ("one", "two")}

def broken():
    raise RuntimeError("no such wheel")

def number():
    return 7
"""
YES = {"even": (0, 2, 4), "low": (0, 1, 2), "odd": (1, 3, 5)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three tasks of small noisy images of six kinds, a module with a network, and its weights."""
    folder = tmp_path_factory.mktemp("user")
    (folder / "tasks").mkdir()
    (folder / "mine.py").write_text(MODULE)
    random = np.random.default_rng(0)
    kinds = random.random((6, 1, 8, 8))
    for name, yes in YES.items():
        k = random.integers(6, size=80)
        images = kinds[k] + 0.3 * random.standard_normal((80, 1, 8, 8))
        np.savez(folder / "tasks" / f"{name}.npz", inputs=images.astype(np.float32), labels=np.isin(k, yes).astype(int))
    torch.manual_seed(1)
    weights = {"1.weight": (16, 64), "1.bias": (16,), "3.weight": (1, 16), "3.bias": (1,)}
    save_file({name: 0.1 * torch.randn(shape) for name, shape in weights.items()}, folder / "new.safetensors")
    save_file({"1.weight": torch.zeros(16, 64)}, folder / "part.safetensors")
    save_file({name: torch.zeros(3) for name in weights}, folder / "other.safetensors")
    return folder


@pytest.fixture
def run(folder):
    return partial(run_command, "forecast", folder=folder, module=NETWORKS)


def read(folder):
    arrays = {name: np.load(folder / "tasks" / f"{name}.npz") for name in YES}
    return {name: (found["inputs"], found["labels"]) for name, found in arrays.items()}


def network(folder):
    scope: dict = {}
    exec(MODULE, scope)
    return scope["build"]()


def test_tables_say_what_python_says(run, folder):
    done = run("tasks", "--model", "mine:build", "--plot", "figure.png")
    assert done.returncode == 0, done.stderr
    forecast = ebbing.forecast(network(folder), read(folder))
    plan = forecast.best_order()
    replay = forecast.replay(plan.names if plan.matters else None)
    words = " ".join(" ".join(result.summary() for result in (forecast, plan, replay)).split())
    assert " ".join(done.stdout.split()) == name_options(words)
    assert "give --training-accuracy" in name_options(words)
    assert "learning_rate" not in done.stdout
    assert "3 tasks by name, as no --order is given (even, low, odd); about" in done.stderr
    assert "MB besides the data" in done.stderr
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_labels_may_be_names(run, folder):
    (folder / "named").mkdir()
    for name, (inputs, labels) in read(folder).items():
        np.savez(folder / "named" / f"{name}.npz", inputs=inputs, labels=np.array(["no", "yes"])[labels])
    done, expected = run("named", "--classes", "no, yes", "--json"), run("tasks", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected.stdout
    wrong = run("named", "--classes", "yes,maybe")
    assert wrong.returncode == 2
    assert "labels has 'no' in example" in wrong.stderr
    assert "--classes yes,maybe must name every label" in wrong.stderr
    streams = run("mine:tasks", "--classes", "no,yes")
    assert "--classes no,yes: the labels of mine:tasks are numbers already" in streams.stderr


def test_brief_training_forgets_what_python_says(run, folder):
    done = run("tasks", "--model", "mine:build", "--learning-rate", "0.05", "--steps", "10", "--json")
    assert done.returncode == 0, done.stderr
    brief = ebbing.forecast(network(folder), read(folder), learning_rate=0.05, steps=10)
    assert np.allclose(parse(done.stdout)["errors"], brief.errors(), rtol=1e-6)
    assert not np.allclose(brief.errors(), ebbing.forecast(network(folder), read(folder)).errors(), rtol=1e-3)
    alone = run("tasks", "--steps", "10")
    assert alone.returncode == 2
    expected = (
        "ebbing: --steps 10: say how far tasks are trained in one way: by both --learning-rate and --steps, by --"
    )
    assert alone.stderr.startswith(expected)  # before anything is read
    assert alone.stderr.count("\n") == 1


def test_pages_and_json_name_options(run, folder):
    done = run("tasks", "--json", "--html", "page.html")
    assert done.returncode == 0, done.stderr
    assert parse(done.stdout)["training"].endswith("(if yours is not, give --training-accuracy)")
    page = (folder / "page.html").read_text()
    assert "give --training-accuracy" in page
    assert "learning_rate" not in page


def test_weights_and_order_and_json(run, folder):
    done = run("tasks", "--model", "mine:build", "--weights", "new.safetensors", "--order", "odd,even,low", "--json")
    assert done.returncode == 0, done.stderr
    found = parse(done.stdout)
    tasks = read(folder)
    trained = network(folder)
    from safetensors.torch import load_model

    load_model(trained, folder / "new.safetensors")
    forecast = ebbing.forecast(trained, {name: tasks[name] for name in ("odd", "even", "low")})
    assert found["schema"] == "ebbing.forecast/1"
    assert found["names"] == ["odd", "even", "low"]
    assert np.allclose(found["errors"], forecast.errors(), rtol=1e-6)
    assert np.allclose(found["similarity"], forecast.similarity, rtol=1e-5)
    assert found["plan"]["given"] == pytest.approx(found["forgetting"])
    assert found["plan"]["value"] <= found["plan"]["given"] <= found["plan"]["worst"]["value"]
    assert found["plan"]["names"] == list(forecast.best_order().names)
    assert np.allclose(found["accuracies"], forecast.accuracies())
    replay = forecast.replay(found["replay"]["names"])
    assert found["replay"]["names"] == (found["plan"]["names"] if found["plan"]["matters"] else found["names"])
    assert found["replay"]["share"] == replay.share
    assert np.allclose(found["replay"]["accuracy"], np.asarray(replay.accuracy))
    untrained = ebbing.forecast(network(folder), {name: tasks[name] for name in ("odd", "even", "low")})
    assert not np.allclose(found["errors"], untrained.errors(), rtol=1e-3)  # the weights were used


def test_without_a_model_and_with_a_function_of_tasks(run):
    done = run("mine:tasks", "--json", "--train-size", "5")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["source"] == "linear model of the inputs"
    assert (found["names"], found["train_sizes"]) == (["one", "two"], [5, 5])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["tasks", "--model", "mine"], "give a module and a function in it"),
        (["tasks", "--model", "yours:build"], "there is no module 'yours'"),
        (["tasks", "--model", "mine:nothing"], "there is no such function"),
        (["tasks", "--model", "mine:broken"], "the function failed: RuntimeError: no such wheel"),
        (["tasks", "--model", "mine:number"], "returns int: it must return a PyTorch network"),
        (["mine:number"], "returns int: it must return a dictionary"),
        (
            ["mine:tasks", "--model", "mine:build"],
            "Sequential fails on one example with inputs of shape (8,)",
        ),
        (["tasks", "--weights", "new.safetensors"], "--weights goes with --model"),
        (["tasks", "--model", "mine:build", "--weights", "no.safetensors"], "no.safetensors: no such file"),
        (["tasks", "--model", "mine:build", "--weights", "mine.py"], "mine.py: cannot be read as safetensors"),
        (["tasks", "--model", "mine:build", "--weights", "part.safetensors"], "the file lacks '1.bias'; 3 tensors are"),
        (["tasks", "--model", "mine:build", "--weights", "other.safetensors"], "these are not weights of Sequential"),
        (["tasks", "--order", "odd"], "'even' is missing; name every task once, separated by commas, such as even,low"),
        (["tasks", "--order", "odd,evn,low"], "--order 'odd,evn,low': there is no task 'evn'; name every task once"),
        (["nowhere", "--training-error", "12%"], "'12%' is not a number; write 0.12"),
        (["nowhere", "--learning-rate", "-1", "--steps", "3"], "--learning-rate -1: must not be negative"),
        (["nowhere", "--train-size", "0"], "--train-size 0: give a whole number"),
        (["nowhere", "--test-size", "0"], "--test-size 0: give a whole number"),
        (["nowhere", "--seconds", "0"], "--seconds 0.0: give a positive number of seconds"),
        (["tasks", "--plot", "figure.gif"], "a picture's name ends in .png, .svg or .pdf"),
        (["nowhere"], "nowhere: no such folder"),
        (["yours:tasks"], "'yours:tasks': there is no module 'yours'"),
        ([], "Missing argument 'TASKS'"),
    ],
)
def test_bad_input_is_one_line(monkeypatch, capsys, folder, arguments, reason):
    from ebbing.cli import main

    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    monkeypatch.setattr(sys, "argv", ["ebbing", "forecast", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    error = capsys.readouterr().err
    assert ended.value.code == 2
    assert reason in error
    assert error.count("\n") == 1


def test_a_bad_file_is_named_before_anything_is_computed(run, folder, tmp_path):
    for name, arrays in read(folder).items():
        np.savez(tmp_path / f"{name}.npz", inputs=arrays[0], labels=arrays[1])
    (tmp_path / "wide.csv").write_text("a,b,label\n1,2,0\n3,4,1\n")
    done = run(str(tmp_path), "--model", "mine:broken")  # the model is not even built
    assert (done.returncode, done.stdout) == (2, "")
    assert "wide.csv: an example of inputs has 2 numbers, but in even.npz shape (1, 8, 8)" in done.stderr
    assert done.stderr.count("\n") == 1
