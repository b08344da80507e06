"""Plain gradient descent against its formulas."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from safetensors.torch import load
from torch import nn
from toys import TINY, TRAINING, ToyTasks, flat

from ebbing.learn import (
    Experiment,
    FiveLayers,
    Occurrence,
    Sgd,
    TaskData,
    prefix_tree,
    train_node,
)
from ebbing.learn.sequences import error


class Line(nn.Module):
    """One weight per input and a bias, in double precision."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([[0.3], [-0.2], [0.5]], dtype=torch.float64))
        self.bias = nn.Parameter(torch.tensor([0.1], dtype=torch.float64))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs @ self.weight + self.bias


def line_sample(n=8):
    random = np.random.default_rng(1)
    inputs = torch.from_numpy(random.standard_normal((n, 3)))
    labels = torch.from_numpy(random.integers(0, 2, (n, 1)).astype(float))
    return TaskData(inputs, labels, inputs, labels)


def derivative(loss, logits, labels):
    """Return the derivative of the mean loss with respect to the logits, by hand."""
    p = 1 / (1 + np.exp(-logits))
    slope = p - labels if loss == "cross-entropy" else 2 * (p - labels) * p * (1 - p)
    return slope / len(labels)


@pytest.mark.parametrize("loss", ["cross-entropy", "squared"])
def test_sgd_steps_equal_the_formula(loss):
    task_data, network = line_sample(), Line()
    Sgd(learning_rate=0.7, epochs=3, loss=loss).learn(network, task_data, torch.Generator())
    inputs, labels = task_data.train_inputs.numpy(), task_data.train_labels.numpy()
    weight, bias = np.array([[0.3], [-0.2], [0.5]]), np.array([0.1])
    for _ in range(3):
        slope = derivative(loss, inputs @ weight + bias, labels)
        weight, bias = weight - 0.7 * inputs.T @ slope, bias - 0.7 * slope.sum(0)
    np.testing.assert_allclose(network.weight.detach().numpy(), weight, rtol=1e-13)
    np.testing.assert_allclose(network.bias.detach().numpy(), bias, rtol=1e-13)


@pytest.mark.parametrize("loss", ["cross-entropy", "squared"])
def test_steps_of_regression_equal_the_formula(loss):
    """The mean over examples and outputs: half the gradient of each of two outputs."""
    random, network = np.random.default_rng(2), nn.Linear(3, 2).double()
    x, y = random.standard_normal((8, 3)), 10 * random.standard_normal((8, 2))
    inputs, labels = torch.from_numpy(x), torch.from_numpy(y)
    weight, bias = (value.detach().numpy().copy() for value in (network.weight, network.bias))
    data = TaskData(inputs, labels, inputs, labels, regression=True)
    Sgd(learning_rate=0.3, epochs=3, loss=loss).learn(network, data, torch.Generator())
    for _ in range(3):
        slope = 2 * (x @ weight.T + bias - y) / y.size
        weight, bias = weight - 0.3 * slope.T @ x, bias - 0.3 * slope.sum(0)
    np.testing.assert_allclose(network.weight.detach().numpy(), weight, rtol=1e-12)
    np.testing.assert_allclose(network.bias.detach().numpy(), bias, rtol=1e-12)
    with torch.no_grad():
        assert error(network(inputs), labels, regression=True) == pytest.approx(
            np.square(x @ weight.T + bias - y).mean()
        )
    with pytest.raises(
        ValueError, match=r"labels of shape \(8,\), outputs \(8, 2\): regression needs a number for every"
    ):
        error(network(inputs), labels[:, 0], regression=True)


def test_sgd_batches_follow_a_random_order():
    task_data, network = line_sample(n=7), Line()
    Sgd(learning_rate=0.4, epochs=2, batch_size=3).learn(network, task_data, torch.Generator().manual_seed(5))
    random = torch.Generator().manual_seed(5)
    expected = Line()
    for _ in range(2):
        order = torch.randperm(7, generator=random)
        for batch in (order[:3], order[3:6], order[6:]):
            part = TaskData(task_data.train_inputs[batch], task_data.train_labels[batch], *2 * [torch.empty(0)])
            Sgd(learning_rate=0.4, epochs=1).learn(expected, part, torch.Generator())
    assert torch.equal(flat(network), flat(expected))
    other = Line()
    Sgd(learning_rate=0.4, epochs=2, batch_size=3).learn(other, task_data, torch.Generator().manual_seed(6))
    assert not torch.equal(flat(network), flat(other))


def sizes_of_batches(network):
    sizes = []
    network.register_forward_pre_hook(lambda module, inputs: sizes.append(len(inputs[0])))
    Sgd(epochs=2, batch_size=3).learn(network.double(), line_sample(7), torch.Generator().manual_seed(0))
    return sizes


def test_batch_normalization_gets_no_batch_of_one_example():
    assert sizes_of_batches(nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 1))) == [3, 4, 3, 4]
    assert sizes_of_batches(nn.Linear(3, 1)) == [3, 3, 1, 3, 3, 1]  # as in results that are stored


@pytest.mark.parametrize("size", [20, 21, 10**6])
def test_large_batch_size_is_the_full_batch(size):
    """To 1e-6: the order of summation may differ."""
    node = prefix_tree([["a"]], seed=0)[1]
    full = train_node(TRAINING, node, None)
    other = train_node(Experiment(ToyTasks(), TINY, Sgd(epochs=2, batch_size=size)), node, None)
    assert other.errors == pytest.approx(full.errors, abs=1e-6)
    assert other.training_error == pytest.approx(full.training_error, abs=1e-6)


def test_loss_batch_size_and_epochs_change_weights():
    node = prefix_tree([["a"]], seed=0)[1]
    weights = {
        train_node(Experiment(ToyTasks(), TINY, method), node, None).weights
        for method in (Sgd(epochs=2), Sgd(epochs=2, loss="squared"), Sgd(epochs=2, batch_size=5), Sgd(epochs=3))
    }
    assert len(weights) == 4


def test_enough_training_fits_a_task_only():
    outcome = train_node(
        Experiment(ToyTasks(), FiveLayers(), Sgd(epochs=100)), prefix_tree([["a", "b"]], seed=0)[1], None
    )
    assert outcome.training_error is not None
    assert outcome.training_error < 0.01
    assert outcome.errors["a#0"] < 0.01
    assert outcome.errors["b#0"] > 0.2


def test_sgd_leaves_no_gradients_and_data_unchanged():
    task_data, network = line_sample(), Line()
    inputs, labels = task_data.train_inputs.clone(), task_data.train_labels.clone()
    Sgd(epochs=1).learn(network, task_data, torch.Generator())
    assert torch.equal(task_data.train_inputs, inputs)
    assert torch.equal(task_data.train_labels, labels)
    assert all(parameter.grad is None for parameter in network.parameters())


def test_error_is_the_mean_square_after_the_sigmoid():
    task_data, network = line_sample(), Line()
    p = 1 / (1 + np.exp(-(network(task_data.test_inputs).detach().numpy())))
    expected = np.mean((p - task_data.test_labels.numpy()) ** 2)
    assert error(network(task_data.test_inputs), task_data.test_labels) == pytest.approx(expected, rel=1e-12)


def normed(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Dropout(0.5), nn.Linear(5, 2))


def test_sgd_learns_classes_by_cross_entropy():
    inputs = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
    labels = (inputs[:, 0] > 0).long()
    task_data, network = TaskData(inputs, labels, inputs, labels), nn.Linear(3, 2)
    network.bias.requires_grad_(False)  # frozen parameters do not change
    before = network.bias.clone()
    Sgd(learning_rate=1.0, epochs=50).learn(network, task_data, torch.Generator())
    assert error(network(inputs), labels) < 0.1
    assert torch.equal(network.bias, before)
    with pytest.raises(ValueError, match="loss='squared' is for labels between 0 and 1"):
        Sgd(loss="squared").learn(network, task_data, torch.Generator())


@dataclass(frozen=True)
class Normed:
    def build(self, seed):
        return normed(seed)


@dataclass(frozen=True)
class TwoClasses:
    fingerprint: str = "two classes"

    def load(self, occurrence: Occurrence, seed: int) -> TaskData:
        inputs = torch.randn(30, 3, generator=torch.Generator().manual_seed(seed))
        return TaskData(inputs, (inputs[:, 0] > 0).long(), inputs, (inputs[:, 0] > 0).long())


def test_errors_are_measured_in_evaluation_mode():
    experiment = Experiment(TwoClasses(), Normed(), Sgd(epochs=3))
    first = train_node(experiment, prefix_tree([["a"]], seed=0)[0], None)
    node = prefix_tree([["a"]], seed=0)[1]
    outcome, network = train_node(experiment, node, first.weights), normed()
    network.load_state_dict(load(outcome.weights))
    task_data = TwoClasses().load(node.path[0], 0)
    with torch.no_grad():
        assert outcome.errors == {"a#0": error(network.eval()(task_data.test_inputs), task_data.test_labels)}
    assert outcome.training_error == outcome.errors["a#0"]
    assert int(network.get_buffer("1.num_batches_tracked")) == 3  # updated in training only
