"""The parametrization of a layer whose trusted subspaces have unprotected directions, as in the authors' code of TRGP.

There the strongest new direction of every task is used and not protected (deviation 1 of docs/theory/methods.md). So
S_j = [P_j, O_j]: columns of M, in which W is frozen, and a few other directions, in which W is trained.

    W_eff' = W' + sum_j lambda_j S_j D_j' S_j' W',    D_j = Q_j - I, with rows D_P and D_O for P_j and O_j
           = W' + sum_j S_j (V_j + lambda_j D_O' (W O_j)'),    V_j = lambda_j D_P' (W P_j)'  (r, out)

As W P_j is constant, a step of gradient descent on D_P changes V_j by -rate * lambda_j^2 S_j'G' K_j,
K_j = (W P_j)(W P_j)'. So V_j is trained instead of D_P, and its gradient is multiplied by lambda_j^2 K_j, as in
`_parametrization`. Of D_j only the few rows D_O remain. `ExplicitScaling` trains all of D_j, as the reference.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from ebbing.learn.projection._autograd import differentiable_gradients, no_autocast_backward, scale_gradient
from ebbing.learn.projection._parametrization import GradientScaling, rotated_rows
from ebbing.learn.projection._task_updates import TaskUpdate, TrustedTask, UnprotectedScaling
from ebbing.learn.projection.subspaces import orthogonal_complement

AuthorsDeviation = Literal["strongest unprotected", "shared weights measured", "first layer decides"]
"""The names of deviations of the authors' code from the published method. See `Trgp`."""


class _RotatedBase:
    """The common part of both forms: W in the coordinates U = [M, N], with rows of M frozen and rows of N trained.

    Args:
        weight: The shared weight W. Shape (out, d).
        basis: The basis M of the protected directions. Shape (d, m).
        trusted: The trusted tasks, with subspaces [P_j, O_j].
    """

    def __init__(self, weight: Tensor, basis: Tensor, trusted: list[TrustedTask]) -> None:
        self.frozen_count = m = basis.shape[1]
        self.rotation = None if m == 0 else torch.cat([basis, orthogonal_complement(basis)], dim=1)
        rows = rotated_rows(weight, self.rotation)  # (d, out)
        self.frozen, self.active = rows[:m].clone(), nn.Parameter(rows[m:].clone())
        self.initial_active, self.weight, self.trusted = self.active.detach().clone(), weight, trusted
        self.unprotected = [self._rotate_columns(task.subspace.unprotected) for task in trusted]  # U'O_j (d, e)

    def rotates_weight(self, rows: int) -> bool:
        """Return whether so many inputs take longer to rotate than the weight."""
        return rows > len(self.weight)

    def _rotate_columns(self, columns: Tensor) -> Tensor:
        return columns if self.rotation is None else self.rotation.T @ columns

    def _rotate_inputs(self, inputs: Tensor) -> Tensor:
        return inputs if self.rotation is None else inputs @ self.rotation

    def _subspace_coordinates(self, x: Tensor, j: int) -> Tensor:
        """Return x S_j (rows, r) from rotated inputs x (rows, d)."""
        return torch.cat([x[:, self.trusted[j].subspace.columns], x @ self.unprotected[j]], dim=1)

    def _unprotected_rows(self, j: int) -> Tensor:
        """Return (W O_j)' (e, out), differentiable."""
        m, directions = self.frozen_count, self.unprotected[j]
        return directions[:m].T @ self.frozen + directions[m:].T @ self.active

    def _add_in_subspaces(self, parts: list[Tensor]) -> Tensor:
        """Return (W_eff U)' (d, out), from the part (r, out) that is added to W' in each trusted subspace."""
        total = torch.cat([self.frozen, self.active])  # (d, out)
        for trusted, unprotected, part in zip(self.trusted, self.unprotected, parts, strict=True):
            columns = trusted.subspace.columns
            total = total.index_add(0, columns, part[: len(columns)]) + unprotected @ part[len(columns) :]
        return total

    def _rotate_back(self, rows: Tensor) -> Tensor:
        """Return W_eff (out, d) from (W_eff U)' (d, out)."""
        return (rows if self.rotation is None else self.rotation @ rows).T

    def _shared_and_update(self, scalings: list[UnprotectedScaling]) -> tuple[Tensor, TaskUpdate]:
        no_columns = self.weight.new_zeros(0, dtype=torch.long)
        update = TaskUpdate(no_columns, self.weight.new_zeros(0, len(self.weight)), tuple(scalings))
        if self.rotation is None:
            return self.active.detach().T.clone(memory_format=torch.contiguous_format), update
        change = self.rotation[:, self.frozen_count :] @ (self.active.detach() - self.initial_active)
        return self.weight + change.T, update


class AuthorsWeight(_RotatedBase):
    """The fast form: W's free rows, V_j and D_O are trained."""

    def __init__(self, weight: Tensor, basis: Tensor, trusted: list[TrustedTask]) -> None:
        super().__init__(weight, basis, trusted)
        out = len(weight)
        self.rows = [nn.Parameter(weight.new_zeros(t.subspace.rank, out)) for t in trusted]  # V_j
        self.mixes = [
            nn.Parameter(weight.new_zeros(t.subspace.unprotected.shape[1], t.subspace.rank)) for t in trusted
        ]  # D_O
        protected = [self.frozen[t.subspace.columns] for t in trusted]  # (W P_j)'
        self.gradient_scalings = [
            GradientScaling(F, [len(F)], [(0,)], [t.weight]) for F, t in zip(protected, trusted, strict=True)
        ]

    def parameters(self) -> list[nn.Parameter]:
        """Return the parameters to train."""
        return [self.active, *self.rows, *self.mixes]

    @property
    def changed(self) -> bool:
        """Whether training has changed any parameter."""
        active_changed = not torch.equal(self.active, self.initial_active)
        return active_changed or any(bool(p.any()) for p in (*self.rows, *self.mixes))

    def linear(self, inputs: Tensor, rotated: Tensor | None = None) -> Tensor:
        """Return W_eff x for inputs (rows, d); `rotated` is the same inputs times U, if already computed."""
        rotated = self._rotate_inputs(inputs) if rotated is None else rotated
        return _AuthorsLinear.apply(rotated, self, *self.parameters())  # pyright: ignore[reportReturnType]

    def effective_weight(self) -> Tensor:
        """Return W_eff (out, d), differentiable, with the scaled gradient."""
        return self._rotate_back(self.effective_rows())

    def effective_rows(self) -> Tensor:
        """Return (W_eff U)' (d, out), differentiable, with the scaled gradient."""
        parts = []
        for j, trusted in enumerate(self.trusted):
            scaling = self.gradient_scalings[j]
            rows = scale_gradient(self.rows[j], lambda gradient, scaling=scaling: scaling.scale_rows([gradient])[0])
            parts.append(rows + trusted.weight * self.mixes[j].T @ self._unprotected_rows(j))
        return self._add_in_subspaces(parts)

    def finish(self) -> tuple[Tensor, TaskUpdate]:
        """Return the shared weight after the task (out, d), and the task-specific update."""
        scalings = [
            UnprotectedScaling(trusted, rows.detach().clone(), mix.detach().clone())
            for trusted, rows, mix in zip(self.trusted, self.rows, self.mixes, strict=True)
        ]
        return self._shared_and_update(scalings)


class _AuthorsLinear(torch.autograd.Function):
    """Outputs from rotated inputs x, in few operations: for small batches their number determines the cost.

    y = x W' + sum_j w_j V_j + lambda_j (w_j D_O') f_j,    w_j = x S_j,  f_j = (W O_j)'
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, parametrization: AuthorsWeight, active: Tensor, *rows_and_mixes: Tensor) -> Tensor:
        ctx.save_for_backward(x, active, *rows_and_mixes)
        m, k = parametrization.frozen_count, len(parametrization.trusted)
        w = [parametrization._subspace_coordinates(x, j) for j in range(k)]
        f = [parametrization._unprotected_rows(j) for j in range(k)]
        mixed = [
            t.weight * (w_j @ D_O.T) for t, w_j, D_O in zip(parametrization.trusted, w, rows_and_mixes[k:], strict=True)
        ]
        ctx.parametrization, ctx.intermediate = parametrization, (w, f, mixed)
        y = torch.addmm(x[:, :m] @ parametrization.frozen, x[:, m:], active)
        for j in range(k):
            y.addmm_(w[j], rows_and_mixes[j]).addmm_(mixed[j], f[j])
        return y

    @staticmethod
    @no_autocast_backward
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (g,), (x, active, *rows_and_mixes) = gradients, ctx.saved_tensors
        parametrization: AuthorsWeight = ctx.parametrization
        if torch.is_grad_enabled():  # a gradient of this gradient is wanted
            to_x, *to_parameters = differentiable_gradients(
                x @ parametrization.effective_rows(), [x, *parametrization.parameters()], g
            )
            return to_x, None, *to_parameters
        (w, f, mixed), m, k = ctx.intermediate, parametrization.frozen_count, len(parametrization.trusted)
        rows, mixes = rows_and_mixes[:k], rows_and_mixes[k:]
        to_active = x[:, m:].T @ g
        to_rows, to_mixes = [], []
        to_x = torch.cat([g @ parametrization.frozen.T, g @ active.T], dim=1) if ctx.needs_input_grad[0] else None
        for j, trusted in enumerate(parametrization.trusted):
            unprotected, columns = parametrization.unprotected[j], trusted.subspace.columns
            to_rows.append(w[j].T @ parametrization.gradient_scalings[j].scale_outputs(g)[0])
            to_mixed = trusted.weight * (g @ f[j].T)  # (rows, e)
            to_mixes.append(to_mixed.T @ w[j])
            to_active.addmm_(unprotected[m:], mixed[j].T @ g)
            if to_x is not None:
                to_w = torch.addmm(g @ rows[j].T, to_mixed, mixes[j])
                to_x.index_add_(1, columns, to_w[:, : len(columns)])
                to_x.addmm_(to_w[:, len(columns) :], unprotected.T)
        return to_x, None, to_active, *to_rows, *to_mixes


class ExplicitScaling(_RotatedBase):
    """The reference form: W's free rows and D_j are trained, as in the formula of the method."""

    def __init__(self, weight: Tensor, basis: Tensor, trusted: list[TrustedTask]) -> None:
        super().__init__(weight, basis, trusted)
        self.scalings = [nn.Parameter(weight.new_zeros(t.subspace.rank, t.subspace.rank)) for t in trusted]

    def parameters(self) -> list[nn.Parameter]:
        """Return the parameters to train."""
        return [self.active, *self.scalings]

    def linear(self, inputs: Tensor, rotated: Tensor | None = None) -> Tensor:
        """Return W_eff x for inputs (rows, d); `rotated` is the same inputs times U, if already computed."""
        return (self._rotate_inputs(inputs) if rotated is None else rotated) @ self.effective_rows()

    def effective_weight(self) -> Tensor:
        """Return W_eff (out, d), differentiable."""
        return self._rotate_back(self.effective_rows())

    def effective_rows(self) -> Tensor:
        """Return (W_eff U)' (d, out), differentiable."""
        rows = torch.cat([self.frozen, self.active])  # (d, out)
        parts = []
        for j, (trusted, scaling) in enumerate(zip(self.trusted, self.scalings, strict=True)):
            parts.append(trusted.weight * scaling.T @ self._subspace_coordinates(rows.T, j).T)
        return self._add_in_subspaces(parts)

    def finish(self) -> tuple[Tensor, TaskUpdate]:
        """Return the shared weight after the task (out, d), and the task-specific update."""
        scalings = []
        for trusted, scaling in zip(self.trusted, self.scalings, strict=True):
            columns, D = trusted.subspace.columns, scaling.detach()
            rows = trusted.weight * D[: len(columns)].T @ self.frozen[columns]
            scalings.append(UnprotectedScaling(trusted, rows, D[len(columns) :].clone()))
        return self._shared_and_update(scalings)
