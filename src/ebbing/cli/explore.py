"""The command that writes and opens the explorer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ebbing.cli.options import ProblemFile, say_steps_are_unused
from ebbing.cli.parsing import check_output_file


def explore(
    file: ProblemFile = None,
    *,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page to write.")] = Path("explorer.html"),
    opens: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
) -> None:
    """Open a page with sliders to explore forgetting.

    The page needs no server and no network: it can be mailed, archived and put on a web site.

    Example: ebbing explore --out explorer.html
    """
    import webbrowser

    from ebbing.explorer import write_explorer
    from ebbing.io.problems import read_problem

    check_output_file("--out", out)
    problem = None if file is None else read_problem(file)
    if file is not None:
        say_steps_are_unused(file, "explore")
    write_explorer(out, problem)
    print(f"wrote {out}")
    if opens and not webbrowser.open(out.absolute().as_uri()):
        print("no browser could be started: open the file yourself")
