"""A layer in motion, as in `motion`, where trusted subspaces are not wholly protected: as in the authors' code of TRGP.

There the strongest new direction of every task is used and not protected (departure 1 of docs/methods.md). So
S_j = [P_j, O_j]: columns of M, in which W rests, and a few other directions, in which it moves.

    W_eff' = W' + sum_j lambda_j S_j D_j' S_j' W',    D_j = Q_j - I, with rows D_P and D_O for P_j and O_j
           = W' + sum_j S_j (V_j + lambda_j D_O' (W O_j)'),    V_j = lambda_j D_P' (W P_j)'  (r, out)

As W P_j rests, a step of gradient descent on D_P moves V_j by -rate * lambda_j^2 S_j'G' K_j, K_j = (W P_j)(W P_j)'. So
V_j is trained in the place of D_P, and its gradient multiplied by lambda_j^2 K_j, as in `motion`. What remains of D_j
are the few rows D_O. `ExplicitScaling` trains all of D_j as it stands, for comparison.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ebbing.learn.projection._parametrization import (
    GradientScaling,
    TaskUpdate,
    TrustedTask,
    UnprotectedScaling,
    differentiable_gradients,
    no_autocast_backward,
    orthogonal_complement,
    rotated_rows,
    scale_gradient,
)


class _RotatedBase:
    """What both forms have in common: W in the coordinates U = [M, N], rows of M frozen, rows of N trained."""

    def __init__(self, weight: Tensor, basis: Tensor, trusted: list[TrustedTask]) -> None:
        self.frozen_count = m = basis.shape[1]
        self.rotation = None if m == 0 else torch.cat([basis, orthogonal_complement(basis)], dim=1)
        rows = rotated_rows(weight, self.rotation)  # (d, out)
        self.frozen, self.active = rows[:m].clone(), nn.Parameter(rows[m:].clone())
        self.start, self.weight, self.trusted = self.active.detach().clone(), weight, trusted
        self.others = [
            t.subspace.others if self.rotation is None else self.rotation.T @ t.subspace.others for t in trusted
        ]

    def _turned(self, inputs: Tensor) -> Tensor:
        return inputs if self.rotation is None else inputs @ self.rotation

    def _within(self, x: Tensor, j: int) -> Tensor:
        """Inputs (rows, d) in the directions of trusted task j (rows, r)."""
        return torch.cat([x[:, self.trusted[j].subspace.columns], x @ self.others[j]], dim=1)

    def _outside(self, j: int) -> Tensor:
        """(W O_j)' (e, out), to be differentiated."""
        m, others = self.frozen_count, self.others[j]
        return others[:m].T @ self.frozen + others[m:].T @ self.active

    def _added(self, parts: list[Tensor]) -> Tensor:
        """(W_eff U)' (d, out) from W and what is to be added to W' in the directions of every trusted task (r, out)."""
        total = torch.cat([self.frozen, self.active])  # (d, out)
        for trusted, others, part in zip(self.trusted, self.others, parts, strict=True):
            columns = trusted.subspace.columns
            total = total.index_add(0, columns, part[: len(columns)]) + others @ part[len(columns) :]
        return total

    def _turned_back(self, total: Tensor) -> Tensor:
        """W_eff (out, d) from (W_eff U)'."""
        return (total if self.rotation is None else self.rotation @ total).T

    def _finished(self, scalings: list[UnprotectedScaling]) -> tuple[Tensor, TaskUpdate]:
        none = self.weight.new_zeros(0, dtype=torch.long)
        change = TaskUpdate(none, self.weight.new_zeros(0, len(self.weight)), tuple(scalings))
        if self.rotation is None:
            return self.active.detach().T.clone(memory_format=torch.contiguous_format), change
        moved = self.rotation[:, self.frozen_count :] @ (self.active.detach() - self.start)
        return self.weight + moved.T, change


class AuthorsWeight(_RotatedBase):
    """W's free rows, V_j and D_O are trained, side by side."""

    def __init__(self, weight: Tensor, basis: Tensor, trusted: list[TrustedTask]) -> None:
        super().__init__(weight, basis, trusted)
        out = len(weight)
        self.rows = [nn.Parameter(weight.new_zeros(t.subspace.rank, out)) for t in trusted]  # V_j
        self.mixes = [nn.Parameter(weight.new_zeros(t.subspace.others.shape[1], t.subspace.rank)) for t in trusted]
        inside = [self.frozen[t.subspace.columns] for t in trusted]  # (W P_j)'
        self.gains = [GradientScaling(F, [len(F)], [(0,)], [t.weight]) for F, t in zip(inside, trusted, strict=True)]

    def parameters(self) -> list[nn.Parameter]:
        """What is trained."""
        return [self.active, *self.rows, *self.mixes]

    @property
    def moved(self) -> bool:
        """Whether training has changed anything."""
        return not torch.equal(self.active, self.start) or any(bool(p.any()) for p in (*self.rows, *self.mixes))

    def linear(self, inputs: Tensor, turned: Tensor | None = None) -> Tensor:
        """W_eff x for rows of inputs (rows, d); turned: the same in the coordinates U, where they are known."""
        known = self._turned(inputs) if turned is None else turned
        return _AuthorsLinear.apply(known, self, *self.parameters())  # pyright: ignore[reportReturnType]

    def effective(self) -> Tensor:
        """W_eff (out, d), to be differentiated."""
        return self._turned_back(self.coordinates())

    def coordinates(self) -> Tensor:
        """(W_eff U)' (d, out), to be differentiated."""
        parts = []
        for j, trusted in enumerate(self.trusted):
            rows = scale_gradient(self.rows[j], lambda gradient, gains=self.gains[j]: gains.of_rows([gradient])[0])
            parts.append(rows + trusted.weight * self.mixes[j].T @ self._outside(j))
        return self._added(parts)

    def finish(self) -> tuple[Tensor, TaskUpdate]:
        """The shared weights after the task (out, d), and what the task keeps for itself."""
        together = zip(self.trusted, self.rows, self.mixes, strict=True)
        return self._finished(
            [UnprotectedScaling(t, rows.detach().clone(), mix.detach().clone()) for t, rows, mix in together]
        )


class _AuthorsLinear(torch.autograd.Function):
    """Outputs from inputs x in the coordinates U, in few operations: for small batches their number is what counts.

    y = x W' + sum_j w_j V_j + lambda_j (w_j D_O') f_j,    w_j = x S_j,  f_j = (W O_j)'
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, moving: AuthorsWeight, active: Tensor, *rows_and_mixes: Tensor) -> Tensor:
        ctx.save_for_backward(x, active, *rows_and_mixes)
        m, k = moving.frozen_count, len(moving.trusted)
        within = [moving._within(x, j) for j in range(k)]
        outside = [moving._outside(j) for j in range(k)]
        mixed = [t.weight * (w @ D.T) for t, w, D in zip(moving.trusted, within, rows_and_mixes[k:], strict=True)]
        ctx.moving, ctx.known = moving, (within, outside, mixed)
        y = torch.addmm(x[:, :m] @ moving.frozen, x[:, m:], active)
        for j in range(k):
            y.addmm_(within[j], rows_and_mixes[j]).addmm_(mixed[j], outside[j])
        return y

    @staticmethod
    @no_autocast_backward
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (g,), (x, active, *rows_and_mixes) = gradients, ctx.saved_tensors
        moving: AuthorsWeight = ctx.moving
        if torch.is_grad_enabled():  # to be differentiated once more
            to_x, *to_parameters = differentiable_gradients(x @ moving.coordinates(), [x, *moving.parameters()], g)
            return to_x, None, *to_parameters
        (within, outside, mixed), m, k = ctx.known, moving.frozen_count, len(moving.trusted)
        rows, mixes = rows_and_mixes[:k], rows_and_mixes[k:]
        to_active = x[:, m:].T @ g
        to_rows, to_mixes = [], []
        to_x = torch.cat([g @ moving.frozen.T, g @ active.T], dim=1) if ctx.needs_input_grad[0] else None
        for j, trusted in enumerate(moving.trusted):
            others, columns = moving.others[j], trusted.subspace.columns
            to_rows.append(within[j].T @ moving.gains[j].of_outputs(g)[0])
            at_mixed = trusted.weight * (g @ outside[j].T)  # (rows, e)
            to_mixes.append(at_mixed.T @ within[j])
            to_active.addmm_(others[m:], mixed[j].T @ g)
            if to_x is not None:
                at_within = torch.addmm(g @ rows[j].T, at_mixed, mixes[j])
                to_x.index_add_(1, columns, at_within[:, : len(columns)])
                to_x.addmm_(at_within[:, len(columns) :], others.T)
        return to_x, None, to_active, *to_rows, *to_mixes


class ExplicitScaling(_RotatedBase):
    """The reference: W's free rows and D_j are trained, as the method is written."""

    def __init__(self, weight: Tensor, basis: Tensor, trusted: list[TrustedTask]) -> None:
        super().__init__(weight, basis, trusted)
        self.scalings = [nn.Parameter(weight.new_zeros(t.subspace.rank, t.subspace.rank)) for t in trusted]

    def parameters(self) -> list[nn.Parameter]:
        """What is trained."""
        return [self.active, *self.scalings]

    def linear(self, inputs: Tensor, turned: Tensor | None = None) -> Tensor:
        """W_eff x for rows of inputs (rows, d)."""
        return (self._turned(inputs) if turned is None else turned) @ self.coordinates()

    def effective(self) -> Tensor:
        """W_eff (out, d), to be differentiated."""
        return self._turned_back(self.coordinates())

    def coordinates(self) -> Tensor:
        """(W_eff U)' (d, out), to be differentiated."""
        rows = torch.cat([self.frozen, self.active])  # (d, out)
        parts = []
        for j, (trusted, scaling) in enumerate(zip(self.trusted, self.scalings, strict=True)):
            parts.append(trusted.weight * scaling.T @ self._within(rows.T, j).T)
        return self._added(parts)

    def finish(self) -> tuple[Tensor, TaskUpdate]:
        """The shared weights after the task (out, d), and what the task keeps for itself."""
        scalings = []
        for trusted, scaling in zip(self.trusted, self.scalings, strict=True):
            columns, D = trusted.subspace.columns, scaling.detach()
            rows = trusted.weight * D[: len(columns)].T @ self.frozen[columns]
            scalings.append(UnprotectedScaling(trusted, rows, D[len(columns) :].clone()))
        return self._finished(scalings)
