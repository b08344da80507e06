"""Custom tasks: data from tensors, arrays and datasets, its fingerprint, and bad data."""

import dataclasses
import pickle
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load
from torch import nn
from torch.utils.data import Dataset, IterableDataset, TensorDataset

from ebbing.learn import CustomTasks, Experiment, Occurrence, Sgd, error_matrix, prefix_tree, train_reference
from ebbing.learn.training._machine import single_thread
from ebbing.runs import Store, execute, train_streams

RANDOM = np.random.default_rng(0)
INPUTS = {task: RANDOM.standard_normal((12, 4)) for task in "ab"}
LABELS = {task: (INPUTS[task][:, :1] > 0).astype(float) for task in "ab"}
TRAIN = {task: (INPUTS[task][:8], LABELS[task][:8]) for task in "ab"}
TEST = {task: (INPUTS[task][8:], LABELS[task][8:]) for task in "ab"}
FIELDS = ("train_inputs", "train_labels", "test_inputs", "test_labels")


def own(train: Any = TRAIN, test: Any = TEST, **more):
    return CustomTasks(train=train, test=test, **more)


class Listed(Dataset):
    """A dataset as users write it."""

    def __init__(self, items: Any) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, i: int) -> Any:
        return self.items[i]


# Data


def test_load_returns_the_data_in_single_precision():
    task_data = own().load(Occurrence("b", 0), seed=5)
    expected = (*TRAIN["b"], *TEST["b"])
    for name, array in zip(FIELDS, expected, strict=True):
        tensor = getattr(task_data, name)
        assert tensor.dtype == torch.float32
        np.testing.assert_array_equal(tensor.numpy(), array.astype(np.float32))


def test_load_ignores_occurrence_and_seed_by_default():
    tasks = own()
    first = tasks.load(Occurrence("a", 0), seed=0)
    for occurrence, seed in ((Occurrence("a", 1), 0), (Occurrence("a", 0), 3)):
        assert all(torch.equal(getattr(first, name), getattr(tasks.load(occurrence, seed), name)) for name in FIELDS)
    assert not torch.equal(first.train_inputs, tasks.load(Occurrence("b", 0), seed=0).train_inputs)


def rows(tensor):
    return [tuple(row) for row in tensor.tolist()]


def test_train_size_draws_by_seed_task_and_occurrence():
    data = {name: (torch.arange(100.0)[:, None], torch.zeros(100, 1)) for name in "ab"}
    tasks, again = own(data, data, train_size=20), own(data, data, train_size=20.0)
    first = tasks.load(Occurrence("a", 2), seed=3)
    assert len(first.train_inputs) == len(set(rows(first.train_inputs))) == 20
    assert torch.equal(first.test_inputs, data["a"][0])
    tasks.load(Occurrence("b", 0), seed=9)
    assert torch.equal(again.load(Occurrence("a", 2), seed=3).train_inputs, first.train_inputs)
    for occurrence, seed in (
        (Occurrence("a", 2), 4),
        (Occurrence("a", 1), 3),
        (Occurrence("b", 2), 3),
        (Occurrence("a", 3), 2),
    ):
        assert not torch.equal(tasks.load(occurrence, seed).train_inputs, first.train_inputs)


def test_train_size_keeps_inputs_and_labels_paired():
    labels = torch.arange(30)
    data = {"a": (labels[:, None].float(), labels)}
    for images in (7, 30):
        task_data = own(data, data, train_size=images).load(Occurrence("a", 1), seed=0)
        assert torch.equal(task_data.train_inputs[:, 0], task_data.train_labels.float())
        assert len(set(task_data.train_labels.tolist())) == images


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_integer_labels_are_classes(dtype):
    data = {"a": (np.zeros((3, 2), np.float32), np.array([0, 2, 1], dtype))}
    task_data = own(data, data).load(Occurrence("a", 0), 0)
    assert task_data.train_labels.dtype == torch.int64
    assert task_data.train_labels.tolist() == [0, 2, 1]


def test_inputs_may_be_token_indices():
    data = {"a": (np.array([[1, 2], [3, 2**40]]), np.array([0, 1]))}
    task_data = own(data, data).load(Occurrence("a", 0), 0)
    assert task_data.train_inputs.tolist() == [[1, 2], [3, 2**40]]
    assert task_data.train_inputs.dtype == torch.int64


def test_inputs_may_have_names():
    words = {"input_ids": np.arange(6).reshape(3, 2), "mask": torch.tensor([[True, False]] * 3)}
    data = {"a": (words, np.array([0, 1, 2]))}
    tasks = own(data, data, train_size=2)
    found = tasks.load(Occurrence("a", 0), 0)
    assert found.train_inputs["input_ids"].shape == (2, 2)
    assert (found.train_inputs["input_ids"][:, 0] // 2).tolist() == found.train_labels.tolist()  # drawn together
    assert found.test_inputs["mask"].dtype == torch.bool
    assert repr(found).startswith("TaskData(train_inputs: (2, 2) and (2, 2), train_labels: (2,)")
    assert found.to("cpu").train_inputs.keys() == words.keys()


def test_names_of_inputs_enter_the_fingerprint():
    values, labels = np.arange(6).reshape(3, 2), np.array([0, 1, 2])
    tasks = [own(*2 * [{"a": (inputs, labels)}]) for inputs in (values, {"x": values}, {"y": values})]
    assert len({one.fingerprint for one in tasks}) == 3
    pairs = [{"x": values, "y": values + 1}, {"y": values + 1, "x": values}]
    assert len({own(*2 * [{"a": (inputs, labels)}]).fingerprint for inputs in pairs}) == 1


def test_bad_inputs_by_name_raise():
    labels = np.array([0, 1, 2])
    with pytest.raises(ValueError, match=r"task 'a', train: inputs by the names \[\]; give at least one input"):
        own({"a": ({}, labels)}, {"a": ({}, labels)})
    with pytest.raises(ValueError, match=r"task 'a', train, y: inputs of shape \(2, 1\), labels \(3,\)"):
        own(*2 * [{"a": ({"x": np.zeros((3, 1)), "y": np.zeros((2, 1))}, labels)}])
    with pytest.raises(ValueError, match=r"an input is x: torch\.float32 of shape \(1,\) .*y: torch\.float32"):
        own(*({"a": ({key: np.zeros((3, 1))}, labels)} for key in "xy"))


def test_later_changes_of_the_arrays_have_no_effect():
    inputs, labels = torch.zeros(3, 2), np.zeros((3, 1))
    tasks = own({"a": (inputs, labels)}, {"a": (inputs, labels)})
    inputs += 1
    labels += 1
    task_data = tasks.load(Occurrence("a", 0), 0)
    assert float(task_data.train_inputs.sum() + task_data.train_labels.sum()) == 0


def test_gradients_and_strides_are_dropped():
    inputs = torch.randn(4, 3, requires_grad=True)
    labels = torch.zeros(3, 1)
    tasks = own({"a": (inputs.T, labels)}, {"a": (inputs.T, labels)})
    task_data = tasks.load(Occurrence("a", 0), 0)
    assert not task_data.train_inputs.requires_grad
    assert task_data.train_inputs.is_contiguous()
    assert tasks.fingerprint == own(*2 * [{"a": (inputs.detach().T.contiguous(), labels)}]).fingerprint


# Fingerprint


def test_fingerprint_does_not_depend_on_the_container():
    tensors = {name: tuple(map(torch.from_numpy, pair)) for name, pair in TRAIN.items()}
    forms = [
        {name: list(pair) for name, pair in TRAIN.items()},
        {name: tuple(array.astype(np.float32) for array in pair) for name, pair in TRAIN.items()},
        dict(reversed(TRAIN.items())),
        tensors,
        {name: TensorDataset(*pair) for name, pair in tensors.items()},
        {name: Listed(list(zip(*pair, strict=True))) for name, pair in TRAIN.items()},
    ]
    assert {own(parametrization).fingerprint for parametrization in forms} == {own().fingerprint}
    assert re.fullmatch("[0-9a-f]{64}", own().fingerprint)


def test_dataset_with_number_labels_has_classes():
    labels = [1, 0, 3]
    listed = Listed([(np.full(2, i, np.float32), label) for i, label in enumerate(labels)])
    array = np.repeat(np.arange(3.0)[:, None], 2, axis=1)
    assert own(*2 * [{"a": listed}]).fingerprint == own(*2 * [{"a": (array, np.array(labels))}]).fingerprint


def changed(task, part, change):
    pair = [array.copy() for array in TRAIN[task]]
    pair[part] = change(pair[part])
    return TRAIN | {task: tuple(pair)}


def one_off(array):
    array[3, 0] = np.nextafter(np.float32(array[3, 0]), np.float32(0.5))
    return array


def test_fingerprint_changes_with_every_part_of_the_data():
    identities = [
        own().fingerprint,
        own(changed("a", 0, one_off)).fingerprint,  # the smallest change
        own(changed("b", 0, one_off)).fingerprint,
        own(changed("b", 1, one_off)).fingerprint,
        own(TEST, TRAIN).fingerprint,
        own(TRAIN | {"a": TRAIN["b"], "b": TRAIN["a"]}).fingerprint,  # names matter
        own({"a": TRAIN["a"]}, {"a": TEST["a"]}).fingerprint,
        own({"a": TRAIN["a"], "c": TRAIN["b"]}, {"a": TEST["a"], "c": TEST["b"]}).fingerprint,
        own(TRAIN | {"a": tuple(array[:7] for array in TRAIN["a"])}).fingerprint,
        own(
            changed("a", 0, lambda x: x.reshape(8, 2, 2)), TEST | {"a": (TEST["a"][0].reshape(4, 2, 2), TEST["a"][1])}
        ).fingerprint,
    ]
    assert len(set(identities)) == len(identities)


def test_fingerprint_depends_on_the_dtype():
    """Zeros are the same bytes in every type."""
    zeros = {"a": (np.zeros((2, 2)), np.zeros((2, 1)))}
    words = {"a": (np.zeros((2, 2), np.int32), np.zeros((2, 1)))}
    assert own(zeros, zeros).fingerprint != own(words, words).fingerprint


# Results


@dataclasses.dataclass(frozen=True)
class Linear:
    """A network for points."""

    def build(self, seed: int) -> nn.Module:
        network = nn.Linear(4, 1)
        random = torch.Generator().manual_seed(seed)
        for parameter in network.parameters():
            nn.init.normal_(parameter, generator=random)
        return network


TRAINING = Experiment(own(), Linear(), Sgd(epochs=5))
NODES = prefix_tree([("a", "b", "a"), ("b", "a")], seed=0)


def test_settings_have_only_the_hash_of_the_data():
    assert TRAINING.describe()["tasks"] == {"kind": "CustomTasks", "train_size": None, "identity": own().fingerprint}
    few = replace(TRAINING, tasks=own(train_size=5)).describe()["tasks"]
    assert few == {"kind": "CustomTasks", "train_size": 5, "identity": own().fingerprint}
    assert "tensor" not in repr(TRAINING)


def test_stored_results_are_found_only_by_the_same_data(tmp_path, monkeypatch):
    store = Store(tmp_path)
    errors, fits = execute(TRAINING, NODES, store)
    with single_thread():
        matrix, _ = train_reference(TRAINING, ("a", "b", "a"), seed=0)
    np.testing.assert_array_equal(
        error_matrix(("a", "b", "a"), {path: row for (_, path), row in errors.items()}), matrix
    )
    assert matrix[1, 0] < matrix[0, 0]  # something was learned
    monkeypatch.setattr(Sgd, "learn", lambda: None)  # a TypeError if it is called
    assert execute(replace(TRAINING, tasks=own()), NODES, store) == (errors, fits)
    with pytest.raises(TypeError):
        execute(replace(TRAINING, tasks=own(changed("a", 0, one_off))), NODES, store)


def test_unknown_task_raises_before_training(tmp_path):
    with pytest.raises(ValueError, match="task 'x': there is data for 'a', 'b'"):
        execute(TRAINING, prefix_tree([("a", "x")], 0), Store(tmp_path / "runs"))
    assert not (tmp_path / "runs").exists()
    with pytest.raises(ValueError, match="task 'x': there is data for 'a', 'b'"):
        own().load(Occurrence("x", 0), 0)


def test_custom_tasks_can_be_pickled():
    arrived = pickle.loads(pickle.dumps(own(train_size=5)))
    here, there = (tasks.load(Occurrence("a", 1), 2) for tasks in (own(train_size=5), arrived))
    assert all(torch.equal(getattr(here, name), getattr(there, name)) for name in FIELDS)
    assert (arrived.fingerprint, arrived.settings()) == (own().fingerprint, {"train_size": 5})


# Regression

NUMBERS = {task: (INPUTS[task], 100 * INPUTS[task][:, :2] - 3) for task in "ab"}


def test_labels_of_regression_are_any_numbers():
    tasks = own(NUMBERS, NUMBERS, train_size=5, regression=True)
    assert repr(tasks) == "CustomTasks('a', 'b', train_size=5, regression=True)"
    task_data = tasks.load("a", seed=0)
    assert task_data.regression
    assert task_data.train_labels.shape == (5, 2)
    np.testing.assert_array_equal(task_data.test_labels.numpy(), NUMBERS["a"][1].astype(np.float32))
    moved = task_data.to("cpu")
    assert moved.regression
    assert repr(moved).endswith("test_labels: (12, 2), regression)")
    named = {task: ({"x": x, "y": x}, labels) for task, (x, labels) in NUMBERS.items()}
    assert own(named, named, regression=True).load("b", seed=0).train_labels.shape == (12, 2)


def test_regression_is_stored_apart_from_probabilities():
    plain, numbers = own(), own(regression=True)
    assert plain.fingerprint == numbers.fingerprint
    assert plain.settings() == {"train_size": None}
    assert numbers.settings() == {"train_size": None, "regression": True}


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (
            np.ones(3),
            "labels are torch.float64 of shape (3,); for regression give floating-point numbers with a column",
        ),
        (np.ones((3, 1), int), "labels are torch.int64 of shape (3, 1); for regression give floating-point numbers"),
        (np.full((3, 2), 1e39), "labels[0, 0] = 1e+39; every label must be finite in float32: leave it out, or scale"),
        (np.array([[1.0], [2.0], [np.nan]]), "labels[2, 0] = nan; every label must be finite"),
    ],
)
def test_bad_labels_of_regression_raise(labels, said):
    data = {"a": (np.ones((3, 2)), labels)}
    with pytest.raises(ValueError, match=re.escape(f"task 'a', train: {said}")):
        own(data, data, regression=True)


def test_streams_return_the_weights_of_methods_without_a_learner(tmp_path):
    (run,) = train_streams(TRAINING, ["a", "b"], [0], Store(tmp_path), return_learner=True)
    network = Linear().build(0)
    network.load_state_dict(load(run.learner or b""))
    inputs, labels = (torch.as_tensor(part, dtype=torch.float32) for part in TEST["a"])
    right = ((network(inputs) > 0) == (labels > 0)).float().mean()
    assert run.accuracies[2, 0] == pytest.approx(float(right))


def test_streams_refuse_regression(tmp_path):
    experiment = Experiment(own(NUMBERS, NUMBERS, regression=True), Linear(), Sgd(epochs=1))
    with pytest.raises(
        ValueError,
        match=r"^tasks=CustomTasks\(\.\.\.\) are regression, which has no accuracies: .* with ebbing\.runs\.execute",
    ):
        train_streams(experiment, ["a", "b"], [0], Store(tmp_path / "runs"))
    assert not (tmp_path / "runs").exists()


class OwnNumbers:
    """A user's own tasks, of which only the data says that they are regression."""

    fingerprint = "own"

    def settings(self):
        return {}

    def load(self, occurrence, seed):
        return own(NUMBERS, NUMBERS, regression=True).load("a", seed)


def test_streams_refuse_regression_of_own_tasks(tmp_path):
    experiment = Experiment(OwnNumbers(), Linear(), Sgd(epochs=1))
    with pytest.raises(ValueError, match=r"^tasks=OwnNumbers\(\.\.\.\) are regression"):
        train_streams(experiment, ["a", "b"], [0], Store(tmp_path / "runs"))


# Bad data


class Endless(IterableDataset):
    def __iter__(self):
        yield torch.zeros(2), 0


class Unmeasured(Dataset):
    def __getitem__(self, i):
        return torch.zeros(2), 0


class Restless(Listed):
    """A dataset with random transforms."""

    def __getitem__(self, i):
        return torch.randn(2), 0


ONE = np.ones((3, 2))
YES = np.ones((3, 1))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ((ONE, YES[:2]), "inputs of shape (3, 2), labels (2, 1); give as many labels as inputs"),
        ((np.float64(1.0), np.float64(1.0)), "inputs of shape (), labels (); give as many labels"),
        ((ONE[:0], YES[:0]), "no data (inputs of shape (0, 2))"),
        ((ONE[:, :0], YES), "no data (inputs of shape (3, 0))"),
        (Listed([]), "no data (a dataset of length 0)"),
        ((np.array([[1, 2], [3, np.nan]]), YES[:2]), "inputs[1, 1] = nan; every input must be finite"),
        ((np.array([[1, -np.inf]]), YES[:1]), "inputs[0, 1] = -inf; every input must be finite"),
        ((np.array([[1e39]]), YES[:1]), "inputs[0, 0] = inf; every input must be finite in float32"),
        (
            (ONE.astype(np.uint8), YES),
            "inputs are torch.uint8; give floating-point numbers (for images of bytes, divide",
        ),
        ((ONE > 0, YES), "inputs are torch.bool; give floating-point numbers"),
        ((ONE + 0j, YES), "inputs are torch.complex128; give floating-point"),
        (
            (ONE, YES[:, 0]),
            "labels are torch.float64 of shape (3,), from 1 to 1; give floating-point numbers from 0 to 1 in",
        ),
        ((ONE, ONE), "labels are torch.float64 of shape (3, 2)"),
        ((ONE, YES * 1.5), "labels are torch.float64 of shape (3, 1), from 1.5 to 1.5"),
        ((ONE, -YES), "from -1 to -1; give floating-point numbers from 0 to 1"),
        ((ONE, YES * np.nan), "from nan to nan"),
        ((ONE, YES.astype(int)), "labels are torch.int64 of shape (3, 1)"),
        ((ONE, np.array([0, -1, 2])), "labels are torch.int64 of shape (3,), from -1 to 2"),
        ((ONE, YES > 0), "labels are torch.bool of shape (3, 1)"),
        ((ONE, YES + 0j), "labels are torch.complex128 of shape (3, 1), complex"),
        ((ONE, np.array(["x", "y", "z"])), "labels: array of <U1; give a tensor or an array of numbers"),
        ((ONE.tolist(), YES), "inputs: list; give a tensor or an array"),
        (ONE, "ndarray; give a pair (inputs, labels) of tensors or arrays, or a Dataset"),
        ((ONE, YES, YES), "tuple; give a pair"),
        (None, "NoneType; give a pair"),
        (Endless(), "an IterableDataset has no length; give a dataset with a length, or tensors"),
        (Unmeasured(), "the dataset has no length; give it a method __len__, or give tensors"),
        (Restless([0, 0]), "item 0 changes whenever it is read; switch off random transforms"),
        (Listed([(torch.zeros(2), 0), torch.zeros(2)]), "item 1: Tensor; a dataset must yield pairs (input, label)"),
        (
            Listed([("picture", 0)]),
            "item 0, input: str; give a tensor or an array of numbers (a dataset may need ToTensor)",
        ),
        (Listed([(torch.zeros(2), 0), (torch.zeros(3), 0)]), "item 0 have shapes ((2,), ()), of item 1 ((3,), ())"),
    ],
)
def test_bad_data_raises_with_task_and_reason(data, said):
    good = (ONE, YES)
    for half in ("train", "test"):
        halves: dict[str, Any] = {"train": {"fine": good, "mine": good}, "test": {"fine": good, "mine": good}}
        halves[half]["mine"] = data
        with pytest.raises(ValueError, match=rf"^task 'mine', {half}.*{re.escape(said)}"):
            CustomTasks(**halves)


@pytest.mark.parametrize("name", ["a#1", "#", "", 3, None])
def test_bad_task_names_raise(name):
    with pytest.raises(ValueError, match=re.escape(f"task {name!r} in train: a name is a non-empty string without #")):
        own({name: (ONE, YES)}, {name: (ONE, YES)})


def test_different_names_in_train_and_test_raise():
    with pytest.raises(ValueError, match=r"^c, d: only in one of train and test; give every task data in both"):
        own({"a": (ONE, YES), "c": (ONE, YES)}, {"a": (ONE, YES), "d": (ONE, YES)})


@pytest.mark.parametrize("given", [{}, (ONE, YES), None])
def test_data_that_is_no_dictionary_raises(given):
    with pytest.raises(ValueError, match=r"^train=.*: give a non-empty dictionary from names of tasks to data"):
        own(given, TEST)
    with pytest.raises(ValueError, match=r"^test=.*: give a non-empty dictionary"):
        own(TRAIN, given)


def test_different_numbers_of_labels_in_train_and_test_raise():
    with pytest.raises(ValueError, match=r"label torch\.float32 of shape \(1,\) in train, .* of shape \(2,\) in test"):
        own({"a": (ONE, np.ones((3, 1)))}, {"a": (ONE, np.ones((3, 2)))}, regression=True)


@pytest.mark.parametrize(
    ("test", "said"),
    [
        (
            (np.ones((3, 5)), YES),
            "with a label torch.float32 of shape (1,) in train, torch.float32 of shape (5,)",
        ),
        ((np.ones((3, 2), int), YES), "torch.int64 of shape (2,)"),
        ((ONE, np.array([0, 1, 1])), "with a label torch.int64 of shape () in test; make them equal"),
    ],
)
def test_different_shapes_in_train_and_test_raise(test, said):
    with pytest.raises(ValueError, match=rf"^task 'a': .*{re.escape(said)}"):
        own({"a": (ONE, YES)}, {"a": test})


@pytest.mark.parametrize(
    ("images", "said"), [(0, "train_size=0"), (2.5, "train_size=2.5"), (4, "task 'b' has 3 training examples; ask")]
)
def test_bad_train_size_raises(images, said):
    data = {"a": (np.ones((9, 2)), np.ones((9, 1))), "b": (ONE, YES)}
    with pytest.raises(ValueError, match=said):
        own(data, data, train_size=images)
