"""A weight that an embedding and linear layers share, such as the words of a language model and its output layer.

The table E (rows, d) gives rows to the embedding and multiplies the inputs x (d,) of the linear layer, E x. Old tasks
are protected in both uses if a new one changes E by

    P D (I - M M'),    P = the rows that old tasks have not looked up, M (d, m) = their input directions in E x,

for any D: rows of old tasks stay as they are, and so does E M. With N the complement of M, the trained parameter is
E N in the free rows. Tied weights are not trusted: a new task changes no protected direction, even for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ebbing.learn.projection._blocks import Block
from ebbing.learn.projection._calls import Calls
from ebbing.learn.projection._embedding import remember_rows
from ebbing.learn.projection._layer_kinds import LinearKind, is_table
from ebbing.learn.projection._layers import Layer
from ebbing.learn.projection._parametrization import ParametrizationKind
from ebbing.learn.projection._row_blocks import RowBlock
from ebbing.learn.projection._substitution import SubstitutedForward, Use
from ebbing.learn.projection._task_updates import TaskUpdate, TrustedTask
from ebbing.learn.projection.subspaces import BasisUpdate, orthogonal_complement


class TiedWeight:
    """The reparametrized table: free rows in free directions are trained.

    Args:
        table: The shared table E. Shape (rows, d).
        protected: The numbers of the protected rows.
        basis: The basis M of the protected input directions. Shape (d, m).

    Attributes:
        active: E N in the free rows. Shape (free rows, d - m).
        weight: The table before the task.
        seen: Which rows were looked up in training.
    """

    def __init__(self, table: Tensor, protected: Tensor, basis: Tensor) -> None:
        free = torch.ones(len(table), dtype=torch.bool, device=table.device)
        free[protected] = False
        self.weight, self._rows = table, free.nonzero().squeeze(1) if len(protected) else None
        self._complement = orthogonal_complement(basis) if basis.shape[1] else None  # N (d, d - m)
        rows = table if self._rows is None else table[self._rows]
        self.active = nn.Parameter((rows if self._complement is None else rows @ self._complement).clone())
        self._initial = self.active.detach().clone()
        self.seen = torch.zeros(len(table), dtype=torch.bool, device=table.device)

    def parameters(self) -> list[nn.Parameter]:
        """Return the parameters to train."""
        return [self.active]

    @property
    def changed(self) -> bool:
        """Whether training has changed any parameter."""
        return not torch.equal(self.active, self._initial)

    def effective_weight(self) -> Tensor:
        """Return the table of the task, differentiable."""
        if self._rows is None and self._complement is None:
            return self.active
        change = self.active - self._initial
        change = change if self._complement is None else change @ self._complement.T
        return self.weight + change if self._rows is None else self.weight.index_add(0, self._rows, change)


class TiedLayer(Layer):
    """A table of one or several embeddings and linear layers; `Layer` has the rest.

    Its first block has the input directions, its second the rows.

    Args:
        name: The name of the first module in the network.
        module: The first module that has the table.
        uses: All modules that have it.
    """

    can_trust = False

    def __init__(self, name: str, module: nn.Module, uses: Sequence[Use]) -> None:
        super().__init__(name, module, "weight", LinearKind(), uses)

    def _empty_blocks(self) -> list[Any]:
        table = self.weight.detach()
        return [Block(table.shape[1], table), RowBlock(len(table), table)]

    def restored_blocks(self, states: list[dict[str, Tensor]], tasks: int) -> list[Any]:
        """Return the blocks with these states."""
        table = self.weight.detach()
        directions, rows = states
        return [Block.from_state(directions, tasks, table), RowBlock.from_state(rows, tasks, table)]

    def set_blocks(self, blocks: list[Any]) -> None:
        """Replace the blocks."""
        self.blocks = blocks

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """The table, once for each block."""
        return self.weight.detach(), self.weight.detach()

    def set_weights(self, weights: Any) -> None:
        """Write the table; those of both blocks are the same, as no task has an update."""
        with torch.no_grad():
            self.weight.copy_(next(iter(weights)))

    def parametrize(
        self, trusted: list[list[TrustedTask]], kind: ParametrizationKind, *, starts_from_latest: bool = False
    ) -> list[nn.Parameter]:
        """Reparametrize the table for a new task, and return the parameters to train."""
        self._check_plain_module()
        directions, rows = self.blocks
        tied = TiedWeight(self.weight.detach().clone(), rows.basis, directions.basis)
        self.parametrizations = [tied]  # type: ignore[list-item]
        for use in self.uses:
            forward = SubstitutedForward(use, self.effective_weight, use.host.forward)
            if is_table(use.host):
                forward = TiedEmbeddingForward(use, self.effective_weight, use.host.forward, tied)
            use.host.forward = forward
        remember_rows(self.module, tied.seen)
        return self._register(tied.parameters())

    def finish(self) -> None:
        """End the task: write the table, and keep which rows were looked up."""
        (tied,) = self.parametrizations
        self._seen, table = tied.seen, tied.effective_weight().detach().clone()  # type: ignore[union-attr]
        for block, width in zip(self.blocks, (len(table), table.shape[1]), strict=True):
            none = torch.zeros(0, dtype=torch.long, device=table.device)
            block.updates.append(TaskUpdate(none, table.new_zeros(0, width)))
        self.remove_parametrizations()
        self.set_weights([table])

    def protect(
        self, calls: Calls, select: Callable[[Tensor, Tensor], BasisUpdate], *, leave_out_strongest: bool
    ) -> None:
        """Protect the rows that were looked up, and the input directions of the linear layers."""
        directions, rows = self.blocks
        inputs = [call for call in calls if not isinstance(call, Tensor) or call.is_floating_point()]
        seen = self._seen.clone()
        for call in calls:
            if isinstance(call, Tensor) and not call.is_floating_point():
                seen[call.flatten()] = True
        rows.protect_rows(seen.nonzero().squeeze(1))  # type: ignore[attr-defined]
        whole, self.blocks = self.blocks, [directions]
        try:
            super().protect(inputs, select, leave_out_strongest=False)
        finally:
            self.blocks = whole


class TiedEmbeddingForward(SubstitutedForward):
    """The forward of an embedding with a tied table, which remembers what was looked up in training.

    Args:
        use: The table, and the embedding.
        compute: A function that returns the table of the task.
        forward: The forward of the embedding.
        tied: The parametrization of the table.
    """

    def __init__(self, use: Use, compute: Callable[[], Tensor], forward: Callable[..., Any], tied: TiedWeight) -> None:
        super().__init__(use, compute, forward)
        self.tied = tied

    def __call__(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if self.use.host.training:
            self.tied.seen[input.flatten()] = True
        return super().__call__(input, *args, **kwargs)
