"""Execution: errors before anything is trained, and equivalent settings."""

import json
import re
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
import torch
import toy_runs
from toy_runs import NODES, TRAINING, Toy

from ebbing.learn import DigitTasks, Experiment, Sgd, occurrences, prefix_tree, train_reference
from ebbing.learn._code_digest import code_digest
from ebbing.runs import execute

store, trained = toy_runs.store, toy_runs.trained  # fixtures


@dataclass(frozen=True)
class Choosy(Toy):
    """Tasks with a method `check`."""

    def check(self, task: str) -> None:
        if task not in ("a", "b"):
            raise ValueError(f"task {task!r}: there are a and b")


@pytest.mark.parametrize("sequence", [("a", "x"), ("a", "b", "x")])
def test_unknown_task_raises_before_training(store, trained, sequence):
    choosy = replace(TRAINING, tasks=Choosy())
    with pytest.raises(ValueError, match="task 'x': there are a and b"):
        execute(choosy, prefix_tree([("a", "b"), sequence], 0), store)
    with pytest.raises(ValueError, match="task 'x': there are a and b"):
        execute(choosy, [replace(node, test_occurrences=occurrences("x")) for node in prefix_tree([("a",)], 0)], store)
    assert trained == []
    assert not store.folder.exists()
    assert len(execute(choosy, prefix_tree([("a", "b")], 0), store)[0]) == 3


@pytest.mark.parametrize("task", ["0-1-x", "", "10"])
def test_bad_digit_task_raises_before_mnist_is_read(store, trained, monkeypatch, task):
    monkeypatch.setattr("ebbing.learn.tasks._datasets.mnist", None)
    experiment, sequence = replace(TRAINING, tasks=DigitTasks()), ["0-1", task]
    with pytest.raises(ValueError, match=rf"task {task!r}: write a set of digits as 0-1-2"):
        execute(experiment, [*prefix_tree([["0-1"]], 0), *prefix_tree([["2-3", task]], 1)], store)
    with pytest.raises(ValueError, match=rf"task {task!r}: write a set of digits as 0-1-2"):
        train_reference(experiment, sequence, seed=0)
    assert trained == []


@pytest.mark.parametrize("task", [7, None, ("a", "b")])
def test_task_that_is_no_string_raises(task):
    for attempt in (prefix_tree, lambda sequences, seed: train_reference(TRAINING, sequences[0], seed)):
        with pytest.raises(ValueError, match=re.escape(f"task {task!r}: give the name of a task, a string")):
            attempt([["a", task]], 0)


@pytest.mark.parametrize("seed", [-1, np.int64(-1), 1.5, "0", None, True, np.True_])
def test_bad_seeds_raise(seed):
    for attempt in (lambda: prefix_tree([("a",)], seed), lambda: train_reference(TRAINING, ("a",), seed)):
        with pytest.raises(ValueError, match=r"^seed=.*: give a whole number >= 0") as caught:
            attempt()
        assert f"seed={seed!r}" in str(caught.value) or f"seed={seed}" in str(caught.value)


@pytest.mark.parametrize("kind", [np.int64, np.uint8, float])
def test_numpy_seeds_equal_python_seeds(store, trained, kind):
    [plain], [same] = ([node for node in prefix_tree([("a",)], seed) if node.path] for seed in (1, kind(1)))
    assert type(same.seed) is int
    assert same.key(TRAINING.describe()) == plain.key(TRAINING.describe())
    errors, fits = execute(TRAINING, prefix_tree([("a",)], kind(1)), store)
    trained.clear()
    assert execute(TRAINING, prefix_tree([("a",)], 1), store) == (errors, fits)
    assert trained == []
    np.testing.assert_array_equal(
        train_reference(TRAINING, ("a",), kind(1))[0], train_reference(TRAINING, ("a",), 1)[0]
    )


@pytest.mark.parametrize("rate", ["0.1", None, True, [0.1], 1j, 0.0])
def test_bad_learning_rates_raise(rate):
    with pytest.raises(ValueError, match=r"^learning_rate=.*: give a positive number") as caught:
        Sgd(learning_rate=rate)
    assert repr(rate) in str(caught.value)


def test_numpy_learning_rates_equal_python_ones():
    for rate in (np.float64(0.5), np.float32(0.5), Fraction(1, 2)):
        settings = replace(TRAINING, method=Sgd(learning_rate=rate)).describe()  # type: ignore[arg-type]
        assert settings == replace(TRAINING, method=Sgd(learning_rate=0.5)).describe()
        assert type(settings["method"]["learning_rate"]) is float
    assert json.dumps(replace(TRAINING, method=Sgd(learning_rate=1)).describe()["method"]["learning_rate"]) == "1.0"


class Plain:
    """Tasks, an architecture or a method that is not a dataclass."""

    fingerprint, version = "plain", 1

    def load(self, occurrence, seed): ...
    def build(self, seed): ...
    def learn(self, network, data, generator): ...


@pytest.mark.parametrize("part", ["tasks", "architecture", "method"])
def test_part_without_settings_raises(store, part):
    with pytest.raises(ValueError, match=rf"^{part}=.*; give a dataclass of settings, or .* settings\(\)"):
        execute(replace(TRAINING, **{part: Plain()}), NODES, store)


def test_architecture_that_builds_nothing_raises(store):
    class Forgotten(Plain):
        def settings(self) -> dict[str, int]:
            return {}

    with pytest.raises(ValueError, match=r"^architecture=.*: build\(seed\) returned None; return a torch.nn.Module"):
        execute(replace(TRAINING, architecture=Forgotten()), NODES, store)  # type: ignore[arg-type]


def test_part_may_have_a_settings_method():
    class Described(Plain):
        def settings(self) -> dict[str, int]:
            return {"size": 3}

    described = Experiment(Described(), TRAINING.architecture, TRAINING.method).describe()  # type: ignore[arg-type]
    code = code_digest(Described())
    assert described["tasks"] == {"kind": "Described", "size": 3, "identity": "plain", "code": code}
    assert described["method"] == TRAINING.describe()["method"]


@dataclass(frozen=True)
class Holding(Toy):
    held: object = None


@pytest.mark.parametrize("value", [torch.zeros(3), np.int64(3), {"a": np.zeros(2)}, len, 1j])
def test_setting_that_json_cannot_hold_raises(store, value):
    with pytest.raises(ValueError, match=r"^held=.* of tasks: .* JSON can hold .* give Holding a method settings\(\)"):
        execute(replace(TRAINING, tasks=Holding(held=value)), NODES, store)


@pytest.mark.parametrize("name", ["potato", "cuda:99", "meta"])
def test_unavailable_device_raises_before_training(store, trained, name):
    with pytest.raises(ValueError, match=f"device='{name}': not usable here"):
        execute(TRAINING, NODES, store, device=name)
    assert trained == []
