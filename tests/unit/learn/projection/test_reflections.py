"""Products by Householder reflections against the orthogonal matrix itself."""

import pytest
import torch
from dense_layers import OUT, M, layer, orthogonal, random

from ebbing.learn.projection._parametrization import RotatedWeight
from ebbing.learn.projection._reflections import Reflections
from ebbing.learn.projection.subspaces import orthogonal_complement

AXES = torch.eye(12, dtype=torch.float64)
BASES = {
    "one": orthogonal(40)[:, :1],
    "some": orthogonal(40)[:, :9],
    "all": orthogonal(9),
    "many": orthogonal(200)[:, :50],
    "axes": AXES[:, [0, 5, 2]],  # the first reflection is the identity
    "opposite axes": -AXES[:, :2],
}


@pytest.mark.parametrize("name", BASES)
def test_reflections_equal_the_orthogonal_matrix(name):
    d, m = BASES[name].shape
    order = torch.arange(m).flip(0)
    U = torch.cat([BASES[name][:, order], orthogonal_complement(BASES[name])], dim=1)
    reflections, x = Reflections(BASES[name], order), random(7, d, seed=1)
    torch.testing.assert_close(reflections.rotate(x), x @ U, rtol=0, atol=1e-13)
    torch.testing.assert_close(reflections.rotate_back(x), x @ U.T, rtol=0, atol=1e-13)


@pytest.mark.parametrize("scaled", [True, False])
def test_layer_is_the_same_with_and_without_reflections(scaled):
    (_, _, trusted, _), d = layer(2), 4 * M
    weight, basis = random(OUT, d), orthogonal(d)[:, :M]
    by_reflections, by_matrix = (RotatedWeight(weight, basis, trusted, scaled=scaled) for _ in range(2))
    assert by_reflections._reflections is not None
    by_matrix._reflections = None
    inputs = random(5, d, seed=1).requires_grad_()
    outputs, expected = by_reflections.linear(inputs), by_matrix.linear(inputs)
    torch.testing.assert_close(outputs, expected, rtol=0, atol=1e-12)
    found = torch.autograd.grad(outputs.square().sum(), [inputs, by_reflections.active])
    wanted = torch.autograd.grad(expected.square().sum(), [inputs, by_matrix.active])
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
