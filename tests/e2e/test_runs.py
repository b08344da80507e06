"""`ebbing runs` on a store that a real run has left."""

import json
from functools import partial

import command_line
import numpy as np
import pytest
from command_line import NETWORKS, run_command

from ebbing.learn import CustomTasks, Experiment, FiveLayers, Sgd, prefix_tree
from ebbing.learn._current_names import current_names
from ebbing.runs import Store, execute

RANDOM = np.random.default_rng(0)
DATA = {name: (RANDOM.random((6, 1, 28, 28)), RANDOM.integers(0, 2, (6, 1)).astype(float)) for name in ("x", "y")}
TRAINING = Experiment(CustomTasks(DATA, DATA), FiveLayers(widths=(2, 3, 4, 5)), Sgd(epochs=1))
NODES = [node for seed in (0, 1) for node in prefix_tree([("x", "y"), ("y",)], seed)]


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "results" / "runs")
    execute(TRAINING, NODES, store)
    return store


@pytest.fixture
def run(tmp_path):
    return partial(run_command, "runs", folder=tmp_path, module=NETWORKS)


answer = command_line.answer  # a fixture: standard output of a command that succeeds


def test_from_looking_to_cleaning(store, answer):
    shown = answer()  # results/runs is where it looks
    assert "FiveLayers" in shown
    assert "Sgd" in shown
    assert f"{store.size() / 1e6:.1f} MB in results/runs" in shown

    text = answer("--json")
    assert text.count("\n") == 1
    content = json.loads(text)
    assert list(content) == ["schema", "folder", "bytes", "freed", "groups"]
    assert (content["schema"], content["folder"]) == ("ebbing.runs/1", "results/runs")
    assert (content["bytes"], content["freed"]) == (store.size(), 0)
    assert [group["entries"] for group in content["groups"]] == [4, 4]
    settings = json.loads(json.dumps(current_names(TRAINING.describe())))
    assert settings["tasks"]["kind"] == "CustomTasks"
    assert [group["settings"] for group in content["groups"]] == [settings | {"seed": seed} for seed in (0, 1)]

    weights = sum(path.stat().st_size for path in store.folder.rglob("*.safetensors"))
    assert weights > 0
    cleaned = json.loads(answer("results/runs", "--clean", "weights", "--json"))
    assert cleaned == content | {"bytes": content["bytes"] - weights, "freed": weights}
    assert not list(store.folder.rglob("*.safetensors"))
    errors, _ = execute(TRAINING, NODES, store)
    assert len(errors) == len(NODES)

    assert "nothing trained in results/runs" in answer("--clean", "all")
    assert list(store.entries()) == []
    assert json.loads(answer("--json"))["groups"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "results/runs: no such folder; name runs/ in a folder that --out named, or train first"),
        (("elsewhere", "--json"), "elsewhere: no such folder"),
        ((".", "--clean", "everything"), "clean='everything': give weights or all"),
    ],
)
def test_bad_input_ends_with_one_line_and_status_2(run, arguments, said):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"ebbing: {said}")
    assert done.stderr.count("\n") == 1


def test_damaged_files_are_named_in_one_line_each(store, run):
    weights = next(store.folder.rglob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-1])
    damaged = next(path for path in store.folder.rglob("*.json") if path.stem != weights.stem)
    damaged.write_text("{")
    done = run("--json")
    assert done.returncode == 0
    assert sum(group["entries"] for group in json.loads(done.stdout)["groups"]) == len(NODES) - 1
    lines = sorted(done.stderr.splitlines())
    assert len(lines) == 2
    assert all(line.startswith("ebbing: results/runs/") for line in lines)
    for path in (damaged, weights):
        assert sum(f"{path.name} is damaged" in line for line in lines) == 1
