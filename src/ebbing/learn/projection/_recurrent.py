"""The inputs of the products in an LSTM, GRU or RNN, or in a cell of one: inputs and hidden states, step by step."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from ebbing.learn.projection._calls import Call


@torch.no_grad()
def recurrent_inputs(module: nn.RNNBase, positional: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Call]:
    """Return the inputs of every product of a recurrent layer, by the names of their weights.

    The layers of the module run one by one, as modules of their own with the same weights. The hidden state of a step
    is the output of the step before it; of a packed sequence, steps after its end are left out.
    """
    input, state = _input_and_state(positional, keywords)
    lengths, found = None, {}
    if isinstance(input, PackedSequence):
        input, lengths = pad_packed_sequence(input, batch_first=module.batch_first)
    if input.ndim == 2:
        input = input.unsqueeze(0 if module.batch_first else 1)
    x = (input if module.batch_first else input.transpose(0, 1)).detach()  # (batch, steps, d)
    real = None if lengths is None else torch.arange(x.shape[1])[None] < lengths[:, None]  # (batch, steps)
    hidden = state[0] if isinstance(state, tuple) else state
    cells = state[1] if isinstance(state, tuple) else None
    directions = 2 if module.bidirectional else 1
    for layer in range(module.num_layers):
        outputs = []
        for direction in range(directions):
            index, suffix = layer * directions + direction, f"_l{layer}" + ("_reverse" if direction else "")
            inner = _single_layer(module, suffix, x.shape[-1])
            first = [None if part is None else _batched(part)[index : index + 1].detach() for part in (hidden, cells)]
            sequence = _reversed(x, lengths) if direction else x
            given = None if first[0] is None else (tuple(first) if first[1] is not None else first[0])
            y, _ = inner(sequence, given)
            zero = y.new_zeros(len(y), 1, y.shape[-1]) if first[0] is None else first[0].transpose(0, 1)
            before = torch.cat([zero, y[:, :-1]], dim=1)  # (batch, steps, hidden)
            found[f"weight_ih{suffix}"] = _real_steps(sequence, real)
            found[f"weight_hh{suffix}"] = _real_steps(before, real)
            outputs.append(_reversed(y, lengths) if direction else y)
        x = torch.cat(outputs, dim=-1)
    return found


def cell_inputs(module: nn.RNNCellBase, positional: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Call]:
    """Return the inputs of both products of a cell in one step: its input and its hidden state, which may be zero."""
    input, state = _input_and_state(positional, keywords)
    x = input.detach()
    hidden = state[0] if isinstance(state, tuple | list) else state
    h = x.new_zeros(*x.shape[:-1], module.hidden_size) if hidden is None else hidden.detach()
    return {"weight_ih": x if x.ndim == 2 else x[None], "weight_hh": h if h.ndim == 2 else h[None]}


def _input_and_state(positional: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, Any]:
    """Return the arguments of a call by their names, in whichever order they were given."""
    named = dict(zip(("input", "hx"), positional, strict=False)) | keywords
    return named["input"], named.get("hx")


def _batched(state: Tensor) -> Tensor:
    return state if state.ndim == 3 else state.unsqueeze(1)


def _real_steps(values: Tensor, real: Tensor | None) -> Tensor:
    return values if real is None else values[real.to(values.device)]


def _single_layer(module: nn.RNNBase, suffix: str, size: int) -> nn.RNNBase:
    """Return one layer of a module, in one direction, as a module with the same weights."""
    options: dict[str, Any] = {"nonlinearity": module.nonlinearity} if isinstance(module, nn.RNN) else {}
    kind = next(kind for kind in (nn.LSTM, nn.GRU, nn.RNN) if isinstance(module, kind))
    like = getattr(module, f"weight_ih{suffix}")
    inner = kind(
        size, module.hidden_size, bias=module.bias, batch_first=True, dtype=like.dtype, device="meta", **options
    )
    values = [
        module._flat_weights[module._flat_weights_names.index(name.removesuffix("_l0") + suffix)]
        for name in inner._flat_weights_names
    ]
    for name, value in zip(inner._flat_weights_names, values, strict=True):
        assert value is not None
        setattr(inner, name, nn.Parameter(value.detach(), requires_grad=False))
    return inner


def _reversed(values: Tensor, lengths: Tensor | None) -> Tensor:
    """Return sequences (batch, steps, d) with the order of steps reversed, each within its length."""
    if lengths is None:
        return values.flip(1)
    result = values.clone()
    for row, length in enumerate(lengths.tolist()):
        result[row, :length] = values[row, :length].flip(0)
    return result
