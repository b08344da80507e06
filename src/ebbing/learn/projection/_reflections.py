"""Products with an orthogonal matrix whose first few columns are given, without the matrix itself.

A layer is trained in coordinates x U, U = [M, N] with a basis M (d, m) of the protected directions and N from
`orthogonal_complement`. A product with U costs as much as the layer's own product with W, but N is a product of m
Householder reflections, in their compact form (Schreiber and Van Loan, 1989)

    N = (I - V T V') E,    V (d, m), T (m, m) upper triangular, E = the last d - m columns of the identity,

so that x N = x E - (x V) (T V' E), and x U costs about 3 m / d as much as with U itself.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ebbing.learn.projection._products import product


class Reflections:
    """An orthogonal matrix U = [M, N] as the Householder reflections of M.

    Args:
        basis: The orthonormal directions whose reflections give N, as in `orthogonal_complement`. Shape (d, m).
        order: The order of these directions in M. Shape (m,).
    """

    def __init__(self, basis: Tensor, order: Tensor) -> None:
        factored, scales = torch.geqrf(basis.double())  # reflection i is I - scale_i v_i v_i'
        V = factored.tril(-1)
        V.diagonal().fill_(1)
        is_identity = scales == 0  # of a direction along its own axis
        V[:, is_identity] = 0
        inverse = (V.T @ V).triu(1)
        inverse.diagonal().copy_(1 / torch.where(is_identity, 1, scales))
        self._m = basis.shape[1]
        self._directions = torch.cat([basis[:, order], V.to(basis.dtype)], dim=1)  # [M, V]
        # T V' E
        self._corrections = torch.linalg.solve_triangular(inverse, V[self._m :].T, upper=True).to(basis.dtype)

    @staticmethod
    def save_time(d: int, m: int) -> bool:
        """Return whether products by reflections are clearly cheaper than with the matrix."""
        return 0 < 4 * m <= d

    def rotate(self, inputs: Tensor) -> Tensor:
        """Return x U for inputs x (rows, d)."""
        in_basis, along_reflections = product(inputs, self._directions).split(self._m, dim=1)
        free = inputs[:, self._m :] - product(along_reflections, self._corrections)
        return torch.cat([in_basis, free], dim=1)

    def rotate_back(self, rotated: Tensor) -> Tensor:
        """Return y U' for rotated rows y (rows, d)."""
        in_basis, free = rotated[:, : self._m], rotated[:, self._m :]
        along_directions = torch.cat([in_basis, -product(free, self._corrections.T)], dim=1)
        result = product(along_directions, self._directions.T)
        result[:, self._m :] += free
        return result
