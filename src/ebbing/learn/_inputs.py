"""Inputs of a network: a tensor, or a dictionary of tensors that the network takes as keyword arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

Inputs = Tensor | Mapping[str, Tensor]
"""A tensor (n, ...), or tensors (n, ...) by the name of the network's argument, such as a tokenizer returns."""

ATTENTION_MASK = "attention_mask"
"""The name of the input that marks real positions (1) and padding (0), as transformers call it."""


def map_inputs(function: Callable[[Tensor], Tensor], inputs: Inputs) -> Inputs:
    """Return the inputs with a function applied to every tensor.

    Args:
        function: A function of a tensor.
        inputs: Inputs.

    Returns:
        Inputs of the same kind; a dictionary if they have names.

    Example:
        >>> map_inputs(torch.neg, {"x": torch.ones(2)})
        {'x': tensor([-1., -1.])}
    """
    return {name: function(part) for name, part in inputs.items()} if isinstance(inputs, Mapping) else function(inputs)


def input_tensors(inputs: Inputs) -> list[Tensor]:
    """Return all tensors of inputs."""
    return [*inputs.values()] if isinstance(inputs, Mapping) else [inputs]


def count_inputs(inputs: Inputs) -> int:
    """Return the number of examples."""
    return len(input_tensors(inputs)[0])


def select_inputs(inputs: Inputs, chosen: Tensor) -> Inputs:
    """Return the examples with the given numbers."""
    return map_inputs(lambda part: part[chosen.to(part.device)], inputs)


def first_inputs(inputs: Inputs, count: int) -> Inputs:
    """Return the first examples."""
    return map_inputs(lambda part: part[:count], inputs)


def concatenate_inputs(parts: Sequence[Inputs]) -> Inputs:
    """Return the examples of several batches as one.

    Batches of texts are often padded to different lengths. With an attention mask, shorter ones are padded by zeros,
    which the mask marks as padding.

    Args:
        parts: Inputs of the same kind.

    Returns:
        Inputs.

    Raises:
        ValueError: If the batches have different names, or examples of different shapes and no attention mask.

    Example:
        >>> short, long = ({name: torch.ones(1, n).long() for name in ("input_ids", "attention_mask")} for n in (1, 2))
        >>> concatenate_inputs([short, long])["attention_mask"]
        tensor([[1, 0],
                [1, 1]])
    """
    if len(parts) == 1:
        return parts[0]
    if not isinstance(parts[0], Mapping):
        return _concatenate([part for part in parts if isinstance(part, Tensor)])
    names = parts[0].keys()
    if any(not isinstance(part, Mapping) or part.keys() != names for part in parts):
        raise ValueError("batches with different inputs: give dictionaries with the same names")
    padded = ATTENTION_MASK in names
    by_name = {name: [part[name] for part in parts if isinstance(part, Mapping)] for name in names}
    return {name: _concatenate(tensors, padded=padded) for name, tensors in by_name.items()}


def _concatenate(tensors: Sequence[Tensor], *, padded: bool = False) -> Tensor:
    shapes = {tuple(tensor.shape[1:]) for tensor in tensors}
    if len(shapes) == 1:
        return torch.cat([*tensors])
    if not padded or len({len(shape) for shape in shapes}) > 1:
        raise ValueError(
            f"batches of examples of different shapes, {' and '.join(map(str, sorted(shapes)[:2]))}: pad them to one "
            f"length, or give dictionaries with an {ATTENTION_MASK!r}"
        )
    result = tensors[0].new_zeros(sum(map(len, tensors)), *(max(sizes) for sizes in zip(*shapes, strict=True)))
    begin = 0
    for tensor in tensors:
        region = (slice(begin, begin + len(tensor)), *(slice(size) for size in tensor.shape[1:]))
        result[region] = tensor
        begin += len(tensor)
    return result


def real_positions(inputs: Inputs) -> Tensor | None:
    """Return which positions of a text are no padding, (n, length), if the inputs say so.

    Args:
        inputs: Inputs.

    Returns:
        A mask, or None.
    """
    mask = inputs.get(ATTENTION_MASK) if isinstance(inputs, Mapping) else None
    return None if mask is None or mask.ndim != 2 else mask != 0
