"""Commands about linear tasks: what to expect of them, in which order to learn them; and metrics of any matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ebbing.cli._html import check_html, write_html
from ebbing.cli.options import AsJson, Html, LearnerName, ProblemOptions, Replay, Seed, with_problem
from ebbing.cli.parsing import check_picture, parse_learner, parse_objective, parse_whole
from ebbing.cli.wording import LINEAR_OPTIONS, naming_options


@with_problem
def expect(
    given: ProblemOptions,
    *,
    replay: Replay = None,
    learner: LearnerName = None,
    std: Annotated[
        bool, typer.Option("--std", help="Compute standard deviations of more than 500 tasks (270 with replay), too.")
    ] = False,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Compute the exact expected forgetting and generalization error.

    Example: ebbing expect --tasks orthogonal:8 -n 50 -p 100 --sigma 0.3
    """
    import ebbing
    from ebbing._progress import progress_bar
    from ebbing.cli._console import describe_simulated, print_result
    from ebbing.io.schema import expectation_json, to_json
    from ebbing.simulation._deviations import simulate_deviations

    check_html(html)
    problem = given.load()
    plan, how = given.load_curriculum(replay, problem), parse_learner(learner)
    expectation = ebbing.expect(problem, plan, learner=how)
    if std or expectation.has_std:
        with progress_bar("standard deviations") as report:
            expectation.compute_std(report)
    simulated = None
    if expectation.has_std:
        with progress_bar("simulating standard deviations") as report:
            simulated = simulate_deviations(expectation, progress=report)
    write_html(html, expectation)
    if as_json:
        print(to_json("expect", expectation_json(expectation, simulated)))
        return
    print_result(expectation)
    if simulated is not None:
        print(describe_simulated(simulated))


@with_problem
@naming_options(LINEAR_OPTIONS)
def simulate(
    given: ProblemOptions,
    *,
    runs: Annotated[int, typer.Option(parser=parse_whole, metavar="INTEGER", help="Number of independent runs.")] = 300,
    seed: Seed = 0,
    replay: Replay = None,
    learner: LearnerName = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Simulate random tasks and compare the results with theory.

    Example: ebbing simulate --tasks orthogonal:8 -n 50 -p 100 --runs 10000
    """
    import ebbing
    from ebbing._progress import progress_bar
    from ebbing.cli._console import print_result
    from ebbing.io.schema import simulation_json, to_json

    check_html(html)
    problem = given.load()
    plan, how = given.load_curriculum(replay, problem), parse_learner(learner)
    with progress_bar("simulating") as report:
        simulation = ebbing.simulate_metrics(problem, runs, seed, curriculum=plan, learner=how, progress=report)
    write_html(html, simulation)
    if as_json:
        print(to_json("simulate", simulation_json(simulation, seed)))
    else:
        print_result(simulation)


@with_problem
@naming_options(LINEAR_OPTIONS)
def order(
    given: ProblemOptions,
    *,
    objective: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="What to minimize: forgetting, generalization, or a mix: 0.7 weighs forgetting by 0.7."
        ),
    ] = "forgetting",
    front: Annotated[
        bool, typer.Option("--front", help="List the orders that balance forgetting and generalization.")
    ] = False,
    seconds: Annotated[
        float, typer.Option(metavar="NUMBER", help="Time for the search; Ctrl-C ends it with the best order.")
    ] = 60.0,
    seed: Seed = 0,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Save a heat map of the distances in the new order: .png, .svg or .pdf."),
    ] = None,
    replay: Annotated[
        int | None,
        typer.Option(
            parser=parse_whole, metavar="NUMBER", help="Replay so many samples of each old task at every step."
        ),
    ] = None,
    learner: LearnerName = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Find the best order of the tasks, with a proof or a bound.

    Example: ebbing order --distances distances.csv -n 50 -p 100 --sigma 0.3
    """
    from ebbing.cli._console import ended_by_interrupts

    with ended_by_interrupts():
        import ebbing
        from ebbing._progress import status_line
        from ebbing._validate import check_seconds
        from ebbing.cli._console import end_successfully, print_result
        from ebbing.io.order_schema import front_json, order_json, replay_order_json
        from ebbing.io.schema import to_json
        from ebbing.order import ReplayOrder, Stakes, best_order_with_replay, heed_interrupts
        from ebbing.order._compilation import compiling
        from ebbing.plot.order import save

        minimized, seconds = parse_objective(objective), check_seconds(seconds)
        check_html(html)
        other_steps = replay is not None or learner is not None
        if other_steps and (plot is not None or front):
            raise ValueError(
                "--replay and --learner find an order without a picture or a front: leave out --plot and --front"
            )
        check_picture(plot)
        if front and (plot is not None or objective != "forgetting"):
            raise ValueError(
                "--front shows all balances of forgetting and generalization: leave out --plot and --objective"
            )
        problem = given.load()
        given.say_steps_are_unused()
        how = parse_learner(learner)
    with heed_interrupts():  # the first Ctrl-C ends the search, and what it found is shown
        with status_line("searching") as report:
            if other_steps:
                found = best_order_with_replay(
                    problem, replay or 0, minimized, learner=how, seconds=seconds, seed=seed, progress=report
                )
            elif front:
                found = ebbing.front(problem, seconds=seconds, seed=seed, progress=report)
            else:
                found = ebbing.stakes(problem, minimized, seconds=seconds, seed=seed, progress=report)
        if plot is not None and isinstance(found, Stakes):
            save(found.plan, plot)
        write_html(html, found)
        if not as_json:
            print_result(found)
        elif isinstance(found, Stakes):
            print(to_json("order", order_json(found, objective)))
        elif isinstance(found, ReplayOrder):
            print(to_json("replay-order", replay_order_json(found)))
        else:
            print(to_json("front", front_json(found)))
        if compiling():  # after Ctrl-C: nobody waits for that
            end_successfully()


@naming_options(LINEAR_OPTIONS)
def metrics(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV, JSON, npy or npz: a row after each task, a column for each task. Or a log of Mammoth, PyCIL, "
            "LAMDA-PILOT or Avalanche.",
        ),
    ],
    *,
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="error|accuracy",
            help="What the matrix holds. A log says it itself, and so does a JSON or npz file that names it errors or "
            "accuracies.",
            show_default=False,
        ),
    ] = None,
    run: Annotated[
        int | None,
        typer.Option(help="Which run of a log that holds several: 0 is the first, -1 the last.", show_default=False),
    ] = None,
    unmeasured: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="A number that stands for what was not measured, such as 0 or -1: it does not count above the "
            "diagonal.",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Save a picture of what was forgotten of each task: .png, .svg or .pdf."),
    ] = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Say what was forgotten: the common published metrics of a matrix.

    Example: ebbing metrics accuracies.csv --kind accuracy
    """
    from ebbing.cli._console import print_result
    from ebbing.io.error_matrices import summarize_file
    from ebbing.io.schema import metrics_json, to_json
    from ebbing.plot.metrics import save

    check_html(html)
    check_picture(plot)
    summary = summarize_file(file, kind, run, unmeasured)
    if plot is not None:
        save(summary, plot)
    write_html(html, summary)
    if as_json:
        print(to_json("metrics", metrics_json(summary)))
    else:
        print_result(summary)
