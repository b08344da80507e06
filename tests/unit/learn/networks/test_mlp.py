"""The multilayer perceptron of Table 1."""

import pytest
import torch

from ebbing.learn.networks import MLP, SmallAlexNet

pytestmark = pytest.mark.usefixtures("quietly")


def test_mlp_is_relu_between_matrices():
    network = MLP((6, 5, 4, 3)).build(seed=1)
    weights = list(network.parameters())
    assert [tuple(weight.shape) for weight in weights] == [(5, 6), (4, 5), (3, 4)]
    images = torch.randn(7, 2, 3)
    x = images.flatten(1)
    expected = ((x @ weights[0].T).relu() @ weights[1].T).relu() @ weights[2].T
    torch.testing.assert_close(network(images), expected)
    assert (expected < 0).any()  # no ReLU at the end


@pytest.mark.parametrize("architecture", [MLP((6, 5, 3)), SmallAlexNet(2, 3)])
def test_build_depends_on_the_seed_only(architecture):
    before = torch.get_rng_state()
    one, same, other = (architecture.build(seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(value, same[name]) for name, value in one.items())
    assert any(not torch.equal(value, other[name]) for name, value in one.items())


@pytest.mark.parametrize("widths", [(), (5,), (5, 0), (5, 2.5)])
def test_bad_widths_raise(widths):
    with pytest.raises(ValueError, match="width"):
        MLP(widths)
