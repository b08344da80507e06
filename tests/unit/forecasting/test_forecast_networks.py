"""Networks that can be forecast, what a forecast of them costs, and what is said of those that cannot."""

import re

import numpy as np
import pytest
import torch
from random_tasks import perceptron, tasks
from torch import nn

from ebbing.forecasting import forecast, forecast_memory


def test_initial_errors_are_those_of_the_network():
    data = tasks(kind="classes")
    network = perceptron(3)
    found = forecast(network, {name: {"train": d, "test": d} for name, d in data.items()})
    for i, (x, y) in enumerate(data.values()):
        with torch.no_grad():
            wrong = (network(torch.from_numpy(x)).argmax(1).numpy() != y).mean()
        assert found.errors()[0, i] == pytest.approx(wrong)


def test_features_equal_a_linear_network():
    data = tasks()
    network = nn.Linear(12, 1).double()
    nn.init.zeros_(network.weight)
    nn.init.zeros_(network.bias)
    assert np.allclose(forecast("linear", data).errors(), forecast(network, data).errors(), rtol=1e-6)


def test_several_networks_average_their_kernels():
    data = tasks()
    one, two = perceptron(), nn.Sequential(nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 1))
    kernels = [forecast(network, data).model.kernel for network in (one, two)]
    both = forecast([one, two], data)
    assert np.allclose(both.model.kernel, (kernels[0] + kernels[1]) / 2)
    assert "tangent kernel of 2 networks" in both.summary()


def test_log_probabilities_are_logits():
    torch.manual_seed(0)
    linear = nn.Linear(12, 2)
    found = forecast(nn.Sequential(linear, nn.LogSoftmax(dim=1)), tasks())
    np.testing.assert_allclose(found.errors(), forecast(linear, tasks()).errors(), atol=1e-6)


class Compiled(nn.Module):
    """Holds a network as the result of torch.compile does, whose gradients cannot be taken example by example."""

    def __init__(self, network):
        super().__init__()
        self._orig_mod = network


def test_compiled_network_is_the_network_inside():
    linear = nn.Linear(12, 1)
    assert np.array_equal(forecast(Compiled(linear), tasks()).errors(), forecast(linear, tasks()).errors())


def test_memory_is_known_before():
    data = tasks(n=80)  # 60 and 20 examples of each
    kernels = 4 * 8 * 240**2
    assert forecast_memory("linear", data) == kernels
    gradients = forecast_memory(perceptron(), data) - kernels
    assert gradients == 240 * 4 * ((12 + 32) + (32 + 1))  # inputs and output gradients of two linear layers
    assert forecast_memory(perceptron(), data, train_size=30, test_size=10) < gradients + kernels / 2


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ("cubic", "network='cubic': give a PyTorch network, 'linear' or 'random features'"),
        (3, "network=int: give a PyTorch network"),
        (nn.Linear, r"network=Linear, a class: give a network of this class, Linear\(...\)"),
        ([], "an empty list"),
        (nn.Linear(12, 3).requires_grad_(False), "no parameter with requires_grad=True"),
    ],
)
def test_bad_networks(network, message):
    with pytest.raises(ValueError, match=message):
        forecast(network, tasks())


class Picky(nn.Linear):
    def forward(self, input):
        raise ValueError("too few")


class WithoutGradients(nn.Linear):
    @torch.no_grad()
    def forward(self, input):
        return super().forward(input)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (
            nn.Sequential(nn.Linear(12, 2), nn.Softmax(dim=1)),
            "takes logits: leave out the last Softmax",
        ),
        (nn.Sequential(nn.Linear(12, 1), nn.Sigmoid()), "takes logits: leave out the last Sigmoid"),
        (WithoutGradients(12, 1), "have no gradients: is there torch.no_grad"),
        (nn.Linear(12, 1, device="meta"), "are on the device 'meta': load them first"),
        (
            nn.Sequential(nn.BatchNorm1d(12, track_running_stats=False), nn.Linear(12, 1)),
            "0 is a batch norm without running statistics",
        ),
        (Picky(12, 1), "Picky fails on one example with inputs of shape (12,) and torch.float32: ValueError: too few"),
    ],
)
def test_networks_that_cannot_be_forecast_raise(network, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        forecast(network, tasks())


def test_a_network_that_does_not_fit_is_an_error_in_words():
    with pytest.raises(ValueError, match=r"Sequential fails on one example with inputs of shape \(12,\).*RuntimeError"):
        forecast(perceptron(d=13), tasks())
    whole = {name: (np.round(x).astype(int), y) for name, (x, y) in tasks().items()}
    with pytest.raises(ValueError, match=r"torch\.int64: .*whole numbers are not converted"):
        forecast(perceptron(), whole)


def test_labels_beyond_the_outputs_name_their_task():
    data = tasks()
    data["b"] = (data["b"][0], np.arange(len(data["b"][1])) % 4)
    with pytest.raises(ValueError, match=r"^task 'b': labels are whole numbers from 0 to 3, but the network has"):
        forecast(perceptron(), data)
