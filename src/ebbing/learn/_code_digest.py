"""Digests of code outside ebbing: results of an edited class are not found under the key of the old one.

A class of ebbing has a version, which is raised when its results change. A user's class is recognized by what Python
runs: the compiled code of its functions, of its bases outside ebbing, and of the user's functions and classes that
they call, with the constants that they read. Compiled code is there in a notebook and at a prompt as well, and it is
the code that runs, even if the file has been edited since it was imported. Comments and docstrings do not count.
Another version of Python compiles otherwise, so it computes results of such classes again.

What is installed (PyTorch, NumPy, other packages) is not followed, unless the class itself belongs to it.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import inspect
import sys
import sysconfig
from contextlib import suppress
from dataclasses import is_dataclass
from enum import Enum
from pathlib import Path, PurePath
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch

_CONSTANTS = (bool, int, float, complex, str, bytes, type(None), type(...))
_IN_WORDS = (range, slice, PurePath, np.dtype, torch.dtype)
"""Further constants of a user's file whose `repr` says all."""

_GENERATED = {"__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__replace__"}
"""Functions that `dataclass` writes; the fields from which it does are settings, and enter keys as such."""

_INSTALLED = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib"))


def code_digest(part: object) -> str | None:
    """Return a digest of the code outside ebbing that an object runs.

    Args:
        part: Tasks, an architecture or a method; its attributes count, too.

    Returns:
        The first 32 hexadecimal digits of a SHA-256; None if all of the code is ebbing's.

    Example:
        >>> from ebbing.learn import Sgd
        >>> Mine = type("Mine", (Sgd,), {"__module__": "my_methods"})  # as a class in the file my_methods.py
        >>> code_digest(Sgd()), len(code_digest(Mine()))
        (None, 32)
    """
    kind = type(part)
    installed = {kind.__module__.partition(".")[0]} if _is_foreign(kind.__module__) else set()
    walk = CodeWalk(installed)
    for base in kind.__mro__:
        walk.add(base)
    for value in getattr(part, "__dict__", {}).values():
        walk.add(type(value))
    return hashlib.sha256("\n".join(walk.lines).encode()).hexdigest()[:32] if walk.lines else None


def _is_foreign(module: str) -> bool:
    """Whether a module is neither ebbing's nor of Python or PyTorch, whose versions keys do not hold."""
    top = module.partition(".")[0]
    return top not in ("ebbing", "torch", "builtins") and top not in sys.stdlib_module_names


class CodeWalk:
    """The lines that describe some classes and functions, and everything of the user's that they refer to.

    Args:
        packages: Packages to follow although they are installed.
    """

    def __init__(self, packages: set[str]) -> None:
        self.packages = packages
        self.lines: list[str] = []
        self.seen: set[int] = set()

    def add(self, value: Any) -> None:  # noqa: PLR0912 (one branch per kind of value)
        """Describe a class, a function or a constant; leave out whatever else there is."""
        if isinstance(value, staticmethod | classmethod | MethodType):
            self.add(value.__func__)
        elif isinstance(value, property):
            self.add((value.fget, value.fset))
        elif isinstance(value, functools.partial):
            self.add((value.func, value.args, value.keywords))
        elif isinstance(value, functools.cached_property):
            self.add(value.func)
        elif isinstance(value, tuple | list):
            for item in value:
                self.add(item)
        elif isinstance(value, dict):
            self.add([*value.items()])
        elif isinstance(value, (*_CONSTANTS, *_IN_WORDS, set, frozenset)):
            self.lines.append(_constant(value))
        elif isinstance(value, np.ndarray) and value.dtype.hasobject:
            self.add(value.tolist())
        elif isinstance(value, np.ndarray | np.generic | torch.Tensor):
            self.lines.append(describe_numbers(value))
        elif isinstance(value, Enum):
            self.lines.append(str(value))
            self.add(value.value)
        elif isinstance(value, type | FunctionType):
            if id(value) not in self.seen and self.follows(value.__module__):
                self.seen.add(id(value))
                if isinstance(value, type):
                    self._add_class(value)
                else:
                    self._add_function(value)
        elif is_dataclass(value):
            self.add([type(value), *vars(value).values()])
        elif isinstance(wrapped := inspect.getattr_static(value, "__wrapped__", None), FunctionType):  # cached
            self.add(wrapped)

    def _add_class(self, kind: type) -> None:
        self.lines.append(f"class {kind.__qualname__}")
        self.add(kind.__mro__[1:])
        left_out = {*(_GENERATED if is_dataclass(kind) else ()), *getattr(kind, "__dataclass_fields__", ())}
        for name, value in vars(kind).items():
            if name not in left_out and (not name.startswith("__") or isinstance(value, FunctionType)):
                self.lines.append(f".{name}")
                self.add(value)

    def _add_function(self, function: FunctionType) -> None:
        self.lines.append(f"def {function.__qualname__}")
        self._add_code(function.__code__, function.__globals__)
        self.add([function.__defaults__, function.__kwdefaults__])
        for cell in function.__closure__ or ():
            with suppress(ValueError):  # the cell is empty
                self.add(cell.cell_contents)

    def _add_code(self, code: CodeType, scope: dict[str, Any]) -> None:
        instructions = list(dis.get_instructions(code))
        self.lines += [f"{i.opname} {_constant(i.argval)}" for i in instructions]
        self.lines.append(code.co_exceptiontable.hex())
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._add_code(constant, scope)
        read, written, attributes = (
            dict.fromkeys(i.argval for i in instructions if i.opname in names)
            for names in (("LOAD_GLOBAL", "LOAD_NAME"), ("STORE_GLOBAL",), ("LOAD_ATTR", "LOAD_METHOD"))
        )
        for name in read:
            value = scope.get(name)
            if isinstance(value, ModuleType):
                if self.follows(value.__name__):
                    self.add([vars(value).get(attribute) for attribute in attributes])
            elif name in scope and name not in written:
                self.add(value)

    def follows(self, module: str) -> bool:
        """Return whether a module is the user's: of the packages named, or not installed.

        Args:
            module: The name of the module.

        Returns:
            Whether its code is described.
        """
        if not _is_foreign(module) or module.partition(".")[0] in self.packages:
            return _is_foreign(module)
        file = getattr(sys.modules.get(module), "__file__", None)
        return file is None or not any(Path(file).resolve().is_relative_to(folder) for folder in _INSTALLED)


def _constant(value: Any) -> str:
    """A constant in words that are the same in every process."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_constant, value))})"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(_constant, value)))}}}"
    return repr(value) if isinstance(value, (*_CONSTANTS, *_IN_WORDS)) else type(value).__qualname__


def describe_numbers(value: np.ndarray | np.generic | torch.Tensor) -> str:
    """Return the type, the shape and a digest of the content of an array or a tensor."""
    content: Any = value
    if isinstance(value, torch.Tensor):
        dense = value.detach().to_dense() if value.layout is not torch.strided else value.detach()
        content = dense.cpu().contiguous().flatten().view(torch.uint8).numpy()
    return f"{value.dtype} {tuple(value.shape)} {hashlib.sha256(content.tobytes()).hexdigest()}"
