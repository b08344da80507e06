"""Networks with weights that would be trained without protection: they raise an error before learning."""

from typing import Any

import pytest
import torch
from torch import nn
from toys import CLASSES, METHODS, SCHEDULE, SIZE, assert_same, data, settings

from ebbing.learn.methods import Copies, FineTuning, Gpm

pytestmark = pytest.mark.usefixtures("quietly")


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = nn.Linear(SIZE, SIZE), nn.Linear(SIZE, CLASSES)

    def forward(self, x):
        return self.last(self.first(x).relu())


class CallsForward(Network):
    def forward(self, x):
        return self.last(self.first.forward(x).relu())


class CompiledForward(Network):
    @torch.compile(backend="eager")
    def forward(self, x):
        return super().forward(x)


class CompiledPart(Network):
    def __init__(self) -> None:
        super().__init__()
        self.part = torch.compile(self._part, backend="eager")

    def _part(self, x):
        return self.first(x).relu()

    def forward(self, x):
        return self.last(self.part(x))


class NotCompiled(Network):
    @torch.compiler.disable
    def forward(self, x):  # type: ignore[override]
        return super().forward(x)


def compiled_in_place() -> Network:
    network = Network()
    network.compile(backend="eager")
    return network


@pytest.mark.parametrize("method", METHODS)
def test_calling_the_forward_of_a_layer_raises(method):
    learner = method.start(CallsForward())
    before = learner.state()
    with pytest.raises(ValueError, match="the network calls the forward of layer 'first' instead of the layer"):
        learner.learn("a", data(0))
    assert_same(learner.state(), before)


@pytest.mark.parametrize("make", [compiled_in_place, CompiledForward, CompiledPart])
def test_compiled_networks_raise(make):
    with pytest.raises(ValueError, match="the network is compiled, and cannot be protected"):
        Gpm(**settings()).start(make())
    for method in (FineTuning(SCHEDULE), Copies(SCHEDULE)):  # which protect nothing
        learner = method.start(make())
        learner.learn("a", data(0))
        assert learner.tasks == ["a"]


def test_network_compiled_later_raises():
    network = Network()
    learner = Gpm(**settings()).start(network)
    learner.learn("a", data(0))
    network.first.compile(backend="eager")
    with pytest.raises(ValueError, match="module 'first' is compiled"):
        learner.learn("b", data(1))
    assert learner.tasks == ["a"]


def test_compiler_disabled_networks_are_accepted():
    learner = Gpm(**settings()).start(NotCompiled())
    learner.learn("a", data(0))
    assert learner.tasks == ["a"]


def test_weights_that_share_memory_raise():
    network: Any = nn.Sequential(nn.Linear(SIZE, SIZE), nn.Tanh(), nn.Linear(SIZE, SIZE), nn.Tanh(), nn.Linear(SIZE, 3))
    flat = nn.utils.parameters_to_vector(network.parameters()).detach()
    nn.utils.vector_to_parameters(flat, network.parameters())  # contiguous in one tensor, without overlap
    Gpm(**settings()).start(network)
    network[2].weight = nn.Parameter(network[0].weight.data)
    with pytest.raises(ValueError, match=r"parameters '0\.weight' and '2\.weight' share memory"):
        Gpm(**settings()).start(network)
    with pytest.raises(ValueError, match="share memory"):
        Gpm(**settings(), per_task=("2",)).start(network)
    Gpm(**settings(), per_task=("0", "2")).start(network)
    network[2].weight.requires_grad_(False)  # it would change with the other
    with pytest.raises(ValueError, match="share memory"):
        Gpm(**settings()).start(network)


@pytest.mark.parametrize("register", ["register_hook", "register_post_accumulate_grad_hook"])
def test_gradient_hooks_on_a_weight_raise(register):
    network = Network()
    learner = Gpm(**settings()).start(network)
    handle = getattr(network.first.weight, register)(lambda _: None)
    with pytest.raises(ValueError, match="weight of layer 'first' has hooks on its gradient"):
        learner.learn("a", data(0))
    handle.remove()
    learner.learn("a", data(0))
    assert learner.tasks == ["a"]
