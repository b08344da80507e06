"""The layers of a network: discovery, recorded inputs, parametrization, and what raises an error."""

import ast
import re
from typing import cast

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations, prune

from ebbing.learn.methods import Gpm
from ebbing.learn.projection._blocks import Block
from ebbing.learn.projection._calls import Calls
from ebbing.learn.projection._layer_discovery import discover_layers
from ebbing.learn.projection._layers import Layer
from ebbing.learn.projection._recording import recorded_inputs
from ebbing.learn.projection._task_updates import Subspace, TaskUpdate
from ebbing.learn.projection.subspaces import BasisUpdate
from ebbing.learn.training._modes import frozen_modules

pytestmark = pytest.mark.usefixtures("quietly")


def names(network, per_task=()):
    parts = discover_layers(network, per_task)
    return [layer.name for layer in parts.layers], parts.norms, parts.per_task, parts.biases


class Named(nn.Module):
    """Modules by name, called one after the other."""

    def __init__(self, **modules):
        super().__init__()
        for name, module in modules.items():
            self.add_module(name, module)

    def forward(self, inputs):
        for module in self.children():
            inputs = module(inputs)
        return inputs


# Discovery


def test_discovery_finds_layers_norms_and_biases():
    network = Named(
        conv=nn.Conv2d(3, 4, 3),
        norm=nn.BatchNorm2d(4),
        flat=nn.Flatten(),
        drop=nn.Dropout(0.5),
        first=nn.Linear(4, 5, bias=False),
        layer_norm=nn.LayerNorm(5),
        inner=nn.Sequential(nn.Linear(5, 6), nn.GroupNorm(2, 6), nn.ReLU()),
    )
    layers, norms, per_task, biases = names(network)
    assert layers == ["conv", "first", "inner.0"]
    statistics = ["norm.running_mean", "norm.running_var", "norm.num_batches_tracked"]
    values = [f"{norm}.{value}" for norm in ("layer_norm", "inner.1") for value in ("weight", "bias")]
    assert norms == ["norm.weight", "norm.bias", *statistics, *values]
    assert per_task == []
    assert biases == ["conv.bias", "inner.0.bias"]


@pytest.mark.parametrize(
    ("norm", "values"),
    [
        (nn.BatchNorm1d(4, track_running_stats=False), ["weight", "bias"]),
        (nn.BatchNorm1d(4, affine=False), ["running_mean", "running_var", "num_batches_tracked"]),
        (nn.BatchNorm1d(4, affine=False, track_running_stats=False), []),
        (nn.InstanceNorm1d(4, affine=True), ["weight", "bias"]),
    ],
)
def test_discovery_finds_values_of_all_norms(norm, values):
    assert names(Named(a=nn.Linear(4, 4), n=norm))[1] == [f"n.{value}" for value in values]


def test_per_task_selects_by_name_and_by_pattern():
    network = Named(body=nn.Linear(4, 4), heads=nn.ModuleList([nn.Linear(4, 2), nn.Linear(4, 2, bias=False)]))
    everything = ["heads.0.weight", "heads.0.bias", "heads.1.weight"]
    assert names(network)[0] == ["body", "heads.0", "heads.1"]
    for per_task in (["heads"], ["heads.*"], ["h*"], ["heads.0", "heads.1"]):
        assert names(network, per_task) == (["body"], [], everything, ["body.bias"])
    assert names(network, ["heads.1"])[0] == ["body", "heads.0"]
    prefix = Named(body=nn.Linear(4, 4), head=nn.Linear(4, 2), headless=nn.Linear(2, 2))
    assert names(prefix, ["head"])[0] == ["body", "headless"]  # a full name, not a prefix


def test_per_task_selects_buffers_of_modules():
    network = Named(body=nn.Linear(4, 4), head=nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2, bias=False)))
    _, norms, per_task, _ = names(network, ["head"])
    assert norms == []
    assert "head.0.running_mean" in per_task


def test_discovery_skips_frozen_parameters():
    network = Named(a=nn.Embedding(3, 4), b=nn.Linear(4, 4), c=nn.Linear(4, 4), d=nn.Linear(4, 4))
    network.get_submodule("a").requires_grad_(False)
    network.get_submodule("b").requires_grad_(False)
    network.get_parameter("c.weight").requires_grad_(False)
    assert names(network) == (["d"], [], [], ["c.bias", "d.bias"])


def test_network_may_be_a_single_layer():
    assert names(nn.Linear(4, 2)) == ([""], [], [], ["bias"])
    learner = Gpm(num_examples=5).start(nn.Linear(4, 2))
    learner.learn("a", (torch.randn(10, 4), torch.randint(0, 2, (10,))))
    assert learner.outputs("a", torch.zeros(3, 4)).shape == (3, 2)


def test_module_registered_twice_is_one_layer():
    shared = nn.Linear(4, 4)
    assert names(Named(a=shared, b=nn.ReLU(), c=shared))[0] == ["a"]


# Unsupported layers


class OtherLinear(nn.Linear):
    def forward(self, input):
        return super().forward(input) * self.weight.norm()


class OtherConv(nn.Conv2d):
    def _conv_forward(self, input, weight, bias):
        return super()._conv_forward(input, weight.abs(), bias)


def lazy():
    return nn.LazyLinear(4)


def weight_normed():
    return parametrizations.weight_norm(nn.Linear(4, 4))


def pruned():
    return prune.l1_unstructured(nn.Linear(4, 4), "weight", 2)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Embedding(3, 4, max_norm=1), "layer 'culprit' (Embedding) changes its rows whenever it looks them up"),
        (nn.EmbeddingBag(3, 4, max_norm=1), "layer 'culprit' (EmbeddingBag) changes its rows"),
        (nn.LSTM(4, 4, proj_size=2), "layer 'culprit' (LSTM) projects its hidden states (proj_size)"),
        (nn.Bilinear(4, 4, 2), "this cannot be protected: layer 'culprit' (Bilinear) is no product"),
        (nn.PReLU(), "layer 'culprit' (PReLU) is no product of a weight and inputs"),
        (weight_normed(), "this cannot be protected: layer 'culprit' (ParametrizedLinear) computes its weight"),
        (parametrizations.weight_norm(nn.Linear(4, 4, bias=False)), "layer 'culprit.parametrizations.weight'"),
        (pruned(), "layer 'culprit' (Linear) computes its weight, as weight_norm and pruning do"),
        (OtherLinear(4, 4), "layer 'culprit' (OtherLinear)"),
        (OtherConv(4, 4, 1), "layer 'culprit' (OtherConv)"),
        (lazy(), "layer 'culprit' (LazyLinear) has uninitialized weights: call the network on a batch first"),
        (nn.LazyBatchNorm1d(), "layer 'culprit' (LazyBatchNorm1d) has uninitialized weights"),
    ],
)
def test_unsupported_layers_raise_by_name(module, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        discover_layers(Named(fine=nn.Linear(4, 4), culprit=module), ())


def test_all_problems_are_listed_at_once():
    """With the line to type, which includes what was named already; typed, it works."""
    network = Named(
        fine=nn.Linear(4, 4),
        bag=nn.EmbeddingBag(3, 4, max_norm=1),
        act=nn.PReLU(),
        norm=weight_normed(),
        head=nn.Linear(4, 2),
    )
    network.register_parameter("token", nn.Parameter(torch.zeros(4)))
    with pytest.raises(ValueError, match="these 4 parts cannot be protected") as caught:
        discover_layers(network, ["head"])
    line = re.search(r"per_task=(\(.*?\));", str(caught.value))
    assert line is not None
    per_task = ast.literal_eval(line[1])
    assert per_task == ("head", "token", "bag", "act", "norm")
    assert names(network, per_task)[0] == ["fine"]
    for reason in ("the network has a parameter 'token' outside", "'bag' (EmbeddingBag)", "'act' (PReLU)"):
        assert reason in str(caught.value)


def test_equal_blocks_are_listed_once_with_a_pattern():
    """Of a hundred blocks, one line is typed; a pattern that would name a protected layer is not."""
    blocks = nn.ModuleList(Named(inner=nn.Linear(4, 4), act=nn.PReLU(), last=nn.PReLU()) for _ in range(12))
    odd = nn.ModuleList([nn.PReLU(), nn.Linear(4, 4), nn.PReLU()])
    network = Named(blocks=blocks, odd=odd)
    with pytest.raises(ValueError, match="these 26 parts cannot be protected") as caught:
        discover_layers(network, ())
    message = str(caught.value)
    assert "layer 'blocks.*.act' (PReLU) is no product of a weight and inputs (12 times)" in message
    line = re.search(r"per_task=(\(.*?\));", message)
    assert line is not None
    per_task = ast.literal_eval(line[1])
    assert per_task == ("blocks.*.act", "blocks.*.last", "odd.0", "odd.2")
    assert len(names(network, per_task)[0]) == 13


@pytest.mark.parametrize("module", [nn.Embedding(3, 4), nn.GRU(4, 4), nn.MultiheadAttention(4, 2), weight_normed()])
def test_layers_may_be_per_task_or_frozen(module):
    network = Named(fine=nn.Linear(4, 4), culprit=module)
    expected = {f"culprit.{name}" for name, _ in (*module.named_parameters(), *module.named_buffers())}
    assert set(names(network, ["culprit"])[2]) == expected
    assert names(Named(fine=nn.Linear(4, 4), culprit=module.requires_grad_(False)))[0] == ["fine"]


def test_shared_weights_are_one_layer_or_both_per_task():
    network = Named(a=nn.Linear(4, 4), b=nn.ReLU(), c=nn.Linear(4, 4))
    network.get_submodule("c").weight = network.get_submodule("a").weight
    for per_task in (["a"], ["c"]):  # with one of them task-specific, the other's weight would change with it
        with pytest.raises(ValueError, match=r"'a.weight' and 'c.weight' are the same, used in ways that cannot be"):
            discover_layers(Named(more=nn.Linear(4, 4), **dict(network.named_children())), per_task)
    assert names(network)[0] == ["a"]  # one layer, with the inputs of both
    assert names(Named(more=nn.Linear(4, 4), **dict(network.named_children())), ["a", "c"])[0] == ["more"]


def test_unknown_names_and_missing_layers_raise():
    network = Named(a=nn.Linear(4, 4), b=nn.ReLU())
    message = r"per_task=\['c', 'heads\.\*'\]: the network has no such module or parameter; it has a$"
    with pytest.raises(ValueError, match=message):
        discover_layers(network, ["a", "heads.*", "c"])
    with pytest.raises(ValueError, match=r"per_task=\['a\.bias'\]: the network has no such module or parameter"):
        discover_layers(Named(a=nn.Linear(4, 4, bias=False)), ["a.bias"])
    with pytest.raises(ValueError, match="the network has no layer to protect"):
        discover_layers(network, ["a"])
    with pytest.raises(ValueError, match="the network has no layer to protect"):
        discover_layers(nn.ReLU(), ())


# Inputs of layers

CONVOLUTIONS = [
    {},
    {"stride": 2},
    {"stride": (1, 3), "padding": (2, 0)},
    {"padding": 1},
    {"padding": "same"},
    {"padding": "valid"},
    {"padding": "same", "kernel_size": (2, 4)},  # not the same on both sides
    {"padding": "same", "kernel_size": (4, 3), "dilation": (1, 2)},
    {"dilation": 2},
    {"dilation": (2, 1), "padding": 2, "stride": 2},
    {"padding": 1, "padding_mode": "reflect"},
    {"padding": (2, 1), "padding_mode": "replicate"},
    {"padding": "same", "padding_mode": "circular", "kernel_size": (3, 2)},
    {"groups": 2},
    {"groups": 4, "out_channels": 8, "padding": 1},  # depthwise, two outputs for each channel
    {"groups": 4, "out_channels": 4, "stride": 2, "padding_mode": "reflect", "padding": 1},
    {"kernel_size": 1},
    {"kernel_size": (1, 5)},
]


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
@pytest.mark.parametrize("options", CONVOLUTIONS, ids=str)
def test_weights_times_patches_equal_conv_outputs(options):
    torch.manual_seed(0)
    settings = {"in_channels": 4, "out_channels": 6, "kernel_size": 3, "bias": False, "dtype": torch.float64} | options
    module = nn.Conv2d(**settings)
    layer, images = Layer("conv", module), torch.randn(3, 4, 9, 8, dtype=torch.float64)
    expected = module(images)  # (images, out, h, w)
    products = [weight @ patches for weight, patches in zip(layer.weights, layer.input_columns(images), strict=True)]
    found = torch.cat(products).view(expected.shape[1], 3, *expected.shape[2:]).transpose(0, 1)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
@pytest.mark.parametrize("options", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("bias", [False, True])
def test_parametrized_convolution_keeps_its_outputs(options, bias):
    torch.manual_seed(0)
    settings = {"in_channels": 4, "out_channels": 6, "kernel_size": 3, "bias": bias, "dtype": torch.float64} | options
    layer, images = Layer("conv", nn.Conv2d(**settings)), torch.randn(3, 4, 9, 8, dtype=torch.float64)
    expected = layer.module(images)
    for block in layer.blocks:
        block.basis = torch.linalg.qr(torch.randn(len(block.basis), 2, dtype=torch.float64)).Q
    layer.parametrize([[] for _ in layer.blocks], "scaled")
    torch.testing.assert_close(layer.module(images), expected, rtol=0, atol=1e-12)
    layer.remove_parametrizations()
    assert "forward" not in vars(layer.module)
    assert torch.equal(layer.module(images), expected)


@pytest.mark.parametrize("shape", [(8,), (3, 8), (2, 3, 8), (2, 0, 8), (0, 8), (2, 2, 2, 8)])
@pytest.mark.parametrize("bias", [False, True])
def test_parametrized_linear_accepts_all_input_shapes(shape, bias):
    torch.manual_seed(0)
    for outputs in (2, 20):  # with the effective weight for more rows than outputs, else with rotated inputs
        layer = Layer("linear", nn.Linear(8, outputs, bias=bias, dtype=torch.float64))
        inputs = torch.randn(shape, dtype=torch.float64)
        expected = layer.module(inputs)
        layer.blocks[0].basis = torch.linalg.qr(torch.randn(8, 3, dtype=torch.float64)).Q
        layer.parametrize([[]], "scaled")
        torch.testing.assert_close(layer.module(inputs), expected, rtol=0, atol=1e-12)


def test_input_columns_of_a_linear_layer():
    layer, inputs = Layer("linear", nn.Linear(4, 2)), torch.randn(2, 3, 4)
    (columns,) = layer.input_columns(inputs)
    assert torch.equal(columns, inputs.reshape(6, 4).T)


def test_recorded_inputs_include_every_call():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.once, self.also, self.twice, self.never = (nn.Linear(4, 4) for _ in range(4))

        def forward(self, x):
            both = self.once(x) + self.also(input=x)
            return self.twice(self.twice(both))

    network = Net()
    layers = discover_layers(network, ())[0]
    inputs = torch.randn(5, 4)
    with recorded_inputs(layers) as recorded:
        network(inputs)
    assert [len(recorded[name]) for name in ("once", "also", "twice", "never")] == [1, 1, 2, 0]
    once, also, first, second = (cast(Tensor, call) for calls in recorded.values() for call in calls)
    assert torch.equal(once, inputs)
    assert torch.equal(also, inputs)
    assert torch.equal(second, network.twice(first))
    assert not any(call.requires_grad for call in (once, also, first, second))
    network(inputs)
    assert len(recorded["twice"]) == 2


def test_recorded_inputs_remove_hooks_after_an_error():
    network = nn.Linear(4, 4)
    with pytest.raises(RuntimeError), recorded_inputs(discover_layers(network, ())[0]):
        network(torch.zeros(2, 3))
    assert not network._forward_pre_hooks


# Blocks


def basis_update(block, columns, used):
    rest = torch.linalg.qr(block.basis, mode="complete").Q[:, block.basis.shape[1] :]
    return BasisUpdate(rest[:, :columns].double(), torch.tensor(used))


def test_protect_adds_columns_to_the_basis():
    block = Block(6, torch.zeros(1, dtype=torch.float64))
    block.protect(basis_update(block, 2, [0, 1]), leave_out_strongest=False)
    added = basis_update(block, 2, [2, 0, 3])
    block.protect(added, leave_out_strongest=False)
    assert block.basis.shape == (6, 4)
    assert torch.equal(block.basis[:, 2:], added.new)
    assert [subspace.columns.tolist() for subspace in block.subspaces] == [[0, 1], [2, 0, 3]]
    assert [subspace.rank for subspace in block.subspaces] == [2, 3]


def test_protect_leaves_out_the_strongest_direction():
    block = Block(7, torch.zeros(1, dtype=torch.float64))
    block.protect(basis_update(block, 2, [0, 1]), leave_out_strongest=True)
    assert block.basis.shape == (7, 2)
    added = basis_update(block, 3, [2, 1, 3, 4])
    block.protect(added, leave_out_strongest=True)
    assert torch.equal(block.basis[:, 2:], added.new[:, 1:])
    assert block.subspaces[1].columns.tolist() == [1, 2, 3]  # 3 and 4 are renumbered
    assert torch.equal(block.subspaces[1].unprotected, added.new[:, :1])
    assert block.subspaces[1].rank == 4
    block.protect(basis_update(block, 0, [3, 0]), leave_out_strongest=True)
    assert block.subspaces[2].columns.tolist() == [3, 0]
    assert block.subspaces[2].rank == 2


def test_block_state_of_another_layer_raises():
    block = Block(6, torch.zeros(2, 6))
    block.subspaces.append(Subspace(torch.tensor([], dtype=torch.long), torch.zeros(6, 0)))
    block.updates.append(TaskUpdate(torch.tensor([], dtype=torch.long), torch.zeros(0, 2)))
    assert Block.from_state(block.state(), 1, torch.zeros(2, 6)).state().keys() == block.state().keys()
    with pytest.raises(ValueError, match="a basis in 6 dimensions for a layer with 5"):
        Block.from_state(block.state(), 1, torch.zeros(2, 5))


# Frozen modules


def test_frozen_modules_keep_mode_and_statistics():
    network = Named(a=nn.Linear(4, 4), n=nn.BatchNorm1d(4), m=nn.BatchNorm1d(4))
    before = network.get_buffer("n.running_mean").clone()
    with frozen_modules(network, ["n"]):
        network.train()
        network(torch.randn(8, 4))
        assert [module.training for module in network.children()] == [True, False, True]
    assert torch.equal(network.get_buffer("n.running_mean"), before)
    assert not torch.equal(network.get_buffer("m.running_mean"), before)
    network.train()
    assert network.get_submodule("n").training


# Representations


@pytest.mark.parametrize("module", [nn.Conv2d(4, 6, 3, groups=2), nn.Linear(5, 3)], ids=["conv", "linear"])
def test_large_representation_is_compressed_exactly(module, monkeypatch):
    layer = Layer("layer", module)
    seen: Calls = [torch.randn(7, 4, 8, 8), torch.randn(2, 4, 8, 8)] if layer.groups == 2 else [torch.randn(40, 5)]
    whole = layer.representation(seen)
    for limit in (1, 5000):  # one image at a time, or a few
        monkeypatch.setattr("ebbing.learn.projection._layers.MAX_INPUT_BYTES", limit)
        for R, small in zip(whole, layer.representation(seen), strict=True):
            assert small.shape[1] == small.shape[0] or limit == 5000 >= R.nbytes
            torch.testing.assert_close(gram(small), gram(R), rtol=1e-9, atol=1e-9)


def gram(R):
    return R.double() @ R.double().T


@pytest.mark.parametrize("module", [nn.Conv2d(2, 3, 3), nn.Linear(5, 3)], ids=["conv", "linear"])
def test_unbatched_inputs_are_recorded_as_batches(module):
    layer = Layer("layer", module)
    batch = torch.randn(4, 2, 5, 5) if isinstance(module, nn.Conv2d) else torch.randn(4, 5)
    with recorded_inputs([layer]) as seen:
        module(batch)
        for example in batch:
            module(example)
    whole, *single = cast(list[Tensor], seen["layer"])
    assert torch.equal(torch.cat(single), whole)


def test_per_task_pattern_includes_submodules():
    network = Named(body=nn.Linear(8, 16), cls_head=nn.Sequential(nn.Linear(16, 3)), norm=nn.RMSNorm(3))
    assert names(network, per_task=("*_head",))[0] == ["body"]
    assert names(network)[1] == ["norm.weight"]
