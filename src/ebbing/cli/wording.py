"""Sentences of the library in the words of the command: `learning_rate` is `--learning-rate` in a shell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

_PARAMETERS = (
    *("learning_rate", "training_error", "train_size", "test_size"),
    *("steps", "seconds", "seed", "objective", "order", "label"),
    *("train_images", "epochs", "start_from", "device"),
)
"""Parameters of Python that are options of a command. Those without an underscore are words, too."""

_BEFORE, _AFTER = r"(?<![\w/\\.'\"-])", r"(?![\w/\\'\"]|\.\w)"  # paths and quoted names of users stay

_VALUES = re.compile(rf"{_BEFORE}({'|'.join(_PARAMETERS)})=")
_NAMES = re.compile(rf"{_BEFORE}({'|'.join(name for name in _PARAMETERS if '_' in name)}){_AFTER}")


def name_options(text: str) -> str:
    """Return a sentence of the library with options for parameters.

    Args:
        text: An error, a title or a note.

    Returns:
        The sentence for a shell.

    Example:
        >>> name_options("steps=10: say it by both learning_rate and steps, or by training_error")
        '--steps 10: say it by both --learning-rate and --steps, or by --training-error'
        >>> name_options("data/train_size.csv: 10 steps in this order")
        'data/train_size.csv: 10 steps in this order'
    """
    text = _VALUES.sub(lambda found: f"{_option(found[1])} ", text)
    text = _NAMES.sub(lambda found: _option(found[1]), text)
    text = text.replace("--learning-rate and steps", "--learning-rate and --steps")
    return re.sub(rf"{_BEFORE}ebbing\.measure\b", "ebbing.measure in Python", text)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@contextmanager
def naming_options() -> Iterator[None]:
    """Let errors within name options for parameters."""
    try:
        yield
    except ValueError as error:
        if error.args:
            error.args = (name_options(str(error)), *error.args[1:])
        raise
