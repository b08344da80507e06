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
    "_startup",
    "_extras",
    "_lazy",
    "_limits",
    "_validate",
    "_rounding",
    "_ranks",
    "_significance",
    "_weak_cache",
    "_versions",
    "_files",
    "_workers",
    "_warnings",
    "_pages",
    "_tables",
    "_progress",
    "_modes",
    "_gram",
    "_euclidean",
    "_constructors",
    "problem",
    "learners",
    "curriculum",
    "metrics",
    "inputs",
    "theory._rates",
    "theory._recursion",
    "theory._covariance",
    "theory._description",
    "theory._terms",
    "theory._laguerre",
    "theory._rare_eigenvalues",
    "theory._wishart",
    "theory._step_rates",
    "theory._mixture_moments",
    "theory._mixture_covariance",
    "theory._step_covariance",
    "theory._step_checks",
    "theory._steps",
    "theory.expectation",
    "theory._expect",
    "theory.grid",
    "theory.closed_form",
    "theory.transfer",
    "theory.overfitting",
    "theory",
    "simulation",
    "order",
    "forecasting",  # not "forecast": a package of that name would hide the function ebbing.forecast
    "data",
    "learn",
    "runs",
    "io",
    "integrations",
    "plot",
    "paper",
    "explorer",
    "report",
    "__init__",  # the public face
    "cli",
    "__main__",
)

PRESENTATION = ("plot", "report")
"""How results show themselves: `result.plot()` loads these when it is called, so functions anywhere may import them."""

HEAVY = (
    *("torch", "matplotlib", "pandas", "sympy", "numba", "dash", "dask", "scipy", "pydantic", "rich", "typer"),
    *("transformers", "peft", "lightning", "avalanche"),
)


def sources() -> dict[str, str]:
    """Text of every module, by its name within the package: "problem", "theory", "theory._rates"."""
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
        found[name] = file.read_text(encoding="utf-8")
    return found


def imports(name: str, text: str, modules: set[str]) -> set[str]:
    """Modules of the package that a module imports anywhere, lazily too; within functions, not those that present."""
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    lazy = {id(node) for function in functions for node in ast.walk(function)}
    is_package = any(other.startswith(f"{name}.") for other in modules) or name == "__init__"
    found = set()
    for node in ast.walk(tree):
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
            if not (id(node) in lazy and rest and rest[0] in PRESENTATION):
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
    assert {"__init__", "problem", "theory", "theory._rates", "simulation", "cli"} <= names
    assert imports("simulation", sources()["simulation"], names) >= {"simulation.exact_law", "simulation.textbook"}
    assert "io.problems" in imports("cli.options", sources()["cli.options"], names)  # a lazy import


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("_validate", "from ebbing.problem import Problem", "ebbing._validate imports ebbing.problem"),
        ("_validate", "import ebbing.problem", "ebbing._validate imports ebbing.problem"),
        ("_validate", "from ebbing import problem", "ebbing._validate imports ebbing.problem"),
        ("_validate", "from .problem import Problem", "ebbing._validate imports ebbing.problem"),
        ("_validate", "from . import problem", "ebbing._validate imports ebbing.problem"),
        ("_validate", "def f():\n    from ebbing.cli import main", "ebbing._validate imports ebbing.cli"),
        ("_validate", "from ebbing import Problem", "ebbing._validate imports ebbing.__init__"),
        (
            "theory._rates",
            "from ebbing.theory.grid import ExpectationGrid",
            "ebbing.theory._rates imports ebbing.theory.grid",
        ),
        ("theory._rates", "from .grid import ExpectationGrid", "ebbing.theory._rates imports ebbing.theory.grid"),
        ("theory._rates", "from ebbing.theory import expect", "ebbing.theory._rates imports ebbing.theory"),
        ("simulation", "from ebbing.report import page", "ebbing.simulation imports ebbing.report"),
        ("helpers", "", "ebbing.helpers has no place in ORDER"),
        ("paper.fig1", "from ebbing.paper._output import x\nimport ebbing.cli", "ebbing.paper.fig1 imports ebbing.cli"),
    ],
)
def test_breaches_are_found(name, text, complaint):
    names = (
        "__init__",
        "_validate",
        "_ranks",
        "_significance",
        "problem",
        "theory",
        "theory._rates",
        "theory.grid",
        "simulation",
        "report",
        "cli",
    )
    clean: dict[str, str] = dict.fromkeys((*names, "paper", "paper.fig1", "paper._output"), "import numpy")
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


def test_the_report_needs_no_pytorch():
    assert not {"torch", "matplotlib"}.intersection(loaded_by("import ebbing.report"))


def test_theory_and_simulation_stay_light_in_use():
    statement = (
        "import ebbing\ne = ebbing.Problem.orthogonal(T=3, n=5, p=20, sigma=0.3)\nebbing.expect(e).forgetting_std"
    )
    assert loaded_by(f"{statement}\nebbing.simulate(e, 10).summary()\nebbing.expect_grid(e, p=[20, 30])") == []
    assert loaded_by(f"{statement}\nebbing.expect(e).summary()\nebbing.expect(e)._repr_html_()") == []
    assert loaded_by("import ebbing\nebbing.metrics.summary([[0.5]], kind='error').summary()") == []


def test_matplotlib_is_loaded_when_a_figure_is_drawn():
    assert "matplotlib" not in loaded_by("import ebbing.paper.targets, ebbing.paper.figures.fig2, ebbing.plot.errors")
    assert "matplotlib" in loaded_by("import ebbing\nebbing.plot.plot_error_matrix([[0.5], [0.1]], ['mail'])")


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


TESTS = Path(__file__).parents[1]


def test_unit_tests_mirror_the_package():
    folders = {file.parent.relative_to(TESTS / "unit") for file in (TESTS / "unit").rglob("test_*.py")}
    assert [str(folder) for folder in folders if not (PACKAGE / folder / "__init__.py").exists()] == []


def test_names_of_tests_have_sixty_characters_at_most():
    found = [name for file in TESTS.rglob("test_*.py") for name in re.findall(r"def (test_\w+)", file.read_text())]
    assert len(found) > 1000
    assert [name for name in found if len(name) > 60] == []
