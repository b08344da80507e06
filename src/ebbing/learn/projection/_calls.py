"""The recorded inputs of a layer, call by call: a tensor, or one for each of the layer's blocks."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

ROUNDING = 1e-14
"""The share of energy that makes a Gram matrix with rounding errors positive definite, far below negligible ones."""


class GramMatrices(list[Tensor]):
    """The sum of R R' over recorded calls, for each block: their inputs would need too much memory."""


Call = Tensor | tuple[Tensor, ...] | GramMatrices
"""The input of one call; query, key and value if they differ; or what is left of many calls, as the first one."""

Calls = list[Call]
"""The inputs of all calls of a layer."""


def first_row(call: Call) -> Call:
    """Return the first example of a call."""
    return next(split_rows(call, 1))


def count_rows(call: Call) -> int:
    """Return the number of examples of a call."""
    return len(call) if isinstance(call, Tensor) else max(map(len, call))


def split_rows(call: Call, size: int) -> Iterator[Call]:
    """Return parts of a call with at most so many rows; blocks may have different numbers of them."""
    if isinstance(call, Tensor):
        yield from call.split(size)
        return
    for begin in range(0, count_rows(call), size):
        yield tuple(part[begin : begin + size] for part in call)


def call_bytes(call: Call) -> int:
    """Return the memory of a call in bytes."""
    return call.nbytes if isinstance(call, Tensor) else sum(part.nbytes for part in call)


def square_root(gram: Tensor) -> Tensor:
    """Return a matrix R (d, d) with R R' equal to a Gram matrix, up to a share of 1e-14 of its energy."""
    if not gram.isfinite().all():
        return gram
    identity = torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    factor, failed = torch.linalg.cholesky_ex(gram + ROUNDING * gram.trace() * identity)
    if not failed:
        return factor
    values, vectors = torch.linalg.eigh(gram)
    return vectors * values.clamp(min=0).sqrt()
