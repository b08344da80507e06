"""Protected rows of a table: what `Block` is for directions."""

from __future__ import annotations

import torch
from torch import Tensor

from ebbing.learn.projection._task_updates import Subspace, TaskUpdate


class RowBlock:
    """The protected rows of a table, with the rows and the update of every learned task.

    Args:
        size: The number of rows of the table, d.
        like: A tensor with the dtype and the device of the table.

    Attributes:
        basis: The numbers of the protected rows: M consists of their unit vectors. Shape (m,).
        subspaces: The rows of every learned task, as positions in `basis`.
        updates: The task-specific update of every learned task.
    """

    def __init__(self, size: int, like: Tensor) -> None:
        self.size, self.like = size, like
        self.basis = torch.zeros(0, dtype=torch.long, device=like.device)
        self.subspaces: list[Subspace] = []
        self.updates: list[TaskUpdate] = []

    @property
    def rank(self) -> int:
        """The number of protected rows, m."""
        return len(self.basis)

    def projected_norm(self, gradient: Tensor, subspace: Subspace) -> float:
        """Return |G S_j|, the norm of a gradient of the table (rows, out) in the rows of a task."""
        return float(gradient[self.basis[subspace.columns]].norm())

    def effective_weight(self, weight: Tensor, task: int) -> Tensor:
        """Return the table that a task uses, from the shared one."""
        update = self.updates[task]
        return weight.index_add(0, self.basis[update.columns], update.rows)

    def protect_rows(self, rows: Tensor) -> None:
        """Protect the rows of a task, given by their numbers."""
        position = self.basis.new_full((self.size,), -1)
        position[self.basis] = torch.arange(self.rank, device=position.device)
        new = rows[position[rows] < 0]
        position[new] = torch.arange(self.rank, self.rank + len(new), device=position.device)
        self.basis = torch.cat([self.basis, new])
        self.subspaces.append(Subspace(position[rows], self.like.new_zeros(self.size, 0)))

    def state(self) -> dict[str, Tensor]:
        """Return everything as tensors by name."""
        state = {"rows": self.basis.to(torch.int32)}
        for t, (subspace, update) in enumerate(zip(self.subspaces, self.updates, strict=True)):
            state[f"{t}.columns"] = subspace.columns.to(torch.int32)
            state[f"{t}.change.columns"] = update.columns.to(torch.int32)
            state[f"{t}.change.rows"] = update.rows
        return state

    @staticmethod
    def from_state(state: dict[str, Tensor], tasks: int, like: Tensor) -> RowBlock:
        """Return the block with this state after so many tasks; `like` is the table.

        Raises an error if the state does not fit the table.
        """
        block = RowBlock(len(like), like)
        block.basis = state["rows"].long()
        if block.rank and not 0 <= int(block.basis.min()) <= int(block.basis.max()) < len(like):
            raise ValueError(f"it protects rows outside of a table of {len(like)}")
        for t in range(tasks):
            columns, of_update = state[f"{t}.columns"].long(), state[f"{t}.change.columns"].long()
            rows = state[f"{t}.change.rows"]
            for numbers in (columns, of_update):
                if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < block.rank:
                    raise ValueError(f"task {t} uses rows that are not among the {block.rank} protected ones")
            if rows.ndim != 2 or rows.shape != (len(of_update), like.shape[1]):
                raise ValueError(f"task {t} has rows of shape {tuple(rows.shape)} for a table of {tuple(like.shape)}")
            block.subspaces.append(Subspace(columns, like.new_zeros(len(like), 0)))
            block.updates.append(TaskUpdate(of_update, rows))
        return block
