"""Prefix trees and error matrices."""

from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from toys import NODE, TRAINING

from ebbing.learn import (
    CustomTasks,
    Experiment,
    Node,
    Occurrence,
    error_matrix,
    occurrences,
    prefix_tree,
    sequences,
    train_node,
    train_reference,
)
from ebbing.paper import fig2

# A learner of one's own


class OneNetwork:
    """A learner that remembers its network, and what `forgets` says is lost."""

    def __init__(self, network, forgets):
        self.network, self.forgets, self.tasks = network, forgets, []

    def learn(self, task, data, *, generator, checkpoint, progress):
        if self.forgets != "learn":
            self.tasks.append(task)

    def outputs(self, task, inputs):
        with torch.no_grad():
            return self.network(inputs)

    def state(self):
        count = torch.tensor([len(self.tasks)])
        return {"count": count} | {f"network.{k}": v.clone() for k, v in self.network.state_dict().items()}

    def restore(self, state):
        if self.forgets != "restore":
            self.tasks = ["a#0", "b#0"][: int(state["count"])]


@dataclass(frozen=True)
class Idle:
    forgets: str = ""
    version: ClassVar[int] = 1

    def start(self, network):
        return OneNetwork(network, self.forgets)


@dataclass(frozen=True)
class Line:
    def build(self, seed):
        return torch.nn.Linear(3, 2)


def train_idle(forgets):
    data = (torch.zeros(4, 3), torch.tensor([0, 1, 0, 1]))
    tasks = CustomTasks(train={"a": data, "b": data}, test={"a": data, "b": data})
    experiment, weights = Experiment(tasks, Line(), Idle(forgets)), None
    for node in prefix_tree([["a", "b"]], seed=0):
        weights = train_node(experiment, node, weights).weights
    return train_reference(experiment, ["a", "b"], seed=0)


def test_learner_that_knows_its_tasks_is_trained():
    assert train_idle("")[0].shape == (3, 2)


@pytest.mark.parametrize(
    ("forgets", "message"),
    [
        ("restore", r"OneNetwork.tasks is \[\] after restore\(state\), not \['a#0'\], .*: let state\(\) hold them"),
        ("learn", r"OneNetwork.tasks is \[\] after learn\(task, ...\), not \['a#0'\], .*: let learn\(\) append"),
    ],
)
def test_learner_that_forgets_its_tasks_is_refused(forgets, message):
    with pytest.raises(ValueError, match=message):
        train_idle(forgets)


def test_large_inputs_are_tested_in_parts(monkeypatch):
    sizes = []

    class Counting(torch.nn.Linear):
        def forward(self, input):
            sizes.append(len(input))
            return super().forward(input)

    learner, inputs = sequences._PlainLearner(Counting(3, 2), None), torch.randn(150, 3)
    whole = learner.outputs(None, inputs)
    monkeypatch.setattr(sequences, "_BYTES_AT_ONCE", 100)
    torch.testing.assert_close(learner.outputs(None, inputs), whole)
    assert sizes == [150, 64, 64, 22]


# The tree


def test_prefix_tree_has_each_prefix_once_after_its_parent():
    nodes = prefix_tree([["a", "b", "c"], ["a", "b", "a"], ["b"], ["a", "b", "c"]], seed=7)
    paths = [tuple(map(str, node.path)) for node in nodes]
    assert sorted(paths) == [
        (),
        ("a#0",),
        ("a#0", "b#0"),
        ("a#0", "b#0", "a#1"),
        ("a#0", "b#0", "c#0"),
        ("b#0",),
    ]
    for i, node in enumerate(nodes):
        assert node.parent is None if i == 0 else node.parent in {other.path for other in nodes[:i]}
    assert {node.seed for node in nodes} == {7}
    assert [path for path, node in zip(paths, nodes, strict=True) if node.has_children] == [
        (),
        ("a#0",),
        ("a#0", "b#0"),
    ]


def test_nodes_are_tested_on_all_sequences_through_them():
    nodes = {
        node.path: set(map(str, node.test_occurrences))
        for node in prefix_tree([["a", "b"], ["a", "c", "a"], ["d"]], seed=0)
    }
    assert nodes[()] == {"a#0", "a#1", "b#0", "c#0", "d#0"}
    assert nodes[occurrences(["a"])] == {"a#0", "a#1", "b#0", "c#0"}
    assert nodes[occurrences(["a", "b"])] == {"a#0", "b#0"}
    assert nodes[occurrences(["a", "c", "a"])] == {"a#0", "a#1", "c#0"}
    assert nodes[occurrences(["d"])] == {"d#0"}


def test_prefix_tree_ignores_the_order_of_sequences():
    sequences = [["a", "b"], ["b", "a"], ["a", "a", "c"]]
    assert prefix_tree(sequences, 0) == prefix_tree(sequences[::-1], 0)


def test_prefix_tree_of_figure_2_shares_prefixes():
    drawn = [sequence for setups in fig2.SETUPS.values() for setup in setups.values() for sequence in setup]
    assert sum(map(len, drawn)) == 240
    assert set(drawn) == set(fig2.sequences())
    nodes = prefix_tree(fig2.sequences(), seed=0)
    assert len(nodes) == 1 + 171
    prefixes = {occurrences(sequence)[:t] for sequence in drawn for t in range(len(sequence) + 1)}
    assert {node.path for node in nodes} == prefixes
    assert len({node.key(TRAINING.describe()) for seed in range(2) for node in prefix_tree(drawn, seed)}) == 2 * 172


def test_empty_sequence_raises():
    with pytest.raises(ValueError, match="an empty sequence: give at least one task"):
        prefix_tree([["a"], []], seed=0)


def test_occurrences_count_from_0():
    assert occurrences(("a", "b", "a", "a", "b")) == (
        Occurrence("a", 0),
        Occurrence("b", 0),
        Occurrence("a", 1),
        Occurrence("a", 2),
        Occurrence("b", 1),
    )
    assert occurrences([]) == ()
    assert str(Occurrence("0-1", 3)) == "0-1#3"


# The error matrix


def test_error_matrix_takes_the_rows_of_its_prefixes():
    whole = occurrences(["a", "b", "a"])
    rows = {
        whole[:t]: {str(occurrence): 10.0 * t + i for i, occurrence in enumerate(whole)} | {"z#0": -1.0}
        for t in range(4)
    }
    assert error_matrix(["a", "b", "a"], rows).tolist() == [[10.0 * t + i for i in range(3)] for t in range(4)]


def test_nodes_are_hashable_values():
    assert prefix_tree([["a"]], 0) == prefix_tree([["a"]], 0)
    assert isinstance(hash(NODE), int)
    assert Node(0, (), (), False).parent is None
