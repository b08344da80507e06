"""The tangent kernel equals that of explicit Jacobians, for every kind of layer and for what no formula fits."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from ebbing.forecasting._tangent_kernel import kernel_cost, tangent_kernel
from ebbing.forecasting.reference_kernel import tangent_kernel_reference
from ebbing.learn import FiveLayers


class Transformer(nn.Module):
    """Embeddings of tokens and of positions, attention, and a mean over tokens."""

    def __init__(self, batch_first=True):
        super().__init__()
        self.batch_first = batch_first
        self.tokens = nn.Embedding(11, 8, padding_idx=0)
        self.places = nn.Embedding(5, 8)
        self.scale = nn.Parameter(torch.ones(8))
        self.block = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=batch_first)
        self.head = nn.Linear(8, 3)

    def forward(self, tokens):
        x = self.scale * (self.tokens(tokens) + self.places(torch.arange(tokens.shape[1])))
        x = self.block(x if self.batch_first else x.transpose(0, 1))
        return self.head(x.mean(1 if self.batch_first else 0))


class Twice(nn.Module):
    """A layer used twice, and a weight shared by two layers."""

    def __init__(self):
        super().__init__()
        self.inner, self.one, self.two = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 6, bias=False)
        self.two.weight = self.one.weight
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        x = self.inner(torch.tanh(self.inner(x)))
        return self.head(torch.tanh(self.two(torch.tanh(self.one(x)))))


class Hidden(nn.Module):
    """A layer that is called, and whose weight is used again outside it."""

    def __init__(self):
        super().__init__()
        self.layer, self.unused = nn.Linear(6, 6), nn.Linear(3, 3)

    def forward(self, x):
        return functional.linear(torch.tanh(self.layer(x)), self.layer.weight)[:, :2]


def convolutions():
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1, stride=2, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(inplace=True),
        nn.Conv2d(4, 6, 3, padding="same", padding_mode="circular"),
        nn.GroupNorm(2, 6),
        nn.ReLU(inplace=True),
        nn.Conv2d(6, 6, 3, groups=3, dilation=2, padding=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(6 * 16, 8),
        nn.BatchNorm1d(8),
        nn.LayerNorm(8),
        nn.RMSNorm(8),
        nn.Dropout(0.5),
        nn.Linear(8, 3),
    )


CASES = {
    "perceptron": (lambda: nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3, bias=False)), (9, 5)),
    "one output": (lambda: nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 1), nn.Flatten(0)), (9, 5)),
    "sequence": (lambda: nn.Sequential(nn.Linear(5, 40), nn.LayerNorm(40), nn.Flatten(), nn.Linear(80, 2)), (9, 2, 5)),
    "long": (lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Flatten(), nn.Linear(80, 2)), (9, 20, 3)),
    "convolutions": (convolutions, (9, 2, 8, 8)),
    "five layers": (lambda: FiveLayers((2, 3, 10, 8)).build(0), (6, 1, 28, 28)),
    "transformer": (Transformer, (9, 5)),
    "places first": (lambda: Transformer(batch_first=False), (5, 5)),
    "twice": (Twice, (9, 6)),
    "hidden": (Hidden, (9, 6)),
    "recurrent": (lambda: Last(nn.LSTM(4, 3, batch_first=True)), (4, 3, 4)),
}


class Last(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)[0][:, -1]


def made(name, dtype=torch.float64) -> Any:
    build, shape = CASES[name]
    torch.manual_seed(1)
    network = build().to(dtype)
    if isinstance(network, Transformer):
        return network, torch.randint(0, 11, shape)
    for module in network.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
            torch.nn.init.normal_(module.running_mean, 0, 0.3)
            torch.nn.init.uniform_(module.weight, 0.5, 2)
    return network, torch.randn(shape, dtype=dtype)


@pytest.mark.parametrize("per_output", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_kernel_equals_that_of_explicit_jacobians(name, per_output):
    network, inputs = made(name)
    fast = tangent_kernel(network, inputs, per_output=per_output)
    slow = tangent_kernel_reference(network, inputs, per_output=per_output)
    assert np.abs(fast - slow).max() <= 1e-11 * np.abs(slow).max()


@pytest.mark.parametrize("name", ["perceptron", "convolutions", "five layers", "transformer"])
def test_kernel_in_single_precision(name):
    network, inputs = made(name, torch.float32)
    fast, slow = tangent_kernel(network, inputs), tangent_kernel_reference(network, inputs)
    assert np.abs(fast - slow).max() <= 1e-5 * np.abs(slow).max()


def test_formulas_cover_what_they_should():
    covered = {
        "perceptron": [],
        "convolutions": ["6.weight", "6.bias"],  # groups
        "five layers": [],
        "twice": ["inner.weight", "inner.bias", "one.weight", "one.bias"],
        "hidden": ["layer.weight", "layer.bias", "unused.weight", "unused.bias"],
    }
    for name, explicit in covered.items():
        assert kernel_cost(*made(name)).explicit == explicit, name
    attention = kernel_cost(*made("transformer")).explicit
    assert "places.weight" in attention
    assert not {"tokens.weight", "head.weight", "block.linear1.weight", "block.norm1.weight"} & set(attention)


def test_cost_counts_explicit_gradients():
    network, inputs = nn.Sequential(nn.Conv1d(2, 3, 5), nn.Flatten(), nn.Linear(12, 2)), torch.randn(30, 2, 8)
    cost = kernel_cost(network, inputs)
    assert cost.explicit == ["0.weight", "0.bias"]
    assert cost.bytes_per_pass >= 30 * 2 * 33 * 4
    assert str(cost).endswith("MB; explicit gradients of 2 parameters, which are slow")


@pytest.mark.parametrize("name", ["perceptron", "sequence", "long", "convolutions", "transformer"])
def test_little_memory_gives_the_same_kernel(name):
    network, inputs = made(name)
    least = kernel_cost(network, inputs, memory=1)
    assert len(least.passes) > 1
    assert all(len(layers) == 1 for layers in least.passes)
    assert np.allclose(tangent_kernel(network, inputs, memory=1), tangent_kernel(network, inputs), rtol=1e-12)


def test_only_trained_parameters_count():
    network, inputs = made("perceptron")
    network[0].requires_grad_(False)
    hidden = torch.tanh(network[0](inputs))
    assert np.allclose(tangent_kernel(network, inputs), (hidden @ hidden.T).numpy())
    network, inputs = made("perceptron")
    network[2].requires_grad_(False)
    network[0].weight.requires_grad_(False)
    assert np.allclose(tangent_kernel(network, inputs), tangent_kernel_reference(network, inputs))


def test_network_stays_as_it_was():
    network, inputs = made("convolutions")
    network.train()
    network[1].eval()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    tangent_kernel(network, inputs)
    assert network.training
    assert not network[1].training
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert all(p.grad is None for p in network.parameters())
    assert not any(module._forward_hooks for module in network.modules())


def test_inputs_by_name_and_logits():
    class Output:
        def __init__(self, logits):
            self.logits = logits

    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, left, right):
            return Output(self.layer(left * right))

    network = Named().double()
    left, right = torch.randn(2, 5, 3, dtype=torch.float64)
    fast = tangent_kernel(network, {"left": left, "right": right.numpy()})
    assert np.allclose(fast, tangent_kernel(network.layer, left * right))
    assert np.allclose(fast, tangent_kernel_reference(network, {"left": left, "right": right}))


def test_operations_that_cannot_be_vectorized():
    class Branching(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.tensor([2.0, 3.0], dtype=torch.float64))

        def forward(self, x):
            return x * self.scale * (1.0 if x[0, 0].item() > 0 else 2.0)

    inputs = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
    assert np.allclose(tangent_kernel(Branching(), inputs), [[2.5, 5.5], [5.5, 12.5]])


@pytest.mark.parametrize(
    ("network", "shape", "message"),
    [
        (nn.Linear(2, 2).requires_grad_(False), (3, 2), "no parameter with requires_grad=True"),
        (nn.Linear(2, 2), (3, 4, 2), r"returns shape \(3, 4, 2\) for 3 examples"),
        (nn.LSTM(2, 2), (3, 2), "returns tuple"),
        (
            nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2, track_running_stats=False)),
            (3, 2),
            "1 is a batch norm without running statistics",
        ),
    ],
)
def test_unusable_networks(network, shape, message):
    with pytest.raises(ValueError, match=message):
        tangent_kernel(network, torch.zeros(shape))


def test_progress_ends_at_one():
    network, inputs = made("perceptron")
    seen = []
    tangent_kernel(network, inputs, memory=1, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1


@pytest.mark.parametrize("case", ["perceptron", "one output", "sequence", "long"])
def test_kernels_in_blocks_equal_whole_ones(case, monkeypatch):
    build, shape = CASES[case]
    torch.manual_seed(0)
    network, inputs = build().double(), torch.randn(*shape, dtype=torch.float64)
    whole = [tangent_kernel(network, inputs, per_output=each) for each in (False, True)]
    monkeypatch.setattr("ebbing.forecasting._layer_gradients._BLOCK_ROWS", 4)
    parts = [tangent_kernel(network, inputs, per_output=each) for each in (False, True)]
    assert all(np.allclose(one, other, rtol=1e-12) for one, other in zip(whole, parts, strict=True))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_computed_in_float32(dtype):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2)).to(dtype)
    same = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2))
    same.load_state_dict(network.state_dict())  # the rounded weights, in float32
    inputs = torch.randn(5, 6)
    assert np.array_equal(tangent_kernel(network, inputs), tangent_kernel(same, inputs))
    assert kernel_cost(network, inputs).bytes_per_pass == kernel_cost(same, inputs).bytes_per_pass
    assert next(network.parameters()).dtype == dtype
