"""Parts of experiments and their results: checked where they are given, and shown under today's names."""

import re
from dataclasses import dataclass

import numpy as np
import pytest
import toy_runs
from toys import SCHEDULE, TINY, Points, ToyTasks

from ebbing import learn
from ebbing.learn import (
    STREAMS,
    CustomTasks,
    DigitTasks,
    Experiment,
    FiveLayers,
    Gpm,
    NodeResult,
    Sgd,
    SmallAlexNet,
    Threshold,
    TrgpFree,
    error_matrix,
    prefix_tree,
    preset,
    train_reference,
)
from ebbing.learn._current_names import current_names
from ebbing.learn._stored_names import STORED_NAMES, stored_kind
from ebbing.runs import execute, train_streams

store = toy_runs.store  # a fixture


@dataclass(frozen=True)
class Unversioned:
    def learn(self, network, data, generator): ...


@dataclass(frozen=True)
class Unlearning:
    version = 1


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((FiveLayers(), ToyTasks(), Sgd()), "tasks=FiveLayers(...) has no load(occurrence, seed): give Tasks"),
        ((ToyTasks(), Sgd(), TINY), "architecture=Sgd(...) has no build(seed): give an Architecture"),
        (
            (ToyTasks(), TINY, TINY),
            "method=FiveLayers(...) has no learn(network, data, generator) and no start(network)",
        ),
        ((DigitTasks,), "tasks=DigitTasks is a class: give an instance, DigitTasks()"),
        ((ToyTasks(), FiveLayers), "architecture=FiveLayers is a class: give an instance, FiveLayers()"),
        ((ToyTasks(), TINY, Gpm), "method=Gpm is a class: give an instance, Gpm()"),
        ((ToyTasks(), TINY, Unversioned()), "method=Unversioned(...) has no attribute version"),
        (
            (ToyTasks(), TINY, Unlearning()),
            "method=Unlearning(...) has no learn(network, data, generator) and no start",
        ),
        ((None,), "tasks=NoneType(...) has no load"),
    ],
)
def test_wrong_parts_raise_when_they_are_given(parts, message):
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        Experiment(*parts)
    if "class" not in message:
        assert str(caught.value).endswith("the order is Experiment(tasks, architecture, method)")


def test_construction_reads_no_dataset(monkeypatch):
    monkeypatch.setattr("ebbing.learn.tasks._datasets.mnist", None)
    assert isinstance(Experiment(), Experiment)


@pytest.mark.parametrize("given", ["cats", ["cats", "dogs"], "ab", [["a"], "bc"]])
def test_strings_are_no_sequences(given):
    with pytest.raises(ValueError, match=r"sequence '.*': give a list of names of tasks, such as \['"):
        prefix_tree(given, 0)


def test_strings_are_no_sequences_elsewhere(store):
    experiment = Experiment(ToyTasks(), TINY, Sgd(epochs=1))
    for attempt in (
        lambda: train_reference(experiment, "ab", 0),
        lambda: error_matrix("ab", {}),
        lambda: train_streams(experiment, "ab", [0], store),
    ):
        with pytest.raises(ValueError, match=r"sequence 'ab': give a list of names of tasks"):
            attempt()


def test_error_matrix_takes_what_execute_returns(store):
    experiment, sequence = Experiment(ToyTasks(), TINY, Sgd(epochs=1)), ["a", "b"]
    nodes = prefix_tree([sequence, ["b"]], 0)
    result = execute(experiment, nodes, store)
    by_path = {path: row for (_, path), row in result[0].items()}
    expected = error_matrix(sequence, by_path)
    assert expected.shape == (3, 2)
    np.testing.assert_array_equal(error_matrix(sequence, result), expected)
    np.testing.assert_array_equal(error_matrix(sequence, result[0]), expected)
    both = execute(experiment, nodes + prefix_tree([sequence], 1), store)
    np.testing.assert_array_equal(error_matrix(sequence, both, seed=0), expected)
    assert not np.array_equal(error_matrix(sequence, both, seed=1), expected)
    for arguments, message in (
        ((sequence, both), "errors of seeds 0, 1: give seed=, one of them"),
        ((sequence, both, 7), "seed=7: there are errors of seeds 0, 1"),
        ((["b", "a"], result), "no errors of b#0 on all its tasks; train the nodes of prefix_tree"),
        ((["c"], result), "no errors of the initial network on all its tasks"),
    ):
        with pytest.raises(ValueError, match=message):
            error_matrix(*arguments)  # type: ignore[arg-type]


def test_custom_tasks_have_names_and_load_by_name():
    random = np.random.default_rng(0)
    data = {name: (random.random((6, 4)), random.integers(0, 2, 6)) for name in ("dogs", "cats")}
    tasks = CustomTasks(data, data, train_size=3)
    assert tasks.names == ("dogs", "cats")
    assert repr(tasks) == "CustomTasks('dogs', 'cats', train_size=3)"
    one, other = tasks.load("cats", seed=0), tasks.load(learn.Occurrence("cats", 0), seed=0)
    assert one.train_inputs.equal(other.train_inputs)
    assert repr(one).startswith("TaskData(train_inputs: (3, 4), train_labels: (3,), test_inputs: (6, 4)")
    with pytest.raises(ValueError, match="task 'birds': there is data for 'dogs', 'cats'"):
        tasks.load("birds", seed=0)


def test_results_do_not_show_their_weights():
    assert "weights" not in repr(NodeResult({}, None, b"w" * 1000))


# Names


@pytest.mark.parametrize("name", [name for name in learn.__all__ if hasattr(getattr(learn, name), "identifier")])
def test_every_stored_class_is_shown_by_its_name(name):
    kind = getattr(learn, name)
    stored = vars(kind)["identifier"]
    assert current_names({"method": {"kind": stored}})["method"]["kind"] == name


@pytest.mark.parametrize("method", ["gpm", "trgp", "trgp+", "trgp-free", "fine-tuning", "copies", "low-rank"])
def test_shown_settings_are_the_fields_of_the_classes(method):
    for stream in STREAMS:
        experiment = preset(stream, method)  # type: ignore[arg-type]
        for part in (experiment.architecture, experiment.method):
            stored = {"kind": stored_kind(part)} | (part.settings() if hasattr(part, "settings") else vars(part))  # type: ignore[attr-defined]
            shown = current_names({"method": stored})["method"]
            assert shown["kind"] == type(part).__name__
            assert shown.keys() - {"kind"} == vars(part).keys()
            if "threshold" in shown:  # the method can be built again from what is shown
                assert Threshold(**shown["threshold"]) == vars(part)["threshold"]
            assert not {*STORED_NAMES.values()} & {*shown, *shown.get("threshold", {}), *shown.get("schedule", {})}
    assert current_names({"method": Gpm(SCHEDULE).settings()})["method"]["norms"] == "per_task"
    for start_from in ("latest", "shared"):
        stored = {"kind": "TrgpFree"} | TrgpFree(SCHEDULE, start_from=start_from).settings()
        assert current_names({"method": stored})["method"]["start_from"] == start_from
    for width in (0.5, 1):
        stored = {"kind": "SmallAlexNet"} | SmallAlexNet(width=width).settings()
        assert current_names({"architecture": stored})["architecture"]["width"] == width


def test_settings_of_others_stay():
    settings = {"tasks": {"kind": "Points", "data": 3}, "seed": 1, "made_with": {"own": 2}}
    assert current_names(settings) == settings
    assert current_names({"tasks": None}) == {"tasks": None}
    assert Points().fingerprint
