"""The command about a user's own model and data: what it will forget, in which order to learn, how much old data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ebbing.cli._html import check_html, write_html
from ebbing.cli.options import AsJson, ClassNames, Html, LabelColumn, Seed, TaskData, Weights
from ebbing.cli.parsing import check_picture, parse_number, parse_objective, parse_whole
from ebbing.cli.wording import name_options, naming_options

REPLAY_UP_TO = 8
"""Tasks up to which the command says how much old data to mix in; more take minutes, in Python."""

_SIZE = {"parser": parse_whole, "metavar": "INTEGER", "show_default": False}
_NUMBER = {"parser": parse_number, "metavar": "NUMBER"}


@naming_options()
def forecast(
    tasks: TaskData,
    *,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION", help="A function that builds your PyTorch network; without it, a linear model."
        ),
    ] = None,
    weights: Weights = None,
    label: LabelColumn = "label",
    classes: ClassNames = None,
    order: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="The order you have in mind: cats,dogs,cars [default: by name]."),
    ] = None,
    objective: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="What to minimize: forgetting, generalization, or a mix: 0.7 weighs forgetting by 0.7."
        ),
    ] = "forgetting",
    train_size: Annotated[
        int | None, typer.Option(help="Training examples of each task [default: 200, fewer for many tasks].", **_SIZE)
    ] = None,
    test_size: Annotated[
        int | None, typer.Option(help="Test examples of each task [default: as many].", **_SIZE)
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(help="With --steps, for brief training: its learning rate.", **_NUMBER),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="With --learning-rate: the number of training steps of each task.", **_SIZE)
    ] = None,
    training_accuracy: Annotated[
        float | None,
        typer.Option(help="For brief training: the accuracy on training data that it reaches, from 0 to 1.", **_NUMBER),
    ] = None,
    training_error: Annotated[
        float | None,
        typer.Option(help="For brief training: the mean squared training error that it reaches.", **_NUMBER),
    ] = None,
    seconds: Annotated[
        float, typer.Option(help="Time to search the order where there are too many to try all.", **_NUMBER)
    ] = 60.0,
    seed: Seed = 0,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Save similarities, predicted errors and orders: .png, .svg or .pdf."),
    ] = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Predict what your model will forget, the best order, and how much old data to mix in.

    The forecast follows the gradients of the model at its present weights on your data. Nothing is trained.

    Example: ebbing forecast tasks/ --model mypackage.module:build --weights model.safetensors
    """
    import ebbing
    from ebbing._tables import escape_control
    from ebbing._validate import check_count, check_seconds, check_seed
    from ebbing.cli._console import print_result
    from ebbing.forecasting import forecast_memory
    from ebbing.forecasting._sources import choose_examples
    from ebbing.forecasting.extent import Extent
    from ebbing.io.entry_points import is_entry_point, load_tasks, network_by_name
    from ebbing.io.forecast_schema import forecast_json
    from ebbing.io.schema import to_json
    from ebbing.io.task_files import reorder_tasks
    from ebbing.plot.forecasts import save_forecast

    minimized = parse_objective(objective)
    check_picture(plot)
    check_html(html)
    if weights is not None and model is None:
        raise ValueError("--weights goes with --model, which builds the network that they belong to")
    Extent(learning_rate, steps, training_accuracy, training_error)
    for name, size in (("train_size", train_size), ("test_size", test_size)):
        check_count(name, 1 if size is None else size)
    check_seconds(seconds)
    check_seed(seed)
    data = reorder_tasks(load_tasks(tasks, label, classes), order)
    network = "linear" if model is None else network_by_name(model, weights, seed=seed)
    # Read once: data may be a stream.
    examples = choose_examples(data, train_size=train_size, test_size=test_size, seed=seed)
    needed = forecast_memory(network, examples)
    names = escape_control(", ".join(data))
    by_name = " by name, as no --order is given" if order is None and not is_entry_point(tasks) else ""
    memory = f"about {needed / 1e6:,.0f} MB besides the data"
    print(f"ebbing: {len(data)} tasks{by_name} ({names}); {memory}", file=sys.stderr)
    found = ebbing.forecast(
        network,
        examples,
        learning_rate=learning_rate,
        steps=steps,
        training_accuracy=training_accuracy,
        training_error=training_error,
        seed=seed,
    )
    plan = found.best_order(minimized, seconds=seconds, seed=seed)
    if plot is not None:
        save_forecast(found, plan, plot)
    replay = None
    if 2 <= found.T <= REPLAY_UP_TO:
        replay = found.replay(plan, seed=seed)
    results = [found, plan] if replay is None else [found, plan, replay]
    write_html(html, *results, wording=name_options)
    if as_json:
        words = {"training": name_options(found.training), "notes": [name_options(note) for note in found.notes]}
        print(to_json("forecast", forecast_json(found, plan, objective, replay) | words))
        return
    for k, result in enumerate(results):
        if k:
            print()
        print_result(result, name_options)
