"""What compiled code says: its instructions, and the names, attributes and modules that it reads."""

from __future__ import annotations

import dis
import inspect
import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

_CONSTANTS = (bool, int, float, complex, str, bytes, type(None), type(...))

_READ = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")

_VARIABLE_ARGUMENTS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS

_DUNDER = re.compile("__.*__")

_UNUSED = ("__doc__", "__firstlineno__", "__static_attributes__")
"""What the code of a class inside a function stores, and no result depends on."""

_STDLIB = Path(sysconfig.get_path("stdlib")).resolve()
_PACKAGES = frozenset(("site-packages", "dist-packages"))
_INSTALLED = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib"))

_HEAP_TYPE = 1 << 9
"""The flag of classes that were made while Python ran; those built into Python lack it."""


@dataclass(frozen=True)
class CodeReading:
    """What a function's code reads, the functions inside of it included.

    Attributes:
        lines: Its instructions, the same in every process.
        names: The names of globals that it reads and does not write.
        attributes: The names of attributes that it reads of anything.
        imports: The modules that it imports while it runs: name, names that are taken from it, level.
    """

    lines: tuple[str, ...]
    names: tuple[str, ...]
    attributes: tuple[str, ...]
    imports: tuple[tuple[str, tuple[str, ...] | None, int], ...]

    @classmethod
    def of(cls, code: CodeType) -> CodeReading:
        """Read compiled code.

        Args:
            code: The code of a function.

        Returns:
            What it reads.
        """
        lines, names, attributes, imports, written = [], [], [], [], set()
        for inner in _nested(code):
            lines.append(f"{inner.co_argcount} {inner.co_kwonlyargcount} {inner.co_flags & _VARIABLE_ARGUMENTS}")
            instructions = [i for i in dis.get_instructions(inner) if i.opname != "EXTENDED_ARG"]
            for k, i in enumerate(instructions):
                if i.opname == "STORE_NAME" and i.argval in _UNUSED:
                    lines.pop()  # the value
                    continue
                lines.append(f"{i.opname} {constant(i.argval)}")
                if i.opname in _READ:
                    names.append(i.argval)
                elif i.opname in _ATTRIBUTES:
                    attributes.append(i.argval)
                elif i.opname == "STORE_GLOBAL":
                    written.add(i.argval)
                elif i.opname == "IMPORT_NAME":
                    imports.append((i.argval, instructions[k - 1].argval, instructions[k - 2].argval))
            lines.append(inner.co_exceptiontable.hex())
        read = [name for name in dict.fromkeys(names) if name not in written and not _DUNDER.fullmatch(name)]
        return cls(tuple(lines), tuple(read), tuple(dict.fromkeys(attributes)), tuple(imports))

    def imported(self, scope: Mapping[str, Any], packages: set[str]) -> Iterator[ModuleType]:
        """Import the user's modules that the code imports while it runs, as it will do itself.

        Args:
            scope: The globals of the function.
            packages: Packages to follow although they are installed.

        Yields:
            The modules; none for those that cannot be imported.
        """
        for name, taken, level in self.imports:
            try:
                if level or is_own(name, packages):
                    yield __import__(name, dict(scope), None, taken or (), level)
            except Exception:
                continue


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _nested(part)


def constant(value: Any) -> str:
    """Return a constant in words that are the same in every process.

    Args:
        value: A constant of compiled code.

    Returns:
        The words; the type for what is no constant.
    """
    if isinstance(value, tuple):
        return f"({', '.join(map(constant, value))})"
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(constant, value)))}}}"
    return repr(value) if isinstance(value, _CONSTANTS) else type(value).__qualname__


def is_foreign(module: str) -> bool:
    """Return whether a module is neither ebbing's nor of Python or PyTorch, whose versions keys do not hold.

    Args:
        module: The name of the module; it may be that of one of Python's, such as `test`.

    Returns:
        Whether it is so.
    """
    top = module.partition(".")[0]
    if top in ("ebbing", "torch", "builtins"):
        return False
    if top not in sys.stdlib_module_names:
        return True
    file = _file(top)
    return file is not None and not file.is_relative_to(_STDLIB)


def is_own(module: str, packages: set[str]) -> bool:
    """Return whether a module is the user's: of the packages named, or not installed.

    Args:
        module: The name of the module.
        packages: Packages to follow although they are installed.

    Returns:
        Whether its code is described.
    """
    if module == "__main__":  # also of a profiler's, which runs the user's file
        return True
    if not is_foreign(module) or module.partition(".")[0] in packages:
        return is_foreign(module)
    file = _file(module)
    if file is None:
        return True
    return not _PACKAGES.intersection(file.parts) and not any(file.is_relative_to(folder) for folder in _INSTALLED)


def is_made_by_user(value: type | FunctionType, packages: set[str]) -> bool:
    """Return whether a class or a function is the user's; if run from a text, it may not know its module.

    Args:
        value: The class or function.
        packages: Packages to follow although they are installed.

    Returns:
        Whether its code is described.
    """
    if value.__module__ in (None, "builtins"):
        return isinstance(value, FunctionType) or bool(value.__flags__ & _HEAP_TYPE)
    return is_own(value.__module__, packages)


def _file(module: str) -> Path | None:
    """The file of a module, whether it is imported yet or not."""
    if module in sys.modules:
        file = getattr(sys.modules[module], "__file__", None)
    else:
        try:
            spec = find_spec(module.partition(".")[0])
        except (ImportError, ValueError):
            spec = None
        file = spec.origin if spec is not None and spec.has_location else None
    return None if file is None else Path(file).resolve()
