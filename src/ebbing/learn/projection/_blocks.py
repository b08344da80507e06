"""One product W x of a layer: its protected directions, and the subspace and the update of every task."""

from __future__ import annotations

import torch
from torch import Tensor

from ebbing.learn.projection._task_updates import Subspace, TaskUpdate, TrustedTask, UnprotectedScaling
from ebbing.learn.projection.subspaces import BasisUpdate


class Block:
    """The protected directions of one product W x, with the subspace and the update of every learned task.

    Args:
        size: The number of inputs, d.
        like: A tensor with the dtype and the device of the weight.

    Attributes:
        basis: The basis M of the protected directions. Shape (d, m).
        subspaces: The subspace S_t of every learned task.
        updates: The task-specific weight update of every learned task.
    """

    def __init__(self, size: int, like: Tensor) -> None:
        self.basis = like.new_zeros(size, 0)
        self.subspaces: list[Subspace] = []
        self.updates: list[TaskUpdate] = []

    @property
    def size(self) -> int:
        """The number of inputs, d."""
        return len(self.basis)

    @property
    def rank(self) -> int:
        """The number of protected directions, m."""
        return self.basis.shape[1]

    def split_outputs(self, parts: int) -> list[Block]:
        """Return one block for each part of the outputs, with the same protected directions."""
        blocks = []
        for part in range(parts):
            block = Block(self.size, self.basis)
            block.basis, block.subspaces = self.basis, list(self.subspaces)
            for update in self.updates:
                scalings = tuple(
                    UnprotectedScaling(one.trusted, one.rows.chunk(parts, dim=1)[part], one.mix)
                    for one in update.scalings
                )
                block.updates.append(TaskUpdate(update.columns, update.rows.chunk(parts, dim=1)[part], scalings))
            blocks.append(block)
        return blocks

    def projected_norm(self, gradient: Tensor, subspace: Subspace) -> float:
        """Return |G S_j|, the norm of the part of a gradient (out, d) that lies in a subspace."""
        parts = gradient @ self.basis[:, subspace.columns], gradient @ subspace.unprotected
        return float(torch.cat(parts, dim=1).norm())

    def effective_weight(self, weight: Tensor, task: int) -> Tensor:
        """Return the weight (out, d) that a task uses, from the shared weight."""
        return self.updates[task].apply(weight, self.basis)

    def protect(self, update: BasisUpdate, *, leave_out_strongest: bool) -> None:
        """Add the new directions of a task to the basis, and store the task's subspace.

        With `leave_out_strongest`, the strongest new direction of every task but the first is used (in S_t) and not
        protected, as in the authors' code (deviation 1 of docs/theory/methods.md).
        """
        m, new, used = self.basis.shape[1], update.new.to(self.basis), update.used.to(self.basis.device)
        unprotected = new[:, :0]
        if leave_out_strongest and m > 0 and new.shape[1] > 0:
            unprotected, new = new[:, :1], new[:, 1:]
            used = used[used != m]
            used = torch.where(used > m, used - 1, used)
        self.basis = torch.cat([self.basis, new], dim=1)
        self.subspaces.append(Subspace(used, unprotected))

    def state(self) -> dict[str, Tensor]:
        """Return everything as tensors by name."""
        state = {"basis": self.basis}
        for t, (subspace, update) in enumerate(zip(self.subspaces, self.updates, strict=True)):
            state[f"{t}.columns"] = subspace.columns.to(torch.int32)
            state[f"{t}.others"] = subspace.unprotected
            state[f"{t}.change.columns"] = update.columns.to(torch.int32)
            state[f"{t}.change.rows"] = update.rows
            for number, scaling in enumerate(update.scalings):
                state[f"{t}.leak.{number}.rows"], state[f"{t}.leak.{number}.mix"] = scaling.rows, scaling.mix
                trusted = [scaling.trusted.task, scaling.trusted.weight]
                state[f"{t}.leak.{number}.of"] = torch.tensor(trusted, dtype=torch.float64)
        return state

    @staticmethod
    def from_state(state: dict[str, Tensor], tasks: int, like: Tensor) -> Block:
        """Return the block with this state after so many tasks; `like` is the weight (out, d).

        Raises an error if the state does not fit the weight.
        """
        block = Block(like.shape[1], like)
        if state["basis"].shape[0] != like.shape[1]:
            raise ValueError(f"a basis in {state['basis'].shape[0]} dimensions for a layer with {like.shape[1]} inputs")
        block.basis = state["basis"]
        block.subspaces = [Subspace(state[f"{t}.columns"].long(), state[f"{t}.others"]) for t in range(tasks)]
        for t, subspace in enumerate(block.subspaces):
            _check_shapes(t, subspace.columns, block.basis.shape[1], subspace.unprotected.T, like.shape[1])
        for t in range(tasks):
            scalings: list[UnprotectedScaling] = []
            while (name := f"{t}.leak.{len(scalings)}") + ".rows" in state:
                task, weight = state[f"{name}.of"].tolist()
                trusted = TrustedTask(int(task), block.subspaces[int(task)], weight)
                scalings.append(UnprotectedScaling(trusted, state[f"{name}.rows"], state[f"{name}.mix"]))
            columns, rows = state[f"{t}.change.columns"].long(), state[f"{t}.change.rows"]
            _check_shapes(t, columns, block.basis.shape[1], rows, like.shape[0])
            if len(columns) != len(rows):
                raise ValueError(f"task {t} has an update of {len(rows)} rows for {len(columns)} columns")
            block.updates.append(TaskUpdate(columns, rows, tuple(scalings)))
        return block


def _check_shapes(task: int, columns: Tensor, count: int, rows: Tensor, width: int) -> None:
    """Raise an error if column numbers exceed the basis, or if rows do not have the layer's width."""
    if len(columns) and not (int(columns.min()) >= 0 and int(columns.max()) < count):
        raise ValueError(f"task {task} uses columns outside of the basis, which has {count}")
    if rows.ndim != 2 or rows.shape[1] != width:
        raise ValueError(f"task {task} has rows of shape {tuple(rows.shape)} for a layer of width {width}")
