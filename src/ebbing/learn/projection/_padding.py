"""Padding of sequences: positions that a network ignores are left out of the directions that are protected.

The inputs say which positions are real by an attention mask, or the network does by the `key_padding_mask` of its
self-attention. A network may use padded positions all the same, as one that averages over all positions does. So it is
tried: if its outputs change with the inputs that its layers have there, padding counts like everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ebbing.learn._inputs import Inputs, map_inputs
from ebbing.learn.projection._calls import Call
from ebbing.learn.projection._layers import Layer

TOLERANCE = 1e-5
"""The largest change of outputs, relative to their largest value, that is rounding."""


def unmasked(key_padding_mask: Tensor) -> Tensor:
    """Return which positions a mask of attention leaves in: those that are not True, or not minus infinity."""
    return ~key_padding_mask.isneginf() if key_padding_mask.is_floating_point() else key_padding_mask == 0


def common_mask(masks: Sequence[Tensor]) -> Tensor | None:
    """Return the mask that all calls of self-attention share; None if there is none, or if they differ."""
    if not masks or not all(mask.shape == masks[0].shape and torch.equal(mask, masks[0]) for mask in masks):
        return None
    return masks[0]


def without_padding(call: Call, real: Tensor | None) -> Call:
    """Return the inputs (n, length, d) of a call at real positions, (positions, d)."""
    if real is None or isinstance(call, list):
        return call
    if isinstance(call, tuple):
        query, *others = (without_padding(part, real) for part in call)
        return (query, *others)  # type: ignore[return-value]
    return call[real.to(call.device)] if _is_masked(call, real) else call


def ignores_padding(
    forward: Callable[[Inputs], Tensor], layers: list[Layer], inputs: Inputs, outputs: Tensor, real: Tensor
) -> bool:
    """Return whether the outputs stay the same if the inputs of all layers change where positions are not real.

    Outputs for each position are compared at real positions.
    """
    hosts = {use.host for layer in layers for use in layer.uses}
    change = _Perturbation(real)
    handles = [host.register_forward_pre_hook(change, with_kwargs=True) for host in hosts]
    try:
        changed = forward(map_inputs(torch.clone, inputs))
    finally:
        for handle in handles:
            handle.remove()
    if outputs.shape[:2] == real.shape:
        outputs, changed = outputs[real.to(outputs.device)], changed[real.to(outputs.device)]
    scale = float(outputs.abs().max()) if outputs.numel() else 0.0
    return torch.allclose(outputs, changed, rtol=0, atol=TOLERANCE * scale)


class _Perturbation:
    """A hook that changes the inputs of a module at positions that are not real.

    Args:
        real: Which positions are real. Shape (n, length), or (length, n) as the inputs.
    """

    def __init__(self, real: Tensor) -> None:
        self.real = real

    def __call__(
        self, module: nn.Module, positional: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return tuple(map(self._changed, positional)), {name: self._changed(x) for name, x in keywords.items()}

    def _changed(self, value: Any) -> Any:
        if not isinstance(value, Tensor) or not value.is_floating_point() or not _is_masked(value, self.real):
            return value
        return torch.where(self.real.to(value.device)[..., None], value, 1 - 2 * value)


def _is_masked(values: Tensor, real: Tensor) -> bool:
    return values.ndim == 3 and values.shape[:2] == real.shape
