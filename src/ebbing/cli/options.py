"""Arguments and options that several commands have, and the problem that they describe."""

from __future__ import annotations

import functools
import inspect
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ebbing.cli.parsing import LEARNERS, parse_numbers, parse_tasks, parse_whole
from ebbing.cli.wording import PROBLEM_OPTIONS, naming_options

if TYPE_CHECKING:
    from ebbing.curriculum import Curriculum
    from ebbing.problem import Problem

_FILES = "CSV, JSON, npy or npz file of"

ProblemFile = Annotated[
    Path | None, typer.Argument(metavar="PROBLEM.toml", help="The problem as a TOML file.", show_default=False)
]
Tasks = Annotated[
    str | None, typer.Option(metavar="FORM", help="Ground truths: orthogonal:8, identical:8 or categories:ABAB.")
]
Gram = Annotated[
    Path | None, typer.Option(metavar="FILE", help=f"{_FILES} inner products <w_i, w_j>, task names in its header.")
]
Vectors = Annotated[
    Path | None, typer.Option(metavar="FILE", help=f"{_FILES} ground truths, one row per task, its name first.")
]
Distances = Annotated[
    Path | None, typer.Option(metavar="FILE", help=f"{_FILES} distances |w_i - w_j|, task names in its header.")
]
Cosines = Annotated[
    Path | None, typer.Option(metavar="FILE", help=f"{_FILES} cosine similarities of tasks, task names in its header.")
]
Norms = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="With --distances or --cosines: distances |w_i - w_0| from the initial model, one, or one per task.",
    ),
]
Tolerance = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="With --distances, --cosines or --gram: how far a number may be changed so that vectors have them.",
    ),
]
Samples = Annotated[
    str | None,
    typer.Option("-n", metavar="NUMBER", help="Training samples: one number, or one per task: 50,40,60."),
]
Parameters = Annotated[str | None, typer.Option("-p", metavar="NUMBER", help="Parameters of the model.")]
Sigma = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="Standard deviation of the label noise: one number, or one per task."),
]
Unmodeled = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="Squared norm of the coefficients of features that the model lacks."),
]
Seed = Annotated[
    int, typer.Option(parser=parse_whole, metavar="INTEGER", help="Random seed: the same seed gives the same result.")
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one line of JSON (docs/reference/formats.md) instead of tables.")
]
Html = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write the result as a page: one .html file that opens from disk."),
]

TaskData = Annotated[
    str,
    typer.Argument(
        metavar="TASKS",
        help="A folder with one file per task (npz, CSV or Parquet), or module:function, a function that returns "
        "{name: data}.",
        show_default=False,
    ),
]
Weights = Annotated[Path | None, typer.Option(metavar="FILE", help="The network's weights, a safetensors file.")]
LabelColumn = Annotated[str, typer.Option(metavar="NAME", help="The column of labels in CSV and Parquet files.")]
ClassNames = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES", help="If labels are names: all of them, in the order of the network's outputs: no,yes."
    ),
]

Replay = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="Replay so many samples of each old task at every step, fresh ones mixed in; 10:sequential: in steps of "
        "their own; 10:stored: always the same samples.",
    ),
]
LearnerName = Annotated[
    str | None,
    typer.Option("--learner", metavar="NAME", help=f"How a step learns: {LEARNERS}."),
]


@dataclass(frozen=True)
class ProblemOptions:
    """What a user gave to describe the tasks; `with_problem` adds these options to a command."""

    command: str
    file: ProblemFile = None
    tasks: Tasks = None
    gram: Gram = None
    vectors: Vectors = None
    distances: Distances = None
    cosines: Cosines = None
    norms: Norms = None
    tolerance: Tolerance = None
    n: Samples = None
    p: Parameters = None
    sigma: Sigma = None
    unmodeled: Unmodeled = None

    def load(self) -> Problem:
        """The problem of a TOML file, with some of its numbers replaced by options, or the problem given by options."""
        from ebbing.io.matrices import FORMATS
        from ebbing.io.problems import parse_problem, read_matrix_problem, read_problem

        file, matrices = self.file, ("gram", "vectors", "distances", "cosines")
        given = {form: path for form in matrices if (path := getattr(self, form)) is not None}
        if (file is not None) + (self.tasks is not None) + len(given) != 1:
            raise ValueError(
                "give the tasks once: by a TOML file, or by one of --tasks, --gram, --vectors, --distances, --cosines "
                "with -n and -p; for example: --tasks orthogonal:8 -n 50 -p 100"
            )
        if file is not None and file.is_file() and file.suffix.lower() in FORMATS:
            raise ValueError(_matrix_for_problem(self.command, file, self.n, self.p))
        numbers = ("norms", "tolerance", "n", "p", "sigma", "unmodeled")
        values: dict[str, Any] = {
            name: parse_numbers(PROBLEM_OPTIONS[name], text)
            for name in numbers
            if (text := getattr(self, name)) is not None
        }
        if file is not None:
            if extra := [name for name in ("norms", "tolerance") if name in values]:
                raise ValueError(f"--{extra[0]} goes with a matrix file: in {file}, write {extra[0]} = ... instead")
            problem = read_problem(file)
            with naming_options(PROBLEM_OPTIONS):
                return problem.replace(**values) if values else problem
        for name in ("n", "p"):
            if name not in values:
                raise ValueError(f"-{name} is missing: without a TOML file, give samples -n and parameters -p")
        with naming_options(PROBLEM_OPTIONS):
            if self.tasks is not None:
                return parse_problem(parse_tasks(self.tasks) | values)
            [(form, path)] = given.items()
            return read_matrix_problem(path, form, **values)  # type: ignore[arg-type]  (one of the four)

    def load_curriculum(self, replay: str | None, problem: Problem) -> Curriculum | None:
        """The curriculum given by --replay, or else by the steps of the TOML file; None for one task after another."""
        from ebbing.cli.parsing import parse_replay
        from ebbing.io.curricula import read_curriculum

        if replay is not None:
            return parse_replay(replay, problem)
        return None if self.file is None else read_curriculum(self.file)

    def say_steps_are_unused(self) -> None:
        """Say so where the TOML file has steps, and the command does not use them."""
        if self.file is not None:
            say_steps_are_unused(self.file, self.command)


def say_steps_are_unused(file: Path, command: str) -> None:
    """Say so where a TOML file has steps: for commands that do not use them."""
    from ebbing.cli._messages import print_message
    from ebbing.io._toml import read_toml

    if unused := [name for name in ("steps", "stored") if name in read_toml(file)]:
        print_message(f"{file}: ebbing {command} does not use {' and '.join(unused)}; expect and simulate do")


def with_problem(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `ProblemOptions`, before its own; it takes them as its first argument."""
    hints = get_type_hints(command, include_extras=True)
    shared = {
        name: hint for name, hint in get_type_hints(ProblemOptions, include_extras=True).items() if name != "command"
    }
    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint)
        for name, hint in shared.items()
    ]
    own = list(inspect.signature(command).parameters.values())[1:]
    parameters += [parameter.replace(annotation=hints[parameter.name]) for parameter in own]

    @functools.wraps(command)
    def run(**values: Any) -> None:
        given = ProblemOptions(command.__name__, **{name: values.pop(name) for name in shared})
        command(given, **values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  (what typer reads)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _matrix_for_problem(command: str, file: Path, n: str | None, p: str | None) -> str:
    """The message for a matrix file where a TOML file belongs."""
    line = f"ebbing {command} --distances {shlex.quote(str(file))} -n {n or 50} -p {p or 100}"
    return (
        f"{file} is a matrix, and a problem is a TOML file; if it holds distances between tasks, type: {line}; "
        "use --cosines for cosine similarities, --gram for inner products and --vectors for ground truths"
    )
