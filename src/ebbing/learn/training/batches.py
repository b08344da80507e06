"""Data for training: a pair of inputs and labels, an iterable of batches such as a DataLoader, or a `TaskData`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, RandomSampler

from ebbing.learn._inputs import (
    Inputs,
    concatenate_inputs,
    count_inputs,
    input_tensors,
    map_inputs,
    select_inputs,
)
from ebbing.learn.tasks.base import TaskData

Pair = tuple[Inputs, Tensor]
"""Inputs (n, ...), a tensor or a dictionary of tensors, and labels (n, 1) or (n,)."""

Data = TaskData | Pair | Iterable[Pair] | Mapping[str, Tensor] | Dataset[Any]
"""Data of a task in any of the supported forms."""

LABELS = ("labels", "label")
"""Names of the labels in a dictionary that holds inputs and labels."""


def epoch_batches(
    data: Data, size: int, generator: torch.Generator | None, device: torch.device, *, any_labels: bool = False
) -> Callable[[], Iterable[Pair]]:
    """Return a function that returns the batches of one epoch.

    Args:
        data: Data in any form.
        size: Size of the batches of tensors; an iterable of batches is used as it is.
        generator: The generator that shuffles tensors anew every epoch; None to keep their order.
        device: The device of the batches.
        any_labels: Whether floating-point labels outside of 0 to 1 are left to the caller.

    Returns:
        A function without arguments.
    """
    if not isinstance(data, TaskData | tuple):
        loader = cast(Iterable[Pair], _check_iterable(data))
        return lambda: _move_batches(loader, device, any_labels)
    pair = training_pair(cast(TaskData | Pair, data))
    return lambda: _move_batches(shuffled_batches(pair, size, generator), device, any_labels)


def shuffled_batches(
    tensors: Sequence[Inputs], size: int, generator: torch.Generator | None
) -> Iterator[tuple[Any, ...]]:
    """Return batches of tensors that have the same number of rows, shuffled jointly.

    Args:
        tensors: Tensors (n, ...), or dictionaries of them.
        size: Size of the batches.
        generator: The generator of the random order; None to keep the order.

    Returns:
        An iterator over tuples of batches.
    """
    if generator is not None:
        order = torch.randperm(count_inputs(tensors[0]), generator=generator)
        # Copying everything in the new order once is faster than gathering every batch.
        tensors = [map_inputs(lambda part: part.index_select(0, order.to(part.device)), one) for one in tensors]
    return zip(*(split_inputs(one, size) for one in tensors), strict=True)


def split_inputs(inputs: Inputs, size: int) -> list[Inputs]:
    """Split inputs into batches as `split_batches` does.

    Args:
        inputs: A tensor, or a dictionary of tensors.
        size: Size of the batches.

    Returns:
        The batches.
    """
    if not isinstance(inputs, Mapping):
        return [*split_batches(inputs, size)]
    columns = zip(*(split_batches(part, size) for part in inputs.values()), strict=True)
    return [dict(zip(inputs, parts, strict=True)) for parts in columns]


def split_batches(values: Tensor, size: int) -> tuple[Tensor, ...]:
    """Split a tensor into batches; a last batch of one example is merged with the one before it.

    Batch normalization cannot normalize a single example.

    Args:
        values: A tensor (n, ...).
        size: Size of the batches.

    Returns:
        The batches.

    Example:
        >>> [len(batch) for batch in split_batches(torch.zeros(9), 4)]
        [4, 5]
    """
    batches = values.split(size)
    if len(batches) > 1 and len(batches[-1]) == 1 < size:
        return *batches[:-2], values[-size - 1 :]
    return batches


def _move_batches(batches: Iterable[object], device: torch.device, any_labels: bool) -> Iterator[Pair]:
    for batch in batches:
        inputs, labels = _check_pair(batch)
        if not any_labels:
            check_labels(labels)
        yield map_inputs(lambda part: part.to(device), inputs), labels.to(device)


def check_labels(labels: Tensor) -> None:
    """Check that floating-point labels are from 0 to 1, as the loss requires.

    Args:
        labels: Labels of any type.

    Raises:
        ValueError: If they are not.
    """
    if labels.is_floating_point() and not ((labels >= 0) & (labels <= 1)).all():
        raise ValueError(
            "labels that are not all between 0 and 1: give classes as integers, binary labels as 1.0 or 0.0; for "
            "another loss give it as loss=, or write a training loop inside task()"
        )


def training_pair(data: TaskData | Pair) -> Pair:
    """Return the checked training inputs and labels.

    Args:
        data: A pair of tensors or a `TaskData`.

    Returns:
        Inputs and labels.
    """
    return _check_pair((data.train_inputs, data.train_labels) if isinstance(data, TaskData) else data)


def _check_pair(pair: object) -> Pair:
    if isinstance(pair, Mapping) and (name := next((name for name in LABELS if name in pair), None)) is not None:
        pair = {key: value for key, value in pair.items() if key != name}, pair[name]
    if (
        not isinstance(pair, tuple | list)
        or len(pair) != 2
        or not _are_inputs(pair[0])
        or not isinstance(pair[1], Tensor)
    ):
        raise ValueError(
            f"{_describe_type(pair)}: give inputs and labels, two tensors; inputs may be a dictionary of tensors, and "
            "a loader must yield such pairs, or dictionaries with 'labels'"
        )
    inputs, labels = cast(Pair, tuple(pair))
    parts = input_tensors(inputs)
    if any(part.ndim == 0 for part in (*parts, labels)):
        raise ValueError("a single example: give batches of examples; for a Dataset, make a DataLoader")
    if {len(part) for part in parts} != {len(labels)} or len(labels) == 0:
        found = " and ".join(map(str, sorted({len(part) for part in parts})))
        raise ValueError(f"{found} inputs and {len(labels)} labels: give equally many, and at least one")
    if labels.is_complex() or labels.dtype == torch.bool:
        raise ValueError(f"labels of type {labels.dtype}: give classes as integers, binary labels as 1.0 or 0.0")
    return inputs, labels if labels.is_floating_point() else labels.to(torch.int64)


def _are_inputs(inputs: object) -> bool:
    if isinstance(inputs, Mapping):
        return bool(inputs) and all(isinstance(part, Tensor) for part in inputs.values())
    return isinstance(inputs, Tensor)


def validation_pair(data: Data) -> Pair | None:
    """Return the validation data of a `TaskData`.

    Args:
        data: Data in any form.

    Returns:
        Checked inputs and labels, or None if there are none.
    """
    if not isinstance(data, TaskData) or data.validation_inputs is None or data.validation_labels is None:
        return None
    return _check_pair((data.validation_inputs, data.validation_labels))


def concatenated_batches(data: Data) -> Pair:
    """Concatenate all batches.

    Args:
        data: Data in any form.

    Returns:
        All inputs (n, ...) and all labels (n, ...).

    Raises:
        ValueError: If there are no batches.
    """
    if isinstance(data, TaskData | tuple):
        return training_pair(cast(TaskData | Pair, data))
    parts = [_check_pair(batch) for batch in _check_iterable(data)]
    if not parts:
        raise ValueError("the data yields no batches: give at least one")
    inputs, labels = zip(*parts, strict=True)
    return concatenate_inputs(inputs), _concatenate_labels(labels)


def _concatenate_labels(labels: Sequence[Tensor]) -> Tensor:
    if len({part.shape[1:] for part in labels}) > 1:
        raise ValueError("batches of labels of different shapes: pad them to one length, with -100")
    return torch.cat([*labels])


def draw_examples(data: Data, num_examples: int, generator: torch.Generator) -> Pair:
    """Draw training examples randomly without replacement.

    The first batches of a DataLoader that shuffles are a random choice; other iterables are read to the end.

    Args:
        data: Data in any form.
        num_examples: How many examples to draw; all if there are fewer.
        generator: The generator of the random choice.

    Returns:
        Inputs and labels.

    Raises:
        ValueError: If there are no batches, or the data can be read only once.
    """
    if isinstance(data, TaskData | tuple):
        inputs, labels = training_pair(cast(TaskData | Pair, data))
        chosen = torch.randperm(len(labels), generator=generator)[:num_examples]
        return select_inputs(inputs, chosen), labels[chosen.to(labels.device)]
    shuffles = isinstance(data, DataLoader) and isinstance(data.sampler, RandomSampler)
    drawn: Pair | None = None
    scores = torch.empty(0)  # one random number per example; those with the smallest are kept
    if isinstance(data, Iterator):
        raise ValueError("the data can be read only once, but every epoch reads it: give a list or a DataLoader")
    for batch in _check_iterable(data):
        part = _check_pair(batch)
        if drawn is not None:
            part = concatenate_inputs([drawn[0], part[0]]), _concatenate_labels([drawn[1], part[1]])
        scores = torch.cat([scores, torch.rand(len(part[1]) - len(scores), generator=generator)])
        chosen = scores.argsort()[:num_examples]
        scores = scores[chosen]
        drawn = select_inputs(part[0], chosen), part[1][chosen.to(part[1].device)]
        if shuffles and len(scores) == num_examples:
            break
    if drawn is None:
        raise ValueError("the data yields no batches: give at least one")
    return drawn


def subsample(pair: Pair, num_examples: int) -> Pair:
    """Choose examples pseudo-randomly, the same ones in every call.

    Args:
        pair: Inputs and labels.
        num_examples: How many examples to choose; all if there are fewer.

    Returns:
        Inputs and labels.
    """
    inputs, labels = pair
    if len(labels) <= num_examples:
        return pair
    chosen = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))[:num_examples]
    return select_inputs(inputs, chosen), labels[chosen.to(labels.device)]


def _check_iterable(data: object) -> Iterable[object]:
    if isinstance(data, Mapping):
        raise ValueError(
            f"a dictionary with {', '.join(map(repr, data))}: give a pair (inputs, labels), or a dictionary with "
            "'labels'"
        )
    if hasattr(data, "to_numpy"):
        raise ValueError(
            f"{_describe_type(data)} alone: give a pair (inputs, labels), such as (table.drop(columns='label'), "
            "table['label'])"
        )
    if not isinstance(data, Iterable) or isinstance(data, str):
        raise ValueError(
            f"{_describe_type(data)}: give inputs and labels, two tensors, or an iterable of such pairs, one per batch"
        )
    return data


def _describe_type(value: object) -> str:
    if isinstance(value, tuple | list):
        return f"{len(value)} objects ({', '.join(type(part).__name__ for part in value[:4])})"
    return f"a {type(value).__name__}"
