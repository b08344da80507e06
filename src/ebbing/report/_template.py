"""Templates and other files of the pages."""

from __future__ import annotations

from importlib.resources import files
from typing import Any


def asset(name: str) -> str:
    """Return the text of a file beside this one."""
    return (files("ebbing.report") / name).read_text("utf-8")


def render(name: str, **values: Any) -> str:
    """Return a template filled with values, which are escaped unless they are marked as safe."""
    import jinja2

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(asset(name)).render(**values)
