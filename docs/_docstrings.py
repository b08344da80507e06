"""Turns the package's docstrings into reStructuredText for autodoc.

The docstrings are Google style, with plain-text formulas and `names` in single backticks, as a reader of the source
wants them. reStructuredText would read |w*_i|^2 as a substitution and * as emphasis. So text is escaped, `names` become
links where they name something public and literals elsewhere, and indented formulas become literal blocks.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Mapping
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.util.inspect import stringify_signature

PACKAGES = (
    "ebbing",
    "ebbing.theory",
    "ebbing.simulation",
    "ebbing.order",
    "ebbing.forecasting",
    "ebbing.metrics",
    "ebbing.io",
    "ebbing.learn",
    "ebbing.learn.projection",
    "ebbing.learn.methods",
    "ebbing.learn.networks",
    "ebbing.learn.tasks",
    "ebbing.learn.training",
    "ebbing.runs",
    "ebbing.data",
    "ebbing.plot",
    "ebbing.report",
    "ebbing.explorer",
    "ebbing.integrations",
    "ebbing.integrations.transformers",
    "ebbing.integrations.lightning",
    "ebbing.integrations.avalanche",
)
"""The packages that the reference documents, each by its `__all__`."""

_SECTION = re.compile(r"(Args|Attributes|Example|Examples|Note|Notes|Raises|Returns|See Also|Warns|Yields):\s*$")
_ARRAY = re.compile(r"(?:~?numpy\.)?ndarray\[tuple\[[^\]]*\], (?:~?numpy\.)?dtype\[[^\]]*\]\]")
_ARRAY_LIKE = re.compile(r"[\w.~]*_Buffer \| .*?complex \| bytes \| str\]")  # what numpy.typing.ArrayLike expands to
_DATA = re.compile(r"dataclasses\.InitVar\[[\w.]*Mapping\[str, [\w.]*Union\[[\w.]*Dataset\[.*?\], tuple\[[^\]]*\]{4}")
_PRIVATE = re.compile(r", _\w+: [^=]*= [^,()]*(?=[,)])")  # a field that only the class itself sets, with its default
_LIST_ITEM = re.compile(r"\s*([-*]|\d+\.) ")
_CONSTANT = re.compile(r"(?<== )[A-Z][A-Z_]+(?=[,)])")  # a default that is a constant of its module
_DEFAULTS = {"<factory>": "...", "_MINIMUM_NORM": "MinimumNorm()", "= LOCAL": "= Resources()"}
_PAGE = re.compile(r"\bdocs(/[\w/]+)\.md\b")


def public_names() -> dict[str, str]:
    """Return where each public name is documented.

    Returns:
        By short name and by full name, the full name under which the reference documents it.
    """
    found: dict[str, str] = {}
    documented: dict[int, str] = {}
    for package in sorted(
        PACKAGES, key=lambda name: (name == "ebbing", name.count("."))
    ):  # ebbing re-exports the others
        module = import_module(package)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if not isinstance(value, type | FunctionType):  # packages have pages; aliases and constants have no entry
                continue
            full = documented.setdefault(id(value), f"{package}.{name}")
            found.setdefault(name, full)
            found[f"{package}.{name}"] = full
    return found


def to_rest(lines: list[str], names: Mapping[str, str]) -> list[str]:
    """Return a docstring as reStructuredText that means what the docstring shows.

    Args:
        lines: the lines of a Google-style docstring.
        names: where public names are documented, as `public_names` returns it.

    Returns:
        The new lines.
    """
    result: list[str] = []
    table: list[str] = []
    in_section = in_list = in_doctest = in_literal = False
    for number, line in enumerate(lines):
        indent, blank = len(line) - len(line.lstrip()), not line.strip()
        if in_doctest or line.lstrip().startswith(">>>"):
            in_doctest = not blank
            result.append(line)
            continue
        if in_literal and (indent >= 2 or blank):
            result.append(line)
            continue
        in_literal = False
        if table or (line.startswith("===") and (not result or not result[-1].strip())):
            table.append(line)
            if len([row for row in table if row.startswith("===")]) == 3:
                result += _list_table(table, names)
                table = []
            continue
        if not indent and not blank:
            in_section, in_list = bool(_SECTION.match(line)), bool(_LIST_ITEM.match(line))
        elif not blank and not in_section and not in_list and (not result or not result[-1].strip()):
            in_list = bool(_LIST_ITEM.match(line))
            if not in_list:
                in_literal = True
                block = takewhile(lambda text: text[:1].isspace() or not text, lines[number:])
                result += ["::" if _is_python("\n".join(block)) else ".. code-block:: text", "", line]
                continue
        if result and re.match(r"(Returns|Yields):\s*$", result[-1]) and ":" in line:
            # napoleon takes what stands before the first colon as a type
            result.append(f"{line[:indent]}: {_escape(line[indent:], names)}")
            continue
        result.append(line if _SECTION.match(line) and not indent else _escape(line, names))
    return result


def _is_python(block: str) -> bool:
    """Return whether an indented block is code. A formula such as w' = w + X'y would get the colors of strings."""
    try:
        ast.parse(textwrap.dedent(block))
    except SyntaxError:
        return False
    return True


def _list_table(lines: list[str], names: Mapping[str, str]) -> list[str]:
    """Return a simple table as a list table, whose cells wrap. A row whose first cell is empty continues the last.

    In a row that begins with a package, names are those of the package: several packages have a `ForgettingCallback`.
    """
    starts = [match.start() for match in re.finditer("=+", lines[0])]
    rows: list[list[str]] = []
    for line in lines:
        if line.startswith("==="):
            continue
        cells = [line[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True)]
        if cells[0]:
            rows.append(cells)
        else:
            rows[-1] = [f"{old} {new}".strip() for old, new in zip(rows[-1], cells, strict=True)]
    result = [".. list-table::", "   :header-rows: 1", ""]
    for row in rows:
        own = {full.rpartition(".")[2]: full for full in names if full.rpartition(".")[0] == row[0].strip("`")}
        result += [f"   {'* -' if k == 0 else '  -'} {_escape(cell, {**names, **own})}" for k, cell in enumerate(row)]
    return [*result, ""]


def _escape(line: str, names: Mapping[str, str]) -> str:
    item = _LIST_ITEM.match(line)
    start = item.end() if item else 0
    parts = re.split(r"(``[^`]+``|`[^`]+`)", line[start:])
    for i, part in enumerate(parts):
        if i % 2 == 0:
            parts[i] = re.sub(r"([|*\\])", r"\\\1", part)
            parts[i] = re.sub(r"_(?![A-Za-z0-9])", r"\\_", parts[i])
            parts[i] = _PAGE.sub(r":doc:`\1`", parts[i])
        elif not part.startswith("``"):
            target = names.get(part.strip("`").removesuffix("()"))
            parts[i] = f":py:obj:`{part.strip('`')} <{target}>`" if target else f"``{part.strip('`')}``"
    return line[:start] + "".join(parts)


def process(app: Any, what: str, name: str, *arguments: Any) -> None:
    """Rewrite a docstring, as a handler of autodoc-process-docstring that runs before napoleon's.

    Args:
        app: the Sphinx application.
        what: what kind of object the docstring belongs to.
        name: its full name.
        *arguments: the object, the options of the directive, and the lines of the docstring, changed in place.
    """
    lines: list[str] = arguments[-1]
    if what in ("attribute", "data", "property") and lines and ":" in lines[0]:
        first, _, rest = lines[0].partition(" ")  # napoleon takes text before a colon in the first line as a type
        lines[:1] = [first, rest]
    names: dict[str, str] = app.config.ebbing_public_names
    meant = {short: full for short, full in names.items() if _is_meant(short, full, name)}
    package = max((package for package in PACKAGES if f"{name}.".startswith(f"{package}.")), key=len)
    own = {short: names[f"{package}.{short}"] for short in names if f"{package}.{short}" in names}
    lines[:] = to_rest(lines, meant | own)


def _is_meant(short: str, full: str, name: str) -> bool:
    """Return whether a name in a docstring means something public: a plain word, such as `fit`, only in its package."""
    package = full.rpartition(".")[0]
    return not (short.isalpha() and short.islower()) or f"{name}.".startswith(f"{package}.")


def skip_elsewhere(app: Any, what: str, name: str, obj: object, *arguments: Any) -> bool | None:
    """Leave out of a package's page what another page documents, as a handler of autodoc-skip-member.

    Args:
        app: the Sphinx application.
        what: what kind of object has the member.
        name: the member's name.
        obj: the member.
        *arguments: whether autodoc leaves it out, and the options of the directive.

    Returns:
        True to leave it out, None for autodoc's decision.
    """
    package = app.env.current_document.autodoc_module
    if what != "module" or package not in PACKAGES:
        return None
    if isinstance(obj, ModuleType):
        return True
    full = f"{package}.{name}"
    return True if app.config.ebbing_public_names.get(full, full) != full else None


def simplify_signature(app: Any, what: str, name: str, *arguments: Any) -> tuple[str, str | None] | None:
    """Shorten types, and leave out the signatures of protocols, as a handler of autodoc-process-signature.

    Array types become `ndarray`, and default factories `...`, with which autodoc can parse a signature. Constants
    become their values. Parameters whose names start with an underscore are left out.

    Args:
        app: the Sphinx application.
        what: what kind of object the signature belongs to.
        name: its full name.
        *arguments: the object, the options of the directive, the parameters, and the return annotation.

    Returns:
        The new parameters and return annotation, or None to change nothing.
    """
    obj, (signature, returns) = arguments[0], arguments[-2:]
    if not signature:
        return None
    if what == "class" and signature == "(*args: Any, **kwargs: Any)" and "__init__" in vars(obj):
        signature = _init_signature(obj)  # autodoc takes that of the base class, which is mocked
    if what == "class" and signature == "(*args, **kwargs)":  # a protocol, which nobody calls
        return "", None
    for default, shown in _DEFAULTS.items():
        signature = signature.replace(default, shown)
    signature = _PRIVATE.sub("", signature)
    values = getattr(inspect.unwrap(obj) if what in ("function", "method") else obj, "__globals__", {})
    signature = _CONSTANT.sub(lambda match: _short_value(values, match[0]), signature)
    return _shorten(signature), _shorten(returns) if returns else returns


def _init_signature(cls: type) -> str:
    signature = inspect.signature(vars(cls)["__init__"])
    parameters = list(signature.parameters.values())[1:]  # without self
    return stringify_signature(
        signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty), unqualified_typehints=True
    )


def _short_value(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    if isinstance(value, type | None) or len(repr(value)) > 60:
        return name
    if isinstance(value, Path):
        return repr(str(value))
    return repr(value).replace("2000000000.0", "2e9") if isinstance(value, str | int | float | tuple) else name


def shorten_annotations(app: Any, doctree: nodes.document, page: str) -> None:
    """Shorten types and values of properties and attributes, as a handler of doctree-resolved.

    Values of constants that do not fit a line are left out.

    Args:
        app: the Sphinx application.
        doctree: the page, changed in place.
        page: its name.
    """
    for node in doctree.findall(addnodes.desc_annotation):
        if (text := node.astext()).startswith(" = ") and len(text) > 80:
            node.children = []
        elif (short := _shorten(text)) != text:
            node.children = [nodes.Text(short)]


def _shorten(types: str) -> str:
    types = _DATA.sub("Mapping[str, Dataset | tuple]", types)
    types = re.sub(r"npt\.NDArray(\[[\w.]+\])?", "ndarray", types).replace("npt.ArrayLike", "ArrayLike")
    return _ARRAY_LIKE.sub("ArrayLike", _ARRAY.sub("ndarray", types))


def resolve_public_name(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """Resolve a short public name, such as a type that is imported for type checkers only.

    Args:
        app: the Sphinx application.
        env: its environment.
        node: the reference.
        contnode: what it shows.

    Returns:
        A link, or None if the name is not public.
    """
    full = app.config.ebbing_public_names.get(node.get("reftarget"))
    if node.get("refdomain") != "py" or full is None:
        return None
    return env.get_domain("py").resolve_xref(env, node["refdoc"], app.builder, "obj", full, node, contnode)
