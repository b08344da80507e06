"""Commands about networks: train them on streams of tasks, list what has been trained, look after the data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ebbing.cli._html import check_html, write_html
from ebbing.cli.options import AsJson, Html, Seed
from ebbing.cli.parsing import check_output_folder, check_save_path, parse_weights, parse_whole
from ebbing.cli.wording import TRAIN_OPTIONS, naming_options


@naming_options(TRAIN_OPTIONS)
def train(
    *,
    stream: Annotated[
        str,
        typer.Option(metavar="NAME", help="pmnist (permuted MNIST), rmnist (rotated), smnist (split) or cifar100."),
    ] = "pmnist",
    method: Annotated[
        str, typer.Option(metavar="NAME", help="gpm, trgp, trgp+, trgp-free, low-rank, copies or fine-tuning.")
    ] = "trgp+",
    seed: Seed = 0,
    num_tasks: Annotated[
        int | None,
        typer.Option(
            parser=parse_whole, metavar="INTEGER", help="Number of tasks [default: 10; smnist: 5].", show_default=False
        ),
    ] = None,
    train_images: Annotated[
        int | None,
        typer.Option(
            parser=parse_whole,
            metavar="INTEGER",
            help="Training images of each task [default: all].",
            show_default=False,
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            parser=parse_whole,
            metavar="INTEGER",
            help="Most epochs for each task [default: 5; cifar100: 200].",
            show_default=False,
        ),
    ] = None,
    trust_weights: Annotated[
        str | None,
        typer.Option(metavar="NUMBERS", help="trgp+: weights of trusted tasks, the most recent task first: 1.2,0.8."),
    ] = None,
    recency: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="trgp+: compute the weights from r = 1 - n/p, a number from 0 to 1."),
    ] = None,
    start_from: Annotated[
        str | None,
        typer.Option(
            metavar="latest|shared",
            help="trgp-free: a task that trusts others starts from the latest of them, or from the shared weights.",
        ),
    ] = None,
    as_published: Annotated[
        bool, typer.Option("--as-published", help="trgp, trgp+: do what the authors' code does.")
    ] = False,
    device: Annotated[str, typer.Option(metavar="NAME", help="cpu, or cuda for a GPU.")] = "cpu",
    out: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER", callback=check_output_folder, help="Folder of results; its runs/ stores what is trained."
        ),
    ] = Path("results"),
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", callback=check_save_path, help="Save the learner, to be loaded by learner.load() in Python."
        ),
    ] = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Train a network on a stream of tasks and measure forgetting.

    The streams are those of MNIST and CIFAR-100; for your model and data, use ebbing.learn in Python.

    An interrupted command continues where it stopped when it is started again.

    Example: ebbing train --stream pmnist --method trgp+ --seed 0
    """
    from ebbing._files import write_atomic
    from ebbing._progress import progress_bar, resumable
    from ebbing.cli._console import console
    from ebbing.cli._train_table import print_run
    from ebbing.io.schema import to_json, train_json
    from ebbing.learn.presets import preset, stream_by_name
    from ebbing.runs import Resources, Store
    from ebbing.runs.streams import train_streams

    check_html(html)
    experiment = preset(
        stream_by_name(stream, tasks=num_tasks, train_images=train_images),
        method,  # type: ignore[arg-type]  (checked there)
        as_published=as_published,
        weights=parse_weights(trust_weights),
        recency=recency,
        start_from=start_from,  # type: ignore[arg-type]  (checked there)
        epochs=epochs,
    )
    with resumable(), progress_bar("learning") as report:
        (run,) = train_streams(
            experiment,
            experiment.tasks.names,  # type: ignore[attr-defined]  (streams have names)
            [seed],
            Store(out / "runs"),
            resources=Resources(device=device),
            progress=report,
            return_learner=save is not None,
            store_learner=True,  # --save may come later
        )
    if save is not None and run.learner is not None:
        write_atomic(save, run.learner)
    write_html(html, run)
    if as_json:
        print(to_json("train", train_json(run, experiment)))
    else:
        print_run(run, console())


def runs(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of trained networks.")] = Path(
        "results/runs"
    ),
    *,
    clean: Annotated[
        str | None,
        typer.Option(metavar="weights|all", help="Remove the weights and keep the results, or remove everything."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List what has been trained, and how much space it takes.

    Example: ebbing runs results/runs --clean weights
    """
    from ebbing.cli._console import console
    from ebbing.cli._runs_table import print_runs
    from ebbing.io.schema import runs_json, to_json
    from ebbing.runs.inventory import take_inventory

    inventory = take_inventory(folder, clean)
    if as_json:
        print(to_json("runs", runs_json(inventory)))
    else:
        print_runs(inventory, console())


def data(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="mnist, fashion-mnist or cifar100; all if left out.", show_default=False),
    ] = None,
    *,
    fetch: Annotated[bool, typer.Option("--fetch", help="Download files that are missing or damaged.")] = False,
    file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Take cifar100 from this file: the official .tar.gz, or an .npz."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check the datasets; --fetch downloads what is missing.

    Example: ebbing data mnist --fetch
    """
    import ebbing
    from ebbing._progress import status_line
    from ebbing.cli._console import console
    from ebbing.cli._data_table import print_data
    from ebbing.cli._messages import print_message
    from ebbing.io.schema import data_json, to_json

    if fetch or file is not None:
        with status_line("fetching") as report:
            failures = ebbing.data.fetch(name, progress=report, file=file)
        for failure in failures:
            print_message(failure)
    files = ebbing.data.status(name)
    if as_json:
        print(to_json("data", data_json(ebbing.data.cache_folder(), files)))
    else:
        print_data(files, console())
