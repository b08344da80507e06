"""Public names of a package that are imported on first use, since their modules load more than NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from ebbing._extras import explain_missing


def load_lazily(package: str, homes: Mapping[str, str], name: str) -> object:
    """Return what a lazy name stands for: the body of a package's `__getattr__`.

    Args:
        package: Full name of the package.
        homes: For each lazy name, the module that defines it; a module of the package is its own home.
        name: The name that is looked up.

    Returns:
        The object, or the module, of that name.

    Raises:
        AttributeError: If the package has no such name.
        ModuleNotFoundError: If it needs a package that is not installed; the error says which extra installs it.

    Example:
        >>> load_lazily("ebbing", {"expect": "ebbing.theory"}, "expect").__name__
        'expect'
        >>> load_lazily("ebbing", {"theory": "ebbing.theory"}, "theory").__name__
        'ebbing.theory'
    """
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    try:
        home = import_module(homes[name])
    except ModuleNotFoundError as error:
        raise explain_missing(error, f"{package}.{name}") from None
    return home if homes[name] == f"{package}.{name}" else getattr(home, name)
