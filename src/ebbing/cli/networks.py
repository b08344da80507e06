"""Commands about networks: training them on streams of tasks, what has been trained, and on which data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ebbing.cli.flags import AsJson


def train(
    *,
    stream: Annotated[
        str, typer.Option(help="MNIST permuted: pmnist, rotated: rmnist, split: smnist; cifar100.")
    ] = "pmnist",
    method: Annotated[str, typer.Option(help="sgd, copies, gpm, trgp, trgp+ or trgp-free.")] = "trgp+",
    seed: Annotated[int, typer.Option(help="Same seed, same result.")] = 0,
    tasks: Annotated[int | None, typer.Option(help="Number of tasks; 10 unless given, of smnist 5.")] = None,
    images: Annotated[int | None, typer.Option(help="Training images of each task; all unless given.")] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Epochs for each task, at most; 5 unless given, of cifar100 200.")
    ] = None,
    weights: Annotated[str | None, typer.Option(help="TRGP+: weights, the most recent task first: 1.2,0.8.")] = None,
    recency: Annotated[float | None, typer.Option(help="TRGP+: r, for weights from the theory.")] = None,
    start_from: Annotated[
        str | None, typer.Option(help="TRGP free: what a task begins with where it trusts old ones: latest or shared.")
    ] = None,
    as_published: Annotated[bool, typer.Option("--as-published", help="TRGP as its authors' code has it.")] = False,
    device: Annotated[str, typer.Option(help="cpu, or cuda for a GPU.")] = "cpu",
    out: Annotated[Path, typer.Option(help="Folder whose runs/ keeps what is trained.")] = Path("results"),
    save: Annotated[Path | None, typer.Option(help="Write the learner to this file, as learner.save() does.")] = None,
    as_json: AsJson = False,
) -> None:
    """Learn a stream of tasks by a method, and see what is forgotten. Goes on where it was if interrupted.

    Example: ebbing train --stream pmnist --method trgp+ --seed 0
    """
    from ebbing._files import write_atomic
    from ebbing._progress import progress_bar, resumable
    from ebbing.learn.presets import preset, stream_by_name
    from ebbing.printing import console, to_json
    from ebbing.printing.train import parse_weights, print_run, train_json
    from ebbing.runs import Resources, Store
    from ebbing.runs.streams import learn_streams

    experiment = preset(
        stream_by_name(stream, tasks=tasks, train_images=images),
        method,  # type: ignore[arg-type]  (checked there)
        as_published=as_published,
        weights=parse_weights(weights),
        recency=recency,
        start_from=start_from,  # type: ignore[arg-type]  (checked there)
        epochs=epochs,
    )
    names, store = experiment.tasks.names, Store(out / "runs")  # type: ignore[attr-defined]
    if save is not None and save.is_dir():
        raise ValueError(f"--save {save}: this is a directory; name a file in it")
    with resumable(), progress_bar("learning") as report:
        (run,) = learn_streams(
            experiment,
            names,
            [seed],
            store,
            resources=Resources(device=device),
            progress=report,
            keep=save is not None,
            keep_new=True,  # --save may come later
        )
    if save is not None and run.learner is not None:
        write_atomic(save, run.learner)
    if as_json:
        print(to_json("train", train_json(run, experiment)))
    else:
        print_run(run, console())


def runs(
    folder: Annotated[Path, typer.Argument(help="A store of trained networks.")] = Path("results/runs"),
    *,
    clean: Annotated[str | None, typer.Option(help="Remove: weights (results stay), or all.")] = None,
    as_json: AsJson = False,
) -> None:
    """What has been trained, and how much room it takes.

    Example: ebbing runs results/runs --clean weights
    """
    from ebbing.printing import console, to_json
    from ebbing.printing.runs import print_runs, runs_json

    content = runs_json(folder, clean)
    if as_json:
        print(to_json("runs", content))
    else:
        print_runs(content, console())


def data(
    name: Annotated[str | None, typer.Argument(help="Which data: mnist or cifar100; all if none.")] = None,
    *,
    fetch: Annotated[bool, typer.Option("--fetch", help="Get what is missing or damaged.")] = False,
    file: Annotated[
        Path | None, typer.Option(help="Get cifar100 from this file: the official .tar.gz, or an .npz.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Which data is here, every file checked; and get what is not.

    Example: ebbing data mnist --fetch
    """
    from ebbing._progress import status_line
    from ebbing.data import fetch as fetch_data
    from ebbing.data import status
    from ebbing.printing import console, to_json
    from ebbing.printing.data import data_json, print_data

    if fetch or file is not None:
        with status_line("fetching") as report:
            failures = fetch_data(name, progress=report, file=file)
        for failure in failures:
            print(f"ebbing: {failure}", file=sys.stderr)
    entries = status(name)
    if as_json:
        print(to_json("data", data_json(entries)))
    else:
        print_data(entries, console())
