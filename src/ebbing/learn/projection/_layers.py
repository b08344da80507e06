"""The layers of a network that gradient projection can protect: recording their inputs and parametrizing them.

A linear layer multiplies inputs x (d,) by W (out, d); a convolution multiplies patches of its input, d = channels *
kernel. A grouped convolution consists of several such products with separate inputs: one `Block` per group.
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
from ebbing.learn.projection._autograd import no_autocast
from ebbing.learn.projection._blocks import Block
from ebbing.learn.projection._grouped_parametrization import GroupedRotatedWeight
from ebbing.learn.projection._parametrization import ParametrizationKind, RotatedWeight
from ebbing.learn.projection._task_updates import TrustedTask

PARAMETER_PREFIX = "parametrization_"
"""The prefix of the parameters that a module has while it is parametrized."""

MAX_INPUT_BYTES = 256 << 20
"""The number of bytes of a layer's inputs that are held in memory at once."""


class RotatedBatch(NamedTuple):
    """A batch of inputs together with the same inputs in the rotated coordinates of a layer.

    Attributes:
        batch: The inputs x. Shape (rows, d).
        rotated: The rotated inputs x U. Shape (rows, d).
        version: The version counter of `batch` when it was rotated: the network may change it in place.
    """

    batch: Tensor
    rotated: Tensor
    version: int

    def matches(self, input: Tensor) -> bool:
        """Return whether a layer's input is the batch itself: the same memory, unchanged."""
        batch = self.batch
        same = input.data_ptr() == batch.data_ptr() and input.shape == batch.shape and input.stride() == batch.stride()
        return same and input._version == self.version and not input.requires_grad


class Layer:
    """A protected module of the network and its blocks.

    Args:
        name: The name of the module in the network.
        module: The module.

    Attributes:
        groups: The number of groups of a convolution; 1 for a linear layer.
        blocks: One block per group.
        parametrizations: While a task is learned, one parametrization per block, or one for all; otherwise empty.
        rotated_batch: The current batch in rotated coordinates, if it was rotated in advance.
    """

    def __init__(self, name: str, module: nn.Linear | nn.Conv2d) -> None:
        self.name, self.module = name, module
        self.groups = module.groups if isinstance(module, nn.Conv2d) else 1
        self.blocks = [Block(self.weights[0].shape[1], self.weights[0]) for _ in range(self.groups)]
        self.parametrizations: list[RotatedWeight | AuthorsWeight | GroupedRotatedWeight] = []
        self.rotated_batch: RotatedBatch | None = None

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """The current weight W (out, d) of each block, as views of the module's weight."""
        return self.module.weight.detach().flatten(1).chunk(self.groups)

    def set_weights(self, weights: Iterable[Tensor]) -> None:
        """Write the weight W (out, d) of each block into the module."""
        with torch.no_grad():
            self.module.weight.copy_(torch.cat(list(weights)).view_as(self.module.weight))

    def parametrize(
        self, trusted: list[list[TrustedTask]], kind: ParametrizationKind, *, starts_from_latest: bool = False
    ) -> list[nn.Parameter]:
        """Reparametrize the layer's weight for a new task, and return the parameters to train.

        `trusted` lists the trusted tasks of each block. With `starts_from_latest`, trusted directions start at the
        values of the latest trusted task instead of the shared values.
        """
        self._check_plain_module()
        weights, bases = [weight.clone() for weight in self.weights], [block.basis for block in self.blocks]
        scaled, arguments = kind == "scaled", list(zip(weights, bases, trusted, strict=True))
        latest_updates = [
            block.updates[max(task.task for task in tasks)] if starts_from_latest and tasks else None
            for block, tasks in zip(self.blocks, trusted, strict=True)
        ]
        if kind == "authors":
            self.parametrizations = [AuthorsWeight(*of_block) for of_block in arguments]
        elif self.groups > 1:
            grouped = GroupedRotatedWeight(weights, bases, trusted, scaled=scaled)
            grouped.start_from(latest_updates)
            self.parametrizations = [grouped]
        else:
            parametrizations = [RotatedWeight(*of_block, scaled=scaled) for of_block in arguments]
            for parametrization, update in zip(parametrizations, latest_updates, strict=True):
                parametrization.start_from(update)
            self.parametrizations = [*parametrizations]
        # An attribute of the instance, not of its class: the network's code calls the layer as before.
        self.module.forward = self._linear if isinstance(self.module, nn.Linear) else self._conv
        parameters = [parameter for one in self.parametrizations for parameter in one.parameters()]
        for number, parameter in enumerate(parameters):
            # Among network.parameters(), so that training loops which clear or clip all gradients include these.
            self.module.register_parameter(f"{PARAMETER_PREFIX}{number}", parameter)
        return parameters

    def _check_plain_module(self) -> None:
        """Raise an error if the module does more than multiply by its weight: parametrized, it would not do so."""
        weight = self.module.weight
        if "forward" in self.module.__dict__:
            raise ValueError(
                f"layer {self.name!r} has a custom forward, which would not be called while a task is learned; remove "
                "it, or name the layer in per_task= to give each task a separate copy"
            )
        if weight._backward_hooks or getattr(weight, "_post_accumulate_grad_hooks", None):
            raise ValueError(
                f"the weight of layer {self.name!r} has hooks on its gradient, which would not be called while a task "
                "is learned; remove them, or name the layer in per_task= to give each task a separate copy"
            )

    def check_unchanged(self) -> None:
        """Raise an error if the module's weight was changed while the layer was parametrized."""
        expected = torch.cat([parametrization.weight for parametrization in self.parametrizations])
        if not torch.equal(self.module.weight.flatten(1), expected):
            raise ValueError(
                f"the weight of layer {self.name!r} was changed directly while a task was learned: such a change is "
                "neither protected nor stored; train the parameters that task() yields"
            )

    def finish(self) -> None:
        """End the task: write the shared weight into the module, and store the task-specific updates."""
        shared = []
        results = [
            one.finish_groups() if isinstance(one, GroupedRotatedWeight) else [one.finish()]
            for one in self.parametrizations
        ]
        for (weight, update), block in zip(chain.from_iterable(results), self.blocks, strict=True):
            shared.append(weight)
            block.updates.append(update)
        self.remove_parametrizations()
        self.set_weights(shared)

    def remove_parametrizations(self) -> None:
        """Make the module what it was before `parametrize`; do nothing if it is not parametrized."""
        if self.parametrizations:  # otherwise a custom forward is the user's
            self.module.__dict__.pop("forward", None)
            for name in [name for name in self.module._parameters if name.startswith(PARAMETER_PREFIX)]:
                del self.module._parameters[name]
        self.parametrizations, self.rotated_batch = [], None

    def _linear(self, input: Tensor) -> Tensor:
        """Forward of a parametrized linear layer: with rotated inputs or, for many rows, with the effective weight."""
        (parametrization,) = self.parametrizations
        assert not isinstance(parametrization, GroupedRotatedWeight)
        if torch.is_autocast_enabled(input.device.type):  # coordinates rounded to a few bits would not protect
            with no_autocast(input):
                return self._linear(input.to(self.module.weight.dtype))
        rows, outputs = input.numel() // input.shape[-1], len(self.module.weight)
        batch = self.rotated_batch
        rotated = batch.rotated if batch is not None and batch.matches(input) else None
        if rows > outputs and rotated is None:
            return functional.linear(input, parametrization.effective_weight(), self.module.bias)
        result = parametrization.linear(input.reshape(rows, input.shape[-1]), rotated)
        if self.module.bias is not None:
            result = result + self.module.bias
        return result if input.ndim == 2 else result.view(*input.shape[:-1], outputs)

    def _conv(self, input: Tensor) -> Tensor:
        """Forward of a parametrized convolution, with the effective weight."""
        with no_autocast(input):
            weight = torch.cat([one.effective_weight() for one in self.parametrizations]).view_as(self.module.weight)
        return self.module._conv_forward(input, weight, self.module.bias)  # type: ignore[operator]

    def representation(self, inputs: list[Tensor]) -> list[Tensor]:
        """Return the representation matrix R (d, columns) of each block, from the inputs of all calls of the module.

        Where R would be large, as with many patches, return a matrix (d, d) with the same R R', which determines all
        subspaces.
        """
        if not inputs:  # a task may not use the layer
            return [block.basis.new_zeros(block.basis.shape[0], 1) for block in self.blocks]
        size = max(sum(part.nbytes for part in self.input_columns(call[:1])) for call in inputs)  # of one row or image
        if size * sum(map(len, inputs)) <= MAX_INPUT_BYTES:
            calls = [self.input_columns(call) for call in inputs]
            return [torch.cat(parts, dim=1) for parts in zip(*calls, strict=True)]
        d, device = len(self.blocks[0].basis), inputs[0].device
        grams = [torch.zeros(d, d, dtype=torch.float64, device=device) for _ in self.blocks]
        for call in inputs:
            for part in call.split(max(1, MAX_INPUT_BYTES // (4 * size))):
                for gram, columns in zip(grams, self.input_columns(part), strict=True):
                    gram.addmm_(columns.double(), columns.double().T)
        spectra = (torch.linalg.eigh(gram) for gram in grams)
        return [vectors * values.clamp(min=0).sqrt() for values, vectors in spectra]

    def input_columns(self, input: Tensor) -> list[Tensor]:
        """Return the columns (d, n) that each block multiplies for an input of the module."""
        module = self.module
        if isinstance(module, nn.Linear):
            return [input.reshape(-1, input.shape[-1]).T]
        mode = "constant" if module.padding_mode == "zeros" else module.padding_mode
        padded = functional.pad(input, _padding(module), mode=mode)
        patches = functional.unfold(padded, module.kernel_size, dilation=module.dilation, stride=module.stride)
        return list(patches.transpose(0, 1).flatten(1).chunk(self.groups))  # (channels * kernel, images * places)


def _padding(conv: nn.Conv2d) -> list[int]:
    """Return the padding of a convolution: left, right, top, bottom."""
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
    """Record the inputs of every call of each layer while the context is open, by the layer's name."""
    recorded: dict[str, list[Tensor]] = {layer.name: [] for layer in layers}

    def make_hook(layer: Layer) -> Callable[..., None]:
        unbatched_ndim = 1 if isinstance(layer.module, nn.Linear) else 3

        def record(_module: nn.Module, positional: tuple[Tensor, ...], keywords: dict[str, Tensor]) -> None:
            input = (positional or (keywords["input"],))[0].detach()
            recorded[layer.name].append(input[None] if input.ndim == unbatched_ndim else input)

        return record

    handles = [layer.module.register_forward_pre_hook(make_hook(layer), with_kwargs=True) for layer in layers]
    try:
        yield recorded
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def frozen_modules(network: nn.Module, names: Iterable[str]) -> Iterator[None]:
    """Keep the named modules in evaluation mode and untrained, whatever mode the network is set to."""
    modules = [network.get_submodule(name) for name in names]
    trained = [parameter for module in modules for parameter in module.parameters() if parameter.requires_grad]
    for parameter in trained:
        parameter.requires_grad_(False)
    for module in modules:
        module.eval()
        module.train = lambda mode=True, module=module: module  # of the instance: `network.train()` calls every module
    try:
        yield
    finally:
        for module in modules:
            module.__dict__.pop("train", None)
        for parameter in trained:
            parameter.requires_grad_(True)
