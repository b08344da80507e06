"""Data in the forms that people have them: a pair of tensors, anything that yields batches, or a `TaskData`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, RandomSampler

from ebbing.learn.tasks.base import TaskData

Pair = tuple[Tensor, Tensor]
Data = TaskData | Pair | Iterable[Pair]


def epoch_batches(
    data: Data, size: int, random: torch.Generator | None, device: torch.device
) -> Callable[[], Iterable[Pair]]:
    """A function that gives the batches of one epoch: of tensors shuffled anew by `random`, if given."""
    if not isinstance(data, TaskData | tuple):
        loader = cast(Iterable[Pair], _readable(data))
        return lambda: _sent(loader, device)
    pair = training_pair(cast(TaskData | Pair, data))
    return lambda: _sent(shuffled_batches(pair, size, random), device)


def shuffled_batches(
    tensors: Sequence[Tensor], size: int, random: torch.Generator | None
) -> Iterator[tuple[Tensor, ...]]:
    """Batches of tensors that belong together row by row, in an order that `random`, if given, chooses."""
    if random is not None:
        order = torch.randperm(len(tensors[0]), generator=random)
        # One copy of everything in the new order costs less than gathering every batch.
        tensors = [tensor.index_select(0, order.to(tensor.device)) for tensor in tensors]
    return zip(*(split_batches(tensor, size) for tensor in tensors), strict=True)


def split_batches(values: Tensor, size: int) -> tuple[Tensor, ...]:
    """Batches of a size. A last one of a single example joins the one before: its statistics normalize nothing.

    >>> [len(batch) for batch in split_batches(torch.zeros(9), 4)]
    [4, 5]
    """
    batches = values.split(size)
    if len(batches) > 1 and len(batches[-1]) == 1 < size:
        return *batches[:-2], values[-size - 1 :]
    return batches


def _sent(batches: Iterable[tuple[Tensor, ...]], device: torch.device) -> Iterator[Pair]:
    for batch in batches:
        inputs, labels = _checked(batch)
        check_labels(labels)
        yield inputs.to(device), labels.to(device)


def check_labels(labels: Tensor) -> None:
    """Refuse numbers that are neither classes nor yes or no: what `learn` minimizes makes no sense of them."""
    if labels.is_floating_point() and not ((labels >= 0) & (labels <= 1)).all():
        raise ValueError(
            "labels that are not all between 0 and 1: give classes as torch.int64, yes or no as 1.0 or 0.0; for "
            "another loss learn by a loop of your own, in task()"
        )


def training_pair(data: TaskData | Pair) -> Pair:
    """Inputs and labels to learn from, checked."""
    return _checked((data.train_inputs, data.train_labels) if isinstance(data, TaskData) else data)


def _checked(pair: object) -> Pair:
    """Two tensors that belong together: what people pass tells them what to pass."""
    if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(part, Tensor) for part in pair):
        raise ValueError(
            f"{_describe_type(pair)}: give inputs and labels, two tensors; a loader yields such pairs, batch by batch"
        )
    inputs, labels = cast(Pair, tuple(pair))
    if inputs.ndim == 0 or labels.ndim == 0:
        raise ValueError("a single example: give batches of them; of a Dataset make a DataLoader")
    if len(inputs) != len(labels) or len(inputs) == 0:
        raise ValueError(f"{len(inputs)} inputs and {len(labels)} labels: give as many of both, at least one")
    if not labels.is_floating_point() and labels.dtype != torch.int64:
        raise ValueError(f"labels of type {labels.dtype}: give classes as torch.int64, yes or no as 1.0 or 0.0")
    return inputs, labels


def validation_pair(data: Data) -> Pair | None:
    """The validation data that come with a sample."""
    if not isinstance(data, TaskData) or data.validation_inputs is None or data.validation_labels is None:
        return None
    return data.validation_inputs, data.validation_labels


def concatenated_batches(data: Data) -> Pair:
    """All inputs and labels, in one tensor each."""
    if isinstance(data, TaskData | tuple):
        return training_pair(cast(TaskData | Pair, data))
    parts = [_checked(batch) for batch in _readable(data)]
    if not parts:
        raise ValueError("the data yields no batches: give at least one")
    inputs, labels = zip(*parts, strict=True)
    return torch.cat(inputs), torch.cat(labels)


def draw_examples(data: Data, wanted: int, random: torch.Generator) -> Pair:
    """Some examples by chance. A loader that shuffles has them in its first batches; others are read to the end."""
    if isinstance(data, TaskData | tuple):
        inputs, labels = training_pair(cast(TaskData | Pair, data))
        chosen = torch.randperm(len(inputs), generator=random)[:wanted]
        return inputs[chosen], labels[chosen]
    shuffled = isinstance(data, DataLoader) and isinstance(data.sampler, RandomSampler)
    found: Pair | None = None
    lots = torch.empty(0)  # one for each example found; those with the smallest stay
    if isinstance(data, Iterator):
        raise ValueError("the data can be read only once, but every epoch reads them: give a list or a DataLoader")
    for batch in _readable(data):
        part = _checked(batch)
        found = part if found is None else (torch.cat([found[0], part[0]]), torch.cat([found[1], part[1]]))
        lots = torch.cat([lots, torch.rand(len(part[0]), generator=random)])
        chosen = lots.argsort()[:wanted]
        lots, found = lots[chosen], (found[0][chosen], found[1][chosen])
        if shuffled and len(lots) == wanted:
            break
    if found is None:
        raise ValueError("the data yields no batches: give at least one")
    return found


def subsample(pair: Pair, wanted: int) -> Pair:
    """As many examples by chance, the same ones each time; all if there are no more."""
    inputs, labels = pair
    if len(inputs) <= wanted:
        return pair
    chosen = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(0))[:wanted]
    return inputs[chosen.to(inputs.device)], labels[chosen.to(labels.device)]


def _readable(data: object) -> Iterable[object]:
    if isinstance(data, Dataset):
        raise ValueError("a Dataset: give a DataLoader of it, which makes batches")
    if not isinstance(data, Iterable):
        raise ValueError(
            f"{_describe_type(data)}: give inputs and labels, two tensors, or what yields such pairs, batch by batch"
        )
    return data


@contextmanager
def preserved_modes(network: nn.Module) -> Iterator[None]:
    """Training or evaluation: at the end every module is as it was, also where some were not as the others."""
    modes = [(module, module.training) for module in network.modules()]
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def _describe_type(given: object) -> str:
    if isinstance(given, tuple | list):
        return f"{len(given)} things ({', '.join(type(part).__name__ for part in given[:4])})"
    return f"a {type(given).__name__}"
