"""Data for learners: the accepted forms, and the errors for others."""

import re

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from toys import CLASSES, METHODS, SCHEDULE, SIZE, assert_same, data, perceptron, settings, trained_learner

from ebbing.learn.methods import FineTuning, Gpm, Trgp
from ebbing.learn.projection import Threshold
from ebbing.learn.tasks.base import TaskData
from ebbing.learn.training.schedule import Schedule

pytestmark = pytest.mark.usefixtures("quietly")


def test_learn_accepts_data_in_every_form():
    inputs, labels = data(0)
    task_data = TaskData(inputs, labels, inputs[:2], labels[:2], inputs[:3], labels[:3])
    pair, same = trained_learner(METHODS[1], perceptron(), 0), trained_learner(METHODS[1], perceptron(), 0)
    pair.learn("a", (inputs, labels))
    same.learn("a", task_data)
    assert_same(pair.state(), same.state())
    batches = list(zip(inputs.split(6), labels.split(6), strict=True))
    of_list, of_loader = trained_learner(METHODS[1], perceptron(), 0), trained_learner(METHODS[1], perceptron(), 0)
    of_list.learn("a", batches)
    of_loader.learn("a", DataLoader(TensorDataset(inputs, labels), batch_size=6))
    assert_same(of_list.state(), of_loader.state())
    assert any(not torch.equal(value, pair.state()[name]) for name, value in of_list.state().items())  # not shuffled
    right = [learner.accuracy("a", form) for learner in (pair, of_list) for form in (batches, (inputs, labels))]
    assert right == [1, 1, 1, 1]


def test_generator_determines_the_shuffling():
    def learned(seed):
        learner = METHODS[1].start(perceptron())
        learner.learn("a", data(0), generator=torch.Generator().manual_seed(seed))
        return learner.state()

    assert_same(learned(1), learned(1))
    assert any(not torch.equal(value, learned(2)[name]) for name, value in learned(1).items())


def test_binary_labels_are_learned():
    torch.manual_seed(0)
    learner = METHODS[1].start(nn.Sequential(nn.Linear(SIZE, 8), nn.ReLU(), nn.Linear(8, 1)))
    inputs, labels = data(0)
    answers = (labels == 1).float()[:, None]
    learner.learn("a", (inputs, answers))
    learner.learn("b", (-inputs, 1 - answers))
    assert learner.accuracy("a", (inputs, answers)) > 0.9
    assert learner.accuracy("a", (inputs, 1 - answers)) < 0.1
    with pytest.raises(ValueError, match=r"labels of shape \(24,\), predictions \(24, 1\)"):
        learner.accuracy("a", (inputs, answers[:, 0]))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda x, y: (x, y[:-1]), "24 inputs and 23 labels: give equally many"),
        (lambda x, y: (x[:0], y[:0]), "0 inputs and 0 labels: give equally many, and at least one"),
        (lambda x, y: [], "the data yields no batches"),
        (lambda x, y: ((x, y) for _ in range(9)), "can be read only once"),
        (lambda x, y: (x.index_fill(0, torch.tensor(3), torch.nan), y), "inputs of task 'a' are not all finite"),
        (lambda x, y: (x, y > 0), "labels of type torch.bool: give classes as integers"),
        (lambda x, y: (x, y.to(torch.complex64)), "labels of type torch.complex64"),
    ],
)
def test_invalid_data_raise_and_change_nothing(wrong, message):
    learner = Gpm(**settings(num_examples=24)).start(perceptron())
    before = learner.state()
    with pytest.raises(ValueError, match=re.escape(message)):
        learner.learn("a", wrong(*data(0)))
    assert_same(learner.state(), before)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.uint8])
@pytest.mark.parametrize("given", [lambda x, y: (x, y), lambda x, y: [(x, y)]], ids=["pair", "batches"])
def test_classes_of_any_integer_type_are_learned(dtype, given):
    states = []
    for type_ in (torch.int64, dtype):
        x, y = data(0)
        learner = Gpm(**settings(schedule=Schedule(patience=2, epochs=2))).start(perceptron())
        learner.learn("a", given(x, y.to(type_)), validation=given(x, y.to(type_)))
        assert 0 <= learner.accuracy("a", given(x, y.to(type_))) <= 1
        states.append(learner.state())
    assert_same(*states)


def test_validation_labels_of_task_data_may_be_int32():
    x, y = data(0)
    labels = y.int()
    learner = Gpm(**settings(schedule=Schedule(patience=2, epochs=2))).start(perceptron())
    learner.learn("a", TaskData(x, labels, x, labels, x, labels))
    assert learner.tasks == ["a"]


def test_patience_needs_validation_data():
    method = Gpm(**settings(schedule=Schedule(patience=2)))
    learner = method.start(perceptron())
    with pytest.raises(ValueError, match="patience=2: give validation data"):
        learner.learn("a", data(0))
    learner.learn("a", data(0), validation=data(5))
    assert learner.tasks == ["a"]


def test_accuracy_without_examples_raises():
    with pytest.raises(ValueError, match="no examples: give at least one"):
        trained_learner(METHODS[0], perceptron(), 1).accuracy("task 0", [])


def test_num_examples_by_layer():
    learner = Gpm(**settings(threshold=Threshold(1.0), num_examples=(4, 9, 2))).start(perceptron())
    learner.learn("a", data(0))
    assert [layer.blocks[0].basis.shape[1] for layer in learner.layers] == [4, 9, 2]


class Folded(nn.Module):
    """Ten inputs for each example, folded into the batch dimension or not."""

    def __init__(self, fold) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.fold, self.first, self.last = fold, nn.Linear(40, 30), nn.Linear(30, 2)

    def forward(self, x):
        hidden = self.first(x.reshape(-1, 40)).view(len(x), 10, 30) if self.fold else self.first(x)
        return self.last(hidden.relu().mean(1))


def test_num_examples_counts_examples_when_folded():
    bases = []
    for fold in (True, False):
        inputs = torch.randn(20, 10, 40, generator=torch.Generator().manual_seed(0))
        learner = Gpm(**settings(threshold=Threshold(0.99), num_examples=(3, 20))).start(Folded(fold))
        learner.learn("a", (inputs, torch.arange(20) % 2))
        bases.append(learner.layers[0].blocks[0].basis)
    assert bases[0].shape == bases[1].shape
    assert 20 < bases[0].shape[1] <= 30  # of three examples, ten inputs each


def test_gpm_accepts_any_labels_in_a_custom_loop():
    """GPM measures no gradient, so it does not need the loss."""
    learner = Gpm(**settings()).start(perceptron())
    for task in range(3):
        inputs, targets = data(task)[0], torch.randn(24)
        with learner.task(str(task), (inputs, targets)) as parameters:
            optimizer = torch.optim.SGD(parameters, 0.01)
            (learner.network(inputs).mean(1) - targets).square().mean().backward()
            optimizer.step()
    assert learner.tasks == ["0", "1", "2"]


def test_integer_inputs_are_accepted():
    class Bytes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = perceptron()

        def forward(self, x):
            return self.layers(x.float() / 255)

    learner = Trgp(**settings(), trust_threshold=0.0).start(Bytes())
    for task in range(3):
        inputs = torch.randint(0, 255, (24, SIZE), dtype=torch.uint8, generator=torch.Generator().manual_seed(task))
        learner.learn(str(task), (inputs, data(task)[1]))
    assert learner.tasks == ["0", "1", "2"]


class InPlace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = perceptron()

    def forward(self, x):
        return self.layers(x.sub_(3.0))


def test_network_may_change_its_inputs_in_place():
    class Loader:
        """Yield new tensors in every epoch, as a DataLoader does."""

        def __init__(self, task: int) -> None:
            self.pair = data(task, 5)

        def __iter__(self):
            yield self.pair[0].clone(), self.pair[1]

    learner = Gpm(**settings(threshold=Threshold(1.0))).start(InPlace())
    learner.learn("a", Loader(0))
    before = learner.outputs("a", data(0, 5)[0])
    learner.learn("b", Loader(1))
    assert (learner.outputs("a", data(0, 5)[0]) - before).abs().max() < 1e-4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda x, y: [(x, y, y)], r"3 objects \(Tensor, Tensor, Tensor\): give inputs and labels"),
        (lambda x, y: [{"x": x, "y": y}], "a dict: give inputs and labels"),
        (lambda x, y: [(x, y > 0)], "labels of type torch.bool"),
        (lambda x, y: [(x, y[:3])], "24 inputs and 3 labels"),
    ],
    ids=["three", "dict", "bool", "lengths"],
)
@pytest.mark.parametrize("method", [METHODS[1], FineTuning(SCHEDULE)], ids=["trgp", "fine-tuning"])
def test_unsupported_data_raise_with_the_way_out(given, message, method):
    learner = method.start(perceptron())
    with pytest.raises(ValueError, match=message):
        learner.learn("a", given(*data(0)))
    assert learner.tasks == []


@pytest.mark.parametrize("patience", [None, 1])
def test_last_batch_of_one_example_works_with_norms(patience):
    norm = nn.BatchNorm1d(16, track_running_stats=False)
    schedule = Schedule(0.1, epochs=2, batch_size=6, test_batch_size=6, patience=patience)
    learner = Trgp(**settings(schedule=schedule)).start(perceptron(norm=norm))
    learner.learn("a", data(0, 25), validation=None if patience is None else data(1, 13))
    assert learner.outputs("a", data(0, 7)[0]).shape == (7, CLASSES)
    assert 0 <= learner.accuracy("a", data(0, 19)) <= 1
