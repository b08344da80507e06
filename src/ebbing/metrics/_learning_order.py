"""The order in which tasks were learned, as the names of a matrix's rows tell it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

_PREFIX = re.compile(
    r"(?:(?:after|task|learned|learning|trained|training|fine-?tuned|fine-?tuning|on)[\s:_-]+)+", re.IGNORECASE
)


def find_learning_order(rows: Sequence[str], columns: Sequence[str]) -> list[int]:
    """Return the columns in the order in which the rows say that their tasks were learned.

    Rows may be named after tasks, as "cats" or "after cats". A row before these is that of the initial model, and may
    have any name. Rows that are only counted say nothing.

    Args:
        rows: Names of the rows.
        columns: Names of the T columns.

    Returns:
        The indices of the columns (T,): 0 to T-1 if the rows say nothing else.

    Raises:
        ValueError: If some rows are named after tasks, but not each task once.

    Example:
        >>> find_learning_order(["start", "after dogs", "after cats"], ["cats", "dogs"])
        [1, 0]
        >>> find_learning_order(["0", "1"], ["1", "0"])
        [0, 1]
    """
    T = len(columns)
    learned = list(rows[-T:]) if T else []
    unchanged = list(range(T))
    if len(rows) not in (T, T + 1) or _are_counted(learned):
        return unchanged
    for short in (_plain, _without_prefix):
        named, tasks = [short(name) for name in learned], [short(name) for name in columns]
        if len(set(tasks)) == T and sorted(named) == sorted(tasks):
            return [tasks.index(name) for name in named]
    others = any(name in tasks and tasks[t] != name and not name.isdecimal() for t, name in enumerate(named))
    initial = len(rows) == T and named[0] not in tasks and any(name in tasks for name in named)
    if others or initial:
        raise ValueError(
            f"the rows are named {', '.join(rows)} and the columns {', '.join(columns)}: give a row after each task, "
            "named after it, in the order of learning (before these, one of the initial model); or rows without names"
        )
    return unchanged


def _are_counted(names: Sequence[str]) -> bool:
    return all(name.isdecimal() for name in names) and all(int(b) == int(a) + 1 for a, b in pairwise(names))


def _plain(name: str) -> str:
    return name.strip().casefold()


def _without_prefix(name: str) -> str:
    found = _PREFIX.match(_plain(name))
    return _plain(name)[found.end() :] if found else _plain(name)
