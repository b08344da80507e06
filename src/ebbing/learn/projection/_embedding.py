"""Embeddings: a table of rows, of which those that old tasks look up are protected.

An embedding multiplies unit vectors: E' e_i is row i of the table E (rows, out), so W = E' and d is the number of rows.
The directions that a task uses are the rows that it looks up. No singular vectors are needed, and M consists of unit
vectors: `RowBlock` has their numbers. Protecting is freezing these rows, and everything else is as for other layers:
where a new task trusts an old one, it may change the rows of that task for itself, with the gradient multiplied by
sum_j lambda_j^2 K_j, K_j = E_j'E_j, E_j the rows of task j.

All rows are protected that the task looked up while it was trained, not only those of the examples: with a threshold,
rare words would be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional

from ebbing.learn.projection._autograd import no_autocast, scale_gradient
from ebbing.learn.projection._calls import Calls
from ebbing.learn.projection._layer_kinds import LinearKind
from ebbing.learn.projection._layers import PARAMETER_PREFIX, Layer
from ebbing.learn.projection._parametrization import GradientScaling, ParametrizationKind, equal_runs
from ebbing.learn.projection._row_blocks import RowBlock
from ebbing.learn.projection._substitution import Use
from ebbing.learn.projection._task_updates import TaskUpdate, TrustedTask
from ebbing.learn.projection.subspaces import BasisUpdate


class RowWeight:
    """The reparametrized table of an embedding: frozen and trained rows, with a scaled gradient for trusted ones.

    Args:
        table: The shared table E. Shape (rows, out).
        protected: The numbers of the protected rows. Shape (m,).
        trusted: The trusted tasks; their rows are trained, too.
        scaled: Whether the gradient of trusted rows is scaled.

    Attributes:
        columns: The positions of the trusted rows in `protected`. Shape (k,).
        active: The trained rows, trusted ones first. Shape (k + rows - m, out).
        numbers: Their numbers in the table.
        weight: The table before the task.
        seen: Which rows were looked up in training.
    """

    def __init__(self, table: Tensor, protected: Tensor, trusted: list[TrustedTask], *, scaled: bool) -> None:
        order, sizes, tasks_of = equal_runs(len(protected), trusted, table.device)
        self.weight, self.columns = table, order[len(order) - sum(sizes) :]
        free = torch.ones(len(table), dtype=torch.bool, device=table.device)
        free[protected] = False
        self.numbers = torch.cat([protected[self.columns], free.nonzero().squeeze(1)])
        self._everything = len(protected) == 0
        self.active = nn.Parameter(table.clone() if self._everything else table[self.numbers])
        self._initial = self._shared = self.active.detach().clone()
        self.position = self.numbers.new_full((len(table),), -1)
        self.position[self.numbers] = torch.arange(len(self.numbers), device=table.device)
        self.seen = torch.zeros(len(table), dtype=torch.bool, device=table.device)
        self._sizes = [*sizes, len(self.active) - len(self.columns)]
        self._scaling = None
        if scaled and sizes:
            weights = [task.weight for task in trusted]
            self._scaling = GradientScaling(self._shared[: len(self.columns)], sizes, tasks_of, weights)

    def parameters(self) -> list[nn.Parameter]:
        """Return the parameters to train."""
        return [self.active]

    @property
    def changed(self) -> bool:
        """Whether training has changed any parameter."""
        return not torch.equal(self.active, self._initial)

    def start_from(self, update: TaskUpdate | None) -> None:
        """Start the trusted rows at the values of an old task, from its update, instead of the shared values."""
        if update is None:
            return
        place = self.columns.new_full((len(self.weight),), -1)  # the active row of each protected one; -1: frozen
        place[self.columns] = torch.arange(len(self.columns), device=place.device)
        found = place[update.columns]
        with torch.no_grad():
            self.active[found[found >= 0]] += update.rows[found >= 0]
        self._initial = self.active.detach().clone()

    def _scaled_active(self) -> Tensor:
        return self.active if self._scaling is None else scale_gradient(self.active, self._scale_gradient)

    def _scale_gradient(self, gradient: Tensor) -> Tensor:
        assert self._scaling is not None
        *trusted, free = gradient.split(self._sizes)
        return torch.cat([*self._scaling.scale_rows(trusted), free])

    def look_up(self, indices: Tensor, padding_idx: int | None, *, sparse: bool) -> Tensor:
        """Return the rows with the given numbers, differentiable; cheaper than making the whole table."""
        place = indices if self._everything else self.position[indices]
        padding = None if padding_idx is None else int(self.position[padding_idx])
        padding = None if padding is None or padding < 0 else padding
        sparse = sparse and self._scaling is None
        if self._everything:
            return functional.embedding(place, self.active, padding, sparse=sparse)
        frozen = place < 0
        if not len(self.active):
            return functional.embedding(indices, self.weight)
        rows = functional.embedding(place.clamp(min=0), self._scaled_active(), padding, sparse=sparse)
        return torch.where(frozen[..., None], functional.embedding(indices, self.weight), rows)

    def effective_weight(self) -> Tensor:
        """Return the table of the task (rows, out), differentiable, with the scaled gradient."""
        return self.weight.index_copy(0, self.numbers, self._scaled_active())

    def finish(self) -> tuple[Tensor, TaskUpdate]:
        """Return the shared table after the task, and the task-specific update."""
        k, active = len(self.columns), self.active.detach()
        update = TaskUpdate(self.columns.clone(), (active - self._shared)[:k].clone())
        return self.weight.index_copy(0, self.numbers[k:], active[k:]), update


def remember_rows(module: nn.Module, seen: Tensor) -> None:
    """Make the rows that were looked up a buffer of the module while a task is learned: checkpoints save buffers."""
    module.register_buffer(f"{PARAMETER_PREFIX}seen", seen, persistent=False)


class EmbeddingLayer(Layer):
    """An embedding of which rows are protected; `Layer` has the rest.

    Args:
        name: The name of the module in the network.
        module: The embedding.
        uses: All embeddings that have this table.
    """

    def __init__(self, name: str, module: nn.Embedding | nn.EmbeddingBag, uses: Iterable[Use] = ()) -> None:
        super().__init__(name, module, "weight", _TableKind(), [*uses])

    def _empty_blocks(self) -> list[RowBlock]:  # type: ignore[override]
        return [RowBlock(len(self.weight), self.weight.detach())]

    def restored_blocks(self, states: list[dict[str, Tensor]], tasks: int) -> list[RowBlock]:  # type: ignore[override]
        """Return the blocks with these states."""
        return [RowBlock.from_state(state, tasks, self.weight.detach()) for state in states]

    def parametrize(
        self, trusted: list[list[TrustedTask]], kind: ParametrizationKind, *, starts_from_latest: bool = False
    ) -> list[nn.Parameter]:
        """Reparametrize the table for a new task, and return the parameters to train."""
        self._check_plain_module()
        (block,), (tasks,) = self.blocks, trusted
        rows = RowWeight(self.weight.detach().clone(), block.basis, tasks, scaled=kind != "free")
        if starts_from_latest and tasks:
            rows.start_from(block.updates[max(task.task for task in tasks)])
        self.parametrizations = [rows]  # type: ignore[list-item]
        for use in self.uses:
            forward = BagForward if isinstance(use.host, nn.EmbeddingBag) else EmbeddingForward
            use.host.forward = forward(use.host, rows)  # type: ignore[arg-type]
        remember_rows(self.module, rows.seen)
        return self._register(rows.parameters())

    def finish(self) -> None:
        """End the task as `Layer.finish` does, and keep which rows were looked up."""
        self._seen = self.parametrizations[0].seen  # type: ignore[union-attr]
        super().finish()

    def protect(
        self, calls: Calls, select: Callable[[Tensor, Tensor], BasisUpdate], *, leave_out_strongest: bool
    ) -> None:
        """Protect the rows that were looked up in training and for the examples."""
        (block,) = self.blocks
        seen = self._seen.clone()
        for call in calls:
            assert isinstance(call, Tensor)
            seen[call.flatten()] = True
        block.protect_rows(seen.nonzero().squeeze(1))  # type: ignore[attr-defined]


class EmbeddingForward:
    """The forward of an embedding with a reparametrized table, which remembers what was looked up in training.

    Args:
        module: The embedding.
        rows: The table.
    """

    def __init__(self, module: nn.Embedding, rows: RowWeight) -> None:
        self.module, self.rows = module, rows

    def __call__(self, input: Tensor) -> Tensor:
        if self.module.training:
            self.rows.seen[input.flatten()] = True
        module, rows = self.module, self.rows
        with no_autocast(rows.weight):
            if module.scale_grad_by_freq:  # counts rows in the whole table
                return functional.embedding(input, rows.effective_weight(), module.padding_idx, scale_grad_by_freq=True)
            return rows.look_up(input, module.padding_idx, sparse=module.sparse)


class BagForward:
    """The forward of an embedding bag with a reparametrized table, which remembers what was looked up in training.

    Args:
        module: The embedding bag.
        rows: The table.
    """

    def __init__(self, module: nn.EmbeddingBag, rows: RowWeight) -> None:
        self.module, self.rows = module, rows

    def __call__(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        module = self.module
        if module.training:
            self.rows.seen[input.flatten()] = True
        with no_autocast(self.rows.weight):
            return functional.embedding_bag(
                input,
                self.rows.effective_weight(),
                offsets,
                scale_grad_by_freq=module.scale_grad_by_freq,
                mode=module.mode,
                per_sample_weights=per_sample_weights,
                include_last_offset=module.include_last_offset,
                padding_idx=module.padding_idx,
            )


class _TableKind(LinearKind):
    """The table of an embedding: its inputs are numbers of rows."""

    unbatched_ndim = 0
