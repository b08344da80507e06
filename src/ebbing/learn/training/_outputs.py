"""Outputs of a network: one tensor, whatever the network returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ebbing.learn._inputs import Inputs

IGNORED = -100
"""The label of positions that do not count, as PyTorch and transformers have it."""


def output_tensor(outputs: Any) -> Tensor:
    """Return the tensor of outputs that the loss and predictions are computed from.

    Args:
        outputs: What a network returns: a tensor; a dictionary or an object such as a `ModelOutput` of transformers,
            of which the logits are taken, or else the only tensor; or a tuple, of which the first tensor is taken.

    Returns:
        The tensor.

    Raises:
        ValueError: If it is not clear which tensor is meant.

    Example:
        >>> output_tensor({"logits": torch.ones(2), "hidden": torch.zeros(2)})
        tensor([1., 1.])
        >>> output_tensor((torch.zeros(1), None))
        tensor([0.])
    """
    if isinstance(outputs, Tensor):
        return outputs
    if isinstance(logits := getattr(outputs, "logits", None), Tensor):
        return logits
    way_out = "return a tensor, a tuple that starts with one, or a dictionary with 'logits'"
    if isinstance(outputs, Mapping):
        tensors = {name: part for name, part in outputs.items() if isinstance(part, Tensor)}
        if "logits" in tensors or len(tensors) == 1:
            return tensors.get("logits", next(iter(tensors.values())))
        names = ", ".join(map(repr, tensors)) or "no tensor"
        raise ValueError(f"the network returns a {type(outputs).__name__} with {names}: {way_out}")
    if isinstance(outputs, tuple | list) and outputs and isinstance(outputs[0], Tensor):
        return outputs[0]
    raise ValueError(f"the network returns a {type(outputs).__name__}: {way_out}")


def call_network(network: nn.Module, inputs: Inputs) -> Tensor:
    """Return the outputs of a network as one tensor.

    Args:
        network: The network.
        inputs: A tensor, or tensors by the names of the network's arguments.

    Returns:
        The outputs, of which `output_tensor` says which they are.
    """
    return output_tensor(network(**inputs) if isinstance(inputs, Mapping) else network(inputs))


def class_dimension(outputs: Tensor, labels: Tensor) -> int:
    """Return the dimension of the outputs that counts classes.

    Args:
        outputs: Logits: (n, classes), or for every position (n, classes, ...) as PyTorch has it, or (n, ..., classes)
            as transformers have it. Where both fit, it is the former.
        labels: Classes (n, ...).

    Returns:
        1 or -1.

    Example:
        >>> class_dimension(torch.zeros(5, 8, 3), torch.zeros(5, 8))
        -1
    """
    first, last = outputs.shape[:1] + outputs.shape[2:], outputs.shape[:-1]
    return -1 if labels.shape == last != first else 1


def describe_wrong_class(labels: Tensor, count: int) -> str:
    """Say which label is no class of a network.

    Args:
        labels: Classes (n, ...), at least one of them not from 0 to count - 1.
        count: The number of the network's outputs.

    Returns:
        The sentence of an error.

    Example:
        >>> describe_wrong_class(torch.tensor([0, 7]), 2)
        'label 7, but the network has 2 outputs: give classes from 0 to 1, or a network with 8 outputs'
    """
    if (largest := int(labels.max())) < count:
        lowest = int(labels[labels != IGNORED].min())
        return f"label {lowest}: give classes from 0 to {count - 1}, and {IGNORED} where none counts"
    has = f"label {largest}, but the network has {count} output{'s' if count > 1 else ''}"
    classes = f"classes from 0 to {count - 1}" if count > 1 else "binary labels as 1.0 or 0.0, of the outputs' shape"
    return f"{has}: give {classes}, or a network with {largest + 1} outputs"


def count_correct(outputs: Tensor, labels: Tensor) -> tuple[int, int]:
    """Count correct predictions, and all.

    Args:
        outputs: Logits.
        labels: Classes (int64), of which -100 does not count; or binary labels, where a logit above 0 predicts 1.

    Returns:
        The number of correct predictions, and the number of labels that count.

    Raises:
        ValueError: If there are not as many labels as predictions.
    """
    if labels.is_floating_point():  # binary, perhaps probabilities
        predicted, expected = outputs > 0, labels > 0.5
    else:
        predicted, expected = outputs.argmax(class_dimension(outputs, labels)), labels
    if predicted.shape != labels.shape:
        shapes = f"{tuple(labels.shape)}, predictions {tuple(predicted.shape)}"
        raise ValueError(f"labels of shape {shapes}: give as many labels as predictions")
    counted = torch.ones_like(predicted, dtype=torch.bool) if labels.is_floating_point() else labels != IGNORED
    return int((predicted == expected)[counted].sum()), int(counted.sum())
