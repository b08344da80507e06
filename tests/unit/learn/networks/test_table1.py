"""The networks of Table 1, and their dropout."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from ebbing.learn.networks.table1 import MLP, Dropout, SmallAlexNet

Z = 4.0
"""Standard errors within which a share must lie: chance alone leaves them once in 16,000."""


pytestmark = pytest.mark.usefixtures("quietly")


def z_score(kept, share):
    """Of the share of ones among values that are 1 with probability 1 - share, independently."""
    n = kept.numel()
    return (float(kept.double().mean()) - (1 - share)) / math.sqrt(share * (1 - share) / n)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_dropout_keeps_its_share_and_scales_up(share):
    torch.manual_seed(0)
    values = torch.rand(400, 501) + 0.5  # 200,400: not a multiple of 4 in a row
    found = Dropout(share)(values)
    kept = found != 0
    torch.testing.assert_close(found[kept], values[kept] / (1 - share))
    assert abs(z_score(kept, share)) < Z
    assert abs(z_score(kept, share + 0.01)) > Z  # so far away it would be seen
    assert abs(z_score(kept[:, ::4], share)) < Z  # each of the four from one number drawn
    assert abs(z_score(kept[:, 1::4], share)) < Z
    together = kept[:, :-1] == kept[:, 1:]  # neighbors are independent
    assert abs(z_score(together, 1 - (share**2 + (1 - share) ** 2))) < 2 * Z


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_dropout_of_every_layout_drops_each_value_for_itself(layout):
    torch.manual_seed(0)
    values = (torch.rand(8, 6, 5, 7) + 1).contiguous(memory_format=layout).requires_grad_()
    found = Dropout(0.5)(values)
    kept = found != 0
    assert found.stride() == values.stride()
    assert abs(z_score(kept, 0.5)) < Z
    torch.testing.assert_close(found, torch.where(kept, 2 * values, 0.0))
    found.sum().backward()
    torch.testing.assert_close(values.grad, 2.0 * kept)
    for axis in range(4):
        assert kept.double().mean(dim=[other for other in range(4) if other != axis]).std() > 0.01


@pytest.mark.parametrize("shape", [(1,), (3,), (5, 1), (0, 4), (2, 3, 1)])
def test_dropout_of_few_values(shape):
    found = Dropout(0.5)(torch.ones(shape))
    assert found.shape == shape
    assert set(found.flatten().tolist()) <= {0.0, 2.0}


def test_dropout_of_slices_and_of_nothing():
    torch.manual_seed(0)
    values = torch.rand(40, 60)[:, ::2] + 1
    found = Dropout(0.5)(values)
    assert abs(z_score(found != 0, 0.5)) < Z
    torch.testing.assert_close(found[found != 0], 2 * values[found != 0])
    assert Dropout(0.0)(values) is values
    assert Dropout(0.5).eval()(values) is values


def test_dropout_is_determined_by_the_seed():
    masks = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        masks.append(Dropout(0.5)(torch.ones(50)))
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0], masks[2])


# Perceptrons


def test_a_perceptron_is_relu_between_matrices():
    network = MLP((6, 5, 4, 3)).build(seed=1)
    weights = list(network.parameters())
    assert [tuple(weight.shape) for weight in weights] == [(5, 6), (4, 5), (3, 4)]
    images = torch.randn(7, 2, 3)
    x = images.flatten(1)
    expected = ((x @ weights[0].T).relu() @ weights[1].T).relu() @ weights[2].T
    torch.testing.assert_close(network(images), expected)
    assert (expected < 0).any()  # no ReLU at the end


@pytest.mark.parametrize("architecture", [MLP((6, 5, 3)), SmallAlexNet(2, 3)])
def test_networks_are_determined_by_their_seed(architecture):
    before = torch.get_rng_state()
    one, same, other = (architecture.build(seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(value, same[name]) for name, value in one.items())
    assert any(not torch.equal(value, other[name]) for name, value in one.items())


@pytest.mark.parametrize("widths", [(), (5,), (5, 0), (5, 2.5)])
def test_widths_that_make_no_network(widths):
    with pytest.raises(ValueError, match="width"):
        MLP(widths)


# The small AlexNet


class Masked(nn.Module):
    """Dropout by a mask given beforehand."""

    def __init__(self, masks):
        super().__init__()
        self.masks = masks

    def forward(self, values):
        return values * self.masks(values)


def textbook(network, images, task, masks):
    """Convolution, batch norm, ReLU, dropout, pooling; then linear, batch norm, ReLU, dropout; then the head."""
    body = list(network.body)
    norms = [module for module in body if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d)]
    x = images
    for number, module in enumerate(m for m in body if isinstance(m, nn.Conv2d | nn.Linear)):
        x = x.flatten(1) if isinstance(module, nn.Linear) else x
        x = module(x)
        x = functional.batch_norm(x, None, None, norms[number].weight, norms[number].bias, training=True)
        x = x.relu() * masks[number](x)
        x = functional.max_pool2d(x, 2) if isinstance(module, nn.Conv2d) else x
    return x @ network.heads[task].weight.T


def given_masks():
    """One for every dropout, drawn at the first call."""
    kept = [{} for _ in range(5)]

    def mask_of(number):
        def mask(values):
            if "mask" not in kept[number]:
                generator = torch.Generator().manual_seed(number)
                kept[number]["mask"] = 2.0 * torch.randint(0, 2, values.shape, generator=generator).to(values.dtype)
            return kept[number]["mask"]

        return mask

    return [mask_of(number) for number in range(5)]


@pytest.fixture(scope="module")
def alexnet():
    network = SmallAlexNet(3, 4).build(seed=0).double()
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
                module.weight.copy_(torch.rand(module.num_features) - 0.3)  # of both signs
                module.bias.copy_(torch.rand(module.num_features) - 0.5)
    return network


def test_the_order_of_relu_and_pooling_makes_no_difference_at_test(alexnet):
    alexnet.eval()
    images = torch.randn(4, 3, 32, 32, dtype=torch.float64)
    nothing = [torch.ones_like] * 5
    with torch.no_grad():
        torch.testing.assert_close(alexnet(images, task=1), textbook(alexnet, images, 1, nothing), rtol=0, atol=1e-10)
        assert (alexnet(images, task=1) - alexnet(images, task=2)).abs().max() > 0.01


def test_the_order_of_relu_dropout_and_pooling_makes_no_difference_in_training(alexnet):
    """With the same masks the same outputs and gradients."""
    alexnet.train()
    masks = given_masks()
    places = [number for number, module in enumerate(alexnet.body) if isinstance(module, Dropout)]
    shares = [alexnet.body[number].share for number in places]
    assert shares == [0.2, 0.2, 0.5, 0.5, 0.5]
    originals = {number: alexnet.body[number] for number in places}
    for place, mask in zip(places, masks, strict=True):
        alexnet.body[place] = Masked(mask)
    try:
        images = torch.randn(3, 3, 32, 32, dtype=torch.float64)
        weights = [parameter for parameter in alexnet.parameters() if parameter.ndim > 1][:5]
        outputs = [alexnet(images, task=0), textbook(alexnet, images, 0, masks)]
        torch.testing.assert_close(*outputs, rtol=0, atol=1e-10)
        found, expected = (torch.autograd.grad(out.square().sum(), weights) for out in outputs)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-9 * float(other.abs().max()))
    finally:
        for number, module in originals.items():
            alexnet.body[number] = module


def test_the_sizes_of_the_small_alexnet(alexnet):
    shapes = [tuple(parameter.shape) for parameter in alexnet.parameters() if parameter.ndim > 1]
    convolutions = [(64, 3, 4, 4), (128, 64, 3, 3), (256, 128, 2, 2)]
    assert shapes == [*convolutions, (2048, 1024), (2048, 2048), *[(4, 2048)] * 3]
    assert not list(alexnet.buffers())
    assert not any(name.endswith("bias") for name, p in alexnet.named_parameters() if "heads" in name)


@pytest.mark.parametrize("task", [-1, 3])
def test_a_task_without_a_head(alexnet, task):
    with pytest.raises(ValueError, match=rf"task {task} \(from 0\): the network has heads for 3; build it with more"):
        alexnet(torch.zeros(2, 3, 32, 32, dtype=torch.float64), task=task)
