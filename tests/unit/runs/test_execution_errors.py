"""Execution: what is refused before anything is trained, and what means the same."""

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
from ebbing.runs import execute

store, trained = toy_runs.store, toy_runs.trained  # fixtures


@dataclass(frozen=True)
class Choosy(Toy):
    """Knows its tasks by name."""

    def check(self, task: str) -> None:
        if task not in ("a", "b"):
            raise ValueError(f"task {task!r}: there are a and b")


@pytest.mark.parametrize("sequence", [("a", "x"), ("a", "b", "x")])
def test_an_unknown_task_is_refused_before_training(store, trained, sequence):
    choosy = replace(TRAINING, tasks=Choosy())
    with pytest.raises(ValueError, match="task 'x': there are a and b"):
        execute(choosy, prefix_tree([("a", "b"), sequence], 0), store)
    with pytest.raises(ValueError, match="task 'x': there are a and b"):
        execute(choosy, [replace(node, tested=occurrences("x")) for node in prefix_tree([("a",)], 0)], store)
    assert trained == []
    assert not store.folder.exists()
    assert len(execute(choosy, prefix_tree([("a", "b")], 0), store)[0]) == 3


@pytest.mark.parametrize("task", ["0-1-x", "", "10"])
def test_what_is_no_set_of_digits_is_refused_before_mnist_is_read(store, trained, monkeypatch, task):
    monkeypatch.setattr("ebbing.learn.tasks._datasets.mnist", None)
    experiment, sequence = replace(TRAINING, tasks=DigitTasks()), ["0-1", task]
    with pytest.raises(ValueError, match=rf"task {task!r}: write a set of digits as 0-1-2"):
        execute(experiment, [*prefix_tree([["0-1"]], 0), *prefix_tree([["2-3", task]], 1)], store)
    with pytest.raises(ValueError, match=rf"task {task!r}: write a set of digits as 0-1-2"):
        train_reference(experiment, sequence, seed=0)
    assert trained == []


@pytest.mark.parametrize("task", [7, None, ("a", "b")])
def test_a_task_is_known_by_a_string(task):
    for attempt in (prefix_tree, lambda sequences, seed: train_reference(TRAINING, sequences[0], seed)):
        with pytest.raises(ValueError, match=re.escape(f"task {task!r}: give the name of a task, a string")):
            attempt([["a", task]], 0)


@pytest.mark.parametrize("seed", [-1, np.int64(-1), 0.0, 1.5, "0", None, True, np.True_])
def test_seeds_are_whole_numbers_from_0(seed):
    for attempt in (lambda: prefix_tree([("a",)], seed), lambda: train_reference(TRAINING, ("a",), seed)):
        with pytest.raises(ValueError, match=r"^seed=.*: give a whole number >= 0") as caught:
            attempt()
        assert repr(seed) in str(caught.value)


@pytest.mark.parametrize("kind", [np.int64, np.uint8])
def test_seeds_of_numpy_are_the_same_seeds(store, trained, kind):
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
def test_a_learning_rate_is_a_positive_number(rate):
    with pytest.raises(ValueError, match=r"^learning_rate=.*: give a positive number") as caught:
        Sgd(learning_rate=rate)
    assert repr(rate) in str(caught.value)


def test_learning_rates_of_numpy_are_the_same_rates():
    for rate in (np.float64(0.5), np.float32(0.5), Fraction(1, 2)):
        settings = replace(TRAINING, method=Sgd(learning_rate=rate)).describe()  # type: ignore[arg-type]
        assert settings == replace(TRAINING, method=Sgd(learning_rate=0.5)).describe()
        assert type(settings["method"]["learning_rate"]) is float
    assert json.dumps(replace(TRAINING, method=Sgd(learning_rate=1)).describe()["method"]["learning_rate"]) == "1.0"


class UnprotectedMethod:
    """Tasks, a network or a method that is no dataclass."""

    identity, version = "plain", 1


@pytest.mark.parametrize("part", ["tasks", "architecture", "method"])
@pytest.mark.parametrize("value", [UnprotectedMethod(), UnprotectedMethod, Toy, None])
def test_a_part_that_has_no_settings_is_refused(store, part, value):
    with pytest.raises(ValueError, match=rf"^{part}=.*; give a dataclass of settings, or .* settings\(\)"):
        execute(replace(TRAINING, **{part: value}), NODES, store)


def test_a_part_may_describe_itself():
    class Described(UnprotectedMethod):
        def settings(self) -> dict[str, int]:
            return {"size": 3}

    described = Experiment(Described(), TRAINING.architecture, TRAINING.method).describe()  # type: ignore[arg-type]
    assert described["tasks"] == {"kind": "Described", "size": 3, "identity": "plain"}
    assert described["method"] == TRAINING.describe()["method"]


@dataclass(frozen=True)
class Holding(Toy):
    held: object = None


@pytest.mark.parametrize("value", [torch.zeros(3), np.int64(3), {"a": np.zeros(2)}, len, 1j])
def test_a_setting_that_json_cannot_hold_is_refused(store, value):
    with pytest.raises(ValueError, match=r"^held=.* of tasks: .* JSON can hold .* give Holding a method settings\(\)"):
        execute(replace(TRAINING, tasks=Holding(held=value)), NODES, store)


@pytest.mark.parametrize("name", ["potato", "cuda:99", "meta"])
def test_a_device_that_is_not_there_is_refused_before_training(store, trained, name):
    with pytest.raises(ValueError, match=f"device='{name}': not usable here"):
        execute(TRAINING, NODES, store, device=name)
    assert trained == []
