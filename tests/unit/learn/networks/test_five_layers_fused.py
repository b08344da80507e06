"""The fused network against the reference: outputs, gradients, training, and hooks of the first layer."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from ebbing.learn import Experiment, FiveLayers, Sgd, TaskData, prefix_tree
from ebbing.learn.training._machine import single_thread

TOLERANCE = 1e-6
"""Tolerance of weights after a few steps, each of which changes them by some hundredths (measured: 2e-8)."""


def images(n, seed=0):
    return torch.rand(n, 1, 28, 28, generator=torch.Generator().manual_seed(seed))


def labels(n, seed=0):
    return torch.randint(0, 2, (n, 1), generator=torch.Generator().manual_seed(seed)).float()


def both(widths=(6, 16, 120, 84), seed=3):
    architecture = FiveLayers(widths)
    return architecture.build(seed), architecture.build_reference(seed)


def first(network) -> nn.Conv2d:
    return network.conv1


def gradients(network, inputs):
    return torch.autograd.grad(network(inputs).square().mean(), list(network.parameters()))


@pytest.mark.parametrize("widths", [(6, 16, 120, 84), (1, 1, 1, 1), (5, 3, 7, 2), (12, 32, 24, 16)])
@pytest.mark.parametrize("n", [1, 7])
def test_fused_outputs_and_gradients_agree_with_reference(widths, n):
    fused, plain = both(widths)
    assert {name: value.shape for name, value in fused.state_dict().items()} == {
        name: value.shape for name, value in plain.state_dict().items()
    }
    for one, other in zip(fused.parameters(), plain.parameters(), strict=True):
        assert torch.equal(one, other)
    torch.testing.assert_close(fused(images(n)), plain(images(n)))
    for one, other in zip(gradients(fused, images(n)), gradients(plain, images(n)), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("method", [Sgd(epochs=8), Sgd(epochs=4, batch_size=7), Sgd(epochs=8, loss="squared")])
def test_fused_training_agrees_with_reference(method):
    task_data = TaskData(images(30), labels(30), images(1), labels(1))
    start, (fused, plain) = both()[0].state_dict(), both()
    with single_thread():
        for network in (fused, plain):
            method.learn(network, task_data, torch.Generator().manual_seed(1))
    moved = max(float((value - start[name]).abs().max()) for name, value in plain.state_dict().items())
    apart = max(float((value - plain.state_dict()[name]).abs().max()) for name, value in fused.state_dict().items())
    assert apart < TOLERANCE
    assert moved > 100 * TOLERANCE


@pytest.mark.parametrize("picture", ["black", "gray", "half", "chequered"])
def test_gradients_agree_at_ties_in_a_pooling_window(picture):
    flat = {
        "black": torch.zeros(28, 28),
        "gray": torch.full((28, 28), 0.5),
        "half": (torch.arange(28) < 14).float().expand(28, 28),
        "chequered": ((torch.arange(28)[:, None] + torch.arange(28)) // 8 % 2).float(),
    }[picture].expand(3, 1, 28, 28)
    fused, plain = both()
    for one, other in zip(gradients(fused, flat), gradients(plain, flat), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_pooling_takes_the_maximum_of_every_window():
    """A kernel that copies its middle pixel makes the first layer the pooling of the image."""
    network = FiveLayers().build(0)
    conv = first(network)
    with torch.no_grad():
        conv.weight.zero_()
        conv.weight[:, :, 2, 2] = 1
        conv.get_parameter("bias").copy_(torch.arange(6))
    pooled = network.pool(images(2))  # type: ignore[operator]
    inner = images(2)[:, :, 2:26, 2:26]
    windows = torch.stack([inner[:, :, i::2, j::2] for i in (0, 1) for j in (0, 1)])
    expected = windows.amax(0) + torch.arange(6)[:, None, None]
    torch.testing.assert_close(pooled, expected)


def test_hooks_of_the_first_layer_are_called():
    fused, plain = both()
    seen = []
    conv = first(fused)
    handle = conv.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    assert torch.equal(fused(images(2)), plain(images(2)))
    handle.remove()
    fused(images(2))
    assert len(seen) == 1
    for register in (conv.register_forward_hook, conv.register_full_backward_hook):
        handle = register(lambda *_: seen.append(None))
        fused(images(2).requires_grad_()).sum().backward()
        handle.remove()
    fused(images(2).requires_grad_()).sum().backward()
    assert len(seen) == 3


def test_replaced_first_layer_is_used():
    fused, plain = both()
    conv = first(fused)
    conv.forward = lambda input: functional.conv2d(input, 2 * conv.weight, conv.bias)
    with torch.no_grad():
        first(plain).weight.mul_(2)
    assert torch.equal(fused(images(2)), plain(images(2)))
    del conv.forward

    class Doubled(nn.Conv2d):
        def forward(self, input):
            return 2 * super().forward(input)

    fused, plain = both()
    fused.conv1 = Doubled(1, 6, 5)
    fused.conv1.load_state_dict(first(plain).state_dict())
    with torch.no_grad():
        for value in first(plain).parameters():
            value.mul_(2)
    torch.testing.assert_close(fused(images(2)), plain(images(2)))


def test_per_image_gradients_and_second_derivatives_work():
    """Methods that weight parameters need them; a custom backward function would not provide them."""
    fused, plain = both((2, 3, 4, 5))

    def each(network):
        values = {name: value.detach() for name, value in network.named_parameters()}

        def loss(values, image):
            return torch.func.functional_call(network, values, (image[None],)).square().sum()

        return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(values, images(4))

    for name, value in each(fused).items():
        torch.testing.assert_close(value, each(plain)[name], rtol=1e-4, atol=1e-6)

    def twice(network):
        parameters = list(network.parameters())
        once = torch.autograd.grad(network(images(3)).square().sum(), parameters, create_graph=True)
        return torch.autograd.grad(torch.stack([g.square().sum() for g in once]).sum(), parameters[:1])[0]

    torch.testing.assert_close(twice(fused), twice(plain), rtol=1e-3, atol=1e-5)


def test_key_depends_on_the_version_of_the_network():
    """Training amplifies rounding: another way to compute the same function gives other results."""
    node, settings = prefix_tree([["0"]], seed=0)[1], Experiment(architecture=FiveLayers((2, 3, 4, 5))).describe()
    older = settings | {"architecture": {k: v for k, v in settings["architecture"].items() if k != "version"}}
    assert settings["architecture"]["version"] == FiveLayers().version
    assert node.key(settings) != node.key(older)
