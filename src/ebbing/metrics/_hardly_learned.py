"""Tasks that were hardly learned: that nothing of them was forgotten says nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ebbing._tables import format_number
from ebbing.metrics._matrix import Mask, Values

_HARDLY = 0.9
"""A task of which this share of the initial error is left when it was just learned was hardly learned."""

_NAMED = 4


def find_hardly_learned(initial: Values, just_learned: Values, best: float | None) -> Mask:
    """Return which tasks were hardly learned.

    Args:
        initial: The error or accuracy of the initial model on each task (T,), NaN where it was not measured.
        just_learned: The same right after each was learned (T,).
        best: The best accuracy, 1 or 100; None for errors.

    Returns:
        Whether each was hardly learned (T,); not if the initial model had no error.
    """
    before, after = (values if best is None else best - values for values in (initial, just_learned))
    return (before > 0) & (after > _HARDLY * before)


def describe_hardly_learned(
    names: Sequence[str],
    initial: Values,
    just_learned: Values,
    best: float | None = None,
    *,
    advice: str = "forgetting says little: train longer, or with another learning rate",
) -> str:
    """Say which tasks were hardly learned, and what to do.

    Args:
        names: Names of the T tasks.
        initial: The error or accuracy of the initial model on each task (T,), NaN where it was not measured.
        just_learned: The same right after each was learned (T,).
        best: The best accuracy, 1 or 100; None for errors.
        advice: What to do if the model did not know the tasks before.

    Returns:
        Two sentences; empty if all tasks were learned, or the initial model was not measured.

    Example:
        >>> initial, learned = np.array([0.5, 0.5]), np.array([0.9, 0.52])
        >>> describe_hardly_learned(["cats", "dogs"], initial, learned, best=1)
        'dogs was hardly learned: accuracy 0.52 just learned, 0.5 before. If the model did not know this before, ...'
    """
    found = np.flatnonzero(find_hardly_learned(initial, just_learned, best))
    if not len(found):
        return ""
    old, new = (float(values[found].mean()) for values in (initial, just_learned))
    listed = [f"task {name}" if name.isdecimal() else name for name in (names[int(k)] for k in found[:_NAMED])]
    listed += [f"{len(found) - _NAMED} more"] if len(found) > _NAMED else []
    who = "Tasks" if len(found) == len(names) > 1 else ", ".join(listed)
    what = "was" if len(found) == 1 else "were"
    level = "error" if best is None else "accuracy"
    numbers = f"{level} {format_number(new, '.4g')} just learned, {format_number(old, '.4g')} before"
    before, after = (old, new) if best is None else (best - old, best - new)
    if after * _HARDLY > before:
        return f"{who} {what} not learned: {numbers}. Training may have diverged: give a lower learning rate."
    return f"{who} {what} hardly learned: {numbers}. If the model did not know this before, {advice}."
