"""Descriptions of objects: lines that differ if results may differ, and are the same in every process.

An object is described by its class and by its state, which is what pickle would store; a network by its modules and
weights; a class or function of the user's by its code and by everything that the code reads, and any other by its name.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from enum import Enum
from inspect import getattr_static
from types import FunctionType, MethodType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
import torch
from torch import Tensor, nn

from ebbing.learn._code_objects import CodeReading, is_made_by_user, is_own
from ebbing.learn._object_state import enclosing_variables, is_cached, object_state, tensor_digest

_GENERATED = frozenset(("__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__replace__"))
"""Functions that `dataclass` writes besides `__init__`."""

_OF_EVERY_MODULE = frozenset(vars(nn.Module()))
"""What PyTorch keeps in every module: its parameters, its hooks, whether it trains."""

_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), np.generic, torch.dtype, torch.layout, range)

_DEPTH = 100_000
"""How deeply calls may be nested while objects are described."""

_FUNCTIONS = (FunctionType, staticmethod, classmethod, property)

_BY_TYPE = (type(os.environ), logging.Logger, WeakKeyDictionary, WeakValueDictionary)
"""The environment, logs and caches, on which no result should depend."""


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Let objects refer to each other in chains of any length; calls of Python functions do not use the stack of C.

    Yields:
        Nothing.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEPTH))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


class Description:
    """The lines that describe some objects.

    Args:
        packages: Packages whose code is described although they are installed.

    Attributes:
        lines: The lines.
        has_own_code: Whether a class or a function of the user's was among the objects.
    """

    def __init__(self, packages: set[str] | None = None) -> None:
        self.lines: list[str] = []
        self.has_own_code = False
        self._packages = packages or set()
        self._seen: dict[int, tuple[int, Any]] = {}  # by identity; what was seen is kept alive, so that none is reused

    def add(self, value: Any) -> None:  # noqa: PLR0912 (one branch per kind of value)
        """Describe a value and everything that it refers to.

        Args:
            value: The value.
        """
        if isinstance(value, Enum):
            self.lines.append(f"{type(value).__qualname__}.{value.name}")
            self.add(type(value))
        elif isinstance(value, _PLAIN):
            self.lines.append(repr(value))
        elif isinstance(value, os.PathLike):
            self.lines.append(os.fspath(value))
        elif isinstance(value, tuple):  # equal ones may be one object or several
            self._add_all(value)
        elif isinstance(value, _BY_TYPE):
            self.lines.append(type(value).__qualname__)
        elif not self._is_new(value):
            self.lines.append(f"as {self._seen[id(value)][0]}")
        elif isinstance(value, nn.Module):
            self.add_network(value)
        elif isinstance(value, Tensor):
            self._add_tensor(value)
        elif isinstance(value, np.ndarray):
            self._add_array(value)
        elif isinstance(value, ModuleType):
            self.add_module(value, [name for name in vars(value) if not name.startswith("__")])
        elif isinstance(value, type):
            self._add_class(value)
        elif isinstance(value, FunctionType):
            self._add_function(value)
        elif isinstance(value, functools.partial):
            self._add_all((value.func, value.args, value.keywords))
        elif isinstance(value, staticmethod | classmethod):
            self.add(value.__func__)
        elif isinstance(value, property):
            self._add_all((value.fget, value.fset))
        elif isinstance(value, functools.cached_property):
            self.add(value.func)
        elif isinstance(value, MethodType):
            self._add_all((value.__func__, value.__self__))
        elif isinstance(value, Mapping):
            self._add_items(value)
        elif isinstance(value, Set):
            self._add_set(value)
        elif isinstance(value, Sequence):
            self._add_all(value)
        elif isinstance(wrapped := getattr_static(value, "__wrapped__", None), FunctionType):  # cached
            self.add(wrapped)
        elif callable(value) and hasattr(value, "__qualname__"):  # built in
            self.lines.append(f"{getattr(value, '__module__', None)}.{value.__qualname__}")
            if not isinstance(owner := getattr(value, "__self__", None), type | ModuleType):
                self.add(owner)
        else:
            self._add_object(value)

    def add_network(self, network: nn.Module) -> None:
        """Describe a network: classes, code and attributes of modules, and everything about its weights.

        Args:
            network: The network.
        """
        modules = [*network.named_modules()]
        for _, module in modules:
            self._is_new(module)
        for name, value in _weights(network):  # before attributes, which may refer to them
            if self._is_new(value):
                self.lines.append(f"{name}: {value.requires_grad}")
                self._add_tensor(value)
            else:
                self.lines.append(f"{name}: tied to {self._seen[id(value)][0]}")
        for name, module in modules:
            self.lines.append(f"module {name}")
            self.add(type(module))
            own = {key: value for key, value in vars(module).items() if key not in _OF_EVERY_MODULE}
            self._add_items({key: own[key] for key in sorted(own)})
            for hooks in _HOOKS:
                if hooked := vars(module)[hooks]:
                    self.lines.append(hooks)
                    self._add_all(hooked.values())  # their numbers differ from process to process

    def add_module(self, module: ModuleType, names: Iterable[str]) -> None:
        """Describe what is used of a Python module; one that is installed by its name alone.

        Args:
            module: The module.
            names: The names of what may be used of it, and of its submodules.
        """
        if not is_own(module.__name__, self._packages):
            self.lines.append(module.__name__)
            return
        for name in names:
            found = vars(module).get(name)
            if isinstance(found, ModuleType):
                if found is not module:
                    self.add_module(found, [other for other in names if other != name])
            elif name in vars(module):
                self.lines.append(name)
                self.add(found)

    def _add_class(self, kind: type) -> None:
        if not is_made_by_user(kind, self._packages):
            self.lines.append(_name(kind))
            return
        self.has_own_code = True
        self.lines.append(f"class {kind.__qualname__}")
        self._add_all(kind.__mro__[1:])
        settings = {field.name for field in fields(kind)} if is_dataclass(kind) else set()  # their values are described
        for name, value in vars(kind).items():
            hidden = name.startswith("__") and not isinstance(value, _FUNCTIONS)
            if not (hidden or name in settings or (is_dataclass(kind) and _is_generated(name, value))):
                self.lines.append(f".{name}")
                self.add(value)

    def _add_function(self, function: FunctionType) -> None:
        is_own_code = is_own(str(function.__globals__.get("__name__")), self._packages)
        if not is_own_code and not is_made_by_user(function, self._packages):
            self.lines.append(_name(function))
            return
        self.has_own_code = True
        self.lines.append(f"def {function.__qualname__}")
        self._add_all((function.__defaults__, function.__kwdefaults__, vars(function)))
        enclosing = enclosing_variables(function)
        if not is_own_code:  # an installed decorator's, around the user's function
            self.lines.append(function.__code__.co_qualname)
            self._add_all(enclosing.values())
            return
        reading = CodeReading.of(function.__code__)
        self.lines += reading.lines
        scope = function.__globals__ | enclosing
        for name in dict.fromkeys([*reading.names, *enclosing]):
            if isinstance(value := scope.get(name), ModuleType):
                self.add_module(value, reading.attributes)
            elif name in scope:
                self.add(value)
        for module in reading.imported(function.__globals__, self._packages):
            self.add_module(module, reading.attributes)

    def _add_object(self, value: Any) -> None:
        self.add(type(value))
        for part in object_state(value):
            if isinstance(part, dict):
                self._add_items({key: item for key, item in part.items() if not is_cached(type(value), key)})
            else:
                self.add(part)

    def _add_set(self, value: Set[Any]) -> None:
        for word, item in sorted(((_in_words(item), item) for item in value), key=lambda pair: pair[0]):
            self.lines.append(word)
            if isinstance(item, Enum) or callable(item):
                self.add(item)

    def _add_all(self, values: Iterable[Any]) -> None:
        self.lines.append("[")
        for value in values:
            self.add(value)
        self.lines.append("]")

    def _add_items(self, items: Mapping[Any, Any]) -> None:
        self.lines.append("{")
        for key, value in items.items():
            self.lines.append(f"{_in_words(key)} =")
            self.add(value)
        self.lines.append("}")

    def _add_tensor(self, value: Tensor) -> None:
        self.lines.append(f"{value.dtype} {tuple(value.shape)} {tensor_digest(value)}")

    def _add_array(self, value: np.ndarray) -> None:
        if value.dtype.hasobject:
            self._add_all((value.shape, value.tolist()))
        else:
            self.lines.append(f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}")

    def _is_new(self, value: Any) -> bool:
        """Remember an object by the order in which it was met; return whether it is met for the first time."""
        known = len(self._seen)
        self._seen.setdefault(id(value), (known, value))
        return len(self._seen) > known


def _weights(network: nn.Module) -> Iterator[tuple[str, Tensor]]:
    yield from network.named_parameters(remove_duplicate=False)
    yield from network.named_buffers(remove_duplicate=False)


def _name(value: type | FunctionType) -> str:
    """The name of what is installed; ebbing's own may move from module to module."""
    module = str(value.__module__)
    return value.__qualname__ if module.partition(".")[0] == "ebbing" else f"{module}.{value.__qualname__}"


def _is_generated(name: str, value: Any) -> bool:
    """Whether `dataclass` may have written a function."""
    if name == "__init__" and isinstance(value, FunctionType):
        return value.__code__.co_qualname.startswith("__create_fn__.")
    return name in _GENERATED


def _in_words(value: Any) -> str:
    """A key or a member of a set, without an address."""
    if isinstance(value, Enum):
        return f"{type(value).__qualname__}.{value.name}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_in_words, value))})"
    if isinstance(value, _PLAIN):
        return repr(value)
    return getattr(value, "__qualname__", type(value).__qualname__)
