"""Arguments and options that several commands have, and the problem that they describe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ebbing.problem import Problem

ProblemFile = Annotated[Path | None, typer.Argument(metavar="PROBLEM.toml", help="The problem as a TOML file.")]
Tasks = Annotated[
    str | None, typer.Option("--tasks", help="Ground truths: orthogonal:8, identical:8 or categories:ABAB.")
]
Samples = Annotated[str | None, typer.Option("-n", help="Training samples: one number, or one per task: 50,40,60.")]
Parameters = Annotated[str | None, typer.Option("-p", help="Parameters of the model.")]
Noise = Annotated[str | None, typer.Option("--noise", help="Label noise sigma: one number, or one per task.")]
Unmodeled = Annotated[str | None, typer.Option("--unmodeled", help="Energy of features missing from the model.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON (docs/json.md) instead of tables.")]


def problem_of(file: Path | None, tasks: str | None, distances: Path | None = None, **flags: str | None) -> Problem:
    """A file's problem, a problem given by flags, or a file's with some of its numbers replaced by flags."""
    from ebbing.io.problems import parse_numbers, parse_problem, parse_tasks, read_distances, read_problem

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
