"""A dense reference for parametrized layers, with autograd and plain steps, and layers to compare with it.

Everything is in double precision, so that equivalent forms agree to 1e-11.
"""

import torch
from torch import Tensor

from ebbing.learn.projection._task_updates import Subspace, TrustedTask
from ebbing.learn.projection.subspaces import orthogonal_complement

CLOSE = 1e-11
OUT, D, M = 5, 9, 6

SPANS = [[0, 1, 2], [4, 2, 1], [2, 3]]  # column 5 is in no subspace: frozen
FACTORS = [1.2, 0.8, 0.5]


class Dense:
    """W_eff = W + sum_j lambda_j W S_j (Q_j - I) S_j' and G (I - M M') by dense matrices, with momentum by hand."""

    def __init__(self, weight: Tensor, basis: Tensor, trusted: list[tuple[Tensor, float]]) -> None:
        self.weight = weight.clone().requires_grad_()
        self.trusted = trusted
        self.scalings = [torch.eye(S.shape[1], dtype=S.dtype, requires_grad=True) for S, _ in trusted]
        self.projector = torch.eye(basis.shape[0], dtype=basis.dtype) - basis @ basis.T
        self.momenta = [torch.zeros_like(value) for value in self.parameters()]

    def parameters(self) -> list[Tensor]:
        return [self.weight, *self.scalings]

    def effective_weight(self) -> Tensor:
        return effective_weight(self.weight, self.trusted, self.scalings)

    def step(self, loss: Tensor, rate: float, momentum: float = 0.0, scaling_rates: list[float] | None = None) -> None:
        gradients = list(torch.autograd.grad(loss, self.parameters()))
        gradients[0] = gradients[0] @ self.projector
        rates = [rate, *(scaling_rates or [rate] * len(self.scalings))]
        with torch.no_grad():
            for value, gradient, momentum_buffer, step_size in zip(
                self.parameters(), gradients, self.momenta, rates, strict=True
            ):
                momentum_buffer.mul_(momentum).add_(gradient)
                value.sub_(step_size * momentum_buffer)


def effective_weight(weight: Tensor, trusted: list[tuple[Tensor, float]], scalings: list[Tensor]) -> Tensor:
    total = weight
    for (S, factor), Q in zip(trusted, scalings, strict=True):
        total = total + factor * weight @ S @ (Q - torch.eye(len(Q), dtype=Q.dtype)) @ S.T
    return total


def random(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def orthogonal(size, seed=0):
    return torch.linalg.qr(random(size, size, seed=seed)).Q


def layer(tasks, m=M, factors=FACTORS, spans=SPANS):
    """Return weights, basis, and trusted tasks in the form of the parametrizations and of the reference."""
    weight, basis = random(OUT, D, seed=1), orthogonal(D, seed=2)[:, :m]
    spans = [[column for column in span if column < m] for span in spans[:tasks]]
    trusted = [
        TrustedTask(j, Subspace(torch.tensor(span, dtype=torch.long), basis[:, :0]), factor)
        for j, (span, factor) in enumerate(zip(spans, factors[:tasks], strict=True))
    ]
    return weight, basis, trusted, [(basis[:, t.subspace.columns], t.weight) for t in trusted]


def batch(step, rows=4):
    generator = torch.Generator().manual_seed(100 + step)
    inputs = torch.randn(rows, D, dtype=torch.float64, generator=generator)
    return inputs, torch.randint(0, OUT, (rows,), generator=generator)


def by_inputs(parametrization, inputs):
    return parametrization.linear(inputs)


def by_weights(parametrization, inputs):
    return inputs @ parametrization.effective_weight().T


def with_unprotected(trusted, basis):
    """Return the trusted tasks with one unprotected direction each, and these directions."""
    unprotected = orthogonal_complement(basis)[:, :2] @ orthogonal(2, seed=5)
    spaces = [Subspace(task.subspace.columns, unprotected[:, [j]]) for j, task in enumerate(trusted)]
    return [TrustedTask(t.task, space, t.weight) for t, space in zip(trusted, spaces, strict=True)], unprotected
