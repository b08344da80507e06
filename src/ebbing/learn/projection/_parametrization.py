"""The parametrization of one layer during a task, in coordinates in which gradient projection freezes columns.

Notation, per layer: W (out, d) the weights all tasks share; M (d, m) an orthonormal basis of the protected input
directions; S_j = columns of M that task j uses; G the gradient of the loss with respect to the layer's weights.

**Gradient projection** (GPM) replaces G by G (I - M M'). Complete M to an orthogonal matrix U = [M, N]. In coordinates
W U the projected step changes the columns of N and leaves those of M alone. So the layer is reparametrized: W N is the
trained parameter, W M is frozen, no gradient is ever projected, and protection holds for any optimizer.

**Scaled projection** (TRGP) also trains, for each trusted old task j, a matrix Q_j that starts at I:

    W_eff = W + sum_j lambda_j W S_j (Q_j - I) S_j'                                                             (1)

The gradient of Q_j is lambda_j (W S_j)' G S_j, where W S_j is constant during the task, since S_j is protected. So a
step of plain gradient descent on Q_j changes W_eff itself by

    - rate * lambda_j^2 K_j G S_j S_j',    K_j = W S_j S_j' W'   (out, out), fixed during the task,                (2)

and Q_j need not exist: TRGP is gradient descent on W_eff U whose gradient is, column by column, G in the free columns,
sum_j lambda_j^2 K_j G in the columns of trusted subspaces, and 0 in the other protected ones. A step costs a plain step
and a change of coordinates. It equals (1) up to rounding for gradient descent with or without momentum (both are linear
in the gradients), as tests show with `_authors_variant.ExplicitScaling`. With Adam, for example, the two are different
methods, and both protect. After the task, the change in the columns of M is the task-specific update, and the shared W
takes the rest.

**Free updates** (`TrgpFree`) replace the gradient scaling by I: in trusted columns the gradient is G itself. As no
scaling depends on their values, these columns may start anywhere, for example at an old task's values (`start_from`).

For subspaces with unprotected directions, as in the authors' code, see `_authors_variant`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import groupby
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from ebbing.learn.projection._autograd import differentiable_gradients, no_autocast_backward, scale_gradient
from ebbing.learn.projection._products import product
from ebbing.learn.projection._reflections import Reflections
from ebbing.learn.projection._task_updates import TaskUpdate, TrustedTask
from ebbing.learn.projection.subspaces import orthogonal_complement

ParametrizationKind = Literal["scaled", "free", "authors"]
"""How trusted directions are trained: scaled as in (2), freely, or scaled with unprotected directions."""

MAX_TRUSTED = 60
"""The largest number of tasks that can be trusted at once: a 64-bit integer encodes which of them use a column."""


def rotated_rows(weight: Tensor, rotation: Tensor | None) -> Tensor:
    """Return a copy of (W U)' (d, out); without a rotation, of W'."""
    return weight.T.clone(memory_format=torch.contiguous_format) if rotation is None else rotation.T @ weight.T


def equal_runs(
    m: int, trusted: list[TrustedTask], device: torch.device
) -> tuple[Tensor, list[int], list[tuple[int, ...]]]:
    """Order the columns of M by the trusted tasks that use them.

    Args:
        m: The number of columns.
        trusted: The trusted tasks.
        device: The device of the result.

    Returns:
        The order of all columns, frozen ones first; the sizes of the runs of trusted columns that the same tasks use;
        and for each run the indices of these tasks.
    """
    patterns = torch.zeros(m, dtype=torch.long, device=device)  # bit j: in the subspace of trusted task j
    for bit, task in enumerate(trusted):
        patterns[task.subspace.columns] += 1 << bit
    order = patterns.argsort(stable=True)  # frozen columns first; columns with equal scaling are adjacent
    runs = [(pattern, len(list(run))) for pattern, run in groupby(patterns[order].tolist()) if pattern]
    tasks_of = [tuple(bit for bit in range(len(trusted)) if pattern >> bit & 1) for pattern, _ in runs]
    return order, [size for _, size in runs], tasks_of


class RotatedWeight:
    """The reparametrized weight of a layer: frozen and trained rows of (W U)', with a scaled gradient for the latter.

    Args:
        weight: The shared weight W. Shape (out, d).
        basis: The basis M of the protected directions. Shape (d, m).
        trusted: The trusted tasks; rows of (W U)' in their subspaces are trained, too.
        scaled: Whether the gradient of trusted rows is scaled as in (2). Otherwise they are trained freely.

    Attributes:
        columns: The numbers of the trusted columns of M, in the order of the trained rows. Shape (k,).
        frozen_count: The number of frozen rows, m - k.
        rotation: U, with the frozen columns of M first, then the trusted ones, then N. Shape (d, d); None if m = 0.
        frozen: The frozen rows of (W U)'. Shape (m - k, out).
        active: The trained rows of (W U)', trusted ones first. Shape (d - m + k, out).
        gradient_scaling: The scaling of the trusted rows' gradient, if any.
        weight: The shared weight before the task. Shape (out, d).
    """

    def __init__(self, weight: Tensor, basis: Tensor, trusted: list[TrustedTask], *, scaled: bool = True) -> None:
        m = basis.shape[1]
        order, trusted_sizes, tasks_of = equal_runs(m, trusted, weight.device)
        k = sum(trusted_sizes)
        self.columns = order[m - k :]
        self.frozen_count = m - len(self.columns)
        self.rotation = None if m == 0 else torch.cat([basis[:, order], orthogonal_complement(basis)], dim=1)
        self._reflections = Reflections(basis, order) if Reflections.save_time(*basis.shape) else None
        rows = rotated_rows(weight, self.rotation)  # (d, out)
        self._rows, self.frozen = rows, rows[: self.frozen_count]
        self.active = nn.Parameter(rows[self.frozen_count :])  # shares memory with _rows: one product covers both
        self._active_address = self.active.data_ptr()
        self._shared_active = self.active.detach().clone()  # the active rows of the shared weight
        self._initial_active = self._shared_active  # the active rows at the start of the task
        self.gradient_scaling = None
        if k and scaled:
            weights = [task.weight for task in trusted]
            self.gradient_scaling = GradientScaling(self._shared_active[:k], trusted_sizes, tasks_of, weights)
        # The number of rows of each block of equal scaling; the last block, of free rows, is not scaled.
        self.block_sizes = [*trusted_sizes, len(self.active) - k] if scaled else [len(self.active)]
        self.weight = weight
        # The frozen part in the original coordinates, (d, out): the effective weight is this plus the active part.
        self._frozen_part = None if self.rotation is None else self.rotation[:, : self.frozen_count] @ self.frozen

    def all_rows(self) -> Tensor:
        """Return the frozen and the trained rows (d, out), even if `active.data` was replaced by another tensor."""
        if self.active.data_ptr() == self._active_address:
            return self._rows
        return torch.cat([self.frozen, self.active.detach()])

    def parameters(self) -> list[nn.Parameter]:
        """Return the parameters to train."""
        return [self.active]

    @property
    def changed(self) -> bool:
        """Whether training has changed any parameter."""
        return not torch.equal(self.active, self._initial_active)

    def start_from(self, update: TaskUpdate | None) -> None:
        """Start the trusted columns at the values of an old task, from its update, instead of the shared values."""
        if update is None:
            return
        m = self.frozen_count + len(self.columns)
        row_of_column = self.columns.new_full((m,), -1)  # the active row of each column of M; -1: frozen
        row_of_column[self.columns] = torch.arange(len(self.columns), device=row_of_column.device)
        found = row_of_column[update.columns]
        with torch.no_grad():
            self.active[found[found >= 0]] += update.rows[found >= 0]
        self._initial_active = self.active.detach().clone()

    def linear(self, inputs: Tensor, rotated: Tensor | None = None) -> Tensor:
        """Return W_eff x for inputs (rows, d), which are rotated instead of the weight.

        `rotated` is the same inputs times U, if already computed; then the inputs must require no gradient.
        """
        rotated = inputs if self.rotation is None else rotated
        return _RotatedLinear.apply(inputs, rotated, self.active, self)  # pyright: ignore[reportReturnType]

    def rotate(self, inputs: Tensor) -> Tensor:
        """Return x U for inputs x (rows, d)."""
        return self._reflections.rotate(inputs) if self._reflections else product(inputs, cast(Tensor, self.rotation))

    def rotate_back(self, rotated: Tensor) -> Tensor:
        """Return y U' for rotated rows y (rows, d)."""
        if self._reflections:
            return self._reflections.rotate_back(rotated)
        return product(rotated, cast(Tensor, self.rotation).T)

    def rotates_weight(self, rows: int) -> bool:
        """Return whether so many inputs take longer to rotate than the trained rows of the weight."""
        trained, outputs = self.active.shape
        return rows * self.weight.shape[1] > trained * outputs

    def effective_weight(self) -> Tensor:
        """Return W_eff (out, d), differentiable, with the scaled gradient."""
        active = scale_gradient(self.active, self._scale_active_gradient) if self.gradient_scaling else self.active
        if self.rotation is None or self._frozen_part is None:
            return active.T
        return torch.addmm(self._frozen_part, self.rotation[:, self.frozen_count :], active).T

    def _scale_active_gradient(self, gradient: Tensor) -> Tensor:
        assert self.gradient_scaling is not None
        *trusted, free = gradient.split(self.block_sizes)
        return torch.cat([*self.gradient_scaling.scale_rows(trusted), free])

    def finish(self) -> tuple[Tensor, TaskUpdate]:
        """Return the shared weight after the task (out, d), and the task-specific update."""
        k = len(self.columns)
        change = self.active.detach() - self._shared_active
        update = TaskUpdate(self.columns.clone(), change[:k].clone())
        if self.rotation is None:
            return self.active.detach().T.clone(memory_format=torch.contiguous_format), update
        free = self.rotation[:, self.frozen_count + k :]
        return self.weight + (free @ change[k:]).T, update


class GradientScaling:
    """The matrices that multiply the gradient of each block of trusted rows: sum_j lambda_j^2 K_j over its tasks j.

    The rows of (W S_j)' are blocks of the rows F of (W U)', so K_j is a sum of F_b' F_b over the blocks b of task j,
    and block a's gradient is multiplied by sum_b c_ab F_b' F_b, c_ab = sum of lambda_j^2 over the tasks of both. The
    matrices are stored densely (out, out) or, where that is cheaper, as the factors F_b, which all blocks share.

    Args:
        rows: The trusted rows F of (W U)'. Shape (k, out).
        sizes: The number of rows of each block.
        tasks_of: For each block, the indices of the trusted tasks whose subspaces contain it.
        weights: The weight lambda_j of each trusted task.
    """

    def __init__(self, rows: Tensor, sizes: list[int], tasks_of: list[tuple[int, ...]], weights: list[float]) -> None:
        self.factors = rows.split(sizes)  # (size, out) each
        self.coefficients = [
            [sum(weights[j] ** 2 for j in of_a if j in of_b) for of_b in tasks_of] for of_a in tasks_of
        ]  # c_ab
        self.matrices: list[Tensor] | None = None
        if len(tasks_of) * rows.shape[1] < 2 * len(rows):
            squares = [factor.T @ factor for factor in self.factors]
            self.matrices = [_weighted_sum(c_a, squares) for c_a in self.coefficients]

    def scale_outputs(self, gradient: Tensor) -> list[Tensor]:
        """Return the gradient with respect to the outputs (rows, out), scaled for each block."""
        if self.matrices is not None:
            return [product(gradient, matrix) for matrix in self.matrices]
        parts = [product(product(gradient, factor.T), factor) for factor in self.factors]
        return [_weighted_sum(c_a, parts) for c_a in self.coefficients]

    def scale_rows(self, gradients: Sequence[Tensor]) -> list[Tensor]:
        """Return the scaled gradient of each block, from the plain gradients (size, out)."""
        if self.matrices is not None:
            return [gradient @ matrix for gradient, matrix in zip(gradients, self.matrices, strict=True)]
        scaled = []
        for gradient, c_a in zip(gradients, self.coefficients, strict=True):
            scaled.append(_weighted_sum(c_a, [(gradient @ factor.T) @ factor for factor in self.factors]))
        return scaled


def _weighted_sum(coefficients: list[float], parts: Sequence[Tensor]) -> Tensor:
    """Return sum_b c_b part_b; at least one coefficient is not 0."""
    scaled = (c * part for c, part in zip(coefficients, parts, strict=True) if c)
    return reduce(torch.Tensor.add_, scaled)


class _RotatedLinear(torch.autograd.Function):
    """Outputs x U (W_eff U)', and the scaled gradient of the active rows without ever forming the plain one."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, rotated: Tensor | None, active: Tensor, parametrization: RotatedWeight
    ) -> Tensor:
        rotated = rotated if rotated is not None else parametrization.rotate(inputs)
        ctx.save_for_backward(inputs, rotated, active)
        ctx.parametrization = parametrization
        return product(rotated, parametrization.all_rows())

    @staticmethod
    @no_autocast_backward
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, None, Tensor | None, None]:
        (g,) = gradients  # (rows, out)
        inputs, rotated, _ = ctx.saved_tensors  # the third: an error if it was changed in place
        parametrization: RotatedWeight = ctx.parametrization
        if torch.is_grad_enabled():  # a gradient of this gradient is wanted
            outputs = inputs @ parametrization.effective_weight().T
            to_inputs, to_active = differentiable_gradients(outputs, [inputs, parametrization.active], g)
            return to_inputs, None, to_active, None
        scaling = parametrization.gradient_scaling
        sources = [*scaling.scale_outputs(g), g] if scaling else [g]
        _, *parts = rotated.T.split([parametrization.frozen_count, *parametrization.block_sizes])
        of_blocks = [product(x, source) for x, source in zip(parts, sources, strict=True)]
        to_active = torch.cat(of_blocks) if len(of_blocks) > 1 else of_blocks[0]
        to_inputs = None
        if ctx.needs_input_grad[0]:
            to_inputs = product(g, parametrization.all_rows().T)
            if parametrization.rotation is not None:
                to_inputs = parametrization.rotate_back(to_inputs)
        return to_inputs, None, to_active, None
