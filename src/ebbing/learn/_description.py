"""Descriptions of objects: lines that differ if results may differ, and are the same in every process.

An object is described by its class and by its state, which is what pickle would store; a network by its modules and
weights; a class or function of the user's by its code and by everything that the code reads, and any other by its name.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from enum import Enum
from inspect import getattr_static
from pathlib import PurePath
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from ebbing.learn._code_objects import CodeReading, is_made_by_user, is_own
from ebbing.learn._irrelevant_parts import folders, is_cached, is_generated, is_log, own_attributes, without_place
from ebbing.learn._object_state import enclosing_variables, object_state, tensor_digest

_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")

_PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None), type(...), torch.dtype, torch.layout, range))
"""Types whose values say all in words; subclasses, such as a user's string with methods, are objects."""

_TENSORS = frozenset((np.ndarray, Tensor, nn.Parameter))

_DEPTH = 100_000
"""How deeply calls may be nested while objects are described."""

_FUNCTIONS = (FunctionType, staticmethod, classmethod, property)


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


def digest_of(lines: Iterable[str]) -> str:
    """Return the digest of a description.

    Args:
        lines: Its lines.

    Returns:
        The first 32 hexadecimal digits of a SHA-256.
    """
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


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
        self._is_of_member = False
        self._folders: dict[str, None] = {}  # of the user's files
        self._installed: dict[type, bool] = {}
        self._seen: dict[int, tuple[int, Any]] = {}  # by identity; what was seen is kept alive, so that none is reused

    def add(self, value: Any) -> None:
        """Describe a value and everything that it refers to.

        Args:
            value: The value.
        """
        if type(value) is str:
            self.lines.append(repr(without_place(value, self._folders)))
        elif type(value) in _PLAIN or isinstance(value, np.generic):
            self.lines.append(repr(value))
        elif isinstance(value, Enum):
            self.lines.append(f"{type(value).__qualname__}.{value.name}")
            self.add(type(value))
        elif isinstance(value, PurePath):
            self.lines.append(without_place(os.fspath(value), self._folders))
        elif type(value) is tuple:  # equal ones may be one object or several
            self._add_all(value)
        elif isinstance(value, tuple | str):
            self._add_object(value)
        elif not self._is_new(value):
            self.lines.append(f"as {self._seen[id(value)][0]}")
        else:
            self._add_new(value)

    def _add_new(self, value: Any) -> None:  # noqa: PLR0912 (one branch per kind of value)
        """Describe a value that was not met before."""
        if is_log(value):
            self.lines.append(type(value).__qualname__)
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
        elif isinstance(value, staticmethod | classmethod):
            self.add(value.__func__)
        elif isinstance(value, property):
            self._add_all((value.fget, value.fset))
        elif isinstance(value, functools.cached_property):
            self.add(value.func)
        elif isinstance(value, MethodType):
            self._add_all((value.__func__, value.__self__))
        elif type(value) is dict:
            self._add_items(value)
        elif type(value) is list:
            self._add_all(value)
        elif isinstance(value, Set):
            self._add_set(value)
        elif isinstance(value, torch.Generator):
            self._add_all((str(value.device), value.get_state()))
        elif not self._is_installed(type(value)):
            self._add_object(value)
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
            if is_lazy(value):
                raise ValueError(
                    f"network: {name} of a lazy layer has no shape yet, so no results can be stored under it; call the "
                    "network once with an example, or give the layer its sizes"
                )
            if self._is_new(value):
                self.lines.append(f"{name}: {value.requires_grad}")
                self._add_tensor(value)
            else:
                self.lines.append(f"{name}: tied to {self._seen[id(value)][0]}")
        for name, module in modules:
            self.lines.append(f"module {name}")
            self.add(type(module))
            self._add_items(own_attributes(module))
            for hooks in _HOOKS:
                if hooked := vars(module)[hooks]:
                    self.lines.append(hooks)
                    self._add_all(hooked.values())  # their numbers differ from process to process

    def add_module(self, module: ModuleType, names: Iterable[str]) -> None:
        """Describe what is used of a Python module; one that is installed by its name alone.

        Args:
            module: The module.
            names: The names of what may be used of it, and of modules in it.
        """
        names, modules = [*names], [module]
        for used in modules:  # with the modules of a package, which may refer to each other
            if not is_own(used.__name__, self._packages):
                self.lines.append(used.__name__)
                continue
            for name in names:
                found = vars(used).get(name)
                if isinstance(found, ModuleType):
                    modules += [found] * all(found is not other for other in modules)
                elif name in vars(used):
                    self.lines.append(name)
                    self.add(found)

    def _is_installed(self, kind: type) -> bool:
        """Whether a class is not the user's; asked of every object, so the answer is kept."""
        if kind not in self._installed:
            self._installed[kind] = not is_made_by_user(kind, self._packages)
        return self._installed[kind]

    def _add_class(self, kind: type) -> None:
        if self._is_installed(kind):
            self.lines.append(_name(kind))
            return
        self.has_own_code = True
        self._folders |= dict.fromkeys(folders(vars(sys.modules.get(kind.__module__, object))))
        self.lines.append(f"class {kind.__qualname__}")
        self._add_all((type(kind), *kind.__mro__[1:]))
        settings = {field.name for field in fields(kind)} if is_dataclass(kind) else set()  # their values are described
        for name, value in vars(kind).items():
            hidden = name.startswith("__") and not isinstance(value, _FUNCTIONS)
            if not (hidden or name in settings or (is_dataclass(kind) and is_generated(name, value))):
                self.lines.append(f".{name}")
                self.add(value)

    def _add_function(self, function: FunctionType) -> None:
        is_own_code = is_own(str(function.__globals__.get("__name__")), self._packages)
        if not is_own_code and not is_made_by_user(function, self._packages):
            self.lines.append(_name(function))
            return
        self.has_own_code = True
        self._folders |= dict.fromkeys(folders(function.__globals__))
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
        self.add(type(value))
        self._add_all(sorted(value, key=self._in_words))
        self._add_items(getattr(value, "__dict__", {}))

    def _in_words(self, item: Any) -> str:
        """A member of a set in words by which members are sorted, whatever their addresses."""
        if type(item) in _PLAIN:
            return repr(item)
        if isinstance(item, tuple):
            return f"({', '.join(map(self._in_words, item))})"
        if isinstance(item, frozenset):
            return f"{{{', '.join(sorted(map(self._in_words, item)))}}}"
        if id(item) in self._seen:
            return f"as {self._seen[id(item)][0]}"
        if self._is_of_member:  # whose members may be the first one again
            return type(item).__qualname__
        member = Description(self._packages)
        member._is_of_member = True
        member.add(item)
        return "\n".join(member.lines)

    def _add_all(self, values: Iterable[Any]) -> None:
        self.lines.append("[")
        for value in values:
            self.add(value)
        self.lines.append("]")

    def _add_items(self, items: Mapping[Any, Any]) -> None:
        self.lines.append("{")
        for key, value in items.items():
            self.add(key)
            self.lines.append("=")
            self.add(value)
        self.lines.append("}")

    def _add_tensor(self, value: Tensor) -> None:
        if type(value) not in _TENSORS:
            self.add(type(value))
        self.lines.append(f"{value.dtype} {tuple(value.shape)} {tensor_digest(value)}")

    def _add_array(self, value: np.ndarray) -> None:
        if type(value) not in _TENSORS:
            self.add(type(value))
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
