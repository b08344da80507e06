"""The page of a result: its tables, its pictures and its data in one file without any script."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ebbing._extras import check_installed
from ebbing._files import write_atomic
from ebbing._pages import Picture
from ebbing._tables import Table, Tabular, escape_control
from ebbing._versions import versions
from ebbing.report._template import asset, render

_ROW_OF_ITS_OWN = 6.0
"""The width of a picture, in inches, from which its letters would be too small beside another picture."""


def result_page(
    *results: Tabular, title: str | None = None, command: str = "", wording: Callable[[str], str] | None = None
) -> str:
    """Return results as one self-contained page.

    Args:
        *results: What to show, one section each.
        title: The title; that of the first result by default.
        command: The command that gave them, to be shown at the end.
        wording: A function that rewords titles and notes of tables, for readers who do not use Python.

    Returns:
        The page. It has no script, loads nothing and sends nothing.

    Raises:
        ImportError: If jinja2 is not installed.

    Example:
        >>> import ebbing
        >>> page = result_page(ebbing.expect(ebbing.Problem.identical(T=2, n=5, p=20, names=["<b>", "mail"])))
        >>> page.startswith("<!doctype html>"), "<b>" in page, "&lt;b&gt;" in page
        (True, False, True)
    """
    check_installed("jinja2", "a page")
    from markupsafe import Markup

    parts = [_part(result, place, wording) for place, result in enumerate(results)]
    return render(
        "result.html.j2",
        parts=parts,
        title=title or parts[0]["heading"],
        style=Markup(asset("style.css")),
        version=versions("ebbing")["ebbing"],
        command=escape_control(command),
        when=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def write_result(
    path: str | os.PathLike[str],
    results: Iterable[Tabular],
    *,
    command: str = "",
    wording: Callable[[str], str] | None = None,
) -> None:
    """Write the page of results to a file that any browser opens from disk.

    Args:
        path: The file, such as "order.html".
        results: What to show, one section each.
        command: The command that gave them.
        wording: As for `result_page`.
    """
    write_atomic(Path(path), result_page(*results, command=command, wording=wording))


def _part(result: Tabular, place: int, wording: Callable[[str], str] | None = None) -> dict[str, Any]:
    """Return one result as the template takes it; tables and pictures are escaped already."""
    from markupsafe import Markup

    page = result._page()
    answer = result._answer()
    tables = [_without(answer, table) for table in result._tables()]
    if wording is not None:
        tables = [table.reword(wording) for table in tables]
    return {
        "heading": page.title,
        "answer": escape_control(answer),
        "tables": [Markup(text) for table in tables if (text := table.to_html())],
        "pictures": [
            (Markup(svg), picture.reading, width >= _ROW_OF_ITS_OWN)
            for number, picture in enumerate(page.pictures)
            for svg, width in _drawn(picture, f"{place} {number}")
        ],
        "data": _data(result),
        "file": f"{page.file or type(result).__name__.lower()}.csv",
    }


def _without(answer: str, table: Table) -> Table:
    """Return a table without the lines that repeat the answer, which stands above it."""
    title = "\n".join(line for line in table.title.split("\n") if line != answer)
    return replace(table, title=title, notes=[note for note in table.notes if note != answer])


def _drawn(picture: Picture, name: str) -> list[tuple[str, float]]:
    """Return a picture as SVG with its width in inches; none without matplotlib, or where there is nothing to draw."""
    if find_spec("matplotlib") is None:
        return []
    from ebbing.plot._style import inline_picture

    size = picture.size() if callable(picture.size) else picture.size
    try:
        return [(inline_picture(picture.draw, name, size), size[0])]
    except ValueError:  # such as the forgetting of a single task
        return []


def _data(result: Tabular) -> str:
    """Return the result's frame as an address from which it is downloaded; empty without pandas."""
    if find_spec("pandas") is None:
        return ""
    frame = result.to_frame().map(lambda cell: escape_control(cell) if isinstance(cell, str) else cell)
    text = frame.to_csv(index=False)
    return "data:text/csv;base64," + base64.b64encode(text.encode()).decode()
