"""Networks with an argument `task`: its value in training, in custom loops and in evaluation."""

import copy
import io
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from toys import CLASSES, SCHEDULE, SETTINGS, SIZE, data

from ebbing.learn.methods import Copies, FineTuning, Gpm, TrgpFree

pytestmark = pytest.mark.usefixtures("quietly")


class Heads(nn.Module):
    """Without the argument it would use the first head."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(SIZE, 16)
        self.heads = nn.ModuleList(nn.Linear(16, CLASSES) for _ in range(3))
        self.asked = []

    def forward(self, x, task=0):
        self.asked.append(task)
        return self.heads[task](torch.relu(self.body(x)))


OWN: dict[str, Any] = SETTINGS | {"per_task": ("heads",)}
METHODS = [Gpm(**OWN), TrgpFree(**OWN), FineTuning(SCHEDULE), Copies(SCHEDULE)]


@pytest.mark.parametrize("method", METHODS, ids=["gpm", "free", "plain", "copies"])
def test_custom_loop_trains_the_head_of_the_task(method):
    torch.manual_seed(0)
    network = Heads()
    learner = method.start(network)
    learner.learn("a", data(0))
    inputs, labels = data(1)
    network.asked.clear()
    with learner.task("b", (inputs, labels)) as parameters:
        optimizer = torch.optim.SGD(parameters, 0.3)
        for _ in range(60):
            optimizer.zero_grad()
            functional.cross_entropy(network(inputs), labels).backward()
            optimizer.step()
        said = network.eval()(inputs).argmax(1)
    assert set(network.asked) == {1}
    assert torch.equal(learner.outputs("b", inputs).argmax(1), said)
    assert learner.accuracy("b", (inputs, labels)) == 1
    assert "forward" not in vars(network)


def test_explicit_task_argument_takes_precedence():
    network = Heads()
    learner = METHODS[0].start(network)
    for task in range(2):
        learner.learn(str(task), data(task))
    inputs = data(0)[0]
    for task_bound in (lambda: network(inputs, 1), lambda: network(inputs, task=1)):
        network.asked.clear()
        with learner.evaluating("0") as answering:
            said = task_bound()
            assert answering is network
        assert network.asked == [1]
        assert not torch.equal(said, learner.outputs("0", inputs))


@pytest.mark.parametrize("method", METHODS, ids=["gpm", "free", "plain", "copies"])
def test_copies_of_the_network_keep_their_task(method):
    torch.manual_seed(0)
    network, inputs = Heads(), data(0)[0]
    learner = method.start(network)
    learner.learn("a", data(0))
    learner.learn("b", data(1))
    for task in ("a", "b"):
        with learner.evaluating(task) as answering:
            copied, file = copy.deepcopy(answering), io.BytesIO()
            torch.save(answering, file)
        file.seek(0)
        learner.network.load_state_dict(learner.network.state_dict())
        for one in (copied, torch.load(file, weights_only=False)):
            assert torch.equal(one(inputs), learner.outputs(task, inputs))
    assert "forward" not in vars(network)


def test_networks_without_a_forward_are_refused():
    with pytest.raises(ValueError, match=r"a ModuleList has no forward.*define forward\(inputs\)"):
        FineTuning().start(nn.ModuleList([nn.Linear(2, 2)]))


class RowHeads(Heads):
    """Takes the task of each row, as for a forecast."""

    def forward(self, x, task=0):
        hidden = torch.relu(self.body(x))
        return torch.stack([head(hidden) for head in self.heads], 1)[torch.arange(len(x)), task]


@pytest.mark.parametrize("method", METHODS, ids=["gpm", "free", "plain", "copies"])
def test_tasks_of_rows_among_the_inputs_are_passed_on(method):
    learner, by_number = method.start(RowHeads()), method.start(Heads())
    learner.network.load_state_dict(by_number.network.state_dict())
    for task in range(2):
        inputs, labels = data(task)
        rows = {"x": inputs, "task": torch.full((len(labels),), task)}
        learner.learn(str(task), (rows, labels))
        by_number.learn(str(task), (inputs, labels))
        assert torch.allclose(learner.outputs(str(task), rows), by_number.outputs(str(task), inputs), atol=1e-5)
