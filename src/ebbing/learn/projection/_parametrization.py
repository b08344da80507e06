"""How one layer moves while a task is learned, in coordinates in which projecting is freezing.

Notation, per layer: W (out, d) the weights all tasks share; M (d, m) an orthonormal basis of the protected input
directions; S_j = columns of M that task j uses; G the gradient of the loss with respect to the layer's weights.

**Gradient projection** (GPM) replaces G by G (I - M M'). Complete M to an orthogonal matrix U = [M, N]. In coordinates
W U the projected step moves the columns of N and leaves those of M alone: projecting is freezing, for any optimizer.

**Scaled projection** (TRGP) trains besides, for each trusted old task j, a matrix Q_j that starts at I:

    W_eff = W + sum_j lambda_j W S_j (Q_j - I) S_j'                                                             (1)

The gradient of Q_j is lambda_j (W S_j)' G S_j, where W S_j stays as it is, since S_j is protected. So a step of plain
gradient descent on Q_j moves W_eff itself by

    - rate * lambda_j^2 K_j G S_j S_j',    K_j = W S_j S_j' W'   (out, out), fixed during the task,                (2)

and Q_j need not exist: TRGP is gradient descent on W_eff U whose gradient is, column by column, G in the free columns,
sum_j lambda_j^2 K_j G in the columns of trusted subspaces, and 0 in the other protected ones. A step costs what a plain
one does and a change of coordinates. Equal to (1) to rounding for gradient descent with or without momentum (both are
linear in the gradients), which `leaking.ExplicitScaling` is there to show; with Adam, say, the two are different methods, and
both protect. After the task, what has moved in the columns of M belongs to the task alone, and the shared W takes the
rest.

**Freely** (`TrgpFree`): the same with I in the place of the gains: in trusted columns the gradient is G itself. As no
gain depends on where they are, these columns may begin anywhere, for example where an old task has them (`start_at`).

For subspaces that are not wholly protected, as in the authors' code, see `leaking`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce, wraps
from itertools import groupby
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

Parametrization = Literal["scaled", "free", "authors"]
"""How trusted directions are trained: as in (2), freely, or as in (2) where some of them are not protected."""

MOST_TRUSTED = 60
"""Tasks that can be trusted at once: which of them use a column is written into the bits of one number."""


@dataclass(frozen=True, eq=False)
class Subspace:
    """Input directions of a task: columns of the layer's basis and, if not all are protected, others."""

    columns: Tensor  # (k,)
    others: Tensor  # (d, e)

    @property
    def rank(self) -> int:
        """Number of directions."""
        return len(self.columns) + self.others.shape[1]


@dataclass(frozen=True, eq=False)
class TrustedTask:
    """An old task whose subspace the new one may scale, with its weight lambda."""

    task: int
    subspace: Subspace
    weight: float


@dataclass(frozen=True, eq=False)
class UnprotectedScaling:
    """What a task keeps of a trusted subspace that is not wholly protected (see `leaking`)."""

    trusted: TrustedTask
    rows: Tensor  # (r, out) what is added to W' in the directions of the subspace
    mix: Tensor  # (e, r) and how much of (W O)', as W is now, for the e directions O that are not protected


@dataclass(frozen=True, eq=False)
class TaskUpdate:
    """What a task keeps for itself of a layer: rows to be added to W' in some columns of the basis."""

    columns: Tensor  # (k,)
    rows: Tensor  # (k, out)
    scalings: tuple[UnprotectedScaling, ...] = field(default=())

    def apply(self, weight: Tensor, basis: Tensor) -> Tensor:
        """W_eff of the task, from the shared W (out, d)."""
        total = weight + (basis[:, self.columns] @ self.rows).T
        for scaling in self.scalings:
            subspace, factor = scaling.trusted.subspace, scaling.trusted.weight
            S = torch.cat([basis[:, subspace.columns], subspace.others], dim=1)
            rows = scaling.rows + factor * scaling.mix.T @ (weight @ subspace.others).T
            total += (S @ rows).T
        return total


def no_autocast(like: Tensor) -> torch.autocast:
    """A context without mixed precision, in which coordinates are computed."""
    return torch.autocast(like.device.type, enabled=False)


def no_autocast_backward(backward: Callable[..., Any]) -> Callable[..., Any]:
    """A backward function without mixed precision, which is still on if the loss's backward() is called inside it."""

    @wraps(backward)
    def exact_backward(ctx: Any, *gradients: Tensor) -> Any:
        if not torch.is_autocast_enabled(gradients[0].device.type):
            return backward(ctx, *gradients)
        with no_autocast(gradients[0]):
            return backward(ctx, *gradients)

    return exact_backward


def orthogonal_complement(basis: Tensor) -> Tensor:
    """An orthonormal basis N of what is orthogonal to the columns of M."""
    return torch.linalg.qr(basis.double(), mode="complete").Q[:, basis.shape[1] :].to(basis.dtype)


def rotated_rows(weight: Tensor, rotation: Tensor | None) -> Tensor:
    """(W U)' (d, out), in memory of its own."""
    return weight.T.clone(memory_format=torch.contiguous_format) if rotation is None else rotation.T @ weight.T


class RotatedWeight:
    """A layer in motion: frozen rows and trained rows of (W U)', and the gains of the trained ones' gradient.

    scaled: whether there are gains; without, trusted rows move as the free ones do.
    """

    def __init__(self, weight: Tensor, basis: Tensor, trusted: list[TrustedTask], *, scaled: bool = True) -> None:
        m = basis.shape[1]
        patterns = torch.zeros(m, dtype=torch.long, device=weight.device)  # bit j: in the subspace of trusted task j
        for bit, task in enumerate(trusted):
            patterns[task.subspace.columns] += 1 << bit
        order = patterns.argsort(stable=True)  # frozen columns first; columns of equal gain side by side
        self.columns = order[patterns[order] > 0]
        self.frozen_count = m - len(self.columns)
        self.rotation = (
            None if m == 0 else torch.cat([basis[:, order], orthogonal_complement(basis)], dim=1)
        )  # U (d, d)
        rows = rotated_rows(weight, self.rotation)  # (d, out)
        self.rows, self.frozen = rows, rows[: self.frozen_count]
        self.active = nn.Parameter(rows[self.frozen_count :])  # in the same memory, so that one product does for both
        self.address = self.active.data_ptr()
        self.start = self.active.detach().clone()  # of the weights that all share
        self.begun = self.start  # of those that the task began with
        trusted_patterns = patterns[order][self.frozen_count :].tolist()
        runs = [(pattern, len(list(run))) for pattern, run in groupby(trusted_patterns)]
        tasks_of = [tuple(bit for bit in range(len(trusted)) if pattern >> bit & 1) for pattern, _ in runs]
        trusted_sizes, own = [size for _, size in runs], len(trusted_patterns)
        weights = [task.weight for task in trusted]
        self.gains = GradientScaling(self.start[:own], trusted_sizes, tasks_of, weights) if own and scaled else None
        # The rows of each block; the last block has no gain.
        self.sizes = [*trusted_sizes, len(self.active) - own] if scaled else [len(self.active)]
        self.weight = weight
        # What is frozen, in the original coordinates: the effective weights are this and the active part. (d, out)
        self.still = None if self.rotation is None else self.rotation[:, : self.frozen_count] @ self.frozen

    def whole(self) -> Tensor:
        """Frozen and trained rows (d, out), also if somebody has given the parameter other memory."""
        if self.active.data_ptr() == self.address:
            return self.rows
        return torch.cat([self.frozen, self.active.detach()])

    def parameters(self) -> list[nn.Parameter]:
        """What is trained."""
        return [self.active]

    @property
    def moved(self) -> bool:
        """Whether training has changed anything."""
        return not torch.equal(self.active, self.begun)

    def start_at(self, kept: TaskUpdate | None) -> None:
        """Begin trusted columns where an old task, if any, has them, instead of where all share them."""
        if kept is None:
            return
        place = self.columns.new_full((self.frozen_count + len(self.columns),), -1)  # of columns among the active rows
        place[self.columns] = torch.arange(len(self.columns), device=place.device)
        found = place[kept.columns]
        with torch.no_grad():
            self.active[found[found >= 0]] += kept.rows[found >= 0]
        self.begun = self.active.detach().clone()

    def linear(self, inputs: Tensor, turned: Tensor | None = None) -> Tensor:
        """W_eff x for rows of inputs (rows, d): the cheaper way when there are fewer rows than outputs.

        turned: the same in the coordinates U, where they are known and the inputs need no gradient.
        """
        known = inputs if self.rotation is None else turned
        return _RotatedLinear.apply(inputs, known, self.active, self)  # pyright: ignore[reportReturnType]

    def effective(self) -> Tensor:
        """W_eff (out, d), to be differentiated."""
        active = scale_gradient(self.active, self._gain) if self.gains else self.active
        if self.rotation is None or self.still is None:
            return active.T
        return torch.addmm(self.still, self.rotation[:, self.frozen_count :], active).T

    def _gain(self, gradient: Tensor) -> Tensor:
        assert self.gains is not None
        *trusted, free = gradient.split(self.sizes)
        return torch.cat([*self.gains.of_rows(trusted), free])

    def finish(self) -> tuple[Tensor, TaskUpdate]:
        """The shared weights after the task (out, d), and what the task keeps for itself."""
        own = len(self.columns)
        moved = self.active.detach() - self.start
        change = TaskUpdate(self.columns.clone(), moved[:own].clone())
        if self.rotation is None:
            return self.active.detach().T.clone(memory_format=torch.contiguous_format), change
        free = self.rotation[:, self.frozen_count + own :]
        return self.weight + (free @ moved[own:]).T, change


class GradientScaling:
    """What the gradient of each block of trusted rows is multiplied by: sum_j lambda_j^2 K_j over its tasks j.

    The rows of (W S_j)' are blocks of the rows F of (W U)', so K_j is a sum of F_b' F_b over the blocks b of task j,
    and block a's gradient is multiplied by sum_b c_ab F_b' F_b, c_ab = sum of lambda_j^2 over the tasks of both. Kept
    as matrices (out, out) or, where that is cheaper, as the factors F_b, which all blocks share.
    """

    def __init__(self, rows: Tensor, sizes: list[int], tasks_of: list[tuple[int, ...]], weights: list[float]) -> None:
        self.factors = rows.split(sizes)  # (size, out) each
        self.shares = [
            [sum(weights[j] ** 2 for j in of_a if j in of_b) for of_b in tasks_of] for of_a in tasks_of
        ]  # c_ab
        self.dense: list[Tensor] | None = None
        if len(tasks_of) * rows.shape[1] < 2 * len(rows):
            squares = [factor.T @ factor for factor in self.factors]
            self.dense = [_combined(shares, squares) for shares in self.shares]

    def of_outputs(self, gradient: Tensor) -> list[Tensor]:
        """The gradient at the outputs (rows, out), as it counts for each block."""
        if self.dense is not None:
            return [gradient @ matrix for matrix in self.dense]
        parts = [(gradient @ factor.T) @ factor for factor in self.factors]
        return [_combined(shares, parts) for shares in self.shares]

    def of_rows(self, gradients: Sequence[Tensor]) -> list[Tensor]:
        """The gradients of the blocks themselves (size, out)."""
        if self.dense is not None:
            return [gradient @ matrix for gradient, matrix in zip(gradients, self.dense, strict=True)]
        found = []
        for gradient, shares in zip(gradients, self.shares, strict=True):
            found.append(_combined(shares, [(gradient @ factor.T) @ factor for factor in self.factors]))
        return found


def _combined(shares: list[float], parts: Sequence[Tensor]) -> Tensor:
    """sum_b share_b part_b, of which one at least is not 0."""
    scaled = (share * part for share, part in zip(shares, parts, strict=True) if share)
    return reduce(torch.Tensor.add_, scaled)


class _RotatedLinear(torch.autograd.Function):
    """x U W~': outputs from inputs, and the gained gradient of the active rows without ever forming the plain one."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, turned: Tensor | None, active: Tensor, moving: RotatedWeight) -> Tensor:
        rotated = turned if turned is not None else inputs @ cast(Tensor, moving.rotation)
        ctx.save_for_backward(inputs, rotated, active)
        ctx.moving = moving
        return rotated @ moving.whole()

    @staticmethod
    @no_autocast_backward
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, None, Tensor | None, None]:
        (g,) = gradients  # (rows, out)
        inputs, rotated, active = ctx.saved_tensors
        moving: RotatedWeight = ctx.moving
        if torch.is_grad_enabled():  # to be differentiated once more
            to_inputs, to_active = differentiable_gradients(inputs @ moving.effective().T, [inputs, moving.active], g)
            return to_inputs, None, to_active, None
        to_active = torch.empty_like(active)
        sources = [*moving.gains.of_outputs(g), g] if moving.gains else [g]
        _, *parts = rotated.T.split([moving.frozen_count, *moving.sizes])
        for x, source, result in zip(parts, sources, to_active.split(moving.sizes), strict=True):
            torch.mm(x, source, out=result)
        to_inputs = None
        if ctx.needs_input_grad[0]:
            to_inputs = g @ moving.whole().T
            if moving.rotation is not None:
                to_inputs = to_inputs @ moving.rotation.T
        return to_inputs, None, to_active, None


def differentiable_gradients(outputs: Tensor, of: Sequence[Tensor], gradient: Tensor) -> list[Tensor | None]:
    """Gradients that can be differentiated themselves, from outputs computed by operations that can."""
    found = iter(torch.autograd.grad(outputs, [one for one in of if one.requires_grad], gradient, create_graph=True))
    return [next(found) if one.requires_grad else None for one in of]


def scale_gradient(values: Tensor, gain: Callable[[Tensor], Tensor]) -> Tensor:
    """The values as they are; their gradient as `gain` makes it."""
    return _ScaledGradient.apply(values, gain)  # pyright: ignore[reportReturnType]


class _ScaledGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, gain: Callable[[Tensor], Tensor]) -> Tensor:
        ctx.gain = gain
        return values.view_as(values)

    @staticmethod
    @no_autocast_backward
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return ctx.gain(gradients[0]), None
