"""The layers of a network that gradient projection can protect: what they use, and their parametrization.

A linear layer multiplies inputs x (d,) by W (out, d); a convolution multiplies patches of its input, d = channels *
kernel. A grouped convolution consists of several such products with separate inputs: one `Block` per group.
`_layer_kinds` lists all kinds of layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from ebbing.learn.projection._authors_variant import AuthorsWeight
from ebbing.learn.projection._autograd import no_autocast
from ebbing.learn.projection._blocks import Block
from ebbing.learn.projection._calls import Calls, GramMatrices, count_rows, first_row, split_rows, square_root
from ebbing.learn.projection._grouped_parametrization import GroupedRotatedWeight
from ebbing.learn.projection._layer_kinds import Kind, LinearKind, layer_kind
from ebbing.learn.projection._parametrization import ParametrizationKind, RotatedWeight
from ebbing.learn.projection._rotated_batch import RotatedBatch
from ebbing.learn.projection._substitution import SubstitutedForward, Use
from ebbing.learn.projection._task_updates import TrustedTask
from ebbing.learn.projection.subspaces import BasisUpdate

PARAMETER_PREFIX = "parametrization_"
"""The prefix of the parameters that a module has while it is parametrized."""

MAX_INPUT_BYTES = 256 << 20
"""The number of bytes of a layer's inputs that are held in memory at once."""


def full_name(module: str, key: str) -> str:
    """Return the name of a parameter or buffer in the network."""
    return f"{module}.{key}".lstrip(".")


class Layer:
    """A weight of the network that is protected, and its blocks.

    Args:
        name: The name of the module in the network.
        module: The module that has the weight.
        key: The name of the weight in the module.
        kind: The kind of the layer; by default that of the module.
        uses: Where the network uses the weight; by default in the module's forward.

    Attributes:
        name: The name of the layer: that of the module, and of the weight if it is not called "weight".
        weight_name: The name of the weight in the network.
        groups: The number of groups of a convolution, or of parts with separate inputs; otherwise 1.
        blocks: One block per group.
        parametrizations: While a task is learned, one parametrization per block, or one for all; otherwise empty.
        rotated_batch: The current batch in rotated coordinates, if it was rotated in advance.
        can_trust: Whether a new task may change the weight for itself where it trusts old ones.
    """

    can_trust = True

    def __init__(
        self, name: str, module: nn.Module, key: str = "weight", kind: Kind | None = None, uses: Sequence[Use] = ()
    ) -> None:
        self.weight_name, self.module, self.key = full_name(name, key), module, key
        self.name = name if key == "weight" else self.weight_name.removesuffix("_weight")
        self.uses = list(uses) or [Use(module, module, key)]
        found = kind or layer_kind(module)
        assert found is not None, f"{name}: no layer that can be protected"
        self.kind, self.groups = found, int(getattr(module, "groups", 1))
        self.blocks = self._empty_blocks()
        self.parametrizations: list[RotatedWeight | AuthorsWeight | GroupedRotatedWeight] = []
        self.rotated_batch: RotatedBatch | None = None

    def _empty_blocks(self) -> list[Block]:
        return [Block(weight.shape[1], weight) for weight in self.weights]

    def restored_blocks(self, states: list[dict[str, Tensor]], tasks: int) -> list[Block]:
        """Return the blocks with these states after so many tasks; raise an error if they do not fit the weight."""
        weights = self.kind.split(self.weight.detach(), len(states))
        return [Block.from_state(state, tasks, weight) for state, weight in zip(states, weights, strict=True)]

    @property
    def weight(self) -> nn.Parameter:
        """The parameter itself."""
        weight = self.module._parameters[self.key]
        assert weight is not None
        return weight

    @property
    def is_linear(self) -> bool:
        """Whether the module is a linear layer that alone uses the weight, and is called itself."""
        called_alone = len(self.uses) == 1 and self.uses[0].host is self.module
        return isinstance(self.kind, LinearKind) and isinstance(self.module, nn.Linear) and called_alone

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """The current weight W (out, d) of each block, as views of the module's weight."""
        return tuple(self.kind.split(self.weight.detach(), self.groups))

    @property
    def protected_share(self) -> float:
        """The share of input directions that are protected."""
        return sum(block.rank / block.size for block in self.blocks) / len(self.blocks)

    def set_weights(self, weights: Iterable[Tensor]) -> None:
        """Write the weight W (out, d) of each block into the module."""
        with torch.no_grad():
            self.weight.copy_(self.kind.join(list(weights), self.weight))

    @property
    def is_attention(self) -> bool:
        """Whether the layer is the input projection of attention, whose query, key and value may differ."""
        return self.key == "in_proj_weight"

    def set_blocks(self, blocks: list[Block]) -> None:
        """Replace the blocks."""
        self.blocks, self.groups = blocks, len(blocks)

    def split_blocks(self, groups: int) -> None:
        """Give parts of the outputs a block each, with what is protected so far: from now on their inputs differ."""
        if self.groups == 1:
            (block,), self.groups = self.blocks, groups
            self.blocks = block.split_outputs(groups)

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
        self._install_forward()
        return self._register([parameter for one in self.parametrizations for parameter in one.parameters()])

    def _install_forward(self) -> None:
        """Let every module that uses the weight use the effective weight instead."""
        # Attributes of the instances, not of their classes: the network's code calls the modules as before.
        if self.is_linear:
            self.module.forward = self._linear
            return
        for use in self.uses:
            use.host.forward = SubstitutedForward(use, self.effective_weight, use.host.forward)

    def _register(self, parameters: list[nn.Parameter]) -> list[nn.Parameter]:
        for number, parameter in enumerate(parameters):
            # Among network.parameters(), so that training loops which clear or clip all gradients include these.
            suffix = "" if self.key == "weight" else f"{self.key}_"
            self.module.register_parameter(f"{PARAMETER_PREFIX}{suffix}{number}", parameter)
        return parameters

    def _check_plain_module(self) -> None:
        """Raise an error if the module does more than multiply by its weight: parametrized, it would not do so."""
        weight = self.weight
        forwards = [use.host.__dict__.get("forward") for use in self.uses]
        if any(not isinstance(forward, SubstitutedForward | None) for forward in forwards):
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
        if not torch.equal(self.weight, self.unparametrized_weight()):
            raise ValueError(
                f"the weight of layer {self.name!r} was changed directly while a task was learned: such a change is "
                "neither protected nor stored; train the parameters that task() yields"
            )

    def unparametrized_weight(self) -> Tensor:
        """Return the weight that the module had when it was parametrized."""
        return self.kind.join(self._by_block([one.weight for one in self.parametrizations]), self.weight)

    def _by_block(self, weights: list[Tensor]) -> Sequence[Tensor]:
        """Return one weight for each block, from one for each parametrization."""
        return weights if len(weights) == self.groups else weights[0].chunk(self.groups)

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
            for use in self.uses:
                use.host.__dict__.pop("forward", None)
            for values in (self.module._parameters, self.module._buffers):
                for name in [name for name in values if name.startswith(PARAMETER_PREFIX)]:
                    delattr(self.module, name)
        self.parametrizations, self.rotated_batch = [], None

    def effective_weight(self) -> Tensor:
        """Return the weight that the task uses, differentiable, in full precision even within mixed precision."""
        with no_autocast(self.weight):
            weights = [one.effective_weight() for one in self.parametrizations]
            return self.kind.join(self._by_block(weights), self.weight)

    def _linear(self, input: Tensor) -> Tensor:
        """Forward of a parametrized linear layer: with rotated inputs or, for many rows, with the effective weight."""
        (parametrization,), bias = self.parametrizations, cast(nn.Linear, self.module).bias
        assert not isinstance(parametrization, GroupedRotatedWeight)
        rows, outputs = input.numel() // input.shape[-1], len(self.weight)
        batch = self.rotated_batch
        rotated = batch.rotated if batch is not None and batch.matches(input) else None
        if rotated is None and parametrization.rotates_weight(rows):
            with no_autocast(input):
                weight = parametrization.effective_weight()
            return functional.linear(input, weight, bias)
        if torch.is_autocast_enabled(input.device.type):  # coordinates rounded to a few bits would be far from the task
            with no_autocast(input):
                return self._linear(input.to(self.weight.dtype))
        result = parametrization.linear(input.reshape(rows, input.shape[-1]), rotated)
        if bias is not None:
            result = result + bias
        return result if input.ndim == 2 else result.view(*input.shape[:-1], outputs)

    def protect(
        self, calls: Calls, select: Callable[[Tensor, Tensor], BasisUpdate], *, leave_out_strongest: bool
    ) -> None:
        """Protect what a task uses, by the inputs of all calls; `select` takes the basis M and R of a block."""
        if any(isinstance(call, tuple) for call in calls):
            self.split_blocks(3)
        for block, R in zip(self.blocks, self.representation(calls), strict=True):
            if not R.isfinite().all():
                raise FloatingPointError(
                    f"inputs of layer {self.name!r} are not all finite in evaluation mode: check the layers before"
                )
            block.protect(select(block.basis, R), leave_out_strongest=leave_out_strongest)

    def representation(self, calls: Calls) -> list[Tensor]:
        """Return the representation matrix R (d, columns) of each block, from the inputs of all calls of the module.

        Where R would be large, as with many patches, return a matrix (d, d) with the same R R', which determines all
        subspaces.
        """
        if not calls:  # a task may not use the layer
            return [block.basis.new_zeros(block.basis.shape[0], 1) for block in self.blocks]
        if not isinstance(calls[0], GramMatrices):
            size = max(sum(part.nbytes for part in self.input_columns(first_row(call))) for call in calls)
            if size * sum(map(count_rows, calls)) <= MAX_INPUT_BYTES:
                parts = [self.input_columns(call) for call in calls]
                return [torch.cat(of_block, dim=1) for of_block in zip(*parts, strict=True)]
        return [square_root(gram) for gram in self.add_grams(calls)]

    def add_grams(self, calls: Calls) -> GramMatrices:
        """Return the sum of R R' (d, d) of each block over all calls, in double precision."""
        grams, calls = (calls[0], calls[1:]) if isinstance(calls[0], GramMatrices) else (None, calls)
        if grams is None:
            like = self.weight
            grams = GramMatrices(like.new_zeros(b.size, b.size, dtype=torch.float64) for b in self.blocks)
        if not calls:
            return grams
        size = max(sum(part.nbytes for part in self.input_columns(first_row(call))) for call in calls)
        for call in calls:
            for part in split_rows(call, max(1, MAX_INPUT_BYTES // (4 * size))):
                for gram, columns in zip(grams, self.input_columns(part), strict=True):
                    gram.addmm_(columns.double(), columns.double().T)
        return grams

    def input_columns(self, input: Tensor | Sequence[Tensor]) -> list[Tensor]:
        """Return the columns (d, n) that each block multiplies for an input of the module, or for one of each block."""
        if isinstance(input, Tensor):
            return self.kind.columns(input, self.groups)
        return [self.kind.columns(part, 1)[0] for part in input]
