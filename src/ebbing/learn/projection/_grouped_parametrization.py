"""A grouped convolution in motion, as in `motion`: its products side by side, in the operations of one.

A depthwise convolution of 500 channels is 500 products with a few numbers each; one by one, a step would cost what
calling costs. Here all groups have one parameter, the trained rows of every (W U)' one below the other, and are turned
and gained together.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ebbing.learn.projection._parametrization import TaskUpdate, TrustedTask, orthogonal_complement, scale_gradient


class GroupedRotatedWeight:
    """The groups (g of them) of a layer, each with W (out, d), its own basis M and its own trusted tasks."""

    def __init__(
        self, weights: list[Tensor], bases: list[Tensor], trusted: list[list[TrustedTask]], *, scaled: bool = True
    ) -> None:
        self.weight = torch.cat(weights)
        W, d = torch.stack(weights), weights[0].shape[1]
        ranks = torch.tensor([basis.shape[1] for basis in bases], device=W.device)
        self.rotation = None  # U (g, d, d)
        if any(ranks):
            self.rotation = torch.stack([torch.cat([basis, orthogonal_complement(basis)], dim=1) for basis in bases])
        rows = W.mT.contiguous() if self.rotation is None else self.rotation.mT @ W.mT  # (g, d, out)
        protected = torch.arange(d, device=W.device) < ranks[:, None]  # (g, d)
        # A group's first trusted task, second, ...: which of its rows are in their subspaces, and their weights.
        slots = max(map(len, trusted))
        inside = rows.new_zeros(slots, len(weights), d, 1)
        factors = rows.new_zeros(slots, len(weights), 1, 1)
        for group, tasks in enumerate(trusted):
            for slot, task in enumerate(tasks):
                inside[slot, group, task.subspace.columns] = 1
                factors[slot, group] = task.weight
        self.own = protected & inside.any(dim=0).squeeze(-1)
        self.free = ~protected
        self.places = (self.own | self.free).flatten().nonzero().squeeze(1)
        self.rows = rows
        self.active = nn.Parameter(rows.flatten(0, 1)[self.places])
        self.begun = self.active.detach().clone()
        # lambda_j^2 K_j of every slot (slots, g, out, out), and the rows that it is for
        self.gains = (factors * inside * rows).mT @ (factors * inside * rows) if slots and scaled else None
        self.inside = inside

    def parameters(self) -> list[nn.Parameter]:
        """What is trained."""
        return [self.active]

    @property
    def moved(self) -> bool:
        """Whether training has changed anything."""
        return not torch.equal(self.active, self.begun)

    def start_at(self, kept: list[TaskUpdate | None]) -> None:
        """Begin each group's trusted columns where an old task has them, instead of where all share them."""
        added = torch.zeros_like(self.rows)
        for rows, change in zip(added, kept, strict=True):
            if change is not None:
                rows[change.columns] = change.rows
        with torch.no_grad():
            self.active.add_(added.flatten(0, 1)[self.places])  # the trusted ones of these columns
        self.begun = self.active.detach().clone()

    def effective(self) -> Tensor:
        """W_eff (g * out, d), to be differentiated."""
        whole = self.rows.flatten(0, 1).index_copy(0, self.places, self.active).view_as(self.rows)
        if self.gains is not None:
            whole = scale_gradient(whole, self._gain)
        if self.rotation is not None:
            whole = self.rotation @ whole
        return whole.mT.flatten(0, 1)

    def _gain(self, gradient: Tensor) -> Tensor:
        """Of all rows (g, d, out): each row's by the tasks whose subspaces it is in."""
        assert self.gains is not None
        return gradient * self.free[..., None] + (self.inside * (gradient @ self.gains)).sum(0)

    def finish_each(self) -> list[tuple[Tensor, TaskUpdate]]:
        """Of every group, the shared weights after the task (out, d), and what the task keeps for itself."""
        now = self.rows.flatten(0, 1).index_copy(0, self.places, self.active.detach()).view_as(self.rows)
        moved, shared = now - self.rows, now.mT
        if self.rotation is not None:
            before = self.weight.view_as(shared)
            shared = before + (self.rotation @ (moved * self.free[..., None])).mT
        finished = []
        for weight, change, own in zip(shared, moved, self.own, strict=True):
            columns = own.nonzero().squeeze(1)
            finished.append((weight.clone(memory_format=torch.contiguous_format), TaskUpdate(columns, change[columns])))
        return finished
