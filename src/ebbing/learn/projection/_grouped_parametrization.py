"""The parametrization of a grouped convolution: that of `_parametrization` for all groups in one batched operation.

A depthwise convolution of 500 channels consists of 500 products with a few numbers each; one by one, the overhead of
the calls would dominate a step. Here all groups have one parameter, the trained rows of every (W U)' stacked, and are
rotated and scaled together.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ebbing.learn.projection._autograd import scale_gradient
from ebbing.learn.projection._task_updates import TaskUpdate, TrustedTask
from ebbing.learn.projection.subspaces import orthogonal_complement


class GroupedRotatedWeight:
    """The reparametrized weights of the g groups of a layer, each with a weight, a basis and trusted tasks.

    Args:
        weights: The shared weight W of each group. Shape (out, d) each.
        bases: The basis M of each group. Shape (d, m) each; m may differ.
        trusted: The trusted tasks of each group.
        scaled: Whether the gradient of trusted rows is scaled. Otherwise they are trained freely.

    Attributes:
        weight: The shared weights before the task. Shape (g * out, d).
        rotation: U of every group. Shape (g, d, d); None if nothing is protected.
        active: The trained rows of all (W U)'. Shape (rows, out).
    """

    def __init__(
        self, weights: list[Tensor], bases: list[Tensor], trusted: list[list[TrustedTask]], *, scaled: bool = True
    ) -> None:
        self.weight = torch.cat(weights)
        W, d = torch.stack(weights), weights[0].shape[1]
        ranks = torch.tensor([basis.shape[1] for basis in bases], device=W.device)
        self.rotation = None
        if any(ranks):
            self.rotation = torch.stack([torch.cat([basis, orthogonal_complement(basis)], dim=1) for basis in bases])
        rows = W.mT.contiguous() if self.rotation is None else self.rotation.mT @ W.mT  # (g, d, out)
        protected = torch.arange(d, device=W.device) < ranks[:, None]  # (g, d)
        # Slot s holds the s-th trusted task of every group: which rows are in its subspace, and its weight.
        slots = max(map(len, trusted))
        in_subspace = rows.new_zeros(slots, len(weights), d, 1)
        factors = rows.new_zeros(slots, len(weights), 1, 1)
        for group, tasks in enumerate(trusted):
            for slot, task in enumerate(tasks):
                in_subspace[slot, group, task.subspace.columns] = 1
                factors[slot, group] = task.weight
        self._is_trusted = protected & in_subspace.any(dim=0).squeeze(-1)  # (g, d)
        self._is_free = ~protected  # (g, d)
        self._active_indices = (self._is_trusted | self._is_free).flatten().nonzero().squeeze(1)
        self._rows = rows
        self.active = nn.Parameter(rows.flatten(0, 1)[self._active_indices])
        self._initial_active = self.active.detach().clone()
        self._scaling_matrices = None  # lambda_j^2 K_j of every slot (slots, g, out, out)
        if slots and scaled:
            self._scaling_matrices = (factors * in_subspace * rows).mT @ (factors * in_subspace * rows)
        self._in_subspace = in_subspace

    def parameters(self) -> list[nn.Parameter]:
        """Return the parameters to train."""
        return [self.active]

    @property
    def changed(self) -> bool:
        """Whether training has changed any parameter."""
        return not torch.equal(self.active, self._initial_active)

    def start_from(self, updates: list[TaskUpdate | None]) -> None:
        """Start each group's trusted columns at the values of an old task, from its update, if any."""
        added = torch.zeros_like(self._rows)
        for rows, update in zip(added, updates, strict=True):
            if update is not None:
                rows[update.columns] = update.rows
        with torch.no_grad():
            self.active.add_(added.flatten(0, 1)[self._active_indices])  # frozen columns are not among them
        self._initial_active = self.active.detach().clone()

    def effective_weight(self) -> Tensor:
        """Return W_eff of all groups (g * out, d), differentiable, with the scaled gradient."""
        rows = self._rows.flatten(0, 1).index_copy(0, self._active_indices, self.active).view_as(self._rows)
        if self._scaling_matrices is not None:
            rows = scale_gradient(rows, self._scale_row_gradient)
        if self.rotation is not None:
            rows = self.rotation @ rows
        return rows.mT.flatten(0, 1)

    def _scale_row_gradient(self, gradient: Tensor) -> Tensor:
        """Scale the gradient of all rows (g, d, out), each row by the tasks whose subspaces contain it."""
        assert self._scaling_matrices is not None
        return gradient * self._is_free[..., None] + (self._in_subspace * (gradient @ self._scaling_matrices)).sum(0)

    def finish_groups(self) -> list[tuple[Tensor, TaskUpdate]]:
        """Return, for every group, the shared weight after the task (out, d) and the task-specific update."""
        indices, active = self._active_indices, self.active.detach()
        rows = self._rows.flatten(0, 1).index_copy(0, indices, active).view_as(self._rows)
        changes, shared = rows - self._rows, rows.mT
        if self.rotation is not None:
            before = self.weight.view_as(shared)
            shared = before + (self.rotation @ (changes * self._is_free[..., None])).mT
        finished = []
        for weight, change, is_trusted in zip(shared, changes, self._is_trusted, strict=True):
            columns = is_trusted.nonzero().squeeze(1)
            finished.append((weight.clone(memory_format=torch.contiguous_format), TaskUpdate(columns, change[columns])))
        return finished
