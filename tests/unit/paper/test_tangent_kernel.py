"""The tangent kernel and what it predicts, against plain computations."""

import numpy as np
import pytest
import torch
from torch import nn
from toys import ToyTasks

from ebbing.learn import FiveLayers
from ebbing.paper import fig2
from ebbing.paper.tangent_kernel import RIDGE, Rows, predict_forgetting, tangent_kernel

SMALL = FiveLayers(widths=(2, 3, 4, 5))


def plain_gradients(network, inputs):
    """The gradient by all weights, one input after the other."""
    found = []
    for one in inputs:
        gradients = torch.autograd.grad(network(one[None]).sum(), list(network.parameters()))
        found.append(torch.cat([gradient.flatten() for gradient in gradients]))
    return torch.stack(found)


def test_kernel_is_that_of_plain_gradients():
    network, images = SMALL.build(0), torch.rand(7, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    gradients = plain_gradients(network, images)
    torch.testing.assert_close(tangent_kernel(network, images, images[:3]), gradients @ gradients[:3].T)


def linear_rows(random, tasks=3, train=4, test=5, weights=40):
    """Tasks of a linear model whose weights start at w, with labels +-1, and the features of all rows."""
    features = random.standard_normal((tasks * (train + test), weights))
    w, labels = 0.1 * random.standard_normal(weights), random.choice([-1.0, 1.0], tasks * (train + test))
    trained = [slice(train * i, train * (i + 1)) for i in range(tasks)]
    tested = [slice(train * tasks + test * i, train * tasks + test * (i + 1)) for i in range(tasks)]
    kernel = features @ features[: train * tasks].T
    return Rows(kernel, features @ w, labels, trained, tested), features, w


def test_errors_are_those_of_descent_to_the_nearest_solution():
    rows, features, w = linear_rows(np.random.default_rng(0))
    order = [2, 0, 1]
    matrix = rows.errors(order)
    for step in (None, *order):
        if step is not None:
            t = rows.train[step]
            w = w + np.linalg.lstsq(features[t], rows.labels[t] - features[t] @ w)[0]
        f = np.clip(features @ w, -1, 1)
        expected = [np.mean(((f[rows.test[i]] - rows.labels[rows.test[i]]) / 2) ** 2) for i in order]
        np.testing.assert_allclose(matrix[0 if step is None else order.index(step) + 1], expected, atol=20 * RIDGE)


def test_linear_networks_are_predicted_from_their_inputs():
    network, inputs = nn.Sequential(nn.Flatten(), nn.Linear(6, 1)), torch.randn(5, 2, 3)
    expected = inputs.flatten(1) @ inputs.flatten(1).T + 1
    torch.testing.assert_close(tangent_kernel(network, inputs, inputs), expected)


@pytest.mark.parametrize("setup", ["forgetting_0", "forgetting_1"])
def test_prediction_has_a_value_for_each_sequence(setup):
    found = predict_forgetting("b", setup, 0, tasks=ToyTasks(), architecture=SMALL)
    assert found.shape == (len(fig2.SETUPS["b"][setup]),)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found, predict_forgetting("b", setup, 0, tasks=ToyTasks(), architecture=SMALL))
    assert (found != predict_forgetting("b", setup, 1, tasks=ToyTasks(), architecture=SMALL)).any()
