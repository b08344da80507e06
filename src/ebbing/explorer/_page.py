"""Makes the page from its template, style and scripts."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from ebbing._extras import check_installed
from ebbing._files import write_atomic
from ebbing._tables import escape_control
from ebbing._versions import versions
from ebbing.problem import Problem, check_problem

MOST_TASKS = 30
"""The page draws and searches at every move of a slider; larger problems are for `ebbing.expect` and `ebbing order`."""

SCRIPTS = (
    "quadrature",
    "wishart",
    "learners",
    "engine",
    "moments",
    "deviations",
    "orders",
    "problem",
    "presets",
    "computation",
    "labels",
    "charts",
    "pictures",
    "recipes",
    "view",
    "address",
    "clipboard",
    "order_list",
    "app",
)
"""The page's scripts, each after those that it uses."""


def explorer_page(problem: Problem | None = None) -> str:
    """Return the explorer as one self-contained HTML page.

    Args:
        problem: The tasks to begin with; None for those of Figure 1.

    Returns:
        The page. It loads nothing and sends nothing.

    Raises:
        ValueError: If the problem has a single task or more than 30.
        ModuleNotFoundError: If jinja2 is not installed.

    Example:
        >>> page = explorer_page(Problem.categories("AABB", n=50, p=200))
        >>> page.startswith("<!doctype html>")
        True
    """
    check_installed("jinja2", "the explorer", extra="explorer")
    import jinja2
    from markupsafe import Markup

    folder = files("ebbing.explorer")
    scripts = [Markup((folder / f"{name}.js").read_text("utf-8")) for name in SCRIPTS]
    style = Markup((folder / "style.css").read_text("utf-8"))
    template = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(
        (folder / "page.html.j2").read_text("utf-8")
    )
    given = None if problem is None else _state(problem)
    return template.render(scripts=scripts, style=style, version=versions("ebbing")["ebbing"], given=given)


def write_explorer(path: str | os.PathLike[str], problem: Problem | None = None) -> None:
    """Write the explorer to a file that any browser opens from disk.

    Args:
        path: The file, such as "explorer.html".
        problem: The tasks to begin with; None for those of Figure 1.
    """
    write_atomic(Path(path), explorer_page(problem))


def _state(problem: Problem) -> dict[str, Any]:
    """Return the state of the page that shows a problem."""
    check_problem(problem)
    if not 2 <= problem.T <= MOST_TASKS:
        raise ValueError(
            f"the explorer shows 2 to {MOST_TASKS} tasks, not {problem.T}; use ebbing.expect and best_order"
        )
    unequal = {"n": problem.n.tolist(), "sigma": (problem.noise_variance**0.5).tolist()}
    return {
        "kind": "gram",
        "matrix": "\n".join(", ".join(repr(float(x)) for x in row) for row in problem.gram),
        "names": [escape_control(name) for name in problem.names],
        "n": int(problem.n[0]),
        "p": problem.p,
        "sigma": float(problem.sigma[0]),
        "unequal": unequal if not problem.uniform or problem.unmodeled.any() else None,
    }
