"""Digests of networks: results of a network are not found under the key of another one.

Networks are the same if their modules have the same classes, code, attributes and weights. Attributes are whatever a
module was given beside its weights: numbers, flags, activation functions, configurations of other libraries. What they
refer to is followed, such as the fields of a configuration. An attribute that does not matter to the results, such as a
time of day, makes a network another one; that costs a training, and never gives the results of another network.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
from collections.abc import Iterator, Mapping, Sequence, Set
from enum import Enum
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ebbing.learn._code_digest import CodeWalk, describe_numbers

_OF_EVERY_MODULE = frozenset(vars(nn.Module()))
"""What PyTorch keeps in every module: its parameters, its hooks, whether it trains."""

_HOOKS = ("_forward_pre_hooks", "_forward_hooks")

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), np.generic, torch.dtype, torch.layout)


def network_digest(network: nn.Module) -> str:
    """Return a digest of everything that determines what a network computes and how it learns.

    Args:
        network: The network.

    Returns:
        The first 32 hexadecimal digits of a SHA-256 over classes, code and attributes of modules, and over names,
        types, shapes, values and ties of parameters and buffers.

    Example:
        >>> network = nn.Linear(2, 1)
        >>> before = network_digest(network)
        >>> network.temperature = 2.0
        >>> network_digest(network) == before
        False
    """
    return hashlib.sha256("\n".join(_Description(network).lines).encode()).hexdigest()[:32]


class _Description:
    """The lines that describe a network; they are the same in every process.

    Args:
        network: The network.
    """

    def __init__(self, network: nn.Module) -> None:
        self.lines: list[str] = []
        self._code = CodeWalk(set())
        self._code.lines = self.lines
        self._seen: dict[int, tuple[int, Any]] = {}  # by identity; what was seen is kept alive, so that none is reused
        self._add_network(network)

    def _add_network(self, network: nn.Module) -> None:
        modules = [*network.named_modules()]
        for _, module in modules:
            self._is_new(module)
        for name, value in _weights(network):  # before attributes, which may refer to them
            if self._is_new(value):
                self.lines += [f"{name}: {value.requires_grad}", describe_numbers(value)]
            else:
                self.lines.append(f"{name}: tied to {self._seen[id(value)][0]}")
        for name, module in modules:
            self.lines.append(f"module {name}: {self._name(type(module))}")
            self._code.add(type(module))
            own = {key: value for key, value in vars(module).items() if key not in _OF_EVERY_MODULE}
            self._add_items({key: own[key] for key in sorted(own)})
            for hooks in _HOOKS:
                self.lines.append(hooks)
                self._add_all(vars(module)[hooks].values())  # their numbers differ from process to process

    def _add(self, value: Any) -> None:  # noqa: PLR0912 (one branch per kind of value)
        """Describe a value and everything that it refers to."""
        if isinstance(value, Enum):
            self.lines.append(str(value))
        elif isinstance(value, _PLAIN):
            self.lines.append(repr(value))
        elif isinstance(value, os.PathLike):
            self.lines.append(os.fspath(value))
        elif isinstance(value, tuple):  # equal ones may be one object or several
            self._add_all(value)
        elif not self._is_new(value):
            self.lines.append(f"as {self._seen[id(value)][0]}")
        elif isinstance(value, nn.Module):  # not registered, or it would have been seen
            self._add_network(value)
        elif isinstance(value, Tensor | np.ndarray):
            self.lines.append(describe_numbers(value))
        elif isinstance(value, functools.partial):
            self._add_all((value.func, value.args, value.keywords))
        elif isinstance(value, Mapping):
            self._add_items(value)
        elif isinstance(value, Set):
            self.lines += sorted(map(_in_words, value))
        elif isinstance(value, Sequence):
            self._add_all(value)
        elif callable(value) and hasattr(value, "__qualname__"):  # a class, a function, a method
            self.lines.append(self._name(value))
            self._code.add(value)
            if not isinstance(owner := getattr(value, "__self__", None), type | type(functools)):
                self._add(owner)
        else:
            self.lines.append(self._name(type(value)))
            self._code.add(type(value))
            slots = [slot for kind in inspect.getmro(type(value)) for slot in getattr(kind, "__slots__", ())]
            self._add_items({slot: getattr(value, slot) for slot in slots if hasattr(value, slot)})
            self._add_items(getattr(value, "__dict__", {}))

    def _add_all(self, values: Any) -> None:
        self.lines.append("[")
        for value in values:
            self._add(value)
        self.lines.append("]")

    def _add_items(self, items: Mapping[Any, Any]) -> None:
        self.lines.append("{")
        for key, value in items.items():
            self.lines.append(f"{_in_words(key)} =")
            self._add(value)
        self.lines.append("}")

    def _name(self, value: Any) -> str:
        """The name of a class or a function; with its module if that is installed, and so cannot be described."""
        module = str(getattr(value, "__module__", None))
        return value.__qualname__ if self._code.follows(module) else f"{module}.{value.__qualname__}"

    def _is_new(self, value: Any) -> bool:
        """Remember an object by the order in which it was met; return whether it is met for the first time."""
        known = len(self._seen)
        self._seen.setdefault(id(value), (known, value))
        return len(self._seen) > known


def _weights(network: nn.Module) -> Iterator[tuple[str, Tensor]]:
    yield from network.named_parameters(remove_duplicate=False)
    yield from network.named_buffers(remove_duplicate=False)


def _in_words(value: Any) -> str:
    """A key or a member of a set, without an address."""
    return repr(value) if isinstance(value, (*_PLAIN, tuple)) else type(value).__qualname__
