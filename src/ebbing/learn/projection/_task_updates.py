"""The subspace that a task uses in one layer, and the task-specific weight update that it stores there.

Notation: W (out, d) are the weights that all tasks share, M (d, m) is the orthonormal basis of the protected input
directions, and S_j (d, r) is an orthonormal basis of the input subspace of task j.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Subspace:
    """The input subspace S of a task: columns of the layer's basis M and, in the authors' variant, unprotected ones.

    Attributes:
        columns: The numbers of the columns of M that span the protected part of S. Shape (k,).
        unprotected: Orthonormal directions of S that are not in M. Shape (d, e); e = 0 outside the authors' variant.
    """

    columns: Tensor
    unprotected: Tensor

    @property
    def rank(self) -> int:
        """The number of directions, r = k + e."""
        return len(self.columns) + self.unprotected.shape[1]


@dataclass(frozen=True, eq=False)
class TrustedTask:
    """An old task in the trust region of a new one: the new task may scale the weights in its subspace.

    Attributes:
        task: The number of the old task, from 0.
        subspace: The subspace S_j of the old task.
        weight: The weight lambda_j of the scaling: 1 in TRGP, larger for recent tasks in TRGP+.
    """

    task: int
    subspace: Subspace
    weight: float


@dataclass(frozen=True, eq=False)
class UnprotectedScaling:
    """The scaling that a task stores for a trusted subspace with unprotected directions (see `_authors_variant`).

    With O the unprotected directions of the subspace, rows + lambda * mix' (W O)' is added to W' in the subspace.

    Attributes:
        trusted: The trusted task and its subspace of rank r.
        rows: The constant part of the update, V. Shape (r, out).
        mix: The coefficients D_O of (W O)', where W is the current shared weight. Shape (e, r).
    """

    trusted: TrustedTask
    rows: Tensor
    mix: Tensor


@dataclass(frozen=True, eq=False)
class TaskUpdate:
    """The task-specific update of a layer's weight: rows that are added to W' in some columns of the basis M.

    Attributes:
        columns: The numbers of the columns of M. Shape (k,).
        rows: What is added to (W M)' in these columns. Shape (k, out).
        scalings: In the authors' variant, one scaling per trusted task; otherwise empty.
    """

    columns: Tensor
    rows: Tensor
    scalings: tuple[UnprotectedScaling, ...] = field(default=())

    def apply(self, weight: Tensor, basis: Tensor) -> Tensor:
        """Return the effective weight W_eff (out, d) of the task, from the shared W (out, d) and the basis M (d, m)."""
        total = weight + (basis[:, self.columns] @ self.rows).T
        for scaling in self.scalings:
            subspace, factor = scaling.trusted.subspace, scaling.trusted.weight
            S = torch.cat([basis[:, subspace.columns], subspace.unprotected], dim=1)
            rows = scaling.rows + factor * scaling.mix.T @ (weight @ subspace.unprotected).T
            total += (S @ rows).T
        return total
