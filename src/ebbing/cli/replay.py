"""The command about replay: how much old data to mix into each step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ebbing.cli._html import check_html, write_html
from ebbing.cli.options import AsJson, Html, LearnerName, ProblemOptions, with_problem
from ebbing.cli.parsing import check_picture, parse_learner, parse_objective, parse_whole
from ebbing.cli.wording import LINEAR_OPTIONS, naming_options


@with_problem
@naming_options(LINEAR_OPTIONS)
def replay(
    given: ProblemOptions,
    *,
    budget: Annotated[
        int | None,
        typer.Option(
            parser=parse_whole,
            metavar="NUMBER",
            help="Samples that may be replayed in all, 0 for none; by default a fifth of the samples of all tasks.",
        ),
    ] = None,
    objective: Annotated[
        str, typer.Option(metavar="NAME", help="What to minimize: forgetting, generalization, or a weight from 0 to 1.")
    ] = "generalization",
    learner: LearnerName = None,
    seconds: Annotated[
        float, typer.Option(metavar="NUMBER", help="Time for the search; Ctrl-C ends it with the best plan.")
    ] = 3.0,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Save forgetting and error against the replay ratio: .png, .svg or .pdf."),
    ] = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Find how much old data to mix into each step.

    Example: ebbing replay --tasks categories:AAAB -n 50 -p 400 --sigma 0.3 --budget 60 --plot replay.png
    """
    from ebbing.cli._console import print_result
    from ebbing.io.order_schema import replay_json
    from ebbing.io.schema import to_json
    from ebbing.order import best_replay, replay_curve
    from ebbing.plot.replay import save

    problem = given.load()
    given.say_steps_are_unused()
    check_picture(plot)
    check_html(html)
    how = parse_learner(learner)
    most = max(1, int(problem.n.sum()) // 5) if budget is None else budget
    curve = replay_curve(problem, learner=how)
    plan = best_replay(problem, most, parse_objective(objective), learner=how, seconds=seconds)
    if plot is not None:
        save(curve, plot)
    write_html(html, curve, plan)
    if as_json:
        print(to_json("replay", replay_json(curve, plan, objective)))
    else:
        print_result(curve)
        print()
        print_result(plan)
