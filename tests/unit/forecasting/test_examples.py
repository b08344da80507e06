"""Data of users in all its forms becomes the same rows, and bad data is named."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from ebbing.forecasting import Examples, forecast

X = np.arange(40.0).reshape(20, 2)
Y = np.arange(20) % 2


class Stream(IterableDataset):
    def __iter__(self):
        yield from zip(torch.from_numpy(X), torch.from_numpy(Y), strict=True)


class Named(Dataset):
    """A dataset whose items are dictionaries, as those of transformers."""

    def __len__(self):
        return 20

    def __getitem__(self, k):
        return {"left": X[k], "right": torch.tensor(X[k] + 1), "labels": int(Y[k])}


class Unlabeled(Named):
    def __getitem__(self, k):
        return {"x": X[k]}


FORMS = {
    "arrays": (X, Y),
    "tensors": (torch.from_numpy(X), torch.from_numpy(Y)),
    "dataset": TensorDataset(torch.from_numpy(X), torch.from_numpy(Y)),
    "loader": DataLoader(TensorDataset(torch.from_numpy(X), torch.from_numpy(Y)), batch_size=6),
    "stream": Stream(),
    "stream loader": DataLoader(Stream(), batch_size=7),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_keeps_pairs_together(form):
    found = Examples.read({"a": {"train": FORMS[form], "test": FORMS[form]}}, train_size=12, test_size=5)
    assert [len(found.train[0]), len(found.test[0])] == [12, 5]
    assert len(np.unique(found.inputs[found.train[0], 0])) == 12  # without replacement
    assert np.array_equal(found.inputs[:, 0] / 2 % 2, found.labels)
    assert np.array_equal(found.inputs[:, 1] - found.inputs[:, 0], np.ones(17))


def test_choice_is_random_and_seeded():
    tasks = {"a": (X, Y)}
    first = Examples.read(tasks, train_size=8, test_size=4, seed=1)
    assert np.array_equal(first.inputs, Examples.read(tasks, train_size=8, test_size=4, seed=1).inputs)
    assert not np.array_equal(first.inputs, Examples.read(tasks, train_size=8, test_size=4, seed=2).inputs)
    assert not np.array_equal(first.inputs[:, 0], np.sort(first.inputs[:, 0]))


def test_held_out_part_is_disjoint():
    for size, parts in ((100, (15, 5)), (10, (10, 5)), (8, (8, 5))):
        found = Examples.read({"a": (X, Y)}, train_size=size, test_size=min(size, 5))
        assert (len(found.train[0]), len(found.test[0])) == parts
        assert not set(found.inputs[found.train[0], 0]) & set(found.inputs[found.test[0], 0])


def test_equal_data_keeps_equal_examples():
    found = Examples.read({"a": (X, Y), "b": (X, Y)}, train_size=6, test_size=3)
    assert np.array_equal(found.inputs[found.train[0]], found.inputs[found.train[1]])


def test_sizes_of_examples_that_were_read_raise():
    found = Examples.read({"a": (X, Y)}, train_size=6, test_size=3)
    with pytest.raises(ValueError, match=r"^train_size=5: .* give it to Examples\.read"):
        forecast("linear", found, train_size=5)
    with pytest.raises(ValueError, match=r"^test_size=5: .* give it to Examples\.read"):
        forecast("linear", found, test_size=5)


def test_inputs_by_name():
    found = Examples.read({"a": {"train": Named()}}, train_size=10, test_size=5)
    assert isinstance(found.inputs, dict)
    assert np.array_equal(found.inputs["right"], found.inputs["left"] + 1)
    assert np.array_equal(found.inputs["left"][:, 0] / 2 % 2, found.labels)
    pair = ({"left": X, "right": X + 1}, Y)
    assert isinstance(Examples.read({"a": pair}).inputs, dict)


BAD = {
    "no tasks": ({}, "tasks is empty"),
    "a list": ([1], r"tasks is list: give a dictionary .* such as \{'news': \(inputs, labels\), 'mail'"),
    "a number": ({"a": 3}, "task 'a': int; give a pair"),
    "lengths": ({"a": (X, Y[:3])}, r"task 'a': inputs of shape \(20, 2\), labels \(3,\)"),
    "nothing": ({"a": (X[:0], Y[:0])}, "task 'a': no data"),
    "an empty stream": ({"a": iter([])}, "task 'a': no data"),
    "one": ({"a": (X[:1], Y[:1])}, "task 'a': one example"),
    "nan": ({"a": {"train": (X, Y), "test": (X * np.nan, Y)}}, "task 'a', test: inputs has nan"),
    "texts": ({"a": (np.array(["x"] * 20), Y)}, "task 'a': inputs: text, such as 'x'; give numbers"),
    "text labels": ({"a": (X, ["cat", "dog"] * 10)}, "task 'a': labels: text, such as 'cat'; .* 0, 1, 2, ..., alike"),
    "four arrays": (
        {"a": (X, Y, X, Y)},
        r"task 'a': 4 arrays; give a pair .*, or two pairs, \{'train': \(inputs, labels",
    ),
    "text objects": ({"a": (X, np.array(["cat"] * 20, dtype=object))}, "labels: text, such as 'cat'"),
    "a batch": (
        {"a": {"input_ids": X, "labels": Y}},
        r"inputs by name and their labels are a pair: give \(\{",
    ),
    "ragged": ({"a": ([[1], [1, 2]], Y[:2])}, "task 'a': inputs: list of object"),
    "splits": ({"a": {"training": (X, Y)}}, "task 'a': a dictionary with training"),
    "widths": ({"a": (X, Y), "b": (X[:, :1], Y)}, r"task 'b': an input has shape \(1,\)"),
    "items": ({"a": {"train": TensorDataset(torch.from_numpy(X))}}, "task 'a', item 0: tuple; yield pairs"),
    "unequal items": ({"a": [(X[0], 0), (X[0, :1], 1), (X[0], 0)]}, "for texts by padding to one length$"),
    "a list of batches": (
        {"a": [(X[:8], Y[:8]), (X[8:16], Y[8:16]), (X[16:], Y[16:])]},
        r"items of shapes .*; if items are batches, give a DataLoader, or a pair of all$",
    ),
    "labels": ({"a": {"train": DataLoader(Unlabeled())}}, "task 'a': a dictionary without 'labels', with x"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data_is_named(case):
    tasks, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        Examples.read(tasks)


@pytest.mark.parametrize(
    ("column", "way"),
    [
        ("label", r"give \(frame\.drop\(columns='label'\), frame\['label'\]\)$"),
        ("Target", r"give \(frame\.drop\(columns='Target'\), frame\['Target'\]\)$"),
        ("kind", r"give \(frame\.drop\(columns='label'\), frame\['label'\]\)$"),
    ],
)
@pytest.mark.parametrize("part", [False, True])
def test_a_frame_is_to_be_given_as_a_pair(column, way, part):
    frame = pd.DataFrame(X).assign(**{column: Y})
    with pytest.raises(
        ValueError, match=rf"^task 'a'(, train)?: a DataFrame, which does not say which column is the label; {way}"
    ):
        Examples.read({"a": {"train": frame, "test": frame} if part else frame})
    pair = (frame.drop(columns=column), frame[column])
    assert np.array_equal(Examples.read({"a": pair}).inputs, Examples.read({"a": (X, Y)}).inputs)


def test_whole_labels_do_not_mix_with_floating_point_ones():
    tasks = {"a": (X, np.arange(20) % 3), "b": (X, np.arange(20) % 3 + 0.0)}
    with pytest.raises(ValueError, match=r"^task 'b': labels are float64, but in task 'a' int64; give whole numb"):
        Examples.read(tasks)


def test_labels_0_and_1_may_have_any_type():
    found = Examples.read({"a": (X, Y), "b": (X, Y > 0), "c": (X, Y + 0.0), "d": (X, Y.astype("uint8"))})
    assert found.labels.dtype == Y.dtype
