"""Selection of the input directions of a layer that a task uses, from a representation matrix R (d, columns).

Every column of R is one input of the layer: a vector for a linear layer, a patch for a convolution. The energy of a
unit vector u is |u'R|^2; its share is relative to |R|^2 (Frobenius). M (d, m) is the orthonormal basis of the
directions that are protected already. All is computed in double precision, so that bases stay orthonormal over many
tasks.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

NEGLIGIBLE_SHARE = 1e-12
"""The share of energy below which a direction is rounding noise, not a direction of the data."""


@dataclass(frozen=True, eq=False)
class BasisUpdate:
    """The directions that a task adds to the basis M, and the columns that the task uses.

    Attributes:
        new: The directions to add: orthonormal, and orthogonal to M. Shape (d, k).
        used: The column numbers, in [M, new], of the directions that the task uses, its subspace S_t. Shape (r,).
    """

    new: Tensor
    used: Tensor


def spectrum(R: Tensor) -> tuple[Tensor, Tensor]:
    """Return the left singular vectors of R and the squared singular values, largest first.

    For more columns than rows they are computed from R R', which is the smaller matrix.

    Args:
        R: The representation matrix. Shape (d, columns).

    Returns:
        The singular vectors (d, q) and the squared singular values (q,), q = min(d, columns).
    """
    if R.shape[1] > R.shape[0]:
        values, vectors = torch.linalg.eigh(R @ R.T)
        return vectors.flip(1), values.flip(0).clamp(min=0)
    vectors, values, _ = torch.linalg.svd(R, full_matrices=False)
    return vectors, values.square()


def initial_basis(R: Tensor, threshold: float, *, include_crossing: bool = True) -> BasisUpdate:
    """Return the leading directions of R whose energies add up to the threshold, for the first task.

    Args:
        R: The representation matrix. Shape (d, columns).
        threshold: The share of energy to protect, in (0, 1]. A threshold of 1 selects all directions of the data:
            otherwise rounding would decide on the last ones.
        include_crossing: Whether to include the direction that crosses the threshold. If not, at least one direction
            is selected all the same, so that no task is left without protection.

    Returns:
        The selected directions, all of which the task uses.
    """
    vectors, energies = spectrum(R.double())
    shares = _shares(energies, energies.sum())
    available = int((shares > NEGLIGIBLE_SHARE).sum())
    below = int((shares.cumsum(0) < threshold).sum())
    rank = available if threshold >= 1 else min(available, below + 1 if include_crossing else max(1, below))
    return BasisUpdate(vectors[:, :rank], torch.arange(rank))


def extend_basis(M: Tensor, R: Tensor, threshold: float) -> BasisUpdate:
    """Return the leading directions of R - M M'R until the energy of old and new directions reaches the threshold.

    This is the rule of GPM for tasks after the first.

    Args:
        M: The basis of the protected directions. Shape (d, m).
        R: The representation matrix. Shape (d, columns).
        threshold: The share of energy to protect, in (0, 1].

    Returns:
        The new directions; the task uses all columns of the extended basis.
    """
    M, R = M.double(), R.double()
    total, inside = R.square().sum(), M.T @ R  # (m, columns)
    vectors, energies = spectrum(R - M @ inside)
    shares = _shares(energies, total)
    protected = float(_shares(inside.square().sum(), total))
    rank = 0
    while protected < threshold and rank < len(shares) and shares[rank] > NEGLIGIBLE_SHARE:
        protected += float(shares[rank])
        rank += 1
    return BasisUpdate(_orthonormalize(M, vectors[:, :rank]), torch.arange(M.shape[1] + rank))


def strongest_directions(M: Tensor, R: Tensor, threshold: float) -> BasisUpdate:
    """Return the strongest of the columns of M and the leading directions of R - M M'R, up to the threshold.

    This is the rule of TRGP for tasks after the first: all candidates are ranked by their energy |u'R|^2 and selected
    greedily until their energies add up to the threshold.

    Args:
        M: The basis of the protected directions. Shape (d, m).
        R: The representation matrix. Shape (d, columns).
        threshold: The share of energy that the task's subspace holds, in (0, 1].

    Returns:
        The new directions among the selected ones, and the columns of all selected ones, strongest first.
    """
    M, R = M.double(), R.double()
    total, inside = R.square().sum(), M.T @ R
    vectors, energies = spectrum(R - M @ inside)
    shares = torch.cat([_shares(inside.square().sum(1), total), _shares(energies, total)])
    order = shares.argsort(descending=True, stable=True)
    before = shares[order].cumsum(0) - shares[order]
    used = order[(before < threshold) & (shares[order] > NEGLIGIBLE_SHARE)]
    rank = int((used >= M.shape[1]).sum())  # new directions are selected in the order of their energy: a prefix
    return BasisUpdate(_orthonormalize(M, vectors[:, :rank]), used)


def _shares(energies: Tensor, total: Tensor) -> Tensor:
    return energies / total if total > 0 else torch.zeros_like(energies)


def _orthonormalize(M: Tensor, new: Tensor) -> Tensor:
    """Return the new directions orthonormalized against M, which removes rounding errors."""
    new = new - M @ (M.T @ new)
    basis, triangle = torch.linalg.qr(new - M @ (M.T @ new))
    return basis * torch.where(triangle.diagonal() < 0, -1.0, 1.0)
