"""What no result depends on: logs, caches, generated functions, and the folder in which a user's files are."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Iterable, Mapping
from inspect import getattr_static
from pathlib import Path
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

from torch import nn

_GENERATED = frozenset(("__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__replace__"))
"""Functions that `dataclass` writes besides `__init__`."""

_OF_EVERY_MODULE = frozenset((*vars(nn.Module()), "_compiled_call_impl"))
"""What PyTorch keeps in every module: its parameters, its hooks, whether it trains, what it has compiled."""

_BY_TYPE = (type(os.environ), logging.Logger, WeakKeyDictionary, WeakSet, WeakValueDictionary)
"""The environment, logs and caches, on which no result should depend."""

_BY_TYPE_IN = ("aim.", "comet_ml.", "concurrent.", "loguru.", "mlflow.", "rich.", "threading.", "tqdm.", "wandb.")
_BY_TYPE_IN += ("tensorboardX.", "torch.utils.tensorboard.")
"""Modules of logs, progress bars and threads, on which no result should depend either."""


def is_cached(kind: type, name: Any) -> bool:
    """Return whether an attribute of a class's instances is computed from the others, at the first use.

    Args:
        kind: The class.
        name: The name of the attribute.

    Returns:
        Whether it is so.
    """
    return isinstance(name, str) and isinstance(getattr_static(kind, name, None), functools.cached_property)


def is_generated(name: str, value: Any) -> bool:
    """Return whether `dataclass` may have written an attribute of a class.

    Args:
        name: The name of the attribute.
        value: The attribute.

    Returns:
        Whether it is so.
    """
    if name == "__init__" and isinstance(value, FunctionType):
        return value.__code__.co_qualname.startswith("__create_fn__.")
    return name in _GENERATED


def is_log(value: Any) -> bool:
    """Return whether an object is a log, a progress bar, a thread, the environment or a cache.

    Args:
        value: The object.

    Returns:
        Whether it is so.
    """
    return isinstance(value, _BY_TYPE) or f"{type(value).__module__}.".startswith(_BY_TYPE_IN)


def own_attributes(module: nn.Module) -> dict[str, Any]:
    """Return the attributes of a module beside what PyTorch keeps in every one.

    Args:
        module: The module.

    Returns:
        The attributes in the order of their names; none of what `torch.compile` returned, which hold addresses.
    """
    if "_orig_mod" in module._modules:
        return {}
    return {name: value for name, value in sorted(vars(module).items()) if name not in _OF_EVERY_MODULE}


def folders(scope: Mapping[str, Any]) -> list[str]:
    """Return the folder of a user's module, or the one that holds its package.

    Args:
        scope: The globals of the module.

    Returns:
        The folder as it was found and without links; none for a notebook.
    """
    file, name = scope.get("__file__"), str(scope.get("__name__"))
    if not isinstance(file, str):
        return []
    levels = name.count(".") + (os.path.basename(file) == "__init__.py")
    return [str(Path(path).parents[levels]) for path in (os.path.abspath(file), os.path.realpath(file))]


def without_place(path: str, beside: Iterable[str]) -> str:
    """Return a path near the user's files relative to them: they may be on another machine next time.

    Args:
        path: Any string.
        beside: The folders of the user's files.

    Returns:
        The relative path; other strings as they are.
    """
    for folder in beside if os.path.isabs(path) else ():
        above = os.path.dirname(folder)
        project = folder if os.path.dirname(above) == above else above  # not the whole disk
        if f"{path}{os.sep}".startswith(f"{project}{os.sep}"):
            return os.path.relpath(path, folder)
    return path
