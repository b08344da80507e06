"""The command that reproduces the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ebbing.cli.flags import AsJson


def reproduce(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            help="What to reproduce: claims, fig1, tables, rules, fig2, table1; all if none; sensitivity; ablations."
        ),
    ] = None,
    *,
    out: Annotated[Path, typer.Option(help="Folder for figures, data and verdicts.")] = Path("results"),
    scale: Annotated[str, typer.Option(help="For networks: quick (minutes) or paper (an hour or more).")] = "quick",
    seeds: Annotated[int | None, typer.Option(help="For networks: number of seeds.")] = None,
    workers: Annotated[int, typer.Option(help="For networks: processes to train in.")] = 2,
    cluster: Annotated[str | None, typer.Option(help="For networks: address of a Dask scheduler.")] = None,
    device: Annotated[str, typer.Option(help="For networks: cpu, or cuda for a GPU.")] = "cpu",
    stored: Annotated[
        bool, typer.Option("--stored", help="table1, ablations: report what is trained so far; no training.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """The paper's figures, tables and claims, with a verdict on each.

    Example: ebbing reproduce fig1
    """
    from ebbing._progress import progress_bar, resumable
    from ebbing.paper.reproduce import NETWORKS, Options
    from ebbing.paper.reproduce import reproduce as reproduced
    from ebbing.printing import console, note, to_json
    from ebbing.printing.verdicts import print_verdicts

    options = Options(scale, seeds, workers, cluster, device, stored)  # type: ignore[arg-type]  (checked there)
    with resumable():
        verdicts = reproduced(targets or [], out, progress_bar, options)
    if as_json:
        print(to_json("reproduce", {"folder": str(out), "verdicts": [vars(verdict) for verdict in verdicts]}))
    else:
        print_verdicts(verdicts, out, console())
        if scale == "quick" and set(targets or NETWORKS) & NETWORKS:
            words = (
                "Networks were trained on a small scale, in minutes; --scale paper trains as the paper does, in hours."
            )
            note(words, console())
