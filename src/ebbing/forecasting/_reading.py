"""Data of users as arrays: pairs, datasets and loaders, of which only a random part is kept.

NumPy is enough to read arrays; tensors, datasets and loaders are recognized by what they can do, so that PyTorch is
imported by nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ebbing._tables import escape_control

Inputs = Any
"""Inputs of several examples: an array (n, ...), or arrays by the names of the network's arguments."""

_LABEL_COLUMNS = ("label", "labels", "target", "targets", "class", "y")
"""Usual names of the column of labels in a frame."""

_CHUNK = 256
"""Items of a dataset that are joined at once."""


def read_examples(where: str, data: Any, size: int, random: np.random.Generator) -> tuple[Inputs, np.ndarray]:
    """Return at most `size` random examples, in random order.

    Args:
        where: The words that begin an error message: the task and its part.
        data: A pair (inputs, labels) of arrays or tensors, a dataset, or a loader that yields batches of such pairs.
        size: The number of examples to keep.
        random: The generator of the choice.

    Returns:
        Inputs and labels, one row each.

    Raises:
        ValueError: If the data cannot be read so, is empty, or is not finite.
    """
    if isinstance(data, tuple | list) and len(data) == 2:
        inputs, labels = _inputs(f"{where}: inputs", data[0]), _array(f"{where}: labels", data[1])
        _check_rows(where, inputs, labels)
        chosen = random.permutation(num_rows(inputs))[:size]
        inputs, labels = take(inputs, chosen), labels[chosen]
    elif isinstance(data, tuple | list) and data and all(hasattr(part, "shape") for part in data):
        raise ValueError(
            f"{where}: {len(data)} arrays; give a pair (inputs, labels), or two pairs, {{'train': (inputs, labels), "
            "'test': (inputs, labels)}"
        )
    elif hasattr(data, "columns") and hasattr(data, "to_numpy"):  # a frame of pandas or polars
        raise ValueError(
            f"{where}: a {type(data).__name__}, which does not say which column is the label; {_split_frame(data)}"
        )
    elif hasattr(data, "batch_size") and hasattr(data, "__iter__"):  # a loader
        inputs, labels = _sample(where, (_pair(where, batch) for batch in data), size, random)
    elif hasattr(data, "__getitem__") and hasattr(data, "__len__"):  # a dataset
        chosen = random.permutation(len(data))[:size].tolist()
        inputs, labels = _sample(where, _chunks(where, (data[k] for k in chosen)), size, random)
    elif hasattr(data, "__iter__") and not isinstance(data, str | bytes | Mapping):  # a dataset without a length
        inputs, labels = _sample(where, _chunks(where, data), size, random)
    else:
        raise ValueError(
            f"{where}: {type(data).__name__}; give a pair (inputs, labels) of tensors or arrays, a Dataset or a "
            "DataLoader"
        )
    _check_finite(where, inputs, labels)
    return inputs, labels


def _split_frame(frame: Any) -> str:
    """Return how to give a frame as inputs and labels, by the name of its column of labels, if one looks like it."""
    columns = [column for column in frame.columns if isinstance(column, str)]
    usual = [column for column in columns if column.lower() in _LABEL_COLUMNS]
    label = escape_control((usual or ["label"])[0])
    drop = f"columns={label!r}" if hasattr(frame, "iloc") else repr(label)  # polars has no iloc
    return f"give (frame.drop({drop}), frame[{label!r}])"


def num_rows(inputs: Inputs) -> int:
    """Return the number of examples."""
    return len(next(iter(inputs.values()))) if isinstance(inputs, dict) else len(inputs)


def take(inputs: Inputs, rows: Any) -> Inputs:
    """Return some of the examples."""
    return {key: value[rows] for key, value in inputs.items()} if isinstance(inputs, dict) else inputs[rows]


def join(parts: list[Inputs]) -> Inputs:
    """Return all examples of several parts; their shapes must agree."""
    first = parts[0]
    if isinstance(first, dict):
        return {key: np.concatenate([part[key] for part in parts]) for key in first}
    return np.concatenate(parts)


def shape_of(inputs: Inputs) -> Any:
    """Return the shape of one example, or the shapes by name."""
    return {key: value.shape[1:] for key, value in inputs.items()} if isinstance(inputs, dict) else inputs.shape[1:]


def _sample(
    where: str, batches: Iterable[tuple[Inputs, np.ndarray]], size: int, random: np.random.Generator
) -> tuple[Inputs, np.ndarray]:
    """Keep `size` random examples of a stream: those with the smallest of random keys."""
    kept: tuple[Inputs, np.ndarray] | None = None
    keys = np.empty(0)
    for inputs, labels in batches:
        _check_rows(where, inputs, labels)
        keys = np.concatenate([keys, random.random(len(labels))])
        order = np.argsort(keys)[:size]
        all_inputs, all_labels = inputs, labels
        if kept is not None:
            if shape_of(inputs) != shape_of(kept[0]) or labels.shape[1:] != kept[1].shape[1:]:
                raise ValueError(
                    f"{where}: examples of shapes {shape_of(kept[0])} and {shape_of(inputs)}; make all equal, for "
                    "texts by padding to one length"
                )
            all_inputs, all_labels = join([kept[0], inputs]), np.concatenate([kept[1], labels])
        keys, kept = keys[order], (take(all_inputs, order), all_labels[order])
    if kept is None:
        raise ValueError(f"{where}: no data; give at least one example")
    return kept


def _chunks(where: str, items: Iterable[Any]) -> Iterator[tuple[Inputs, np.ndarray]]:
    """Stack single items to batches."""
    waiting: list[tuple[Inputs, np.ndarray]] = []
    for k, item in enumerate(items):
        inputs, label = _pair(f"{where}, item {k}", item)
        one: Inputs = {key: v[None] for key, v in inputs.items()} if isinstance(inputs, dict) else inputs[None]
        if waiting and (shape_of(one) != shape_of(waiting[0][0]) or label[None].shape != waiting[0][1].shape):
            batches = label.ndim and label.shape != waiting[0][1].shape[1:]  # as a list of batches has them
            raise ValueError(
                f"{where}: items of shapes {shape_of(waiting[0][0])} and {shape_of(one)}; make all equal, for texts by "
                f"padding to one length{'; if items are batches, give a DataLoader, or a pair of all' * bool(batches)}"
            )
        waiting.append((one, label[None]))
        if len(waiting) == _CHUNK:
            yield join([x for x, _ in waiting]), np.concatenate([y for _, y in waiting])
            waiting = []
    if waiting:
        yield join([x for x, _ in waiting]), np.concatenate([y for _, y in waiting])


def _pair(where: str, item: Any) -> tuple[Inputs, np.ndarray]:
    """Return inputs and labels of a pair, or of a dictionary whose labels are called "labels" or "label"."""
    if isinstance(item, Mapping):
        found = [key for key in ("labels", "label") if key in item]
        if not found:
            raise ValueError(f"{where}: a dictionary without 'labels', with {', '.join(map(str, item))}; add them")
        inputs = {key: value for key, value in item.items() if key != found[0]}
        return _inputs(f"{where}: inputs", inputs), _array(f"{where}: labels", item[found[0]])
    if isinstance(item, tuple | list) and len(item) == 2:
        return _inputs(f"{where}: inputs", item[0]), _array(f"{where}: labels", item[1])
    raise ValueError(f"{where}: {type(item).__name__}; yield pairs (input, label)")


def _inputs(where: str, value: Any) -> Inputs:
    if isinstance(value, Mapping):
        if not value:
            raise ValueError(f"{where}: an empty dictionary; give arrays by name")
        return {str(key): _array(f"{where}[{key!r}]", part) for key, part in value.items()}
    return _array(where, value)


def _array(where: str, value: Any) -> np.ndarray:
    """Return an array or a tensor as an array of numbers; a frame of pandas as its values."""
    if hasattr(value, "detach"):  # a tensor
        value = value.detach().cpu()
        value = value.float().numpy() if str(value.dtype) == "torch.bfloat16" else value.numpy()
    try:
        array = np.asarray(value)
    except ValueError:  # rows of unequal length
        array = np.asarray(None)
    check_no_text(where, array)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{where}: {type(value).__name__} of {array.dtype}; give a tensor or an array of numbers")
    return array


def check_no_text(where: str, array: np.ndarray) -> None:
    """Raise an error for an array of texts, such as names of classes.

    Args:
        where: The words that begin the message.
        array: The array.

    Raises:
        ValueError: If its first entry is text.
    """
    if array.size and isinstance(first := array.reshape(-1)[0], str):
        raise ValueError(
            f"{where}: text, such as {escape_control(first[:40])!r}; give numbers: classes as 0, 1, 2, ..., alike in "
            "all tasks, and texts as the tokens that the network takes"
        )


def _check_rows(where: str, inputs: Inputs, labels: np.ndarray) -> None:
    parts = inputs if isinstance(inputs, dict) else {"inputs": inputs}
    for key, value in parts.items():
        if not value.ndim or not labels.ndim or len(value) != len(labels):
            shapes = f"{key} of shape {value.shape}, labels {labels.shape}"
            raise ValueError(f"{where}: {shapes}; give as many labels as inputs, one row each")
    if not len(labels):
        raise ValueError(f"{where}: no data; give at least one example")


def _check_finite(where: str, inputs: Inputs, labels: np.ndarray) -> None:
    parts = inputs if isinstance(inputs, dict) else {"inputs": inputs}
    for key, value in (*parts.items(), ("labels", labels)):
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            index = np.argwhere(~np.isfinite(value))[0]
            raise ValueError(f"{where}: {key} has {value[tuple(index)]}; every number must be finite")
