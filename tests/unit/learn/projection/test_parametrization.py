"""Parametrizations of a layer against a dense reference: every form takes its steps, and protected parts stay."""

import pytest
import torch
from dense_layers import (
    CLOSE,
    FACTORS,
    OUT,
    SPANS,
    D,
    Dense,
    batch,
    by_inputs,
    by_weights,
    layer,
    orthogonal,
    random,
    with_unprotected,
)
from torch import nn
from torch.nn import functional

from ebbing.learn.projection._authors_variant import AuthorsWeight, ExplicitScaling
from ebbing.learn.projection._layers import Layer
from ebbing.learn.projection._parametrization import RotatedWeight
from ebbing.learn.projection._task_updates import Subspace, TaskUpdate, TrustedTask
from ebbing.learn.projection.subspaces import orthogonal_complement

pytestmark = pytest.mark.usefixtures("quietly")


# One layer


@pytest.mark.parametrize("apply", [by_inputs, by_weights])
@pytest.mark.parametrize("kind", [RotatedWeight, AuthorsWeight, ExplicitScaling])
@pytest.mark.parametrize("tasks", [0, 1, 2, 3])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_every_form_takes_the_dense_steps(apply, kind, tasks, momentum):
    weight, basis, trusted, dense_trusted = layer(tasks)
    parametrization, dense = kind(weight, basis, trusted), Dense(weight, basis, dense_trusted)
    optimizer = torch.optim.SGD(parametrization.parameters(), 0.1, momentum)
    for step in range(6):
        inputs, labels = batch(step)
        functional.cross_entropy(apply(parametrization, inputs), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
        dense.step(functional.cross_entropy(inputs @ dense.effective_weight().T, labels), 0.1, momentum)
        torch.testing.assert_close(parametrization.effective_weight(), dense.effective_weight(), rtol=0, atol=CLOSE)
    assert (dense.effective_weight() - weight).abs().max() > 0.01
    assert parametrization.rotates_weight(10_000)  # as layers ask
    shared, update = parametrization.finish()
    torch.testing.assert_close(shared, dense.weight.detach(), rtol=0, atol=CLOSE)
    torch.testing.assert_close(update.apply(shared, basis), dense.effective_weight().detach(), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("kind", [RotatedWeight, AuthorsWeight, ExplicitScaling])
@pytest.mark.parametrize(("m", "tasks"), [(0, 0), (D, 0), (D, 2), (1, 1), (D - 1, 3)])
def test_steps_with_nothing_protected_or_nothing_free(kind, m, tasks):
    spans = [[0, 1, 2, 6, 8], [7, 1], [2, 3]]
    weight, basis, trusted, dense_trusted = layer(tasks, m, spans=spans)
    parametrization, dense = kind(weight, basis, trusted), Dense(weight, basis, dense_trusted)
    for step in range(4):
        inputs, labels = batch(step)
        loss = functional.cross_entropy(parametrization.linear(inputs), labels)
        gradients = torch.autograd.grad(loss, parametrization.parameters())
        with torch.no_grad():
            for value, gradient in zip(parametrization.parameters(), gradients, strict=True):
                value.sub_(0.1 * gradient)
        dense.step(functional.cross_entropy(inputs @ dense.effective_weight().T, labels), 0.1)
    torch.testing.assert_close(parametrization.effective_weight(), dense.effective_weight(), rtol=0, atol=CLOSE)
    trainable = m < D or tasks > 0
    assert bool((parametrization.effective_weight() - weight).abs().max() > 0.01) == trainable
    shared, update = parametrization.finish()
    torch.testing.assert_close(update.apply(shared, basis), dense.effective_weight().detach(), rtol=0, atol=CLOSE)
    if m == D:
        torch.testing.assert_close(shared, weight, rtol=0, atol=1e-14)


@pytest.mark.parametrize("apply", [by_inputs, by_weights])
@pytest.mark.parametrize("kind", [AuthorsWeight, ExplicitScaling])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_unprotected_directions_take_the_dense_steps(apply, kind, momentum):
    """As in the authors' code: W is trained in these directions, and scaled there as well."""
    weight, basis, trusted, _ = layer(2)
    trusted, outside = with_unprotected(trusted, basis)
    dense_trusted = [
        (torch.cat([basis[:, t.subspace.columns], t.subspace.unprotected], dim=1), t.weight) for t in trusted
    ]
    parametrization, dense = kind(weight, basis, trusted), Dense(weight, basis, dense_trusted)
    optimizer = torch.optim.SGD(parametrization.parameters(), 0.1, momentum)
    for step in range(6):
        inputs, labels = batch(step)
        functional.cross_entropy(apply(parametrization, inputs), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
        dense.step(functional.cross_entropy(inputs @ dense.effective_weight().T, labels), 0.1, momentum)
    torch.testing.assert_close(parametrization.effective_weight(), dense.effective_weight(), rtol=0, atol=CLOSE)
    shared, update = parametrization.finish()
    assert (shared @ outside - weight @ outside).abs().max() > 0.01
    torch.testing.assert_close(update.apply(shared, basis), dense.effective_weight().detach(), rtol=0, atol=CLOSE)


def test_lambda_equals_its_square_on_the_rate_of_Q():
    """With plain steps from Q = I, lambda multiplies the learning rate of Q by lambda^2."""
    weight, basis, _, dense_trusted = layer(2)
    weighted = Dense(weight, basis, dense_trusted)
    rated = Dense(weight, basis, [(S, 1.0) for S, _ in dense_trusted])
    same = Dense(weight, basis, [(S, 1.0) for S, _ in dense_trusted])
    for step in range(6):
        inputs, labels = batch(step)
        for dense, rates in ((weighted, None), (rated, [0.1 * factor**2 for factor in FACTORS[:2]]), (same, None)):
            dense.step(functional.cross_entropy(inputs @ dense.effective_weight().T, labels), 0.1, scaling_rates=rates)
    torch.testing.assert_close(weighted.effective_weight(), rated.effective_weight(), rtol=0, atol=CLOSE)
    assert (weighted.effective_weight() - same.effective_weight()).abs().max() > 1e-3


@pytest.mark.parametrize("kind", [RotatedWeight, AuthorsWeight, ExplicitScaling])
@pytest.mark.parametrize(
    "optimizer",
    [
        lambda values: torch.optim.Adam(values, 0.05, weight_decay=0.1),
        lambda values: torch.optim.AdamW(values, 0.05, weight_decay=0.1),
        lambda values: torch.optim.SGD(values, 0.1, 0.9, weight_decay=0.1, nesterov=True),
    ],
)
def test_protected_directions_stay_for_any_optimizer(kind, optimizer):
    weight, basis, trusted, dense_trusted = layer(2)
    parametrization = kind(weight, basis, trusted)
    frozen = parametrization.frozen.clone()
    steps = optimizer(parametrization.parameters())
    for step in range(6):
        inputs, labels = batch(step)
        functional.cross_entropy(parametrization.linear(inputs), labels).backward()
        steps.step()
        steps.zero_grad()
    assert torch.equal(parametrization.frozen, frozen)
    during = parametrization.effective_weight().detach()
    shared, update = parametrization.finish()
    torch.testing.assert_close(shared @ basis, weight @ basis, rtol=0, atol=1e-13)
    torch.testing.assert_close(update.apply(shared, basis), during, rtol=0, atol=CLOSE)
    torch.testing.assert_close(during @ basis[:, [5]], weight @ basis[:, [5]], rtol=0, atol=1e-13)
    assert (shared - weight).abs().max() > 0.05
    assert all((during @ S - weight @ S).abs().max() > 0.01 for S, _ in dense_trusted)


def test_orthogonal_complement_completes_a_basis():
    for m in (1, 5, D):
        basis = orthogonal(D)[:, :m]
        whole = torch.cat([basis, orthogonal_complement(basis)], dim=1)
        torch.testing.assert_close(whole.T @ whole, torch.eye(D, dtype=torch.float64), rtol=0, atol=1e-13)


def test_empty_update_leaves_the_weight_unchanged():
    weight, basis, _, _ = layer(0)
    nothing = TaskUpdate(torch.zeros(0, dtype=torch.long), torch.zeros(0, OUT, dtype=torch.float64))
    assert torch.equal(nothing.apply(weight, basis), weight)


# Free updates


@pytest.mark.parametrize("apply", [by_inputs, by_weights])
@pytest.mark.parametrize("tasks", [0, 1, 3])
def test_free_form_takes_plain_steps_outside_of_frozen(apply, tasks):
    """Steps use G times the projector on trusted and unprotected directions; shared weights change in the latter."""
    weight, basis, trusted, _ = layer(tasks)
    parametrization = RotatedWeight(weight, basis, trusted, scaled=False)
    union = sorted({column for span in SPANS[:tasks] for column in span})
    unprotected = torch.eye(D, dtype=torch.float64) - basis @ basis.T
    allowed = unprotected + basis[:, union] @ basis[:, union].T
    dense = weight.clone().requires_grad_()
    optimizer = torch.optim.SGD(parametrization.parameters(), 0.1)
    for step in range(5):
        inputs, labels = batch(step)
        functional.cross_entropy(apply(parametrization, inputs), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
        (gradient,) = torch.autograd.grad(functional.cross_entropy(inputs @ dense.T, labels), dense)
        with torch.no_grad():
            dense -= 0.1 * gradient @ allowed
        torch.testing.assert_close(parametrization.effective_weight().detach(), dense.detach(), rtol=0, atol=CLOSE)
    shared, update = parametrization.finish()
    expected = weight + (dense.detach() - weight) @ unprotected
    torch.testing.assert_close(shared, expected, rtol=0, atol=CLOSE)
    torch.testing.assert_close(update.apply(shared, basis), dense.detach(), rtol=0, atol=CLOSE)
    assert sorted(update.columns.tolist()) == union


# A convolution, by im2col


@pytest.mark.parametrize("kind", ["scaled", "authors"])
@pytest.mark.parametrize("groups", [1, 2])
def test_convolution_takes_the_steps_of_its_dense_form(kind, groups):
    torch.manual_seed(0)
    module = nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=groups, bias=False, dtype=torch.float64)
    conv = Layer("conv", module)
    d, out = 36 // groups, 6 // groups
    trusted, references = [], []
    for number, (block, weight) in enumerate(zip(conv.blocks, conv.weights, strict=True)):
        block.basis = orthogonal(d, seed=number)[:, : d // 2]
        spans = [torch.tensor([0, 2]), torch.tensor([2, 5, 1])]
        block_trusted = [TrustedTask(j, Subspace(span, block.basis[:, :0]), FACTORS[j]) for j, span in enumerate(spans)]
        trusted.append(block_trusted)
        dense_trusted = [(block.basis[:, span], factor) for span, factor in zip(spans, FACTORS[:2], strict=True)]
        references.append(Dense(weight, block.basis, dense_trusted))
    optimizer = torch.optim.SGD(conv.parametrize(trusted, kind), 0.05)
    for step in range(4):
        images, target = random(3, 4, 6, 6, seed=step), random(3, 6, 3, 3, seed=step + 50)
        found = module(images)
        (found * target).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        patches = functional.unfold(images, 3, padding=1, stride=2)  # (images, channels * 9, places)
        for g, dense in enumerate(references):
            product = dense.effective_weight() @ patches[:, g * d : (g + 1) * d]
            part = target.flatten(2)[:, g * out : (g + 1) * out]
            torch.testing.assert_close(found.flatten(2)[:, g * out : (g + 1) * out], product, rtol=0, atol=CLOSE)
            dense.step((product * part).sum(), 0.05)
    conv.finish()
    shared = torch.cat([dense.weight.detach() for dense in references])
    torch.testing.assert_close(module.weight.detach().flatten(1), shared, rtol=0, atol=CLOSE)
    for block, weight, dense in zip(conv.blocks, conv.weights, references, strict=True):
        torch.testing.assert_close(
            block.effective_weight(weight, 0), dense.effective_weight().detach(), rtol=0, atol=CLOSE
        )
