"""Recording of the inputs of layers while a network runs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ebbing.learn.projection._calls import Call, Calls
from ebbing.learn.projection._layer_kinds import is_attention, is_cell, is_recurrent
from ebbing.learn.projection._layers import Layer
from ebbing.learn.projection._padding import unmasked
from ebbing.learn.projection._recurrent import cell_inputs, recurrent_inputs


class Recording(dict[str, Calls]):
    """The inputs of every call of each layer, by the layer's name.

    Attributes:
        real: For every call of self-attention with a `key_padding_mask`, which positions are real.
    """

    def __init__(self, layers: list[Layer]) -> None:
        super().__init__((layer.name, []) for layer in layers)
        self.real: list[Tensor] = []


@contextmanager
def recorded_inputs(layers: list[Layer]) -> Iterator[Recording]:
    """Record the inputs of every call of each layer while the context is open."""
    recorded = Recording(layers)
    by_host: dict[nn.Module, list[Layer]] = {}
    for layer in layers:
        for use in layer.uses:
            by_host.setdefault(use.host, []).append(layer)
    handles = [
        host.register_forward_pre_hook(_Recorder(used, recorded), with_kwargs=True) for host, used in by_host.items()
    ]
    try:
        yield recorded
    finally:
        for handle in handles:
            handle.remove()


class _Recorder:
    """A hook that records the inputs of all layers in one module.

    Args:
        layers: The layers.
        recorded: Where inputs are recorded.
    """

    def __init__(self, layers: list[Layer], recorded: Recording) -> None:
        self.layers, self.recorded = layers, recorded

    def __call__(self, module: nn.Module, positional: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        if is_attention(module):
            found = _attention_inputs(module, positional, keywords, self.recorded.real)  # type: ignore[arg-type]
        elif is_recurrent(module):
            found = recurrent_inputs(module, positional, keywords)  # type: ignore[arg-type]
        elif is_cell(module):
            found = cell_inputs(module, positional, keywords)  # type: ignore[arg-type]
        else:
            found = {layer.key: _first_input(layer, positional, keywords) for layer in self.layers}
        for layer in self.layers:
            self.recorded[layer.name].append(found[layer.key])


def _first_input(layer: Layer, positional: tuple[Any, ...], keywords: dict[str, Any]) -> Tensor:
    """Return the first argument of a module, with a batch dimension."""
    input = (positional or (keywords.get("input", next(iter(keywords.values()))),))[0].detach()
    return input[None] if input.ndim == layer.kind.unbatched_ndim else input


def _attention_inputs(
    module: nn.MultiheadAttention, positional: tuple[Any, ...], keywords: dict[str, Any], real: list[Tensor]
) -> dict[str, Call]:
    """Return the inputs of the four products of an attention layer, by the names of their weights.

    The input of the last one, the heads' outputs, is what attention returns if that product is the identity. Keys and
    values that `key_padding_mask` masks are left out. In self-attention they are also queries, which may matter: the
    mask is added to `real`.
    """
    bound = inspect.signature(nn.MultiheadAttention.forward).bind(module, *positional, **keywords).arguments
    query, key, value = (bound[name].detach() for name in ("query", "key", "value"))
    same = query is key is value or (
        query.data_ptr() == key.data_ptr() == value.data_ptr() and query.shape == key.shape == value.shape
    )
    batch_first = module.batch_first and query.ndim == 3
    mask = bound.get("key_padding_mask")
    kept = (key, value)
    if mask is not None and query.ndim == 3:
        positions = unmasked(mask) if batch_first else unmasked(mask).T
        if same:
            real.append(positions)
        else:
            kept = (key[positions], value[positions])
    found: dict[str, Call] = {"in_proj_weight": query if same else (query, *kept)}
    found |= {"q_proj_weight": query, "k_proj_weight": kept[0], "v_proj_weight": kept[1]}
    q, k, v = (part.transpose(0, 1) if batch_first else part for part in (query, key, value))
    weights = {f"{name}_proj_weight": getattr(module, f"{name}_proj_weight") for name in "qkv"}
    separate = module.in_proj_weight is None
    with torch.no_grad():
        heads, _ = functional.multi_head_attention_forward(
            q,
            k,
            v,
            module.embed_dim,
            module.num_heads,
            module.in_proj_weight,
            module.in_proj_bias,
            module.bias_k,
            module.bias_v,
            module.add_zero_attn,
            0.0,
            torch.eye(module.embed_dim, dtype=query.dtype, device=query.device),
            torch.zeros(module.embed_dim, dtype=query.dtype, device=query.device),
            training=False,
            key_padding_mask=mask,
            need_weights=False,
            attn_mask=bound.get("attn_mask"),
            is_causal=bound.get("is_causal", False),
            use_separate_proj_weight=separate,
            **(weights if separate else {}),
        )
    found["weight"] = heads.transpose(0, 1) if batch_first else heads
    return found
