"""Data of custom tasks: tensors, arrays and datasets as checked copies in single precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import torch
from torch.utils.data import Dataset, IterableDataset

from ebbing.learn._inputs import Inputs

_READ_TWICE = 10
"""Number of items of a dataset that are read twice, to detect random transforms."""


def read_data(
    name: str, split: str, data: Any, *, masks: bool = False, regression: bool = False
) -> tuple[Inputs, torch.Tensor]:
    """Copy inputs and labels, so that later changes by the caller do not change results."""
    where = f"task {name!r}, {split}"
    if isinstance(data, IterableDataset):
        raise ValueError(f"{where}: an IterableDataset has no length; give a dataset with a length, or tensors")
    if isinstance(data, Dataset):
        inputs, labels = _stack_items(where, data)
    elif isinstance(data, tuple | list) and len(data) == 2 and isinstance(data[0], Mapping):
        return _read_by_name(name, split, *data, regression=regression)
    elif isinstance(data, tuple | list) and len(data) == 2:
        inputs, labels = (
            _tensor(f"{where}: {what}", part) for what, part in zip(("inputs", "labels"), data, strict=True)
        )
    else:
        raise ValueError(
            f"{where}: {type(data).__name__}; give a pair (inputs, labels) of tensors or arrays, or a Dataset"
        )
    if not inputs.ndim or not labels.ndim or len(inputs) != len(labels):
        shapes = f"inputs of shape {tuple(inputs.shape)}, labels {tuple(labels.shape)}"
        raise ValueError(f"{where}: {shapes}; give as many labels as inputs, one row each")
    if not inputs.numel():
        raise ValueError(f"{where}: no data (inputs of shape {tuple(inputs.shape)}); give at least one input")
    read_labels = _numbers if regression else _labels
    return inputs if masks and inputs.dtype == torch.bool else _inputs(where, inputs), read_labels(where, labels)


def _read_by_name(
    name: str, split: str, inputs: Mapping[str, Any], labels: Any, *, regression: bool
) -> tuple[Inputs, torch.Tensor]:
    if not inputs or not all(isinstance(key, str) for key in inputs):
        raise ValueError(
            f"task {name!r}, {split}: inputs by the names {list(inputs)}; give at least one input, by the name of an "
            "argument of the network"
        )
    read = {
        key: read_data(name, f"{split}, {key}", (value, labels), masks=True, regression=regression)
        for key, value in inputs.items()
    }
    return {key: cast(torch.Tensor, pair[0]) for key, pair in read.items()}, next(iter(read.values()))[1]


def _stack_items(where: str, dataset: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Stack all items of a dataset."""
    try:
        length = len(dataset)
    except (TypeError, NotImplementedError):
        raise ValueError(f"{where}: the dataset has no length; give it a method __len__, or give tensors") from None
    if not length:
        raise ValueError(f"{where}: no data (a dataset of length 0); give at least one input")
    items = [_item(f"{where}, item {i}", dataset[i]) for i in range(length)]
    for i, (inputs, labels) in enumerate(items):
        if inputs.shape != items[0][0].shape or labels.shape != items[0][1].shape:
            shapes = [(tuple(x.shape), tuple(y.shape)) for x, y in (items[0], (inputs, labels))]
            raise ValueError(f"{where}: input and label of item 0 have shapes {shapes[0]}, of item {i} {shapes[1]}")
    for i in range(min(length, _READ_TWICE)):
        again = _item(where, dataset[i])
        if not all(torch.equal(one, other) for one, other in zip(items[i], again, strict=True)):
            raise ValueError(f"{where}: item {i} changes whenever it is read; switch off random transforms")
    inputs, labels = zip(*items, strict=True)
    return torch.stack(inputs), torch.stack(labels)


def _item(where: str, item: Any) -> tuple[torch.Tensor, torch.Tensor]:
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise ValueError(f"{where}: {type(item).__name__}; a dataset must yield pairs (input, label)")
    return _tensor(f"{where}, input", item[0]), _tensor(f"{where}, label", item[1])


def _tensor(where: str, value: Any) -> torch.Tensor:
    """Copy a tensor, an array or a number to a tensor."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().clone(memory_format=torch.contiguous_format)
    try:
        if not isinstance(value, np.ndarray | np.generic | int | float):
            raise TypeError
        return torch.tensor(np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value)
    except TypeError:
        kind = f"array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
        raise ValueError(
            f"{where}: {kind}; give a tensor or an array of numbers (a dataset may need ToTensor)"
        ) from None


def _inputs(where: str, inputs: torch.Tensor) -> torch.Tensor:
    if inputs.dtype in (torch.int64, torch.int32):
        return inputs
    if not inputs.is_floating_point():
        raise ValueError(
            f"{where}: inputs are {inputs.dtype}; give floating-point numbers (for images of bytes, divide by 255), "
            "or int64 for token indices"
        )
    inputs = inputs.to(torch.float32)
    bad = ~inputs.isfinite()
    if bad.any():
        index = bad.nonzero()[0].tolist()
        raise ValueError(f"{where}: inputs{index} = {inputs[tuple(index)]:g}; every input must be finite in float32")
    return inputs


def _labels(where: str, labels: torch.Tensor) -> torch.Tensor:
    integer = not (labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool)
    if integer and labels.ndim == 1 and int(labels.to(torch.int64).min()) >= 0:
        return labels.to(torch.int64)
    if labels.is_floating_point() and labels.shape[1:] == (1,) and bool(((labels >= 0) & (labels <= 1)).all()):
        return labels.to(torch.float32)
    raise ValueError(
        f"{where}: labels are {labels.dtype} of shape {tuple(labels.shape)}, {_range(labels)}; give floating-point "
        "numbers from 0 to 1 in one column (labels[:, None]) for binary tasks, or whole numbers >= 0 without a column "
        "for classes"
    )


def _numbers(where: str, labels: torch.Tensor) -> torch.Tensor:
    """Return the labels of regression in single precision."""
    if not labels.is_floating_point() or labels.ndim != 2:
        raise ValueError(
            f"{where}: labels are {labels.dtype} of shape {tuple(labels.shape)}; for regression give floating-point "
            "numbers with a column for each output, such as labels[:, None]"
        )
    converted = labels.to(torch.float32)
    bad = ~converted.isfinite()
    if bad.any():
        index = bad.nonzero()[0].tolist()
        raise ValueError(
            f"{where}: labels{index} = {labels[tuple(index)]:g}; every label must be finite in float32: leave it out, "
            "or scale the labels"
        )
    return converted


def _range(labels: torch.Tensor) -> str:
    if labels.is_complex():
        return "complex"
    return f"from {labels.min().item():g} to {labels.max().item():g}"
