"""Dropout: its probability, its independence, and its gradients."""

import math

import pytest
import torch

from ebbing.learn.networks import Dropout

Z = 4.0
"""Standard errors within which a share must lie: random deviations are larger once in 16,000 times."""


pytestmark = pytest.mark.usefixtures("quietly")


def z_score(kept, share):
    """The z-score of the share of ones among independent values that are 1 with probability 1 - share."""
    n = kept.numel()
    return (float(kept.double().mean()) - (1 - share)) / math.sqrt(share * (1 - share) / n)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_dropout_keeps_a_share_and_scales_it_up(share):
    torch.manual_seed(0)
    values = torch.rand(400, 501) + 0.5  # 200,400: not a multiple of 4 in a row
    found = Dropout(share)(values)
    kept = found != 0
    torch.testing.assert_close(found[kept], values[kept] / (1 - share))
    assert abs(z_score(kept, share)) < Z
    assert abs(z_score(kept, share + 0.01)) > Z  # the test has power
    assert abs(z_score(kept[:, ::4], share)) < Z  # each of the four from one number drawn
    assert abs(z_score(kept[:, 1::4], share)) < Z
    together = kept[:, :-1] == kept[:, 1:]  # neighbors are independent
    assert abs(z_score(together, 1 - (share**2 + (1 - share) ** 2))) < 2 * Z


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_dropout_is_independent_per_value_in_any_layout(layout):
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
def test_dropout_accepts_few_values(shape):
    found = Dropout(0.5)(torch.ones(shape))
    assert found.shape == shape
    assert set(found.flatten().tolist()) <= {0.0, 2.0}


def test_dropout_accepts_slices_and_empty_tensors():
    torch.manual_seed(0)
    values = torch.rand(40, 60)[:, ::2] + 1
    found = Dropout(0.5)(values)
    assert abs(z_score(found != 0, 0.5)) < Z
    torch.testing.assert_close(found[found != 0], 2 * values[found != 0])
    assert Dropout(0.0)(values) is values
    assert Dropout(0.5).eval()(values) is values


def test_dropout_depends_on_the_seed_only():
    masks = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        masks.append(Dropout(0.5)(torch.ones(50)))
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0], masks[2])
