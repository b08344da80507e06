"""Names of tasks: a new one must be new, and an old one must have been learned."""

from __future__ import annotations

from collections.abc import Sequence

from ebbing._tables import with_article


def check_name(task: object, call: str) -> None:
    """Raise an error if a task is not given by its name.

    Args:
        task: What was given as the task.
        call: The call as it should be, for the message.

    Raises:
        ValueError: If it is not a string.

    Example:
        >>> check_name((1, 2), "accuracy('first', (inputs, labels))")
        Traceback (most recent call last):
        ValueError: task is a tuple: give the task's name first, as in accuracy('first', (inputs, labels))
    """
    if isinstance(task, str):
        return
    if task is None or isinstance(task, int | float):
        raise ValueError(f"task {task!r}: give a name, a string, as in {call}")
    raise ValueError(f"task is {with_article(type(task).__name__)}: give the task's name first, as in {call}")


def check_new_name(task: object, learned: Sequence[str]) -> None:
    """Raise an error if a task has no name, or one that has been used."""
    check_name(task, "task('first', (inputs, labels))")
    if task in learned:
        raise ValueError(f"task {task!r} has already been learned; to learn it again, give it another name")


def task_number(task: str, learned: Sequence[str]) -> int:
    """Return the number of a learned task, from 0."""
    check_name(task, "evaluating('first')")
    if task not in learned:
        names = ", ".join(map(repr, learned)) or "none"
        raise ValueError(f"task {task!r} has not been learned; learned tasks: {names}")
    return learned.index(task)
