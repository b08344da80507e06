"""The parametrization of all groups of a convolution, against that of each group alone."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from ebbing.learn import Schedule, Threshold, Trgp, TrgpFree
from ebbing.learn.projection._grouped_parametrization import GroupedRotatedWeight
from ebbing.learn.projection._parametrization import RotatedWeight
from ebbing.learn.projection._task_updates import Subspace, TrustedTask

OUT, D = 3, 7
CLOSE = 1e-12


def random(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def groups():
    """Return the weights, bases and trusted tasks of groups with nothing to everything protected, and 0 to 2 tasks."""
    ranks, spans = [0, 4, 4, 6, 7], [[], [[0, 2], [2, 3, 1]], [], [[5, 0]], [[0, 1, 2, 3], [4, 6]]]
    weights = [random(OUT, D, seed=g) for g in range(len(ranks))]
    bases = [torch.linalg.qr(random(D, D, seed=10 + g)).Q[:, :rank] for g, rank in enumerate(ranks)]
    trusted = [
        [TrustedTask(j, Subspace(torch.tensor(span), basis[:, :0]), (1.2, 0.8)[j]) for j, span in enumerate(of_group)]
        for of_group, basis in zip(spans, bases, strict=True)
    ]
    return weights, bases, trusted


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_grouped_steps_equal_those_of_single_groups(scaled, momentum):
    weights, bases, trusted = groups()
    together = GroupedRotatedWeight(weights, bases, trusted, scaled=scaled)
    alone = [RotatedWeight(*group, scaled=scaled) for group in zip(weights, bases, trusted, strict=True)]
    optimizers = [
        torch.optim.SGD(together.parameters(), 0.05, momentum),
        torch.optim.SGD([parameter for one in alone for parameter in one.parameters()], 0.05, momentum),
    ]
    assert not together.changed
    for step in range(5):
        inputs, target = random(len(weights), D, 8, seed=20 + step), random(len(weights) * OUT, 8, seed=30 + step)
        for optimizer, W in zip(
            optimizers, (together.effective_weight(), torch.cat([one.effective_weight() for one in alone])), strict=True
        ):
            outputs = (W.view(len(weights), OUT, D) @ inputs).flatten(0, 1)
            optimizer.zero_grad()
            ((outputs - target) ** 2).mean().backward()
            optimizer.step()
        expected = torch.cat([one.effective_weight() for one in alone])
        torch.testing.assert_close(together.effective_weight(), expected, rtol=0, atol=CLOSE)
    assert together.changed
    for (weight, update), one, basis in zip(together.finish_groups(), alone, bases, strict=True):
        shared, expected_update = one.finish()
        torch.testing.assert_close(weight, shared, rtol=0, atol=CLOSE)
        assert update.columns.tolist() == sorted(expected_update.columns.tolist())
        torch.testing.assert_close(
            update.apply(weight, basis), expected_update.apply(shared, basis), rtol=0, atol=CLOSE
        )


def test_grouped_parameter_excludes_frozen_rows():
    weights, bases, trusted = groups()
    free, trusted_rows = sum(D - basis.shape[1] for basis in bases), 4 + 2 + 6
    assert GroupedRotatedWeight(weights, bases, trusted).active.shape == (free + trusted_rows, OUT)


def test_grouped_first_task_is_plain_training_exactly():
    """Without protected directions nothing is rotated, so nothing is rounded."""
    weights = [random(OUT, D, seed=g) for g in range(4)]
    nothing = [weight.new_zeros(D, 0) for weight in weights]
    grouped = GroupedRotatedWeight(weights, nothing, [[] for _ in weights])
    assert torch.equal(grouped.effective_weight(), torch.cat(weights))
    assert all(
        torch.equal(shared, weight) for (shared, _), weight in zip(grouped.finish_groups(), weights, strict=True)
    )


def test_grouped_second_derivatives_equal_single_groups():
    weights, bases, trusted = groups()
    inputs = random(len(weights), D, 8, seed=1)

    def of_penalty(parametrizations):
        W = torch.cat([one.effective_weight() for one in parametrizations]).view(len(weights), OUT, D)
        parameters = [parameter for one in parametrizations for parameter in one.parameters()]
        outputs = torch.tanh(W @ inputs).square().sum()
        first = torch.autograd.grad(outputs, parameters, create_graph=True)
        penalty = torch.stack([gradient.square().sum() for gradient in first]).sum()
        found = torch.autograd.grad(penalty, parameters)
        return [gradient.norm() for gradient in found]

    alone = of_penalty([RotatedWeight(*group) for group in zip(weights, bases, trusted, strict=True)])
    (together,) = of_penalty([GroupedRotatedWeight(weights, bases, trusted)])
    torch.testing.assert_close(together, torch.stack(alone).norm(), rtol=1e-12, atol=0)


class Depthwise(nn.Module):
    """A depthwise convolution with two outputs for each of twelve channels, between a plain one and a head."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(2, 12, 1, bias=False, dtype=torch.float64)
        self.deep = nn.Conv2d(12, 24, 3, groups=12, padding=1, dtype=torch.float64)
        self.head = nn.Linear(24, 2, bias=False, dtype=torch.float64)

    def forward(self, images):
        return self.head(functional.relu(self.deep(self.first(images).tanh())).mean((2, 3)))


@pytest.mark.parametrize("method", [Trgp, TrgpFree])
def test_depthwise_convolution_keeps_old_outputs(method):
    """With all directions protected, old outputs stay, and a new task changes its weights in trusted directions."""
    torch.manual_seed(0)
    schedule = Schedule(learning_rate=0.3, epochs=6, batch_size=20)
    learner = method(schedule, Threshold(1.0), num_examples=60, per_task=("head",)).start(Depthwise())
    images = {name: random(60, 2, 6, 6, seed=seed) for seed, name in enumerate("ab")}
    labels = {name: (i.mean((1, 2, 3)) > 0).long() for name, i in images.items()}
    learner.learn("a", (images["a"], labels["a"]))
    before = learner.outputs("a", images["a"])
    with learner.task("b", (images["b"], labels["b"])) as parameters:
        assert "deep.weight" in parameters.named
        optimizer = torch.optim.Adam(parameters, 0.01)
        for _ in range(20):
            optimizer.zero_grad()
            functional.cross_entropy(learner.network(images["b"]), labels["b"]).backward()
            optimizer.step()
    after = learner.outputs("a", images["a"])
    torch.testing.assert_close(after, before, rtol=0, atol=1e-10)
    assert learner.trusted[1]["deep"] == ["a"]
    assert all(block.updates[1].rows.any() for block in learner.layers[1].blocks)
