"""Names of tasks: a new one must be new, and an old one must have been learned."""

from __future__ import annotations

from collections.abc import Sequence


def check_new_name(task: object, learned: Sequence[str]) -> None:
    """Raise an error if a task has no name, or one that has been used."""
    if not isinstance(task, str):
        raise ValueError(f"task {task!r}: give a name, a string")
    if task in learned:
        raise ValueError(f"task {task!r} has already been learned; to learn it again, give it another name")


def task_number(task: str, learned: Sequence[str]) -> int:
    """Return the number of a learned task, from 0."""
    if task not in learned:
        names = ", ".join(map(repr, learned)) or "none"
        raise ValueError(f"task {task!r} has not been learned; learned tasks: {names}")
    return learned.index(task)
