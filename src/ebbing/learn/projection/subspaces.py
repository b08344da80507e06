"""Which input directions of a layer a task uses, measured on a representation matrix R (d, columns).

Every column of R is one input of the layer: a vector for a linear layer, a patch for a convolution. The energy of a
unit vector u is |u'R|^2; its share is of |R|^2 (Frobenius). M (d, m) is the orthonormal basis of what is protected
already. All in double precision: bases stay orthonormal over many tasks.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

NEGLIGIBLE = 1e-12
"""Share of energy below which a direction is rounding noise, not a direction of the data."""


@dataclass(frozen=True, eq=False)
class BasisUpdate:
    """What a task adds to the basis, and which columns (of the basis with these added) the task uses itself."""

    new: Tensor  # (d, k) orthonormal, orthogonal to the old basis
    used: Tensor  # (r,) column numbers, strongest first


def spectrum(R: Tensor) -> tuple[Tensor, Tensor]:
    """Left singular vectors of R and the squared singular values, largest first.

    With more columns than rows they come from R R', which is the smaller matrix.
    """
    if R.shape[1] > R.shape[0]:
        values, vectors = torch.linalg.eigh(R @ R.T)
        return vectors.flip(1), values.flip(0).clamp(min=0)
    vectors, values, _ = torch.linalg.svd(R, full_matrices=False)
    return vectors, values.square()


def initial_basis(R: Tensor, threshold: float, *, include_crossing: bool = True) -> BasisUpdate:
    """The leading directions until their energies add up to the threshold.

    crossing: whether the one that crosses it is among them. If not, there is one at least: no protection at all is
    never meant. A threshold of 1 is for all directions there are: rounding would decide on the last ones otherwise.
    """
    vectors, energies = spectrum(R.double())
    shares = _shares(energies, energies.sum())
    there = int((shares > NEGLIGIBLE).sum())
    below = int((shares.cumsum(0) < threshold).sum())
    rank = there if threshold >= 1 else min(there, below + 1 if include_crossing else max(1, below))
    return BasisUpdate(vectors[:, :rank], torch.arange(rank))


def extend_basis(M: Tensor, R: Tensor, threshold: float) -> BasisUpdate:
    """GPM: the leading directions of R - M M'R until the energy kept, old and new together, reaches the threshold."""
    M, R = M.double(), R.double()
    total, inside = R.square().sum(), M.T @ R  # (m, columns)
    vectors, energies = spectrum(R - M @ inside)
    shares = _shares(energies, total)
    kept = float(_shares(inside.square().sum(), total))
    rank = 0
    while kept < threshold and rank < len(shares) and shares[rank] > NEGLIGIBLE:
        kept += float(shares[rank])
        rank += 1
    return BasisUpdate(_orthonormal(M, vectors[:, :rank]), torch.arange(M.shape[1] + rank))


def strongest_directions(M: Tensor, R: Tensor, threshold: float) -> BasisUpdate:
    """TRGP: old columns of M and leading directions of R - M M'R, strongest first, until their energy is enough."""
    M, R = M.double(), R.double()
    total, inside = R.square().sum(), M.T @ R
    vectors, energies = spectrum(R - M @ inside)
    shares = torch.cat([_shares(inside.square().sum(1), total), _shares(energies, total)])
    order = shares.argsort(descending=True, stable=True)
    before = shares[order].cumsum(0) - shares[order]
    used = order[(before < threshold) & (shares[order] > NEGLIGIBLE)]
    rank = int((used >= M.shape[1]).sum())  # new directions are taken in their own order: the first ones
    return BasisUpdate(_orthonormal(M, vectors[:, :rank]), used)


def _shares(energies: Tensor, total: Tensor) -> Tensor:
    return energies / total if total > 0 else torch.zeros_like(energies)


def _orthonormal(M: Tensor, new: Tensor) -> Tensor:
    """The new directions without the rounding errors that lean into the old ones."""
    new = new - M @ (M.T @ new)
    basis, triangle = torch.linalg.qr(new - M @ (M.T @ new))
    return basis * torch.where(triangle.diagonal() < 0, -1.0, 1.0)
