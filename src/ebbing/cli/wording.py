"""Sentences of the library in the words of the command: `learning_rate` is `--learning-rate` in a shell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

Options = Mapping[str, str]
"""Options of a command by the parameters of Python that they give."""


def _same_names(*parameters: str) -> dict[str, str]:
    return {name: f"--{name.replace('_', '-')}" for name in parameters}


OPTIONS: Options = _same_names(
    *("learning_rate", "training_accuracy", "training_error", "train_size", "test_size"),
    *("steps", "seconds", "seed", "objective", "order", "label", "classes"),
    *("train_images", "epochs", "start_from", "as_published", "device"),
)
"""Parameters of Python that are options of a command. Those without an underscore are words, too."""

TRAIN_OPTIONS: Options = {
    **OPTIONS,
    "tasks": "--num-tasks",
    "recency": "--recency",
    "weights or recency": "--trust-weights or --recency",
    "weights and recency": "--trust-weights and --recency",
}
"""Those of `ebbing train`."""

MEASURE_OPTIONS: Options = {
    **OPTIONS,
    **_same_names("batch_size", "seeds", "workers", "cluster"),
    "orders": "--order",
}
"""Those of `ebbing measure`."""

PROBLEM_OPTIONS: Options = {"n": "-n", "p": "-p"} | _same_names("sigma", "unmodeled", "norms", "tolerance")
"""Numbers of a problem, which may also stand in a file."""

LINEAR_OPTIONS: Options = {"memory": "--replay"} | _same_names(
    *("runs", "seed", "seconds", "objective", "budget", "kind", "run")
)
"""Those of commands about linear tasks and matrices, but for the problem."""

_BEFORE, _AFTER = r"(?<![\w/\\.'\"-])", r"(?![\w/\\'\"]|\.\w)"  # paths and quoted names of users stay


def name_options(text: str, options: Options = OPTIONS) -> str:
    """Return a sentence of the library with options for parameters.

    Args:
        text: An error, a title or a note.
        options: Options by parameters.

    Returns:
        The sentence for a shell.

    Example:
        >>> name_options("steps=10: say it by both learning_rate and steps, or by training_error")
        '--steps 10: say it by both --learning-rate and --steps, or by --training-error'
        >>> name_options("data/train_size.csv: 10 steps in this order")
        'data/train_size.csv: 10 steps in this order'
        >>> name_options("tasks=0: give more", TRAIN_OPTIONS)
        '--num-tasks 0: give more'
    """
    no_words = [name for name in options if "_" in name or " " in name]
    text = re.sub(rf"{_BEFORE}({'|'.join(options)})=", lambda found: f"{options[found[1]]} ", text)
    if no_words:
        text = re.sub(rf"{_BEFORE}({'|'.join(no_words)}){_AFTER}", lambda found: options[found[1]], text)
    text = text.replace("--learning-rate and steps", "--learning-rate and --steps")
    return re.sub(rf"{_BEFORE}ebbing\.measure\b", "ebbing measure", text)


@contextmanager
def naming_options(options: Options = OPTIONS) -> Iterator[None]:
    """Let errors within name options for parameters."""
    try:
        yield
    except ValueError as error:
        if error.args:
            error.args = (name_options(str(error), options), *error.args[1:])
        raise
