"""The command `ebbing compare`: what a model lost between evaluations on benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ebbing.cli._html import check_html, write_html
from ebbing.cli.options import AsJson, Html
from ebbing.cli.parsing import check_picture


def compare(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="BEFORE AFTER...",
            help="Results of lm_eval or lighteval (a file, or its folder), or JSON such as "
            '{"arc": [0.61, 0.014]}: a score and its standard error. In the order of training.',
        ),
    ],
    *,
    names: Annotated[
        str | None, typer.Option(metavar="NAME,NAME", help="Names of the models [default: those of the files].")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Metric of benchmarks with several, such as acc_norm [default: the first]."),
    ] = None,
    subtasks: Annotated[
        bool, typer.Option("--subtasks", help="Compare the parts of groups, as MMLU's subjects, one by one.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Save a picture of every change with its interval: .png, .svg or .pdf."),
    ] = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Say which benchmarks fine-tuning made worse.

    A benchmark counts as worse only if chance does not explain the difference. Lower is better for losses, errors and
    perplexities, by their names, or where plain JSON says {"score": 3, "higher_is_better": false}.

    Example: ebbing compare base.json tuned.json
    """
    from ebbing.cli._console import print_result
    from ebbing.io.evaluations import compare_files
    from ebbing.io.schema import comparison_json, to_json
    from ebbing.plot.evaluations import save

    check_html(html)
    check_picture(plot)
    comparison = compare_files(
        files, names=None if names is None else names.split(","), metric=metric, subtasks=subtasks
    )
    if plot is not None:
        save(comparison, plot)
    write_html(html, comparison)
    if as_json:
        print(to_json("compare", comparison_json(comparison)))
    else:
        print_result(comparison)
