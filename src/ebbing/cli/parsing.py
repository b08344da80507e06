"""Values as they are written on the command line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ebbing.cli._messages import print_message

if TYPE_CHECKING:
    from ebbing.curriculum import Curriculum
    from ebbing.learners import LinearLearner
    from ebbing.order.objective import Objective
    from ebbing.problem import Problem


def parse_tasks(text: str) -> dict[str, Any]:
    """The short form of ground truths, as entries of a TOML file.

    >>> parse_tasks("orthogonal:8"), parse_tasks("categories:ABAB")
    ({'orthogonal': 8}, {'categories': 'ABAB'})
    """
    kind, _, value = text.partition(":")
    if kind == "categories" and value:
        return {kind: value}
    if kind in ("orthogonal", "identical") and value.isdecimal():
        return {kind: int(value)}
    meant = ""
    if text.isalpha() and (text.isupper() or 2 * len(set(text)) <= len(text)):
        meant = f" (did you mean categories:{text}?)"
    raise ValueError(
        f"--tasks {text!r}: give orthogonal:8, identical:8 or categories:ABAB{meant}; other ground truths come from a "
        "file: a TOML problem, --vectors, --gram, --distances or --cosines"
    )


def parse_numbers(option: str, text: str) -> float | list[float]:
    """One number, or one per task separated by commas.

    >>> parse_numbers("-n", "50"), parse_numbers("--sigma", "0.1,0.3")
    (50.0, [0.1, 0.3])
    """
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{option} {text!r}: give a number, or one per task separated by commas: 50,40,60") from None
    return values if "," in text else values[0]


def parse_weights(text: str | None) -> tuple[float, ...] | None:
    """Weights of trusted tasks, the most recent task first.

    >>> parse_weights("1.2,0.8")
    (1.2, 0.8)
    """
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"--trust-weights {text!r}: give numbers separated by commas: 1.2,0.8") from None


def parse_objective(text: str) -> Objective:
    """What to minimize.

    >>> parse_objective("forgetting"), parse_objective("0.7")
    ('forgetting', {'forgetting': 0.7, 'generalization': 0.30000000000000004})
    """
    if text in ("forgetting", "generalization"):
        return text
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not 0 <= weight <= 1:
        raise ValueError(f"objective={text!r}: give forgetting, generalization, or a weight of forgetting from 0 to 1")
    return {"forgetting": weight, "generalization": 1 - weight}


LEARNERS = "minimum-norm, ridge:0.5, gradient-steps:0.01,20, gradient-flow:0.1, averaged:0.5 or one-pass-sgd:0.001"


def parse_learner(text: str | None) -> LinearLearner:
    """How each step learns its samples: a name, and its numbers after a colon.

    >>> parse_learner("ridge:0.5"), parse_learner("gradient-steps:0.01,20"), parse_learner(None)
    (Ridge(penalty=0.5), GradientSteps(learning_rate=0.01, steps=20), MinimumNorm())
    """
    from ebbing import learners

    name, _, numbers = (text or "minimum-norm").partition(":")
    kinds = {
        "minimum-norm": (learners.MinimumNorm, 0),
        "ridge": (learners.Ridge, 1),
        "gradient-steps": (learners.GradientSteps, 2),
        "gradient-flow": (learners.GradientFlow, 1),
        "averaged": (learners.Averaged, 1),
        "one-pass-sgd": (learners.OnePassSgd, 1),
    }
    try:
        values = [float(part) for part in numbers.split(",")] if numbers else []
    except ValueError:
        values = None
    if name not in kinds or values is None or len(values) != kinds[name][1]:
        raise ValueError(f"--learner {text!r}: give {LEARNERS}")
    return kinds[name][0](*values)


def parse_replay(text: str, problem: Problem) -> Curriculum:
    """How many samples of each old task every step replays, and how.

    >>> from ebbing import Problem
    >>> parse_replay("5:sequential", Problem.orthogonal(T=2, n=50, p=200))
    Curriculum([{0: 50}, {1: 50}, {0: 5}])
    """
    from ebbing.curriculum import Curriculum

    memory, _, words = text.partition(":")
    how = [word for word in words.split(",") if word]
    kinds = [word for word in how if word in ("concurrent", "sequential", "hybrid")]
    if not memory.isdecimal() or len(kinds) > 1 or set(how) - {*kinds, "stored"}:
        raise ValueError(
            f"--replay {text!r}: give samples of each old task such as 10, or 10:sequential, 10:hybrid, 10:stored, "
            "10:sequential,stored"
        )
    kind = kinds[0] if kinds else "concurrent"
    return Curriculum.replay(problem, int(memory), how=kind, stored="stored" in how)  # type: ignore[arg-type]


def parse_whole(value: str | int) -> int:
    """A whole number, which may be written with an exponent.

    >>> parse_whole("1e3"), parse_whole("12345678901234567890")
    (1000, 12345678901234567890)
    """
    try:
        return int(value)
    except ValueError:
        pass
    try:
        number = float(value)
        if number == int(number):
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise typer.BadParameter(f"{value!r} is not a whole number; write 1000 or 1e3")


def parse_number(value: str | float) -> float:
    """A number, with a point and not in percent.

    >>> parse_number("0.12"), parse_number("1e-3")
    (0.12, 0.001)
    """
    try:
        return float(value)
    except ValueError:
        pass
    text = str(value).strip()
    try:
        percent = f"{float(text.removesuffix('%')) / 100:g}" if text.endswith("%") else ""
    except ValueError:
        percent = ""
    example = percent or ("with a point: 0.12" if "," in text else "it as 0.12")
    raise typer.BadParameter(f"{value!r} is not a number; write {example}")


def check_output_folder(path: Path | None) -> Path | None:
    """The folder given by --out, which need not exist; an error, before any work, if it cannot be made."""
    if path is None:
        return None
    if path.exists() and not path.is_dir():
        raise ValueError(f"--out {path}: this is a file; name a folder")
    _check_writable("--out", path)
    return path


def check_save_path(path: Path | None) -> Path | None:
    """The file given by --save; an error if it cannot be written."""
    return path if path is None else check_output_file("--save", path)


def check_output_file(option: str, path: Path) -> Path:
    """A file to be written; an error, before any work, if it cannot be, and a message if its folder is new."""
    if path.is_dir():
        raise ValueError(f"{option} {path}: this is a directory; name a file in it")
    _check_writable(option, path)
    folder = Path(os.path.realpath(path)).parent
    if not folder.exists():
        print_message(f"{option} {path}: there is no folder {folder}; it will be made")
    return path


def check_picture(path: Path | None) -> None:
    """An error, before any work, if the picture of --plot cannot be drawn or written."""
    from ebbing.plot._style import picture_format

    if path is not None:
        picture_format(path)
        check_output_file("--plot", path)


def _check_writable(option: str, path: Path) -> None:
    """An error if the nearest folder that exists does not allow new files, or is none."""
    from ebbing._files import check_new_files, is_special

    try:
        special = not path.is_dir() and is_special(path)
        target = Path(os.path.realpath(path))
    except OSError as error:
        raise ValueError(f"{option} {path}: {error.strerror}; name another place") from None
    above = next(place for place in (target, *target.parents) if place.exists())
    if not special and not above.is_dir() and above != target:
        raise ValueError(f"{option} {path}: {above} is a file, not a folder; name another place")
    if not os.access(path if special else above, os.W_OK):
        raise ValueError(f"{option} {path}: {above} does not allow to write; name another place")
    if special:  # a device or a FIFO, which is written to as it is
        return
    folder = above if above.is_dir() else above.parent
    try:
        check_new_files(folder)
    except OSError as error:
        reason = f"no file can be made in {folder} ({error.strerror})"
        raise ValueError(f"{option} {path}: {reason}; name another place") from None
