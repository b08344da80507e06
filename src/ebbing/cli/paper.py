"""The command that reproduces the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ebbing.cli._messages import print_message
from ebbing.cli.options import AsJson
from ebbing.cli.parsing import check_output_folder, parse_whole


def reproduce(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET",
            help="claims, fig1, tables, rules, fig2 or table1; all of these if left out. Also: sensitivity, "
            "ablations, frontier, forecast.",
            show_default=False,
        ),
    ] = None,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            callback=check_output_folder,
            help="Folder for figures, data and verdicts; results if left out. With --from-records or --progress: the "
            "folder of the records; reproduced if left out, where a checkout has them.",
            show_default=False,
        ),
    ] = None,
    scale: Annotated[
        str, typer.Option(metavar="quick|paper", help="Networks: train for minutes, or as the paper does for hours.")
    ] = "quick",
    seeds: Annotated[
        int | None, typer.Option(parser=parse_whole, metavar="INTEGER", help="Networks: number of seeds.")
    ] = None,
    workers: Annotated[
        int, typer.Option(parser=parse_whole, metavar="INTEGER", help="Networks: number of processes.")
    ] = 2,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Networks: train on the Dask cluster of this scheduler.")
    ] = None,
    device: Annotated[str, typer.Option(metavar="NAME", help="Networks: cpu, or cuda for a GPU.")] = "cpu",
    from_records: Annotated[
        bool, typer.Option("--from-records", help="Networks: make everything from the recorded runs in FOLDER/records.")
    ] = False,
    progress: Annotated[
        bool,
        typer.Option(
            "--progress", help="Networks at paper scale: say what is recorded, begun and to come; train nothing."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Reproduce the paper's figures, tables and claims.

    Each claim gets a verdict: it holds, it does not hold, or an interval says what is not excluded.

    Example: ebbing reproduce fig1
    """
    from ebbing._progress import progress_bars, resumable
    from ebbing.cli._console import console, note
    from ebbing.cli._verdicts_table import print_verdicts
    from ebbing.io.schema import progress_json, reproduction_json, to_json
    from ebbing.paper import reproduction

    if out is None:
        out = reproduction.default_folder(recorded=from_records or progress)
    if progress:
        from ebbing.cli._progress_table import print_progress

        found = reproduction.progress(targets or [], out, seeds)
        if as_json:
            print(to_json("progress", progress_json(out, found)))
        else:
            print_progress(found, console())
        return
    options = reproduction.Options(
        scale,  # type: ignore[arg-type]  (checked there)
        seeds,
        workers,
        cluster,
        device,
        from_records,
    )
    failures: dict[str, Exception] = {}
    chosen = reproduction.chosen_targets(targets or [], out, options)
    with resumable(), progress_bars(chosen) as bars:
        try:
            verdicts = reproduction.reproduce(chosen, out, bars, options)
        except reproduction.ReproductionError as error:
            verdicts, failures = error.verdicts, error.failures
    page = _write_report(out, failures)
    if as_json:
        print(to_json("reproduce", reproduction_json(out, verdicts)))
        _fail_if(failures)
        return
    print_verdicts(verdicts, out, console())
    if scale == "quick" and not from_records and set(targets or reproduction.NETWORKS) & reproduction.NETWORKS:
        note(
            "Networks were trained on a small scale, in minutes; --scale paper trains as the paper does, in hours.",
            console(),
        )
    print(page)
    _fail_if(failures)


def _write_report(folder: Path, failures: dict[str, Exception]) -> str:
    """Write the page of the reproduction, and say where it is."""
    from ebbing.paper.reproduction import checked_out_folder
    from ebbing.report import write_report

    reasons = {name: str(error) or type(error).__name__ for name, error in failures.items()}
    try:
        page = write_report(folder, recorded=checked_out_folder(), failures=reasons)
    except ModuleNotFoundError:
        return "No page was written: pip install 'ebbing[report]' for one."
    return f"The page to look at: {page}; the same claims in Markdown: {page.with_name('REPRODUCTION.md')}"


def _fail_if(failures: dict[str, Exception]) -> None:
    """End with status 1 if targets failed."""
    for name, error in failures.items():
        print_message(error, f"{name} failed: ")
    if failures:
        raise typer.Exit(1)
