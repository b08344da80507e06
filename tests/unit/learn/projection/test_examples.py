"""The examples on which a task is measured: drawn at random from any form of data, for any shape of network."""

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset
from toys import SETTINGS, data, perceptron, settings

from ebbing.learn.methods import Gpm
from ebbing.learn.projection import Threshold
from ebbing.learn.training.batches import concatenated_batches, draw_examples
from ebbing.learn.training.schedule import Schedule

pytestmark = pytest.mark.usefixtures("quietly")

ROWS = torch.arange(1000)
PAIR = (ROWS[:, None].float(), ROWS)


def drawn(examples, seed=0):
    inputs, labels = draw_examples(examples, 50, torch.Generator().manual_seed(seed))
    assert isinstance(inputs, Tensor)
    assert torch.equal(inputs[:, 0].long(), labels)
    return labels.tolist()


@pytest.mark.parametrize(
    "examples",
    [
        PAIR,
        list(zip(*(part.split(64) for part in PAIR), strict=True)),
        DataLoader(TensorDataset(*PAIR), batch_size=64),
        DataLoader(TensorDataset(*PAIR), batch_size=64, shuffle=True),
    ],
    ids=["tensors", "list", "in order", "shuffled"],
)
def test_examples_are_drawn_from_all_data(examples):
    found = drawn(examples)
    assert len(set(found)) == 50
    assert 350 < sum(found) / 50 < 650  # 500 within 3.7 standard deviations
    assert found != sorted(found)
    if not isinstance(examples, DataLoader) or isinstance(examples.sampler, torch.utils.data.SequentialSampler):
        assert drawn(examples) == found != drawn(examples, seed=1)


def test_loader_examples_have_equal_probability():
    batches = list(zip(*(part[:20].split(6) for part in PAIR), strict=True))
    counts = torch.zeros(20)
    for seed in range(2000):
        counts[draw_examples(batches, 5, torch.Generator().manual_seed(seed))[1]] += 1
    standard_deviations = (counts - 500) / (2000 * 0.25 * 0.75) ** 0.5
    assert standard_deviations.abs().max() < 4.5


def test_shuffling_loader_is_read_only_as_needed():
    read = []

    class Spying(TensorDataset):
        def __getitem__(self, index):
            read.append(index)
            return super().__getitem__(index)

    drawn(DataLoader(Spying(*PAIR), batch_size=25, shuffle=True))
    assert len(read) == 50


def test_all_examples_are_drawn_if_there_are_too_few():
    batches = [(torch.ones(2, 1), torch.ones(2).long()), (torch.zeros(1, 1), torch.zeros(1).long())]
    inputs, labels = draw_examples(batches, 50, torch.Generator())
    assert isinstance(inputs, Tensor)
    assert sorted(inputs[:, 0].tolist()) == sorted(labels.tolist()) == [0, 1, 1]


def in_two_groups(rows=200):
    """Return sorted data: the second half of the rows uses other inputs than the first."""
    inputs = torch.zeros(rows, 30)
    inputs[: rows // 2, :5] = torch.randn(rows // 2, 5)
    inputs[rows // 2 :, 20:25] = torch.randn(rows // 2, 5)
    return inputs, (inputs.sum(1) > 0).long()


@pytest.mark.parametrize("how", ["loader", "list", "custom loop"])
def test_all_parts_of_sorted_data_are_protected(how):
    torch.manual_seed(0)
    inputs, labels = in_two_groups()
    learner = Gpm(**settings(threshold=Threshold(1.0), num_examples=60)).start(perceptron())
    if how == "loader":
        learner.learn("a", DataLoader(TensorDataset(inputs, labels), batch_size=10))
    elif how == "list":
        learner.learn("a", list(zip(inputs.split(10), labels.split(10), strict=True)))
    else:
        with learner.task("a", (inputs, labels)) as parameters, torch.no_grad():
            parameters[0].add_(0.01)
    assert learner.protected["0"] == pytest.approx(10 / 30)


class Views(nn.Module):
    """Two views of every example pass through a layer together: row numbers do not identify examples."""

    def __init__(self):
        super().__init__()
        self.first, self.shared, self.last = nn.Linear(8, 8), nn.Linear(8, 6), nn.Linear(12, 2)

    def forward(self, x):
        x = self.first(x)
        one, other = x[:, :4], x[:, 4:]
        pad = torch.zeros_like(one)
        both = self.shared(torch.cat([torch.cat([one, pad], 1), torch.cat([pad, other], 1)]))
        return self.last(torch.cat(both.chunk(2), 1))


@pytest.mark.parametrize("num_examples", [20, (20, 10, 20)])
def test_rows_not_grouped_by_example_are_measured(num_examples):
    torch.manual_seed(0)
    inputs = torch.randn(40, 8)
    learner = Gpm(Schedule(0.01, epochs=1), Threshold(1.0), num_examples).start(Views())
    learner.learn("a", (inputs, (inputs[:, 0] > 0).long()))
    assert learner.protected["shared"] == 1  # both views


class TimeFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.each, self.last = nn.Linear(12, 6), nn.Linear(6, 2)

    def forward(self, x):
        return self.last(self.each(x.transpose(0, 1)).mean(0))


def test_time_first_inputs_are_measured():
    torch.manual_seed(0)
    inputs = torch.randn(20, 7, 12)
    learner = Gpm(Schedule(0.01, epochs=1), Threshold(1.0), (2, 20)).start(TimeFirst())
    learner.learn("a", (inputs, torch.zeros(20).long()))
    assert learner.protected["each"] == 1  # 14 rows in 12 dimensions, of two examples


def test_only_num_examples_pass_through_the_network(monkeypatch):
    learner = Gpm(**SETTINGS).start(perceptron())
    passed = []
    learner.network.register_forward_pre_hook(lambda _, inputs: passed.append(len(inputs[0])))
    with learner.task("a", data(0, rows=500)) as parameters, torch.no_grad():
        parameters[0].add_(0.01)
    assert max(passed) == 20


def test_validation_data_may_come_in_batches():
    inputs, labels = data(5)
    batches = list(zip(inputs.split(5), labels.split(5), strict=True))
    joined, joined_labels = concatenated_batches(batches)
    assert isinstance(joined, Tensor)
    assert torch.equal(joined, inputs)
    assert torch.equal(joined_labels, labels)
    states = []
    for validation in ((inputs, labels), batches, DataLoader(TensorDataset(inputs, labels), batch_size=7)):
        learner = Gpm(**settings(schedule=Schedule(0.1, patience=2))).start(perceptron())
        learner.learn("a", data(0), validation=validation)
        states.append(learner.state())
    for state in states[1:]:
        assert all(torch.equal(value, states[0][name]) for name, value in state.items())
    with pytest.raises(ValueError, match="the data yields no batches"):
        Gpm(**settings(schedule=Schedule(0.1, patience=2))).start(perceptron()).learn("a", data(0), validation=[])
