"""Inputs and outputs of networks: dictionaries, datasets, tuples and model outputs."""

from collections import OrderedDict, UserDict
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset
from toys import CLASSES, METHODS, SCHEDULE, assert_same, data, perceptron, trained_learner

from ebbing.learn import Copies, FineTuning, Trgp
from ebbing.learn._inputs import concatenate_inputs
from ebbing.learn.training._outputs import class_dimension, count_correct, output_tensor
from ebbing.learn.training.schedule import task_loss

pytestmark = pytest.mark.usefixtures("quietly")

SOME = [METHODS[1], FineTuning(SCHEDULE), Copies(SCHEDULE)]
IDS = ["trgp", "fine-tuning", "copies"]


class Named(nn.Module):
    """A perceptron of two named inputs, that returns what `wrap` makes of its outputs."""

    def __init__(self, wrap=lambda y: y):
        super().__init__()
        self.inner, self.wrap = perceptron(), wrap

    def forward(self, left, right, scale=None):
        y = self.inner(torch.cat([left, right], 1))
        return self.wrap(y if scale is None else y * scale[:, None])


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = perceptron()

    def forward(self, x):
        return self.inner(x)


def halves(inputs):
    return {"left": inputs[:, :10], "right": inputs[:, 10:]}


@dataclass
class Output:
    logits: Tensor
    hidden: Tensor


@pytest.mark.parametrize("method", SOME, ids=IDS)
def test_dictionaries_give_the_same_as_one_tensor(method):
    plain, named = trained_learner(method, Plain(), 2), method.start(Named())
    for task in range(2):
        inputs, labels = data(task)
        named.learn(f"task {task}", (halves(inputs), labels))
    for task in range(2):
        inputs, labels = data(task)
        found, expected = named.outputs(f"task {task}", halves(inputs)), plain.outputs(f"task {task}", inputs)
        rotated_in_advance = isinstance(method, Trgp)  # one tensor is, by another product; others agree to the bit
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-4 if rotated_in_advance else 0)
        accuracy = named.accuracy(f"task {task}", {**halves(inputs), "labels": labels})
        assert accuracy == plain.accuracy(f"task {task}", (inputs, labels)) > 0.5


@pytest.mark.parametrize(
    "form",
    [
        lambda x, y: {**halves(x), "labels": y},
        lambda x, y: UserDict({**halves(x), "label": y}),
        lambda x, y: ({name: part.double().numpy() for name, part in halves(x).items()}, y.numpy()),
        lambda x, y: {name: part.numpy() for name, part in ({**halves(x), "labels": y}).items()},
    ],
    ids=["labels", "label", "arrays", "arrays with labels"],
)
def test_whole_dictionaries_are_pairs(form):
    learners = [METHODS[1].start(Named()) for _ in range(2)]
    inputs, labels = data(0)
    learners[0].learn("a", (halves(inputs), labels))
    learners[1].learn("a", form(inputs, labels))
    assert_same(learners[0].state(), learners[1].state())


@pytest.mark.parametrize("batch", [dict, lambda **parts: UserDict(parts)], ids=["dict", "UserDict"])
def test_batches_of_dictionaries_are_learned(batch):
    inputs, labels = data(0)
    parts = zip(inputs.split(6), labels.split(6), strict=True)
    pairs = [(halves(x), y) for x, y in parts]
    batches = [batch(**x, labels=y) for x, y in pairs]
    learners = [METHODS[1].start(Named()) for _ in range(2)]
    learners[0].learn("a", pairs)
    learners[1].learn("a", batches)
    assert_same(learners[0].state(), learners[1].state())
    assert learners[1].accuracy("a", batches) > 0.5


class Items(Dataset):
    """Items as dictionaries of NumPy arrays in double precision, with labels as Python numbers."""

    def __init__(self, inputs, labels):
        self.inputs, self.labels = inputs.double().numpy(), labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {"left": self.inputs[i, :10], "right": self.inputs[i, 10:], "labels": int(self.labels[i])}


class Stream(IterableDataset):
    def __init__(self, inputs, labels):
        self.pair = inputs, labels

    def __iter__(self):
        yield from zip(*self.pair, strict=True)


@pytest.mark.parametrize("method", SOME, ids=IDS)
def test_datasets_are_shuffled_and_learned(method):
    inputs, labels = data(0, rows=25)  # a last batch of one example
    learner = method.start(perceptron(norm=nn.BatchNorm1d(16)))
    learner.learn("a", TensorDataset(inputs, labels))
    learner.learn("b", [*DataLoader(TensorDataset(inputs, labels), 5)])
    learner.learn("c", Stream(inputs[:24], labels[:24]))
    assert learner.accuracy("a", TensorDataset(inputs, labels)) > 0.5
    assert learner.accuracy("a", Stream(inputs, labels)) == learner.accuracy("a", (inputs, labels))
    named = method.start(Named())
    named.learn("a", Items(inputs, labels))
    assert named.accuracy("a", Items(inputs, labels)) == named.accuracy("a", (halves(inputs), labels)) > 0.5


def test_batches_of_arrays_are_learned():
    inputs, labels = data(0)
    learners = [METHODS[1].start(perceptron()) for _ in range(2)]
    learners[0].learn("a", [*zip(inputs.split(6), labels.split(6), strict=True)])
    arrays = zip(np.split(inputs.double().numpy(), 4), np.split(labels.numpy(), 4), strict=True)
    learners[1].learn("a", [*arrays])
    assert_same(learners[0].state(), learners[1].state())


@pytest.mark.parametrize(
    "wrap",
    [
        lambda y: (y, None),
        lambda y: [y, y + 1],
        lambda y: {"logits": y, "hidden": y + 1},
        lambda y: OrderedDict(hidden=y + 1, logits=y),
        lambda y: {"only": y, "none": None},
        lambda y: Output(y, y + 1),
    ],
    ids=["tuple", "list", "dict", "ordered", "only", "object"],
)
@pytest.mark.parametrize("method", SOME, ids=IDS)
def test_networks_may_return_more_than_a_tensor(method, wrap):
    plain, wrapped = method.start(Named()), method.start(Named(wrap))
    for learner in (plain, wrapped):
        for task in range(2):
            learner.learn(str(task), (halves(data(task)[0]), data(task)[1]))
    assert_same(plain.state(), wrapped.state())
    inputs, labels = data(0)
    assert torch.equal(wrapped.outputs("0", halves(inputs)), plain.outputs("0", halves(inputs)))
    assert wrapped.accuracy("0", (halves(inputs), labels)) == plain.accuracy("0", (halves(inputs), labels))


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({"a": torch.ones(1), "b": torch.ones(1)}, "the network returns a dict with 'a', 'b': return a tensor"),
        ({}, "a dict with no tensor"),
        ((), "the network returns a tuple: return a tensor, a tuple that starts with one"),
        (("x", torch.ones(1)), "returns a tuple"),
        (None, "returns a NoneType"),
    ],
)
def test_unclear_outputs_raise(outputs, message):
    with pytest.raises(ValueError, match=message):
        output_tensor(outputs)


@pytest.mark.parametrize("method", SOME, ids=IDS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: {**x, "middle": x["left"]}, "takes no input 'middle', but left, right, scale: leave it out"),
        (lambda x: {"left": x["left"]}, "needs an input 'right': give a dictionary with it"),
        (lambda x: {**x, "right": x["right"][1:]}, "23 and 24 inputs and 24 labels"),
        (lambda x: {**x, "right": "text"}, r"2 objects \(dict, Tensor\): give inputs and labels"),
        (
            lambda x: {**x, "left": x["left"][:, 1:]},
            r"does not take inputs of shape left \(\d+, 9\), right \(\d+, 20\)",
        ),
        (lambda x: {**x, "left": x["left"].double(), "right": x["right"].double()}, "inputs 'left' of torch.float64"),
    ],
    ids=["unknown", "missing", "count", "text", "shape", "type"],
)
def test_wrong_dictionaries_raise_and_change_nothing(method, change, message):
    learner = method.start(Named())
    before = learner.state()
    with pytest.raises(ValueError, match=message):
        learner.learn("a", (change(halves(data(0)[0])), data(0)[1]))
    assert_same(learner.state(), before)


def test_one_tensor_for_a_network_of_two_raises():
    with pytest.raises(ValueError, match="one tensor for a network that takes 'left', 'right', 'scale': give a dict"):
        FineTuning(SCHEDULE).start(Named()).learn("a", data(0))


def test_dictionaries_without_labels_raise():
    with pytest.raises(ValueError, match=r"a dictionary with 'left', 'right': give a pair \(inputs"):
        METHODS[0].start(Named()).learn("a", halves(data(0)[0]))


# Padding


def test_concatenation_pads_where_a_mask_says_so():
    long, short = ({"input_ids": torch.ones(2, n).long(), "attention_mask": torch.ones(2, n).long()} for n in (5, 3))
    joined = concatenate_inputs([long, short])
    assert not isinstance(joined, Tensor)
    assert joined["attention_mask"].sum(1).tolist() == [5, 5, 3, 3]
    assert joined["input_ids"].shape == (4, 5)
    with pytest.raises(ValueError, match=r"examples of different shapes, \(3,\) and \(5,\): pad them to one length"):
        concatenate_inputs([{"x": torch.ones(1, 5)}, {"x": torch.ones(1, 3)}])
    with pytest.raises(ValueError, match="batches with different inputs"):
        concatenate_inputs([{"x": torch.ones(1, 5)}, {"y": torch.ones(1, 5)}])


# Classes of positions


def test_loss_and_accuracy_of_positions():
    outputs, labels = torch.randn(4, 7, CLASSES), torch.randint(CLASSES, (4, 7))
    labels[:, 5:] = -100
    assert class_dimension(outputs, labels) == -1
    assert class_dimension(outputs.mT, labels) == class_dimension(outputs[:, 0], labels[:, 0]) == 1
    counted = outputs[:, :5].flatten(0, 1), labels[:, :5].flatten()
    expected = nn.functional.cross_entropy(*counted)
    torch.testing.assert_close(task_loss(outputs, labels), expected)
    torch.testing.assert_close(task_loss(outputs.mT, labels), expected)
    correct = int((counted[0].argmax(1) == counted[1]).sum())
    assert count_correct(outputs, labels) == count_correct(outputs.mT, labels) == (correct, 20)
