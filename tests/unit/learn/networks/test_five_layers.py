"""The network of Figure 2: layers, initialization and seeds."""

import threading

import torch
from torch import nn
from toys import TINY, flat

from ebbing.learn import (
    FiveLayers,
)


def test_network_has_the_expected_shapes():
    network = FiveLayers(widths=(3, 5, 7, 9)).build(seed=0)
    shapes = [tuple(parameter.shape) for parameter in network.parameters() if parameter.ndim > 1]
    assert shapes == [(3, 1, 5, 5), (5, 3, 5, 5), (7, 5 * 8 * 8), (9, 7), (1, 9)]
    assert network(torch.zeros(4, 1, 28, 28)).shape == (4, 1)
    assert sum(parameter.numel() for parameter in FiveLayers().build(0).parameters()) == 135_821  # LeNet's widths


def test_network_computes_the_layers_of_the_paper():
    network = FiveLayers(widths=(2, 3, 4, 5)).build(seed=1)
    layers = dict(network.named_children())
    drawn = nn.Sequential(
        *(layers["conv1"], nn.ReLU(), nn.MaxPool2d(2), layers["conv2"], nn.ReLU(), nn.Flatten()),
        *(layers["linear1"], nn.ReLU(), layers["linear2"], nn.ReLU(), layers["linear3"], nn.Sigmoid()),
    )
    images = torch.randn(6, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(network(images).sigmoid(), drawn(images))


def test_build_depends_on_the_seed_only():
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    first = flat(TINY.build(seed=5))
    assert torch.equal(torch.rand(4), expected)
    assert torch.equal(flat(TINY.build(seed=5)), first)
    assert not torch.equal(flat(TINY.build(seed=6)), first)


def test_initialization_is_pytorchs_default():
    torch.manual_seed(11)
    expected = torch.cat(
        [
            torch.cat([parameter.detach().flatten() for parameter in layer.parameters()])
            for layer in (nn.Conv2d(1, 2, 5), nn.Conv2d(2, 3, 5), nn.Linear(192, 4), nn.Linear(4, 5), nn.Linear(5, 1))
        ]
    )
    built = torch.cat([parameter.detach().contiguous().flatten() for parameter in TINY.build(11).parameters()])
    assert torch.equal(built, expected)


def test_build_is_thread_safe(monkeypatch):
    """A Dask worker has several threads by default. Here the second build starts in the middle of the first."""
    alone, built, reset = [flat(TINY.build(seed)) for seed in range(2)], {}, nn.Linear.reset_parameters
    midway, finished = threading.Event(), threading.Event()

    def build_second():
        built[1] = flat(TINY.build(1))

    second = threading.Thread(target=build_second)

    def reset_parameters(layer):
        if layer.in_features == 192 and threading.current_thread() is second:
            midway.set()
            finished.wait(5)
        elif layer.in_features == 192:
            second.start()
            midway.wait(1)  # times out if builds wait for each other
        reset(layer)

    monkeypatch.setattr(nn.Linear, "reset_parameters", reset_parameters)
    built[0] = flat(TINY.build(0))
    finished.set()
    second.join()
    assert [torch.equal(built[seed], alone[seed]) for seed in range(2)] == [True, True]
