"""The house has a direction: a module imports only from what stands above it. And `import ebbing` stays light."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ebbing

PACKAGE = Path(ebbing.__file__).parent

# From the ground up. A package stands for all its modules that are not named themselves; within one entry modules may
# import each other as long as there is no cycle. A new module is added here, after what it imports.
ORDER = (
    "validate",
    "versions",
    "files",
    "problem",
    "metrics",
    "matrixfile",
    "theory.rates",
    "theory.recursion",
    "theory.deviation",
    "theory.expectation",
    "theory.grid",
    "theory.closed_form",
    "theory.consequences",
    "theory.landscape",
    "theory",
    "simulation",
    "order",
    "estimate",
    "data",
    "learn",
    "runs",
    "paper",
    "report",
    "explore",
    # presentation
    "problemfile",
    "printing",
    "progress",
    "__init__",  # the public face
    "cli",
    "__main__",
)

HEAVY = ("torch", "matplotlib", "sympy", "numba", "dash", "dask", "scipy", "pydantic", "rich", "typer")


def sources() -> dict[str, str]:
    """Text of every module, by its name within the package: "problem", "theory", "theory.rates"."""
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
        found[name] = file.read_text(encoding="utf-8")
    return found


def imports(name: str, text: str, modules: set[str]) -> set[str]:
    """Modules of the package that a module imports anywhere, lazily too."""
    is_package = any(other.startswith(f"{name}.") for other in modules) or name == "__init__"
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                here = ["ebbing", *([] if name == "__init__" else name.split("."))]
                up = node.level - 1 if is_package else node.level
                base = ".".join([*here[: len(here) - up], *([base] if base else [])])
            targets = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for target in targets:
            first, *rest = target.split(".")
            if first != "ebbing":
                continue
            while rest and ".".join(rest) not in modules:  # an attribute, not a module
                rest = rest[:-1]
            found.add(".".join(rest) or "__init__")
    return found - {name}


def place(name: str) -> int | None:
    """Where a module stands: at its own entry, or at that of a package around it."""
    parts = name.split(".")
    entries = (".".join(parts[:k]) for k in range(len(parts), 0, -1))
    return next((ORDER.index(entry) for entry in entries if entry in ORDER), None)


def complaints(texts: dict[str, str]) -> list[str]:
    """Every breach of the layout in words."""
    found = [
        f"ebbing.{name} has no place in ORDER (tests/unit/test_layout.py): add it there, after what it imports"
        for name in texts
        if place(name) is None
    ]
    graph = {name: imports(name, text, set(texts)) for name, text in texts.items()}
    for name, used in graph.items():
        for other in sorted(used):
            here, there = place(name), place(other)
            if here is not None and there is not None and there > here:
                found.append(f"ebbing.{name} imports ebbing.{other}, which stands below it in the layout")
    return found + [f"cyclic imports: {' -> '.join(cycle)}" for cycle in cycles(graph)]


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """One cycle through each module that closes one, by depth-first search."""
    found, finished = [], set()

    def visit(name: str, path: list[str]) -> None:
        if name in path:
            found.append([*path[path.index(name) :], name])
        elif name not in finished:
            for other in sorted(graph.get(name, ())):
                visit(other, [*path, name])
            finished.add(name)

    for name in graph:
        visit(name, [])
    return found


def test_imports_point_upwards():
    assert complaints(sources()) == []


def test_all_sources_are_seen():
    names = set(sources())
    assert {"__init__", "problem", "theory", "theory.rates", "simulation", "cli"} <= names
    assert imports("simulation", sources()["simulation"], names) >= {"metrics", "problem", "validate"}
    assert "problemfile" in imports("cli.flags", sources()["cli.flags"], names)  # a lazy import


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("validate", "from ebbing.problem import Problem", "ebbing.validate imports ebbing.problem"),
        ("validate", "import ebbing.problem", "ebbing.validate imports ebbing.problem"),
        ("validate", "from ebbing import problem", "ebbing.validate imports ebbing.problem"),
        ("validate", "from .problem import Problem", "ebbing.validate imports ebbing.problem"),
        ("validate", "from . import problem", "ebbing.validate imports ebbing.problem"),
        ("validate", "def f():\n    from ebbing.cli import main", "ebbing.validate imports ebbing.cli"),
        ("validate", "from ebbing import Problem", "ebbing.validate imports ebbing.__init__"),
        ("theory.rates", "from ebbing.theory.grid import Grid", "ebbing.theory.rates imports ebbing.theory.grid"),
        ("theory.rates", "from .grid import Grid", "ebbing.theory.rates imports ebbing.theory.grid"),
        ("theory.rates", "from ebbing.theory import expect", "ebbing.theory.rates imports ebbing.theory"),
        ("simulation", "from ebbing.printing import to_json", "ebbing.simulation imports ebbing.printing"),
        ("helpers", "", "ebbing.helpers has no place in ORDER"),
        ("paper.fig1", "from ebbing.paper.record import x\nimport ebbing.cli", "ebbing.paper.fig1 imports ebbing.cli"),
    ],
)
def test_breaches_are_found(name, text, complaint):
    names = (
        "__init__",
        "validate",
        "problem",
        "theory",
        "theory.rates",
        "theory.grid",
        "simulation",
        "printing",
        "cli",
    )
    clean: dict[str, str] = dict.fromkeys((*names, "paper", "paper.fig1", "paper.record"), "import numpy")
    assert complaints(clean) == []
    found = complaints(clean | {name: text})
    assert len(found) == 1
    assert found[0].startswith(complaint)


def test_cycles_are_found():
    texts = {
        "paper": "",
        "paper.a": "from ebbing.paper.b import x",
        "paper.b": "def f():\n    from ebbing.paper import c",
        "paper.c": "from ebbing.paper.a import y",
    }
    assert complaints(texts) == ["cyclic imports: paper.a -> paper.b -> paper.c -> paper.a"]


# ---------------------------------------------------------------- light


def loaded_by(statement: str) -> list[str]:
    script = f"import sys\n{statement}\nprint(*(name for name in {HEAVY} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_importing_ebbing_loads_nothing_heavy():
    assert loaded_by("import ebbing") == []
    assert "pydantic" in loaded_by("import ebbing\nebbing.read_problem")  # the test would notice


def test_theory_and_simulation_stay_light_in_use():
    statement = (
        "import ebbing\ne = ebbing.Problem.orthogonal(T=3, n=5, p=20, sigma=0.3)\nebbing.expect(e).forgetting_std"
    )
    assert loaded_by(f"{statement}\nebbing.simulate(e, 10).forgetting\nebbing.expect_grid(e, p=[20, 30])") == []


def test_everything_public_can_be_had():
    for name in ebbing.__all__:
        assert getattr(ebbing, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ebbing.nothing  # type: ignore[attr-defined]


# ---------------------------------------------------------------- finished


def test_nothing_is_left_to_do():
    words = re.compile(r"\b(TODO|FIXME|XXX|HACK|WIP)\b")
    left = [f"{name}: {word}" for name, text in sources().items() for word in words.findall(text)]
    assert left == []


def test_no_drawer_for_everything():
    assert not [name for name in sources() if name.split(".")[-1] in ("utils", "util", "helpers", "misc", "common")]
