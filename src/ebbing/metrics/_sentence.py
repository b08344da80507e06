"""The sentence that says what is forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from ebbing._rounding import without_rounding_errors
from ebbing._tables import format_number
from ebbing._validate import Array

Tense = Literal["measured", "expected"]

_WORDS = {
    "measured": ("was forgotten", "got better", "stayed as they were", "got worse"),
    "expected": ("is expected to be forgotten", "get better", "stay as they are", "gets worse"),
}


def forgotten_sentence(
    names: Sequence[str], just_learned: Array, at_the_end: Array, lost: Array, tense: Tense = "measured"
) -> str:
    """Return in a sentence how much is forgotten of old tasks, and of which one most.

    Args:
        names: Names of the old tasks (k,).
        just_learned: The error or accuracy on each right after it was learned (k,).
        at_the_end: The same after all tasks (k,).
        lost: What was forgotten of each (k,): positive if it got worse.
        tense: Whether it was measured or is expected.

    Returns:
        The sentence; empty if there is no old task or a number is missing.

    Example:
        >>> forgotten_sentence(["cats"], np.array([0.9]), np.array([0.7]), np.array([0.2]))
        'On average 0.2 was forgotten; most of cats, from 0.9 to 0.7.'
    """
    if len(lost) == 0 or not (abs(lost) < float("inf")).all():
        return ""
    forgotten, better, same, worse = _WORDS[tense]
    levels = np.stack([just_learned, at_the_end])
    lost = without_rounding_errors(lost, levels)
    mean, worst = float(without_rounding_errors(lost.mean(), levels)), int(lost.argmax())
    size = format_number(abs(mean), ".4g")
    first, last = (format_number(float(values[worst]), ".4g") for values in (just_learned, at_the_end))
    between = f"from {first} to {last}"
    name = f"task {names[worst]}" if names[worst].isdecimal() else names[worst]
    if mean > 0:
        return f"On average {size} {forgotten}; most of {name}, {between}."
    gain = f"on average old tasks {better} by {size}" if mean else f"on average old tasks {same}"
    if lost[worst] <= 0:
        return f"Nothing {forgotten}; {gain}."
    if (count := int((lost > 0).sum())) > 1:
        several = f"{count} of {len(lost)} {worse.replace('gets', 'get')}"
        return f"{gain.capitalize()}; {several}, most of all {name}, {between}."
    return f"{gain.capitalize()}; {name} {worse}, {between}."
