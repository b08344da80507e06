"""The command `ebbing`: parses, calls one function, prints. No logic here."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from ebbing import __version__, expect, metrics
from ebbing.problem import Problem

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Forgetting in continual learning: what to expect, and what to do about it.",
)

ProblemFile = Annotated[Path | None, typer.Argument(metavar="PROBLEM.toml", help="The problem as a TOML file.")]
Tasks = Annotated[
    str | None, typer.Option("--tasks", help="Ground truths: orthogonal:8, identical:8 or categories:ABAB.")
]
Samples = Annotated[str | None, typer.Option("-n", help="Training samples: one number, or one per task: 50,40,60.")]
Parameters = Annotated[str | None, typer.Option("-p", help="Parameters of the model.")]
Noise = Annotated[str | None, typer.Option("--noise", help="Label noise sigma: one number, or one per task.")]
Unmodelled = Annotated[str | None, typer.Option("--unmodelled", help="Energy of features missing from the model.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON (docs/json.md) instead of tables.")]


def _problem(file: Path | None, tasks: str | None, distances: Path | None = None, **flags: str | None) -> Problem:
    """A file's problem, a problem given by flags, or a file's with some of its numbers replaced by flags."""
    from ebbing.problemfile import parse_numbers, parse_problem, parse_tasks, read_distances, read_problem

    numbers: dict[str, Any] = {name: parse_numbers(name, text) for name, text in flags.items() if text is not None}
    if sum(source is not None for source in (file, tasks, distances)) != 1:
        raise ValueError(
            "give the tasks once: by a problem file, or by flags such as --tasks orthogonal:8 -n 50 -p 100"
        )
    if file is not None:
        problem = read_problem(file)
        return problem.replace(**numbers) if numbers else problem
    for name in ("n", "p"):
        if name not in numbers:
            raise ValueError(f"-{name} is missing: without a problem file, give samples -n and parameters -p")
    return parse_problem((parse_tasks(tasks) if tasks is not None else read_distances(distances or "")) | numbers)


@app.command()
def predict(
    file: ProblemFile = None,
    *,
    tasks: Tasks = None,
    n: Samples = None,
    p: Parameters = None,
    noise: Noise = None,
    unmodelled: Unmodelled = None,
    as_json: AsJson = False,
) -> None:
    """Expected forgetting and generalization error, exactly.

    Example: ebbing predict --tasks orthogonal:8 -n 50 -p 100 --noise 0.3
    """
    from ebbing import printing

    expectation = expect(_problem(file, tasks, n=n, p=p, sigma=noise, unmodelled=unmodelled))
    if as_json:
        print(printing.to_json("predict", printing.expectation_json(expectation)))
    else:
        printing.print_expectation(expectation, printing.console())


@app.command()
def simulate(
    file: ProblemFile = None,
    *,
    tasks: Tasks = None,
    n: Samples = None,
    p: Parameters = None,
    noise: Noise = None,
    unmodelled: Unmodelled = None,
    runs: Annotated[int, typer.Option(help="Independent runs.")] = 300,
    seed: Annotated[int, typer.Option(help="Same seed, same runs.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Learn random tasks many times, and compare with theory.

    Example: ebbing simulate --tasks orthogonal:8 -n 50 -p 100 --noise 0.3 --runs 10000
    """
    from ebbing import printing
    from ebbing.progress import progress_bar
    from ebbing.simulation import simulate_metrics
    from ebbing.theory import expectation_if_finite

    problem = _problem(file, tasks, n=n, p=p, sigma=noise, unmodelled=unmodelled)
    with progress_bar("simulating") as report:
        sample = simulate_metrics(problem, runs, seed, progress=report)
    expectation = expectation_if_finite(problem)
    if as_json:
        print(printing.to_json("simulate", printing.sample_json(sample, seed, expectation)))
    else:
        printing.print_sample(sample, expectation, printing.console())


@app.command()
def order(
    file: ProblemFile = None,
    *,
    tasks: Tasks = None,
    distances: Annotated[
        Path | None,
        typer.Option(help="Distances |w_i - w_j| between tasks: CSV (names in the header), JSON, npy, npz."),
    ] = None,
    n: Samples = None,
    p: Parameters = None,
    noise: Noise = None,
    unmodelled: Unmodelled = None,
    minimise: Annotated[
        str, typer.Option(help="forgetting, generalization, or the weight of forgetting in a mix of both: 0.7.")
    ] = "forgetting",
    front: Annotated[bool, typer.Option("--front", help="Orders that balance forgetting and generalization.")] = False,
    seconds: Annotated[float, typer.Option(help="Time for the search; Ctrl-C ends it with the best order.")] = 60.0,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="Write a heat map of the distances in the new order.")] = None,
    as_json: AsJson = False,
) -> None:
    """In which order to learn the tasks, with a certificate.

    Example: ebbing order --distances distances.csv -n 50 -p 100 --noise 0.3 --plot order.png
    """
    from ebbing import printing_order
    from ebbing.order import front as find_front
    from ebbing.order import stakes
    from ebbing.order.heatmap import picture_format, save
    from ebbing.printing import console, to_json
    from ebbing.progress import status_line

    problem = _problem(file, tasks, distances, n=n, p=p, sigma=noise, unmodelled=unmodelled)
    wanted = printing_order.parse_minimise(minimise)
    if plot is not None:
        picture_format(plot)
    if front and (plot is not None or minimise != "forgetting"):
        raise ValueError("--front shows all balances of forgetting and generalization: leave out --plot and --minimise")
    if front:
        with status_line("searching") as report:
            points = find_front(problem, seconds=seconds, seed=seed, progress=report)
        if as_json:
            print(to_json("front", printing_order.front_json(problem, points)))
        else:
            printing_order.print_front(problem, points, console())
        return
    with status_line("searching") as report:
        found = stakes(problem, wanted, seconds=seconds, seed=seed, progress=report)
    if plot is not None:
        save(found.plan, plot)
    if as_json:
        print(to_json("order", printing_order.stakes_json(found, minimise)))
    else:
        printing_order.print_stakes(found, minimise, console())


@app.command("metrics")
def metrics_command(
    file: Annotated[Path, typer.Argument(help="CSV, JSON, npy or npz: rows after each task, columns on each task.")],
    kind: Annotated[str, typer.Option(help="What the matrix holds: error or accuracy.")],
    as_json: AsJson = False,
) -> None:
    """Every published metric of a matrix of errors or accuracies.

    Example: ebbing metrics accuracies.csv --kind accuracy
    """
    from ebbing import printing
    from ebbing.matrixfile import read_matrix

    summary = metrics.summary(read_matrix(file), kind=kind)  # type: ignore[arg-type]  (checked there)
    if as_json:
        print(printing.to_json("metrics", printing.summary_json(summary)))
    else:
        printing.print_summary(summary, printing.console())


@app.command()
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
    begins: Annotated[
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
    from ebbing import printing_train
    from ebbing.files import write_whole
    from ebbing.learn.presets import preset, stream_named
    from ebbing.printing import console, to_json
    from ebbing.progress import progress_bar
    from ebbing.runs import Store, Where
    from ebbing.runs.stream import learn_streams

    training = preset(
        stream_named(stream, tasks=tasks, train_images=images),
        method,  # type: ignore[arg-type]  (checked there)
        as_published=as_published,
        weights=printing_train.parse_weights(weights),
        recency=recency,
        begins=begins,  # type: ignore[arg-type]  (checked there)
        epochs=epochs,
    )
    names, store = training.tasks.names, Store(out / "runs")  # type: ignore[attr-defined]
    if save is not None and save.is_dir():
        raise ValueError(f"--save {save}: this is a directory; name a file in it")
    with _resumable(), progress_bar("learning") as report:
        (run,) = learn_streams(
            training,
            names,
            [seed],
            store,
            where=Where(device=device),
            progress=report,
            keep=save is not None,
            keep_new=True,  # --save may come later
        )
    if save is not None and run.learner is not None:
        write_whole(save, run.learner)
    if as_json:
        print(to_json("train", printing_train.train_json(run, training)))
    else:
        printing_train.print_run(run, console())


@app.command()
def runs(
    folder: Annotated[Path, typer.Argument(help="A store of trained networks.")] = Path("results/runs"),
    *,
    clean: Annotated[str | None, typer.Option(help="Remove: weights (results stay), or all.")] = None,
    as_json: AsJson = False,
) -> None:
    """What has been trained, and how much room it takes.

    Example: ebbing runs results/runs --clean weights
    """
    from ebbing import printing_runs
    from ebbing.printing import console, to_json

    content = printing_runs.runs_json(folder, clean)
    if as_json:
        print(to_json("runs", content))
    else:
        printing_runs.print_runs(content, console())


@app.command("data")
def data_command(
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
    from ebbing import data, printing_data
    from ebbing.printing import console, to_json
    from ebbing.progress import status_line

    if fetch or file is not None:
        with status_line("fetching") as report:
            failures = data.fetch(name, progress=report, file=file)
        for failure in failures:
            print(f"ebbing: {failure}", file=sys.stderr)
    entries = data.status(name)
    if as_json:
        print(to_json("data", printing_data.data_json(entries)))
    else:
        printing_data.print_data(entries, console())


@app.command()
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
    """Run the paper's figures, tables and claims, and print a verdict on each.

    Example: ebbing reproduce fig1
    """
    from ebbing import printing
    from ebbing.paper.reproduce import NETWORKS, Options, reproduce
    from ebbing.progress import progress_bar

    options = Options(scale, seeds, workers, cluster, device, stored)  # type: ignore[arg-type]  (checked there)
    with _resumable():
        verdicts = reproduce(targets or [], out, progress_bar, options)
    if as_json:
        print(printing.to_json("reproduce", {"folder": str(out), "verdicts": [vars(verdict) for verdict in verdicts]}))
    else:
        printing.print_verdicts(verdicts, out, printing.console())
        if scale == "quick" and set(targets or NETWORKS) & NETWORKS:
            words = (
                "Networks were trained on a small scale, in minutes; --scale paper trains as the paper does, in hours."
            )
            printing.note(words, printing.console())


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(__version__)
        raise typer.Exit


def main() -> None:
    """Bad input ends with one line on standard error and status 2, never with a traceback."""
    try:
        app()
    except ValueError as error:
        _fail(str(error), status=2)
    except MemoryError:
        _fail("this does not fit into memory; use fewer runs or tasks", status=2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except (ArithmeticError, ChildProcessError) as error:  # training that diverged; a worker that was killed
        _fail(str(error), status=1)
    except OSError as error:  # a file that cannot be read is bad input; a full or broken disk is not
        _fail(str(error), status=1 if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO) else 2)


@contextmanager
def _resumable() -> Iterator[None]:
    """Who interrupts long work is told that it is not lost."""
    try:
        yield
    except KeyboardInterrupt:
        print("ebbing: interrupted; what is done is stored, and the same command goes on from there", file=sys.stderr)
        raise


def _fail(message: str, status: int) -> None:
    print(f"ebbing: {message}", file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
