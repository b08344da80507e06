"""Digests of code outside ebbing: results of an edited class are not found under the key of the old one.

A class of ebbing has a version, which is raised when its results change. A user's class is recognized by what Python
runs: the compiled code of its functions, of its bases outside ebbing, and of the user's functions and classes that
they call, with all values that they read, such as constants, tensors, loss functions and other objects. Compiled code
is there in a notebook and at a prompt as well, and it is the code that runs, even if the file has been edited since it
was imported. Comments and docstrings do not count. Another version of Python compiles otherwise, so it computes
results of such classes again.

Of what is installed (PyTorch, NumPy, other packages) the name counts, not the code, unless the class itself belongs to
it.
"""

from __future__ import annotations

import functools
from dataclasses import fields, is_dataclass
from types import FunctionType, MethodType
from typing import Any

from ebbing.learn._code_objects import is_foreign
from ebbing.learn._description import Description, deep_recursion, digest_of
from ebbing.learn._irrelevant_parts import is_cached


@deep_recursion()
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
    description = Description({kind.__module__.partition(".")[0]} if is_foreign(kind.__module__) else None)
    description.add(kind)
    has_own_kind = description.has_own_code
    for name, value in _attributes(part).items():
        if has_own_kind and _is_outside_settings(part, name):
            description.add(value)
        else:
            _add_code(value, description)
    if not description.has_own_code:
        return None
    return digest_of(description.lines)


def _attributes(part: Any) -> dict[str, Any]:
    """The attributes of an object, and the fields of a dataclass with slots."""
    names = [field.name for field in fields(part)] if is_dataclass(part) else []
    return {name: getattr(part, name) for name in names if hasattr(part, name)} | getattr(part, "__dict__", {})


def _is_outside_settings(part: object, name: str) -> bool:
    """Whether keys would not hold an attribute: it is no field of the dataclass, nor computed from the others."""
    if callable(getattr(part, "settings", None)) or not is_dataclass(part):
        return False
    return not is_cached(type(part), name) and name not in {field.name for field in fields(part)}


def _add_code(value: Any, description: Description) -> None:
    """Describe the code that an attribute runs; its values are settings."""
    if isinstance(value, MethodType):
        description.add(value.__func__)
    elif isinstance(value, type | FunctionType | functools.partial):
        description.add(value)
    elif isinstance(value, tuple | list):
        for item in value:
            _add_code(item, description)
    elif isinstance(value, dict):
        for item in value.values():
            _add_code(item, description)
    else:
        description.add(type(value))
        if is_dataclass(value):
            for held in _attributes(value).values():
                _add_code(held, description)
