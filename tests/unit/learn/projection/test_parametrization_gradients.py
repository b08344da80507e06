"""Gradients of a parametrized layer: of inputs and parameters, rotated, scaled, and second derivatives."""

import pytest
import torch
from dense_layers import CLOSE, D, M, batch, by_inputs, by_weights, layer, orthogonal, random, with_unprotected
from torch.nn import functional

from ebbing.learn.projection._authors_variant import AuthorsWeight, ExplicitScaling
from ebbing.learn.projection._parametrization import RotatedWeight
from ebbing.learn.projection._task_updates import Subspace, TrustedTask
from ebbing.learn.projection.subspaces import orthogonal_complement

pytestmark = pytest.mark.usefixtures("quietly")


@pytest.mark.parametrize("kind", [RotatedWeight, AuthorsWeight, ExplicitScaling])
@pytest.mark.parametrize("tasks", [0, 2])
@pytest.mark.parametrize("m", [0, M, D])
def test_input_gradients_equal_finite_differences(kind, tasks, m):
    weight, basis, trusted, _ = layer(tasks if m else 0, m)
    parametrization = kind(weight, basis, trusted)
    with torch.no_grad():
        for number, value in enumerate(parametrization.parameters()):
            value.add_(0.3 * random(*value.shape, seed=number + 30))
    inputs = random(3, D, seed=8).requires_grad_()
    assert torch.autograd.gradcheck(parametrization.linear, (inputs,), atol=1e-8, rtol=0)
    torch.testing.assert_close(parametrization.linear(inputs), by_weights(parametrization, inputs), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("apply", [by_inputs, by_weights])
@pytest.mark.parametrize(("out", "factored"), [(3, False), (40, True)])
def test_fast_form_scales_the_gradient(apply, out, factored):
    """(2): in a column of a trusted subspace lambda^2 K G, K = (W S)(W S)'; as a factor where that is cheaper."""
    basis = orthogonal(D, seed=2)[:, :4]
    weight = random(out, D, seed=1)
    trusted = [TrustedTask(0, Subspace(torch.tensor([3, 1]), basis[:, :0]), 0.7)]
    parametrization = RotatedWeight(weight, basis, trusted)
    assert parametrization.gradient_scaling is not None
    assert (parametrization.gradient_scaling.matrices is None) == factored
    inputs, target = random(3, D, seed=3), random(3, out, seed=4)
    (found,) = torch.autograd.grad((apply(parametrization, inputs) * target).sum(), parametrization.parameters())
    G, S = target.T @ inputs, basis[:, [1, 3]]  # columns with equal scaling keep the order of the basis
    inside = 0.49 * (weight @ S) @ (weight @ S).T @ G @ S
    assert parametrization.columns.tolist() == [1, 3]
    torch.testing.assert_close(found[:2], inside.T, rtol=0, atol=1e-11)
    torch.testing.assert_close(found[2:], (G @ orthogonal_complement(basis)).T, rtol=0, atol=1e-11)


@pytest.mark.parametrize("kind", [RotatedWeight, AuthorsWeight, ExplicitScaling])
def test_rotated_inputs_give_the_same(kind):
    weight, basis, trusted, _ = layer(2)
    parametrization, other = kind(weight, basis, trusted), kind(weight, basis, trusted)
    inputs, labels = batch(0)
    outputs, same = parametrization.linear(inputs), other.linear(inputs, inputs @ other.rotation)
    assert torch.equal(outputs, same)
    pairs = ((outputs, parametrization), (same, other))
    found, expected = (torch.autograd.grad(functional.cross_entropy(out, labels), of.parameters()) for out, of in pairs)
    for gradient, wanted in zip(found, expected, strict=True):
        assert torch.equal(gradient, wanted)


@pytest.mark.parametrize("kind", [RotatedWeight, AuthorsWeight])
@pytest.mark.parametrize("trusted_tasks", [0, 1, 2])
@pytest.mark.parametrize("m", [0, M])
def test_second_derivatives_equal_those_of_the_weights(kind, trusted_tasks, m):
    """A penalty on the input gradient gives the same through `linear` and through the effective weight."""
    weight, basis, trusted, _ = layer(trusted_tasks if m else 0, m)
    if kind is AuthorsWeight:
        trusted, _ = with_unprotected(trusted, basis)
    found = []
    for way in ("rows", "weights"):
        parametrization = kind(weight, basis, trusted)
        with torch.no_grad():
            for number, value in enumerate(parametrization.parameters()):
                value.add_(0.3 * random(*value.shape, seed=number + 30))
        inputs = random(3, D, seed=8).requires_grad_()
        outputs = parametrization.linear(inputs) if way == "rows" else inputs @ parametrization.effective_weight().T
        (slope,) = torch.autograd.grad(outputs.tanh().sum(), inputs, create_graph=True)
        found.append(torch.autograd.grad(outputs.square().mean() + slope.square().sum(), parametrization.parameters()))
    for by_rows, by_effective in zip(*found, strict=True):
        torch.testing.assert_close(by_rows, by_effective, rtol=0, atol=CLOSE)
    assert found[0][0].abs().max() > 0.01


@pytest.mark.parametrize("m", [0, M, D])
def test_parameter_data_may_be_replaced(m):
    """After `parameter.data = ...` outputs use the new values."""
    weight, basis, trusted, _ = layer(2 if m else 0, m)
    parametrization = RotatedWeight(weight, basis, trusted)
    parametrization.active.data = parametrization.active.data + 0.1
    inputs = random(3, D, seed=8).requires_grad_()
    found, expected = parametrization.linear(inputs), by_weights(parametrization, inputs)
    torch.testing.assert_close(found, expected, rtol=0, atol=CLOSE)
    gradients = [torch.autograd.grad(outputs.square().sum(), inputs)[0] for outputs in (found, expected)]
    torch.testing.assert_close(*gradients, rtol=0, atol=CLOSE)
    assert (expected - inputs @ weight.T).abs().max() > 0.01
