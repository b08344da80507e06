"""What the tangent kernel of the network predicts for Figure 2: linear theory on the very images, nothing trained.

Theorem 1 knows of a task only its ground truth. The network linearized at its initial weights is a linear model as
well, with features that the images determine: the gradient of the output f by all weights. Each task is learned to the
solution nearest to the weights before it, as in the paper's model. On outputs this is exact linear algebra,

    f <- f + K[:, t] (K[t, t] + ridge)^-1 (y_t - f[t]),    K_ab = <gradient of f(x_a), gradient of f(x_b)>,

where t are the training images of the task and y_t = +-1 its labels. An output, clipped to [-1, 1], stands for the
probability (1 + f) / 2, whose squared error is an entry of the error matrix, as in Figure 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ebbing import metrics
from ebbing._validate import Array
from ebbing.learn import Experiment, FiveLayers, Occurrence, occurrences
from ebbing.learn.tasks.base import Tasks
from ebbing.paper.fig2 import SETUPS, Config, Panel

_CHUNK = 100
"""How many images are computed at once."""

RIDGE = 1e-4
"""The ridge, in units of the mean of K's diagonal: far below the smallest effect, and enough to invert K[t, t]."""


def tangent_kernel(network: nn.Module, inputs: Tensor, others: Tensor) -> Tensor:
    """Return the inner products of the gradients of a network's output by all its weights.

    Gradients are not formed where they are large. That of a linear layer's weights is the product g a' of the gradient
    g by the layer's outputs and its inputs a, so two of them have the inner product (g'g)(a'a); the bias adds 1 to a'a.
    Those of convolutions are small and are formed, as sums over all places.

    Args:
        network: A network of linear and convolutional layers with one output, each layer used once.
        inputs: Inputs (rows, ...).
        others: Inputs (columns, ...).

    Returns:
        The kernel (rows, columns).
    """
    columns = [_layer_gradients(network, chunk) for chunk in others.split(_CHUNK)]
    merged = [tuple(torch.cat(parts) for parts in zip(*layer, strict=True)) for layer in zip(*columns, strict=True)]
    rows = []
    for chunk in inputs.split(_CHUNK):
        layers = zip(_layer_gradients(network, chunk), merged, strict=True)
        products = [(a @ a2.T) * (g @ g2.T) for (a, g), (a2, g2) in layers]
        rows.append(torch.stack(products).sum(dim=0))
    return torch.cat(rows)


def _layer_gradients(network: nn.Module, inputs: Tensor) -> list[tuple[Tensor, Tensor]]:
    """For each layer two factors (n, ...) whose inner products multiply to that of the gradients by its weights."""
    layers = [layer for layer in network.modules() if isinstance(layer, nn.Linear | nn.Conv2d)]
    seen: dict[nn.Module, tuple[Tensor, Tensor]] = {}

    def note(layer: nn.Module, arguments: tuple[Tensor, ...], output: Tensor) -> None:
        seen[layer] = (arguments[0].detach(), output)

    handles = [layer.register_forward_hook(note) for layer in layers]
    try:
        total = network(inputs).sum()
    finally:
        for handle in handles:
            handle.remove()
    gradients = torch.autograd.grad(total, [seen[layer][1] for layer in layers])
    found = []
    for layer, g in zip(layers, gradients, strict=True):
        x, one = seen[layer][0], torch.ones(len(inputs), 1)
        if isinstance(layer, nn.Conv2d):
            x = functional.unfold(x, layer.kernel_size, layer.dilation, layer.padding, layer.stride)  # type: ignore[arg-type]
            weights = torch.einsum("nop,nip->noi", g.flatten(2), x).flatten(1)
            found.append((torch.cat([weights, g.sum(dim=(2, 3))], dim=1), one))
        else:
            found.append((torch.cat([x, one], dim=1), g))
    return found


@dataclass(frozen=True, eq=False)
class Rows:
    """The images of some tasks: first those for training, task by task, then those for tests.

    Attributes:
        kernel: The tangent kernel (rows, training rows).
        outputs: The outputs (rows,) of the initial network.
        labels: The labels +-1 (rows,).
        train: The rows of each task's training images.
        test: The rows of each task's test images.
    """

    kernel: Array
    outputs: Array
    labels: Array
    train: Sequence[slice]
    test: Sequence[slice]

    def errors(self, order: Sequence[int]) -> Array:
        """Return the error matrix that the kernel predicts for a sequence of tasks.

        Args:
            order: The tasks in the order of learning.

        Returns:
            The squared errors of probabilities (T+1, T).
        """
        ridge = RIDGE * float(np.mean(np.diag(self.kernel)))
        f, matrix = self.outputs.copy(), []
        for step in (None, *order):
            if step is not None:
                t = self.train[step]
                block = self.kernel[t, t] + ridge * np.eye(t.stop - t.start)
                f = f + self.kernel[:, t] @ np.linalg.solve(block, self.labels[t] - f[t])
            wrong = ((np.clip(f, -1, 1) - self.labels) / 2) ** 2  # (1 + f) / 2 against (1 + y) / 2
            matrix.append([float(wrong[self.test[i]].mean()) for i in order])
        return np.array(matrix)


def predict_forgetting(
    panel: Panel, setup: str, seed: int, *, tasks: Tasks | None = None, architecture: FiveLayers | None = None
) -> Array:
    """Return the forgetting that the tangent kernel predicts for the sequences of a setup of Figure 2.

    Args:
        panel: The panel's letter.
        setup: The name of the setup, a key of `SETUPS[panel]`.
        seed: The seed of the initial network and of the images: the prediction is for the run with this seed.
        tasks: Where the images come from; None for those of Figure 2.
        architecture: The network; None for that of Figure 2.

    Returns:
        The forgetting (sequences,).
    """
    config = Config()
    tasks, architecture = tasks or config.tasks, architecture or config.architecture
    sequences = [occurrences(sequence) for sequence in SETUPS[panel][setup]]
    places = {occurrence: k for k, occurrence in enumerate(dict.fromkeys(o for s in sequences for o in s))}
    rows = _rows(list(places), seed, tasks, architecture)
    matrices = [rows.errors([places[occurrence] for occurrence in sequence]) for sequence in sequences]
    return np.array([float(metrics.forgetting(matrix, kind="error")) for matrix in matrices])


def _rows(wanted: Sequence[Occurrence], seed: int, tasks: Tasks, architecture: FiveLayers) -> Rows:
    network = Experiment(tasks, architecture).initial_network(seed)
    data = [tasks.load(occurrence, seed) for occurrence in wanted]
    inputs = [d.train_inputs for d in data] + [d.test_inputs for d in data]
    labels = [d.train_labels for d in data] + [d.test_labels for d in data]
    ends = np.cumsum([0, *map(len, inputs)]).tolist()
    slices = [slice(begin, end) for begin, end in pairwise(ends)]
    train, test = slices[: len(data)], slices[len(data) :]
    images, trained = torch.cat(inputs), torch.cat(inputs[: len(data)])
    with torch.no_grad():
        outputs = torch.cat([network(chunk)[:, 0] for chunk in images.split(_CHUNK)]).double().numpy()
    signs = (2 * torch.cat(labels)[:, 0] - 1).double().numpy()
    return Rows(tangent_kernel(network, images, trained).double().numpy(), outputs, signs, train, test)
