"""The room that protection leaves for a new task: a warning if there is hardly any, and none if there is."""

import re
import warnings

import pytest
import torch
from torch import nn
from toys import METHODS, SIZE, data, perceptron, settings, trained_learner

from ebbing.learn import Experiment, Gpm, Occurrence, TaskData, Threshold, Trgp, TrgpFree
from ebbing.learn.projection import _room
from ebbing.learn.sequences import prefix_tree, train_node

pytestmark = pytest.mark.usefixtures("quietly")

FULL = settings(threshold=Threshold(1.0), num_examples=100)


def many(seed):
    """Return data that use all directions of every layer."""
    return data(seed, rows=100)


def protected_learner(method, network=None):
    learner = method.start(perceptron() if network is None else network)
    learner.learn("a", many(0))
    return learner


def test_full_network_warns_before_the_task_once():
    learner = protected_learner(Gpm(**FULL))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner.learn("b", many(1))
    (warning,) = caught
    assert warning.filename == __file__  # the line that learns, not one of the package
    assert str(warning.message) == (
        "task 'b' has little room: protection of old tasks leaves it 3.4% of the layers' input directions (0% in layer "
        "'0', 0% in layer '4', 1 more layer); lower the threshold, widen the network, or use TrgpFree, LowRank or "
        "Copies"
    )
    assert learner.tasks == ["a", "b"]


def test_custom_loop_warns_too():
    learner = protected_learner(Gpm(**FULL))

    def loop():
        with learner.task("b", many(1)) as parameters:
            for parameter in parameters:
                parameter.data.add_(0.01)

    with pytest.warns(UserWarning, match="task 'b' has little room"):
        loop()


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_network_with_room_does_not_warn(method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(trained_learner(method, perceptron(), 3).tasks) == 3


def test_one_wide_free_layer_is_room_enough():
    """All of the second layer is protected, and the first, of thousands of inputs, is nearly free."""
    network = nn.Sequential(nn.Linear(20 * SIZE, 4), nn.ReLU(), nn.Linear(4, 3))
    learner = Gpm(**settings(threshold=Threshold(1.0))).start(network)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for task in range(2):
            learner.learn(str(task), data(task, size=20 * SIZE))
    assert learner.protected["2"] == 1


@pytest.mark.parametrize("method", [Trgp, TrgpFree])
def test_trusted_directions_are_room(method):
    learner = protected_learner(method(**FULL, trust_threshold=0.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.learn("b", many(1))


def test_advice_is_not_the_method_in_use():
    learner = protected_learner(TrgpFree(**FULL, trust_threshold=1.0))
    with pytest.warns(UserWarning, match="widen the network, or use LowRank or Copies"):
        learner.learn("b", many(1))


def test_rows_of_tables_are_named_and_do_not_count():
    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.head = nn.Embedding(50, 4), nn.Linear(4, 3)

        def forward(self, words):
            return self.head(self.table(words).mean(1))

    def words(seed):
        generator = torch.Generator().manual_seed(seed)
        numbers = torch.randint(10 * seed, 10 * seed + 10, (60, 5), generator=generator)
        return numbers, numbers[:, 0] % 3

    torch.manual_seed(0)
    learner = Gpm(**FULL).start(Words())
    learner.learn("a", words(0))
    with pytest.warns(UserWarning, match=re.escape("(0% in layer 'head'), and rows of tables; lower")):
        learner.learn("b", words(1))
    learner = Gpm(**FULL, per_task=("head",)).start(Words())
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # there is nothing but the table
        for task in range(2):
            learner.learn(str(task), words(task))


def test_limit_is_a_share_of_all_directions(monkeypatch):
    learner = trained_learner(METHODS[0], perceptron(), 1)
    left = sum(block.size - block.rank for layer in learner.layers for block in layer.blocks)
    share = left / sum(block.size for layer in learner.layers for block in layer.blocks)
    monkeypatch.setattr(_room, "LITTLE_ROOM", share)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.learn("b", data(1))
    learner = trained_learner(METHODS[0], perceptron(), 1)
    monkeypatch.setattr(_room, "LITTLE_ROOM", share + 1e-6)
    with pytest.warns(UserWarning, match=f"leaves it {share:.1%} of"):
        learner.learn("b", data(1))


def test_sequences_say_it_as_well():
    """What `ebbing train` runs: the warning is a line of the command."""

    class Tasks:
        fingerprint = "toys"

        def load(self, occurrence: Occurrence, seed: int) -> TaskData:
            inputs, labels = many(int(occurrence.task))
            return TaskData(inputs, labels, inputs, labels)

        def settings(self):
            return {}

    class Build:
        def build(self, seed: int) -> nn.Module:
            return perceptron(seed)

        def settings(self):
            return {}

    experiment = Experiment(Tasks(), Build(), Gpm(**FULL))
    weights = None
    *nodes, last = prefix_tree([["0", "1"]], seed=0)
    for node in nodes:
        weights = train_node(experiment, node, weights).weights
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train_node(experiment, last, weights)
    assert "task '1#0' has little room" in str(caught[0].message)
    assert all("the task has no inputs in the directions that are free" in str(one.message) for one in caught[1:])
