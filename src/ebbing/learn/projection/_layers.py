"""The layers of a network that gradient projection can protect: watched, and set in motion.

A linear layer multiplies inputs x (d,) by W (out, d); a convolution multiplies patches of its input, d = channels *
kernel.
A grouped convolution is several such products side by side, each with inputs of its own: one `Block` per group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ebbing.learn.projection._authors_variant import AuthorsWeight
from ebbing.learn.projection._grouped_parametrization import GroupedRotatedWeight
from ebbing.learn.projection._parametrization import (
    Parametrization,
    RotatedWeight,
    Subspace,
    TaskUpdate,
    TrustedTask,
    UnprotectedScaling,
    no_autocast,
)
from ebbing.learn.projection.subspaces import BasisUpdate

PARAMETER_PREFIX = "in_motion_"
"""Begins the names of a module's parameters that are there while it is in motion."""

MAX_BYTES = 256 << 20
"""Bytes of a layer's inputs that are held at once."""


class Block:
    """One product W x: the directions protected so far, and what each task uses and keeps."""

    def __init__(self, size: int, like: Tensor) -> None:
        self.basis = like.new_zeros(size, 0)  # M (d, m)
        self.subspaces: list[Subspace] = []  # S_t of every task learned
        self.changes: list[TaskUpdate] = []

    def effective(self, weight: Tensor, task: int) -> Tensor:
        """The weights (out, d) that a task uses, from those that all share."""
        return self.changes[task].apply(weight, self.basis)

    def protect(self, growth: BasisUpdate, *, leave_out_strongest: bool) -> None:
        """Add the directions that a task uses and that are not protected yet.

        leave_out_strongest: as in the authors' code, where the strongest new direction of every task but the first is
        used (in S_t) and not protected (departure 1 of docs/methods.md).
        """
        m, new, used = self.basis.shape[1], growth.new.to(self.basis), growth.used.to(self.basis.device)
        others = new[:, :0]
        if leave_out_strongest and m > 0 and new.shape[1] > 0:
            others, new = new[:, :1], new[:, 1:]
            used = used[used != m]
            used = torch.where(used > m, used - 1, used)
        self.basis = torch.cat([self.basis, new], dim=1)
        self.subspaces.append(Subspace(used, others))

    def state(self) -> dict[str, Tensor]:
        """Everything, as tensors by name."""
        state = {"basis": self.basis}
        for t, (subspace, change) in enumerate(zip(self.subspaces, self.changes, strict=True)):
            state[f"{t}.columns"] = subspace.columns.to(torch.int32)
            state[f"{t}.others"] = subspace.others
            state[f"{t}.change.columns"] = change.columns.to(torch.int32)
            state[f"{t}.change.rows"] = change.rows
            for number, scaling in enumerate(change.scalings):
                state[f"{t}.leak.{number}.rows"], state[f"{t}.leak.{number}.mix"] = scaling.rows, scaling.mix
                of = [scaling.trusted.task, scaling.trusted.weight]
                state[f"{t}.leak.{number}.of"] = torch.tensor(of, dtype=torch.float64)
        return state

    @staticmethod
    def from_state(state: dict[str, Tensor], tasks: int, like: Tensor) -> Block:
        """The block whose state this is, of as many tasks."""
        block = Block(like.shape[1], like)
        if state["basis"].shape[0] != like.shape[1]:
            raise ValueError(f"a basis in {state['basis'].shape[0]} dimensions for a layer with {like.shape[1]}")
        block.basis = state["basis"]
        block.subspaces = [Subspace(state[f"{t}.columns"].long(), state[f"{t}.others"]) for t in range(tasks)]
        for t, subspace in enumerate(block.subspaces):
            _check_shapes(t, subspace.columns, block.basis.shape[1], subspace.others.T, like.shape[1])
        for t in range(tasks):
            scalings: list[UnprotectedScaling] = []
            while (name := f"{t}.leak.{len(scalings)}") + ".rows" in state:
                task, weight = state[f"{name}.of"].tolist()
                trusted = TrustedTask(int(task), block.subspaces[int(task)], weight)
                scalings.append(UnprotectedScaling(trusted, state[f"{name}.rows"], state[f"{name}.mix"]))
            columns, rows = state[f"{t}.change.columns"].long(), state[f"{t}.change.rows"]
            _check_shapes(t, columns, block.basis.shape[1], rows, like.shape[0])
            if len(columns) != len(rows):
                raise ValueError(f"task {t} has changes of {len(rows)} rows for {len(columns)} columns")
            block.changes.append(TaskUpdate(columns, rows, tuple(scalings)))
        return block


def _check_shapes(task: int, columns: Tensor, count: int, rows: Tensor, width: int) -> None:
    """Column numbers that the basis has not, or rows that the layer's weights do not have."""
    if len(columns) and not (int(columns.min()) >= 0 and int(columns.max()) < count):
        raise ValueError(f"task {task} uses columns that a basis of {count} has not")
    if rows.ndim != 2 or rows.shape[1] != width:
        raise ValueError(f"task {task} has rows of shape {tuple(rows.shape)} for a layer with {width}")


class RotatedBatch(NamedTuple):
    """A batch of inputs, and the same in the coordinates of a layer in motion: so that it need not turn them."""

    batch: Tensor
    turned: Tensor
    version: int  # of the batch: it may be changed in place

    def matches(self, input: Tensor) -> bool:
        """Whether a layer's input is the batch itself: the same memory, unchanged."""
        batch = self.batch
        same = input.data_ptr() == batch.data_ptr() and input.shape == batch.shape and input.stride() == batch.stride()
        return same and input._version == self.version and not input.requires_grad


class Layer:
    """A protected module of the network and its blocks."""

    def __init__(self, name: str, module: nn.Linear | nn.Conv2d) -> None:
        self.name, self.module = name, module
        self.groups = module.groups if isinstance(module, nn.Conv2d) else 1
        self.blocks = [Block(self.weights[0].shape[1], self.weights[0]) for _ in range(self.groups)]
        self.moving: list[
            RotatedWeight | AuthorsWeight | GroupedRotatedWeight
        ] = []  # one for each block, or one for all
        self.known: RotatedBatch | None = None  # of the batch that the network is given

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """W (out, d) of each block, as they are in the module now."""
        return self.module.weight.detach().flatten(1).chunk(self.groups)

    def set_weights(self, weights: Iterable[Tensor]) -> None:
        """Write W of each block into the module."""
        with torch.no_grad():
            self.module.weight.copy_(torch.cat(list(weights)).view_as(self.module.weight))

    def start(
        self, trusted: list[list[TrustedTask]], parametrization: Parametrization, *, starts_from_latest: bool = False
    ) -> list[nn.Parameter]:
        """Set the layer in motion; returns what is to be trained.

        from_latest: whether trusted directions begin where the latest of the trusted tasks has them.
        """
        self._check_plain_module()
        weights, bases = [weight.clone() for weight in self.weights], [block.basis for block in self.blocks]
        scaled, together = parametrization == "scaled", list(zip(weights, bases, trusted, strict=True))
        kept = [
            block.changes[max(one.task for one in tasks)] if starts_from_latest and tasks else None
            for block, tasks in zip(self.blocks, trusted, strict=True)
        ]
        if parametrization == "authors":
            self.moving = [AuthorsWeight(*block) for block in together]
        elif self.groups > 1:
            grouped = GroupedRotatedWeight(weights, bases, trusted, scaled=scaled)
            grouped.start_at(kept)
            self.moving = [grouped]
        else:
            moving = [RotatedWeight(*block, scaled=scaled) for block in together]
            for one, change in zip(moving, kept, strict=True):
                one.start_at(change)
            self.moving = [*moving]
        # An attribute of the object, not of its class: the network's own code goes on calling the layer as ever.
        self.module.forward = self._linear if isinstance(self.module, nn.Linear) else self._conv
        parameters = [parameter for moving in self.moving for parameter in moving.parameters()]
        for number, parameter in enumerate(parameters):
            # Among network.parameters(), so that loops which clear or clip all gradients there do so with these, too.
            self.module.register_parameter(f"{PARAMETER_PREFIX}{number}", parameter)
        return parameters

    def _check_plain_module(self) -> None:
        """What the module does besides multiplying by its weight would not happen while it is in motion."""
        weight = self.module.weight
        if "forward" in self.module.__dict__:
            raise ValueError(f"layer {self.name!r} has a forward of its own, which would not be called while learning")
        if weight._backward_hooks or getattr(weight, "_post_accumulate_grad_hooks", None):
            raise ValueError(
                f"the weight of layer {self.name!r} has hooks on its gradient, which would not be called while "
                "learning; remove them, or name the layer in per_task= to give each task its own copy"
            )

    def check_unchanged(self) -> None:
        """While a layer is in motion its module's own weights rest."""
        if not torch.equal(self.module.weight.flatten(1), torch.cat([moving.weight for moving in self.moving])):
            raise ValueError(
                f"the weight of layer {self.name!r} was changed directly while a task was learned, which is not "
                "protected and not remembered; train the parameters that task() gives"
            )

    def finish(self) -> None:
        """Write the shared weights into the module, and keep what the task keeps for itself."""
        shared = []
        each = [m.finish_each() if isinstance(m, GroupedRotatedWeight) else [m.finish()] for m in self.moving]
        for (weight, change), block in zip(chain.from_iterable(each), self.blocks, strict=True):
            shared.append(weight)
            block.changes.append(change)
        self.stop()
        self.set_weights(shared)

    def stop(self) -> None:
        """Leave motion, with the module as it was before."""
        if self.moving:  # else a forward is not ours
            self.module.__dict__.pop("forward", None)
            for name in [name for name in self.module._parameters if name.startswith(PARAMETER_PREFIX)]:
                del self.module._parameters[name]
        self.moving, self.known = [], None

    def _linear(self, input: Tensor) -> Tensor:
        (moving,) = self.moving
        assert not isinstance(moving, GroupedRotatedWeight)
        if torch.is_autocast_enabled(input.device.type):  # coordinates rounded to a few bits would not protect
            with no_autocast(input):
                return self._linear(input.to(self.module.weight.dtype))
        rows, outputs = input.numel() // input.shape[-1], len(self.module.weight)
        turned = self.known.turned if self.known is not None and self.known.matches(input) else None
        if rows > outputs and turned is None:
            return functional.linear(input, moving.effective(), self.module.bias)
        result = moving.linear(input.reshape(rows, input.shape[-1]), turned)
        if self.module.bias is not None:
            result = result + self.module.bias
        return result if input.ndim == 2 else result.view(*input.shape[:-1], outputs)

    def _conv(self, input: Tensor) -> Tensor:
        with no_autocast(input):
            weight = torch.cat([moving.effective() for moving in self.moving]).view_as(self.module.weight)
        return self.module._conv_forward(input, weight, self.module.bias)  # type: ignore[operator]

    def representation(self, seen: list[Tensor]) -> list[Tensor]:
        """R (d, columns) of each block, from all that the module was given.

        Where R would be large, as with many patches, another one (d, d) with the same R R', on which all depends.
        """
        if not seen:  # a task may do without the layer
            return [block.basis.new_zeros(block.basis.shape[0], 1) for block in self.blocks]
        size = max(sum(part.nbytes for part in self.inputs(given[:1])) for given in seen)  # of one row or image
        if size * sum(map(len, seen)) <= MAX_BYTES:
            calls = [self.inputs(given) for given in seen]
            return [torch.cat(parts, dim=1) for parts in zip(*calls, strict=True)]
        d, device = len(self.blocks[0].basis), seen[0].device
        grams = [torch.zeros(d, d, dtype=torch.float64, device=device) for _ in self.blocks]
        for given in seen:
            for some in given.split(max(1, MAX_BYTES // (4 * size))):
                for gram, columns in zip(grams, self.inputs(some), strict=True):
                    gram.addmm_(columns.double(), columns.double().T)
        spectra = (torch.linalg.eigh(gram) for gram in grams)
        return [vectors * values.clamp(min=0).sqrt() for values, vectors in spectra]

    def inputs(self, seen: Tensor) -> list[Tensor]:
        """The columns (d, n) that each block multiplies when the module is given `seen`."""
        module = self.module
        if isinstance(module, nn.Linear):
            return [seen.reshape(-1, seen.shape[-1]).T]
        mode = "constant" if module.padding_mode == "zeros" else module.padding_mode
        padded = functional.pad(seen, _padding(module), mode=mode)
        patches = functional.unfold(padded, module.kernel_size, dilation=module.dilation, stride=module.stride)
        return list(patches.transpose(0, 1).flatten(1).chunk(self.groups))  # (channels * kernel, images * places)


def _padding(conv: nn.Conv2d) -> list[int]:
    """Left, right, top, bottom."""
    if conv.padding == "valid":
        return [0, 0, 0, 0]
    sides = []
    for axis in (1, 0):
        if conv.padding == "same":
            total = conv.dilation[axis] * (conv.kernel_size[axis] - 1)
            sides += [total // 2, total - total // 2]
        else:
            sides += [int(conv.padding[axis])] * 2
    return sides


@contextmanager
def recorded_inputs(layers: list[Layer]) -> Iterator[dict[str, list[Tensor]]]:
    """What each layer is given while the context is open, call by call."""
    seen: dict[str, list[Tensor]] = {layer.name: [] for layer in layers}

    def hook(layer: Layer) -> Callable[..., None]:
        single = 1 if isinstance(layer.module, nn.Linear) else 3

        def note(_module: nn.Module, inputs: tuple[Tensor, ...], named: dict[str, Tensor]) -> None:
            given = (inputs or (named["input"],))[0].detach()
            seen[layer.name].append(given[None] if given.ndim == single else given)

        return note

    handles = [layer.module.register_forward_pre_hook(hook(layer), with_kwargs=True) for layer in layers]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def frozen_statistics(network: nn.Module, names: Iterable[str]) -> Iterator[None]:
    """Modules that stay as they are: in evaluation mode, whatever mode the network is put into, and not trained."""
    modules = [network.get_submodule(name) for name in names]
    trained = [parameter for module in modules for parameter in module.parameters() if parameter.requires_grad]
    for parameter in trained:
        parameter.requires_grad_(False)
    for module in modules:
        module.eval()
        module.train = lambda mode=True, module=module: module  # of the object: `network.train()` asks every module
    try:
        yield
    finally:
        for module in modules:
            module.__dict__.pop("train", None)
        for parameter in trained:
            parameter.requires_grad_(True)
