"""Digests of networks: another network has another digest, and the same one has the same in every process."""

import copy
import functools
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from ebbing.learn._network_digest import network_digest


@dataclass
class Settings:
    scale: float = 1.0


class Slotted:
    __slots__ = ("scale", "unset")

    def __init__(self, scale: float) -> None:
        self.scale = scale


class Block(nn.Module):
    def forward(self, x):
        return x.relu()


class OtherBlock(nn.Module):
    def forward(self, x):
        return x.tanh()


OtherBlock.__qualname__ = Block.__qualname__  # edited: the same name, other code


def with_attribute(value: Any) -> nn.Module:
    network = nn.Linear(2, 1)
    nn.init.ones_(network.weight)
    nn.init.zeros_(network.bias)
    network.extra = value  # type: ignore[assignment]
    return network


def chain(length: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(length):
        found = [found]
    return found


def ones(network: nn.Module) -> nn.Module:
    for parameter in network.parameters():
        nn.init.ones_(parameter)
    return network


def encoder(**settings: Any) -> nn.Module:
    return ones(nn.TransformerEncoderLayer(8, dim_feedforward=8, **settings))


def hooked(network: nn.Module, hook: Any) -> nn.Module:
    network.register_forward_pre_hook(hook)
    return network


def frozen() -> nn.Module:
    network = with_attribute(1)
    network.weight.requires_grad_(False)
    return network


def tied() -> nn.Module:
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    second.weight = first.weight
    return ones(nn.Sequential(first, second))


def cyclic() -> nn.Module:
    known: list[Any] = [1.0]
    network = with_attribute(known)
    known += [known, network]
    return network


PAIRS = {
    "number": (lambda: with_attribute(1.0), lambda: with_attribute(2.0)),
    "flag": (lambda: with_attribute(True), lambda: with_attribute(False)),
    "function": (lambda: with_attribute(torch.relu), lambda: with_attribute(torch.tanh)),
    "lambda": (lambda: with_attribute(lambda x: 2 * x), lambda: with_attribute(lambda x: 3 * x)),
    "partial": (
        lambda: with_attribute(functools.partial(functional.gelu, approximate="tanh")),
        lambda: with_attribute(functools.partial(functional.gelu, approximate="none")),
    ),
    "method": (lambda: with_attribute(Settings(1.0).__eq__), lambda: with_attribute(Settings(2.0).__eq__)),
    "list": (lambda: with_attribute([1, {"a": (2,)}]), lambda: with_attribute([1, {"a": (3,)}])),
    "set": (lambda: with_attribute({"a", "b"}), lambda: with_attribute({"a", "c"})),
    "set of pairs": (lambda: with_attribute({(nn.ReLU(), 1)}), lambda: with_attribute({(nn.ReLU(), 2)})),
    "settings": (lambda: with_attribute(Settings(1.0)), lambda: with_attribute(Settings(2.0))),
    "slots": (lambda: with_attribute(Slotted(1.0)), lambda: with_attribute(Slotted(2.0))),
    "array": (lambda: with_attribute(np.arange(3)), lambda: with_attribute(np.arange(1, 4))),
    "tensor": (lambda: with_attribute(torch.arange(3)), lambda: with_attribute(torch.arange(1, 4))),
    "array of objects": (
        lambda: with_attribute(np.array([{}, 1], dtype=object)),
        lambda: with_attribute(np.array([{}, 2], dtype=object)),
    ),
    "sparse tensor": (
        lambda: with_attribute(torch.eye(2).to_sparse()),
        lambda: with_attribute((2 * torch.eye(2)).to_sparse()),
    ),
    "conjugate tensor": (
        lambda: with_attribute(torch.tensor([1j]).conj()),
        lambda: with_attribute(torch.tensor([1j])),
    ),
    "tensor without content": (
        lambda: with_attribute(torch.empty(2, device="meta")),
        lambda: with_attribute(torch.empty(3, device="meta")),
    ),
    "path": (lambda: with_attribute(Path("a")), lambda: with_attribute(Path("b"))),
    "data type": (lambda: with_attribute(torch.float16), lambda: with_attribute(torch.bfloat16)),
    "unregistered module": (lambda: with_attribute([ones(nn.Linear(1, 1))]), lambda: with_attribute([nn.Tanh()])),
    "attention heads": (lambda: encoder(nhead=1), lambda: encoder(nhead=4)),
    "order of norms": (lambda: encoder(nhead=1), lambda: encoder(nhead=1, norm_first=True)),
    "dropout": (lambda: nn.Dropout(0.1), lambda: nn.Dropout(0.2)),
    "edited module": (lambda: nn.Sequential(Block()), lambda: nn.Sequential(OtherBlock())),
    "hook": (
        lambda: hooked(nn.ReLU(), lambda module, inputs: 2 * inputs[0]),
        lambda: hooked(nn.ReLU(), lambda module, inputs: 3 * inputs[0]),
    ),
    "frozen weight": (lambda: with_attribute(1), frozen),
    "tied weights": (lambda: ones(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))), tied),
    "layer": (lambda: ones(nn.Sequential(nn.Linear(2, 1), nn.ReLU())), lambda: ones(nn.Sequential(nn.Linear(2, 1)))),
    "precision": (lambda: with_attribute(1), lambda: with_attribute(1).double()),
    "shape": (lambda: ones(nn.Linear(2, 1)), lambda: ones(nn.Linear(1, 2))),
}


@pytest.mark.parametrize("what", PAIRS)
def test_another_network_has_another_digest(what):
    one, other = PAIRS[what]
    assert network_digest(one()) == network_digest(one())
    assert network_digest(one()) != network_digest(other())


@pytest.mark.parametrize("what", PAIRS)
def test_copies_have_the_same_digest(what):
    network = PAIRS[what][1]()
    assert network_digest(copy.deepcopy(network)) == network_digest(network)
    assert network_digest(network.train()) == network_digest(network.eval())


def test_attributes_may_refer_to_each_other():
    assert network_digest(cyclic()) == network_digest(copy.deepcopy(cyclic()))


def test_chains_of_objects_may_be_long():
    assert network_digest(with_attribute(chain(5000))) != network_digest(with_attribute(chain(5001)))


def test_weights_and_buffers_enter_the_digest():
    network = nn.BatchNorm1d(2)
    before = network_digest(network)
    network.get_buffer("running_mean").fill_(1.0)
    changed = network_digest(network)
    network.weight.data.fill_(2.0)
    assert len({before, changed, network_digest(network)}) == 3


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`")  # PEFT asks transformers for it
def test_adapters_and_configurations_enter_the_digest():
    peft, transformers = pytest.importorskip("peft"), pytest.importorskip("transformers")

    def adapted(heads: int = 2, alpha: int = 4) -> nn.Module:
        sizes = {"hidden_size": 8, "num_hidden_layers": 1, "intermediate_size": 8, "vocab_size": 10}
        torch.manual_seed(0)
        model = transformers.BertModel(transformers.BertConfig(**sizes, num_attention_heads=heads))
        return peft.get_peft_model(model, peft.LoraConfig(r=2, lora_alpha=alpha, target_modules=["query"]))

    digests = [network_digest(adapted(**settings)) for settings in ({}, {}, {"heads": 4}, {"alpha": 256})]
    assert digests[0] == digests[1]
    assert len({*digests}) == 3


def test_digests_are_the_same_in_every_process():
    program = "import test_network_digest as t; print(*(t.network_digest(one()) for one, _ in t.PAIRS.values()))"
    folders = [str(Path(__file__).parent), *sys.path]
    code = f"import sys; sys.path[:0] = {folders!r}; {program}"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert found.stdout.split() == [network_digest(one()) for one, _ in PAIRS.values()]


def test_weights_without_a_shape_raise():
    with pytest.raises(ValueError, match=r"0\.weight of a lazy layer has no shape yet.*; call the network once"):
        network_digest(nn.Sequential(nn.LazyLinear(2)))


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # by PyTorch itself
def test_compiled_networks_have_the_same_digest():
    one, again = (network_digest(torch.compile(with_attribute(1))) for _ in range(2))  # type: ignore[arg-type]
    assert one == again
    assert one != network_digest(torch.compile(with_attribute(2)))  # type: ignore[arg-type]
