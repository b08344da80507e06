"""Arguments of learners: checked, and converted where that is safe."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate

from ebbing.learn._inputs import Inputs, input_tensors, map_inputs
from ebbing.learn.tasks.base import TaskData
from ebbing.learn.training.batches import (
    LABELS,
    Data,
    Pair,
    concatenated_batches,
    draw_examples,
    subsample,
    training_pair,
    validation_pair,
)


def check_generator(generator: object) -> torch.Generator:
    """Return a generator of the CPU, which shuffles the same on every device; by default one with seed 0."""
    if generator is None:
        return torch.Generator().manual_seed(0)
    if not isinstance(generator, torch.Generator):
        raise ValueError(f"generator={generator!r}: give a torch.Generator, such as torch.Generator().manual_seed(0)")
    if generator.device.type != "cpu":
        raise ValueError(f"a generator on {generator.device}: give one of the CPU, torch.Generator(), for any device")
    return generator


def check_callbacks(progress: object, checkpoint: object) -> None:
    """Raise an error for a progress that is no function, and for a checkpoint that cannot load and save."""
    if progress is not None and not callable(progress):
        raise ValueError(
            f"progress={progress!r}: give a function of the share that is done and a message, such as "
            "lambda share, message: print(message)"
        )
    if checkpoint is not None and not all(callable(getattr(checkpoint, name, None)) for name in ("load", "save")):
        raise ValueError(f"checkpoint={checkpoint!r}: give an object with load() and save(content)")


def check_classified(task: str, labels: Tensor, *, custom_loss: bool) -> None:
    """Raise an error for floating-point labels that are not binary, or whose outputs need not be logits."""
    if not labels.is_floating_point():
        return
    if custom_loss:
        raise ValueError(
            f"task {task!r} was learned with a loss of your own, so an output above 0 need not mean 1: compute its "
            "accuracy from outputs(task, inputs)"
        )
    if not ((labels >= 0) & (labels <= 1)).all():
        raise ValueError(
            "labels that are not all between 0 and 1: accuracy() is for classes as integers and for binary labels; "
            "for others compute the error from outputs(task, inputs)"
        )


def as_tensors(data: Any, dtype: torch.dtype) -> Any:
    """Return data with arrays replaced by tensors, and with inputs and labels in one dictionary as a pair.

    Args:
        data: Data in any form.
        dtype: The type of floating-point inputs: NumPy's default is another than PyTorch's.

    Returns:
        The data; anything else is returned as it is.
    """
    if isinstance(data, list):  # of batches
        return [as_tensors(batch, dtype) for batch in data] if _has_arrays(data) else data
    if isinstance(data, Mapping) and (name := next((name for name in LABELS if name in data), None)) is not None:
        data = {key: value for key, value in data.items() if key != name}, data[name]
    if not isinstance(data, tuple) or len(data) != 2 or not _has_arrays(data):
        return data
    return as_input_tensor(data[0], dtype), _as_label_tensor(data[1], dtype)


def _has_arrays(data: Any) -> bool:
    if isinstance(data, Mapping):
        return _has_arrays([*data.values()])
    if isinstance(data, tuple | list):
        return any(map(_has_arrays, data))
    return isinstance(as_array(data), np.ndarray)


def as_array(data: Any) -> Any:
    """Return a DataFrame or a Series, of pandas or a relative, as an array; anything else as it is."""
    return data.to_numpy() if not isinstance(data, type) and callable(getattr(data, "to_numpy", None)) else data


def as_batches(data: Any, dtype: torch.dtype, size: int, generator: torch.Generator | None) -> Data:
    """Return data as `as_tensors` does, and a dataset as a loader of its batches.

    Args:
        data: Data in any form. A dataset has items (input, label), or dictionaries with "labels".
        dtype: The type of floating-point inputs.
        size: Size of the batches of a dataset.
        generator: The generator that shuffles a dataset anew every epoch; None to keep its order.

    Returns:
        The data.
    """
    if not isinstance(data, Dataset) and not hasattr(type(data), "__getitems__"):  # as those of the package datasets
        return as_tensors(data, dtype)
    shuffle = generator is not None and not isinstance(data, IterableDataset)
    # A last batch of one example would be too few for batch normalization.
    drop_last = shuffle and (count := len(data)) > size > 1 == count % size  # pyright: ignore[reportArgumentType]
    collate = partial(_collate, dtype=dtype)
    return DataLoader(data, size, shuffle, generator=generator, drop_last=drop_last, collate_fn=collate)


def _collate(items: list[Any], dtype: torch.dtype) -> Any:
    """Return a batch of a dataset's items, with inputs of the network's type."""
    batch = as_tensors(default_collate(items), dtype)  # arrays become tensors of NumPy's types
    if not isinstance(batch, tuple | list) or len(batch) != 2:
        return batch
    inputs, labels = batch

    def convert(part: Any) -> Any:
        return part.to(dtype) if isinstance(part, Tensor) and part.is_floating_point() else part

    if isinstance(labels, Tensor):
        integer = not labels.is_floating_point() and labels.dtype != torch.bool
        labels = labels.to(torch.int64) if integer else convert(labels)
    return map_inputs(convert, inputs), labels


def as_validation(validation: Any, data: Data, dtype: torch.dtype, size: int, patience: int | None) -> Pair | None:
    """Return the given validation data as a pair, or else that of a `TaskData`."""
    if validation is None:
        return validation_pair(data)
    if patience is None:
        raise ValueError(
            "validation data is used only by a schedule with patience; set patience, or give no validation data"
        )
    return concatenated_batches(as_batches(validation, dtype, size, None))


def as_examples(data: Any, count: int, dtype: torch.dtype, size: int) -> Pair:
    """Return so many examples of data in any form, the same ones in every call."""
    generator = torch.Generator().manual_seed(0)
    data = as_batches(data, dtype, size, generator)
    if isinstance(data, TaskData | tuple):
        return subsample(training_pair(data), count)
    return draw_examples(data, count, generator)


def as_inputs(inputs: Any, dtype: torch.dtype) -> Inputs:
    """Return inputs as tensors; raise an error if they are neither tensors nor arrays."""
    inputs = as_input_tensor(inputs, dtype)
    if not all(isinstance(part, Tensor) for part in input_tensors(inputs)):
        raise ValueError(
            f"inputs of type {type(inputs).__name__}: give a tensor, for example torch.as_tensor(inputs), or a "
            "dictionary of tensors"
        )
    return inputs


def as_input_tensor(inputs: Any, dtype: torch.dtype) -> Any:
    """Return arrays as tensors, floating-point numbers as the given type; anything else as it is."""
    if isinstance(inputs, Mapping):
        return {name: as_input_tensor(part, dtype) for name, part in inputs.items()}
    inputs = as_array(inputs)
    if not isinstance(inputs, np.ndarray):
        return inputs
    tensor = _tensor("inputs", inputs)
    return tensor.to(dtype) if tensor.is_floating_point() else tensor


def _as_label_tensor(labels: Any, dtype: torch.dtype) -> Any:
    labels = as_array(labels)
    if not isinstance(labels, np.ndarray):
        return labels
    tensor = _tensor("labels", labels)
    return tensor.to(
        dtype if tensor.is_floating_point() else torch.int64 if labels.dtype.kind in "iu" else tensor.dtype
    )


def _tensor(name: str, array: np.ndarray) -> Tensor:
    try:
        return torch.from_numpy(np.array(array, order="C"))  # a copy, as arrays may be read-only or have other strides
    except TypeError:
        raise ValueError(f"{name} are an array of {array.dtype}: give numbers") from None
