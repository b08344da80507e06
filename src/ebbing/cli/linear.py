"""Commands about linear tasks: what to expect of them, in which order to learn them; and metrics of any matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ebbing import expect
from ebbing.cli.flags import AsJson, Noise, Parameters, ProblemFile, Samples, Tasks, Unmodeled, problem_of


def predict(
    file: ProblemFile = None,
    *,
    tasks: Tasks = None,
    n: Samples = None,
    p: Parameters = None,
    noise: Noise = None,
    unmodeled: Unmodeled = None,
    as_json: AsJson = False,
) -> None:
    """Expected forgetting and generalization error, exactly.

    Example: ebbing predict --tasks orthogonal:8 -n 50 -p 100 --noise 0.3
    """
    from ebbing.printing import console, to_json
    from ebbing.printing.linear import expectation_json, print_expectation

    expectation = expect(problem_of(file, tasks, n=n, p=p, sigma=noise, unmodeled=unmodeled))
    if as_json:
        print(to_json("predict", expectation_json(expectation)))
    else:
        print_expectation(expectation, console())


def simulate(
    file: ProblemFile = None,
    *,
    tasks: Tasks = None,
    n: Samples = None,
    p: Parameters = None,
    noise: Noise = None,
    unmodeled: Unmodeled = None,
    runs: Annotated[int, typer.Option(help="Independent runs.")] = 300,
    seed: Annotated[int, typer.Option(help="Same seed, same runs.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Learn random tasks many times, and compare with theory.

    Example: ebbing simulate --tasks orthogonal:8 -n 50 -p 100 --noise 0.3 --runs 10000
    """
    from ebbing._progress import progress_bar
    from ebbing.printing import console, to_json
    from ebbing.printing.linear import print_sample, sample_json
    from ebbing.simulation import simulate_metrics
    from ebbing.theory import expectation_if_finite

    problem = problem_of(file, tasks, n=n, p=p, sigma=noise, unmodeled=unmodeled)
    with progress_bar("simulating") as report:
        sample = simulate_metrics(problem, runs, seed, progress=report)
    expectation = expectation_if_finite(problem)
    if as_json:
        print(to_json("simulate", sample_json(sample, seed, expectation)))
    else:
        print_sample(sample, expectation, console())


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
    unmodeled: Unmodeled = None,
    objective: Annotated[
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
    from ebbing._progress import status_line
    from ebbing.order import front as find_front
    from ebbing.order import stakes
    from ebbing.plot.order import picture_format, save
    from ebbing.printing import console, to_json
    from ebbing.printing.order import front_json, parse_objective, print_front, print_stakes, stakes_json

    problem = problem_of(file, tasks, distances, n=n, p=p, sigma=noise, unmodeled=unmodeled)
    wanted = parse_objective(objective)
    if plot is not None:
        picture_format(plot)
    if front and (plot is not None or objective != "forgetting"):
        raise ValueError(
            "--front shows all balances of forgetting and generalization: leave out --plot and --objective"
        )
    if front:
        with status_line("searching") as report:
            points = find_front(problem, seconds=seconds, seed=seed, progress=report)
        if as_json:
            print(to_json("front", front_json(problem, points)))
        else:
            print_front(problem, points, console())
        return
    with status_line("searching") as report:
        found = stakes(problem, wanted, seconds=seconds, seed=seed, progress=report)
    if plot is not None:
        save(found.plan, plot)
    if as_json:
        print(to_json("order", stakes_json(found, objective)))
    else:
        print_stakes(found, objective, console())


def metrics(
    file: Annotated[Path, typer.Argument(help="CSV, JSON, npy or npz: rows after each task, columns on each task.")],
    kind: Annotated[str, typer.Option(help="What the matrix holds: error or accuracy.")],
    as_json: AsJson = False,
) -> None:
    """Every published metric of a matrix of errors or accuracies.

    Example: ebbing metrics accuracies.csv --kind accuracy
    """
    from ebbing.io.matrices import read_matrix
    from ebbing.metrics import summary as summarize
    from ebbing.printing import console, to_json
    from ebbing.printing.metrics import print_summary, summary_json

    summary = summarize(read_matrix(file), kind=kind)  # type: ignore[arg-type]  (checked there)
    if as_json:
        print(to_json("metrics", summary_json(summary)))
    else:
        print_summary(summary, console())
