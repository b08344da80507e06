"""What is learned in each step of an order, as users give it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ebbing import metrics
from ebbing._validate import Array, check_count

Step = str | int | Mapping[str | int, int]
"""What one step learns: a task, or a mixture {task: number of examples}."""

_ROUNDING = 1e-14
"""Forgetting below this share of the largest error is rounding error."""

ALL = -1
"""The number of examples of a task that is learned whole."""


def parse_steps(order: Any, names: Sequence[str], sizes: Sequence[int]) -> list[dict[int, int]]:
    """Return each step of an order as {place of a task: number of examples}.

    Args:
        order: Steps, a `Curriculum`, or None for all tasks as given.
        names: Names of the tasks (T,).
        sizes: Training examples of each task (T,).

    Returns:
        The steps, `ALL` examples for a task that is learned whole.

    Raises:
        ValueError: If a task is not known, a step is empty, or a mixture asks for more examples than there are.

    Example:
        >>> parse_steps(["dogs", {"cats": 5, 1: 7}], ["cats", "dogs"], [10, 10])
        [{1: -1}, {0: 5, 1: 7}]
    """
    given = range(len(names)) if order is None else getattr(order, "steps", order)
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence | np.ndarray):
        raise ValueError(f"order={order!r}: give a list of steps, such as {list(names[:2])}")
    if not len(given):
        raise ValueError("order: give at least one step")
    steps = []
    for step in given:
        if not isinstance(step, Mapping):
            steps.append({_place(step, names): ALL})
            continue
        mixture = {_place(task, names): check_count(f"examples of {task!r}", n) for task, n in step.items()}
        if not mixture:
            raise ValueError("order: a step without any task; give {task: number of examples}")
        for task, number in mixture.items():
            if number > sizes[task]:
                raise ValueError(
                    f"{number} examples of {names[task]!r}: the forecast has {sizes[task]} training examples of it; "
                    "ask for fewer, or make the forecast with a larger train_size"
                )
        steps.append(mixture)
    return steps


def step_columns(steps: Sequence[Mapping[int, int]]) -> list[int]:
    """Return the tasks that the columns of an order's error matrix stand for.

    Args:
        steps: The steps.

    Returns:
        The task of each step; if a step is a mixture, all tasks in the order in which they first occur.
    """
    if all(len(step) == 1 for step in steps):
        return [next(iter(step)) for step in steps]
    return list(dict.fromkeys(task for step in steps for task in step))


def step_rows(steps: Sequence[Mapping[int, int]], train: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the training rows of each step.

    Args:
        steps: The steps.
        train: The training rows of each task (T,).

    Returns:
        The rows; of a part of a task, its first ones.
    """
    found = []
    for step in steps:
        parts = [train[t] if n == ALL else train[t][:n] for t, n in step.items()]
        found.append(parts[0] if len(parts) == 1 else np.concatenate(parts))
    return found


def forgetting_of_steps(errors: Array, steps: Sequence[Mapping[int, int]]) -> float:
    """Return forgetting: the mean over earlier tasks of the error at the end minus that when they were just learned.

    Args:
        errors: The error matrix of two steps or more, with columns as in `step_columns`.
        steps: The steps. With mixtures, a task counts as learned in the step in which it first occurs.

    Returns:
        F_T; 0 if it is zero but for rounding errors, as where gains and losses of equally many answers cancel.
    """
    if all(len(step) == 1 for step in steps):
        found = float(metrics.forgetting(errors, kind="error"))
    else:
        first = [next(s for s, step in enumerate(steps, 1) if task in step) for task in step_columns(steps)]
        lost = [errors[-1, i] - errors[s, i] for i, s in enumerate(first) if s < len(steps)]
        found = float(np.mean(lost)) if lost else 0.0
    return 0.0 if abs(found) < _ROUNDING * np.abs(errors).max() else found


def _place(task: Any, names: Sequence[str]) -> int:
    if isinstance(task, str) and task in names:
        return list(names).index(task)
    if isinstance(task, int | np.integer) and not isinstance(task, bool) and 0 <= task < len(names):
        return int(task)
    raise ValueError(f"task {task!r}: give one of {', '.join(names)}, or a place from 0 to {len(names) - 1}")
