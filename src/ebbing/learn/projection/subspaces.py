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

    This is the singular value decomposition, the plain reference of `ResidualSpectrum`.

    Args:
        R: The representation matrix. Shape (d, columns).

    Returns:
        The singular vectors (d, q) and the squared singular values (q,), q = min(d, columns).
    """
    vectors, values, _ = torch.linalg.svd(R, full_matrices=False)
    return vectors, values.square()


class ResidualSpectrum:
    """The spectrum of the residual E = R - M M'R, several times faster than `spectrum`.

    It is that of a symmetric matrix, the smallest at hand. For more rows than columns that is E'E = V diag(e) V', and
    the directions are E V diag(e)^(-1/2). Otherwise it is A A', where A = N'R are the coordinates of E in the
    orthogonal complement N of M: E = N A. Only the directions that are asked for are computed. Their inner products are
    wrong by rounding / share of energy, at most 1e-3 above the negligible share: orthonormalize them.

    Args:
        M: The basis of the protected directions, in double precision. Shape (d, m).
        R: The representation matrix, in double precision. Shape (d, columns).

    Attributes:
        energies: The energies of the directions of E, largest first. Shape (q,), q = columns or d - m.
        inside: The coordinates M'R of the protected part of R. Shape (m, columns).
    """

    energies: Tensor
    inside: Tensor

    def __init__(self, M: Tensor, R: Tensor) -> None:
        self.inside = M.T @ R
        self._scaled = R.shape[0] > R.shape[1]
        if self._scaled:
            self._left = R - M @ self.inside  # E
            symmetric = self._left.T @ self._left
        else:
            self._left = orthogonal_complement(M)  # N
            coordinates = self._left.T @ R if M.shape[1] else R
            symmetric = coordinates @ coordinates.T
        values, vectors = torch.linalg.eigh(symmetric)
        self.energies, self._vectors = values.flip(0).clamp(min=0), vectors.flip(1)

    def directions(self, count: int) -> Tensor:
        """Return the strongest directions.

        Args:
            count: The number of directions; their energies must not be negligible.

        Returns:
            Unit vectors, orthogonal to each other and to M up to rounding. Shape (d, count).
        """
        directions = self._left @ self._vectors[:, :count]
        return directions / self.energies[:count].sqrt() if self._scaled else directions


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
    R = R.double()
    found = ResidualSpectrum(R[:, :0], R)
    shares = _shares(found.energies, found.energies.sum())
    available = int((shares > NEGLIGIBLE_SHARE).sum())
    below = int((shares.cumsum(0) < threshold).sum())
    rank = available if threshold >= 1 else min(available, below + 1 if include_crossing else max(1, below))
    return BasisUpdate(_orthonormalize(R[:, :0], found.directions(rank)), torch.arange(rank))


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
    total, found = R.square().sum(), ResidualSpectrum(M, R)
    shares = _shares(found.energies, total)
    protected = float(_shares(found.inside.square().sum(), total))
    rank = 0
    while protected < threshold and rank < len(shares) and shares[rank] > NEGLIGIBLE_SHARE:
        protected += float(shares[rank])
        rank += 1
    return BasisUpdate(_orthonormalize(M, found.directions(rank)), torch.arange(M.shape[1] + rank))


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
    total, found = R.square().sum(), ResidualSpectrum(M, R)
    shares = torch.cat([_shares(found.inside.square().sum(1), total), _shares(found.energies, total)])
    order = shares.argsort(descending=True, stable=True)
    before = shares[order].cumsum(0) - shares[order]
    used = order[(before < threshold) & (shares[order] > NEGLIGIBLE_SHARE)]
    rank = int((used >= M.shape[1]).sum())  # new directions are selected in the order of their energy: a prefix
    return BasisUpdate(_orthonormalize(M, found.directions(rank)), used)


def orthogonal_complement(basis: Tensor) -> Tensor:
    """Return an orthonormal basis of the orthogonal complement of some orthonormal directions.

    It consists of the last columns of Q in a complete QR decomposition, which alone are computed.

    Args:
        basis: The directions. Shape (d, m).

    Returns:
        The complement, computed in double precision. Shape (d, d - m).

    Example:
        >>> orthogonal_complement(torch.eye(3)[:, :2]).abs()
        tensor([[0.],
                [0.],
                [1.]])
    """
    d, m = basis.shape
    last = torch.eye(d, dtype=torch.float64, device=basis.device)[:, m:]
    if m == 0:
        return last.to(basis.dtype)
    return torch.ormqr(*torch.geqrf(basis.double()), last).to(basis.dtype)


def _shares(energies: Tensor, total: Tensor) -> Tensor:
    return energies / total if total > 0 else torch.zeros_like(energies)


def _orthonormalize(M: Tensor, new: Tensor) -> Tensor:
    """Return the new directions orthonormalized against M, which removes rounding errors."""
    new = new - M @ (M.T @ new)
    basis, triangle = torch.linalg.qr(new - M @ (M.T @ new))
    return basis * torch.where(triangle.diagonal() < 0, -1.0, 1.0)
