"""What objects consist of: the state that pickle would store, the variables of functions, the content of tensors."""

from __future__ import annotations

import copyreg
import hashlib
from collections.abc import Mapping, Sequence, ValuesView
from types import FunctionType
from typing import Any

import torch
from torch import Tensor


def object_state(value: Any) -> tuple[Any, ...]:
    """Return what pickle would store of an object, or else its attributes.

    Args:
        value: The object.

    Returns:
        The parts of its state; the name alone of what pickle finds by its name.
    """
    try:
        reduce = copyreg.dispatch_table.get(type(value))
        made = value.__reduce_ex__(2) if reduce is None else reduce(value)
    except Exception:  # of any kind: the class may be the user's
        slots = [slot for kind in type(value).__mro__ for slot in _slots(kind)]
        held = {slot: getattr(value, slot) for slot in slots if hasattr(value, slot)}
        return held, getattr(value, "__dict__", {}), _content(value)
    if isinstance(made, str):
        return (made,)
    items, pairs = (*made[3:5], None, None)[:2]  # of lists and dictionaries
    return *made[1:3], [*(items or ())], dict(pairs or ())


def enclosing_variables(function: FunctionType) -> dict[str, Any]:
    """Return the variables of enclosing functions that a function reads, but for those that have no value yet.

    Args:
        function: The function.

    Returns:
        Their values by name.
    """
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found


def tensor_digest(value: Tensor) -> str:
    """Return a digest of the content of a tensor.

    Args:
        value: The tensor, on any device and of any layout.

    Returns:
        The SHA-256 of its numbers; empty for a tensor on the device "meta", which has none.
    """
    if value.is_meta:
        return ""
    dense = value.detach().to_dense().cpu().resolve_conj().resolve_neg().contiguous()
    content: Any = dense.flatten().view(torch.uint8).numpy()
    return hashlib.sha256(content).hexdigest()


def _slots(kind: type) -> tuple[str, ...]:
    slots = getattr(kind, "__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _content(value: Any) -> Any:
    """What a container holds that cannot be pickled, such as a view of a dictionary."""
    if isinstance(value, Mapping):
        return dict(value)
    return [*value] if isinstance(value, Sequence | ValuesView) else None
