"""The page that a command writes with --html."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from ebbing._extras import check_installed
from ebbing._tables import Tabular
from ebbing.cli.parsing import check_output_file

_ENDINGS = (".html", ".htm")


def check_html(path: Path | None) -> None:
    """An error, before any work, if the page cannot be written, or its name is that of another kind of file."""
    if path is None:
        return
    if path.suffix.lower() not in _ENDINGS and (path.is_file() or not path.exists()):  # not a device or a folder
        raise ValueError(f"--html {path}: a page's name ends in {' or '.join(_ENDINGS)}; give it such a name")
    check_output_file("--html", path)
    check_installed("jinja2", "--html")


def write_html(path: Path | None, *results: Tabular, wording: Callable[[str], str] | None = None) -> None:
    """Write results as one page, if one was asked for; `wording` rewords titles and notes."""
    if path is None:
        return
    from ebbing.report import write_result

    write_result(path, results, command=shlex.join(["ebbing", *sys.argv[1:]]), wording=wording)
