"""The small AlexNet of Table 1, against the same network written layer by layer."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from ebbing.learn.networks import Dropout, SmallAlexNet

pytestmark = pytest.mark.usefixtures("quietly")


class Masked(nn.Module):
    """Dropout with a given mask."""

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
    """One mask for every dropout layer, drawn in its first call."""
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


def test_relu_and_pooling_commute_in_evaluation(alexnet):
    alexnet.eval()
    images = torch.randn(4, 3, 32, 32, dtype=torch.float64)
    nothing = [torch.ones_like] * 5
    with torch.no_grad():
        torch.testing.assert_close(alexnet(images, task=1), textbook(alexnet, images, 1, nothing), rtol=0, atol=1e-10)
        assert (alexnet(images, task=1) - alexnet(images, task=2)).abs().max() > 0.01


def test_relu_dropout_and_pooling_commute_in_training(alexnet):
    """The same masks give the same outputs and gradients."""
    alexnet.train()
    masks = given_masks()
    places = [number for number, module in enumerate(alexnet.body) if isinstance(module, Dropout)]
    shares = [alexnet.body[number].p for number in places]
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


def test_small_alexnet_has_the_expected_sizes(alexnet):
    shapes = [tuple(parameter.shape) for parameter in alexnet.parameters() if parameter.ndim > 1]
    convolutions = [(64, 3, 4, 4), (128, 64, 3, 3), (256, 128, 2, 2)]
    assert shapes == [*convolutions, (2048, 1024), (2048, 2048), *[(4, 2048)] * 3]
    assert not list(alexnet.buffers())
    assert not any(name.endswith("bias") for name, p in alexnet.named_parameters() if "heads" in name)


@pytest.mark.parametrize("task", [-1, 3])
def test_task_without_a_head_raises(alexnet, task):
    with pytest.raises(ValueError, match=rf"task {task} \(from 0\): the network has 3 heads; build it with more"):
        alexnet(torch.zeros(2, 3, 32, 32, dtype=torch.float64), task=task)


def test_narrower_network_has_every_layer_narrower():
    network = SmallAlexNet(width=0.25).build(seed=0)
    shapes = [tuple(value.shape[:2]) for value in network.parameters() if value.ndim > 1][:6]
    assert shapes == [(16, 3), (32, 16), (64, 32), (512, 256), (512, 512), (10, 512)]
    assert network(torch.zeros(3, 3, 32, 32), task=9).shape == (3, 10)
    with pytest.raises(ValueError, match="width=0: give a multiple of the published width"):
        SmallAlexNet(width=0)


def test_published_width_keeps_the_key_of_stored_results():
    assert SmallAlexNet().settings() == {"tasks": 10, "classes": 10}
    assert SmallAlexNet(width=0.5).settings() == {"tasks": 10, "classes": 10, "width": 0.5}
