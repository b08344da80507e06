"""The command that trains orders of a user's tasks, and compares what they forget with a forecast."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ebbing._tables import Tabular
from ebbing.cli._html import check_html, write_html
from ebbing.cli.options import AsJson, ClassNames, Html, LabelColumn, Seed, TaskData, Weights
from ebbing.cli.parsing import check_output_folder, check_picture, parse_number, parse_whole
from ebbing.cli.wording import MEASURE_OPTIONS, name_options, naming_options

_SIZE = {"parser": parse_whole, "metavar": "INTEGER", "show_default": False}


def reword(text: str) -> str:
    """A sentence of the library in the words of this command."""
    return name_options(text, MEASURE_OPTIONS)


@naming_options(MEASURE_OPTIONS)
def measure(
    tasks: TaskData,
    *,
    model: Annotated[str, typer.Option(metavar="MODULE:FUNCTION", help="A function that builds your PyTorch network.")],
    weights: Weights = None,
    label: LabelColumn = "label",
    classes: ClassNames = None,
    order: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="An order to train: cats,dogs,cars; several times for several [default: all orders of up to five "
            "tasks].",
            show_default=False,
        ),
    ] = None,
    optimizer: Annotated[
        str, typer.Option(metavar="sgd|adam", help="Plain gradient descent, or AdamW, started anew for each task.")
    ] = "sgd",
    learning_rate: Annotated[
        float | None,
        typer.Option(parser=parse_number, metavar="NUMBER", help="[default: 0.1; adam: 0.001].", show_default=False),
    ] = None,
    epochs: Annotated[int, typer.Option(parser=parse_whole, metavar="INTEGER", help="Epochs of each task.")] = 30,
    batch_size: Annotated[int, typer.Option(parser=parse_whole, metavar="INTEGER", help="Examples in a step.")] = 20,
    train_size: Annotated[
        int | None, typer.Option(help="Training examples of each task [default: all].", **_SIZE)
    ] = None,
    test_size: Annotated[int | None, typer.Option(help="Test examples of each task [default: all].", **_SIZE)] = None,
    training_accuracy: Annotated[
        float | None,
        typer.Option(
            parser=parse_number,
            metavar="NUMBER",
            help="For the forecast, if training is brief: the accuracy on training data that it reaches, from 0 to 1.",
        ),
    ] = None,
    training_error: Annotated[
        float | None,
        typer.Option(
            parser=parse_number, metavar="NUMBER", help="The same as a mean squared error, which regression has."
        ),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(
            parser=parse_whole, metavar="INTEGER", help="How often to train each order, with other batches each time."
        ),
    ] = 1,
    seed: Seed = 0,
    workers: Annotated[int, typer.Option(parser=parse_whole, metavar="INTEGER", help="Number of processes.")] = 1,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Train on the Dask cluster of this scheduler.")
    ] = None,
    device: Annotated[str, typer.Option(metavar="NAME", help="cpu, or cuda for a GPU.")] = "cpu",
    out: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER", callback=check_output_folder, help="Folder of results; its runs/ stores what is trained."
        ),
    ] = Path("results"),
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save what each order forgot: .png, .svg or .pdf.")
    ] = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Train your model on orders of your tasks, measure forgetting, and check a forecast.

    The forecast starts from the same weights, so it shows how far to trust forecasts of your model. An interrupted
    command continues where it stopped when it is started again.

    Example: ebbing measure tasks/ --model mypackage.module:build --seeds 2
    """
    import ebbing
    from ebbing._progress import progress_bar, resumable
    from ebbing._validate import check_count, check_seed
    from ebbing.cli._console import print_result
    from ebbing.cli._messages import print_message
    from ebbing.forecasting.extent import Extent
    from ebbing.io.entry_points import load_tasks, network_by_name
    from ebbing.io.measurement_schema import measurement_json
    from ebbing.io.schema import to_json
    from ebbing.io.task_files import split_names
    from ebbing.learn import Adam, Sgd
    from ebbing.plot.measurements import save
    from ebbing.runs import Store

    check_picture(plot)
    check_html(html)
    Extent(training_accuracy=training_accuracy, training_error=training_error)
    kinds = {"sgd": Sgd, "adam": Adam}
    if optimizer not in kinds:
        raise ValueError(f"--optimizer {optimizer}: give {' or '.join(kinds)}")
    method = kinds[optimizer](epochs=epochs, batch_size=batch_size)
    if learning_rate is not None:
        method = replace(method, learning_rate=learning_rate)
    chosen = range(check_seed(seed), seed + check_count("seeds", seeds))
    network = network_by_name(model, weights, seed=seed)
    data = load_tasks(tasks, label, classes)
    orders = [split_names(text, data) for text in order or []] or None
    with resumable(), progress_bar("training") as report:
        measured = ebbing.measure(
            network,
            data,
            orders=orders,
            seeds=chosen,
            method=method,
            train_size=train_size,
            test_size=test_size,
            store=Store(out / "runs"),
            workers=workers,
            cluster=cluster,
            device=device,
            progress=report,
        )
    if plot is not None:
        save(measured, plot)
    comparison = None
    try:  # the tasks are read again: they may be streams
        data = load_tasks(tasks, label, classes)
        comparison = measured.compare(
            ebbing.forecast(network, data, training_accuracy=training_accuracy, training_error=training_error)
        )
    except (ValueError, MemoryError) as error:
        print_message(f"no forecast to compare with: {reword(str(error))}")
    results: list[Tabular] = [measured] if comparison is None else [measured, comparison]
    write_html(html, *results, wording=reword)
    if as_json:
        print(to_json("measure", measurement_json(measured, comparison)))
        return
    for k, result in enumerate(results):
        if k:
            print()
        print_result(result, reword)
