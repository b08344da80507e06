"""The steps that a simulation goes through, and forgetting over them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ebbing import metrics
from ebbing._validate import Array
from ebbing.curriculum import Curriculum, CurriculumLike, check_curriculum, learned_before
from ebbing.learners import LinearLearner, check_learner
from ebbing.problem import Problem, check_problem
from ebbing.theory._step_checks import check_rates_converge, check_single_tasks

ONE_TASK = "forgetting compares a task with an earlier one: it needs at least two tasks, not 1"
NOTHING_EARLIER = "forgetting compares a step with an earlier one, and every task is first learned in the last step"


@dataclass(frozen=True)
class Step:
    """Samples of some tasks, learned together.

    Attributes:
        tasks: The tasks, by place from 0, in increasing order.
        samples: The number of samples of each.
    """

    tasks: tuple[int, ...]
    samples: tuple[int, ...]

    @property
    def size(self) -> int:
        """N, the number of samples in all."""
        return sum(self.samples)


@dataclass(frozen=True)
class Schedule:
    """A curriculum, checked against its problem and learner.

    Attributes:
        problem: The tasks.
        curriculum: The curriculum as given; None for the paper's.
        learner: How a step learns its samples.
        steps: The steps.
        stored: Whether a step sees samples of an earlier one again.
    """

    problem: Problem
    curriculum: Curriculum | None
    learner: LinearLearner
    steps: tuple[Step, ...]
    stored: bool

    @classmethod
    def of(cls, problem: Problem, curriculum: CurriculumLike | None, learner: LinearLearner) -> Schedule:
        """Return the steps of a curriculum, one task after another if it is None.

        Args:
            problem: The tasks.
            curriculum: What is learned at each step, a curriculum or its steps; None for the paper's curriculum.
            learner: How a step learns its samples.

        Returns:
            The schedule.

        Raises:
            ValueError: If the curriculum names an unknown task, SGD meets a mixture, or a learning rate diverges.
        """
        check_problem(problem)
        check_learner(learner)
        if curriculum is None:
            check_rates_converge(problem.n, problem.p, learner)
            steps = tuple(Step((t,), (int(n),)) for t, n in enumerate(problem.n))
            return cls(problem, None, learner, steps, stored=False)
        curriculum = check_curriculum(curriculum)
        counts = curriculum.samples(problem)
        places = [np.flatnonzero(row) for row in counts]
        steps = tuple(
            Step(tuple(map(int, tasks)), tuple(map(int, row[tasks])))
            for tasks, row in zip(places, counts, strict=True)
        )  # fmt: skip
        check_rates_converge(counts.sum(axis=1), problem.p, learner)
        check_single_tasks(counts, learner)
        repeated = np.count_nonzero(counts, axis=0).max() > 1
        return cls(problem, curriculum, learner, steps, stored=bool(curriculum.stored and repeated))

    @property
    def stored_samples(self) -> tuple[dict[int, int], ...]:
        """For each step, how many samples of which task learned first in it are seen again later."""
        most: dict[int, int] = {}
        seen: set[int] = set()
        for step in self.steps:
            for task, number in zip(step.tasks, step.samples, strict=True):
                if task in seen:
                    most[task] = max(most.get(task, 0), number)
                seen.add(task)
        seen.clear()
        kept = []
        for step in self.steps:
            kept.append({t: most[t] for t in step.tasks if self.stored and t not in seen and t in most})
            seen.update(step.tasks)
        return tuple(kept)


def forgetting(problem: Problem, curriculum: Curriculum | None, errors: Array) -> Array:
    """Return the mean of L[S, i] - L[first_i, i] over the tasks first learned before the last step.

    Args:
        problem: The tasks.
        curriculum: The steps; None for the paper's curriculum.
        errors: Error matrices (..., S+1, T).

    Returns:
        One value per matrix (...).

    Raises:
        ValueError: If no task was learned before the last step.
    """
    if curriculum is None or curriculum.is_sequential(problem):
        return np.asarray(metrics.forgetting(errors, kind="error"))
    old, first = earlier_tasks(problem, curriculum)
    if not len(old):
        raise ValueError(NOTHING_EARLIER)
    return np.ascontiguousarray(errors[..., -1, old] - errors[..., first, old]).mean(axis=-1)


def generalization(errors: Array) -> Array:
    """Return the mean of the last row over all tasks, those never learned included.

    Args:
        errors: Error matrices (..., S+1, T).

    Returns:
        One value per matrix (...).
    """
    return np.ascontiguousarray(errors[..., -1, :]).mean(axis=-1)  # contiguous: the same bits in every batch


def can_forget(problem: Problem, curriculum: Curriculum | None) -> bool:
    """Return whether a task is learned before the last step.

    Args:
        problem: The tasks.
        curriculum: The steps; None for the paper's curriculum.

    Returns:
        Whether forgetting is defined.
    """
    return problem.T > 1 if curriculum is None else len(earlier_tasks(problem, curriculum)[0]) > 0


def earlier_tasks(problem: Problem, curriculum: Curriculum) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the tasks first learned before the last step, and the step in which each was.

    Args:
        problem: The tasks.
        curriculum: The steps.

    Returns:
        Places of tasks, from 0, and numbers of steps, from 1; of the same length.
    """
    first = curriculum.first_steps(problem)
    old = np.flatnonzero(learned_before(first, len(curriculum)))
    return old, first[old]


def offsets(sizes: list[int]) -> list[slice]:
    """Return the slices of consecutive parts of the given sizes.

    >>> offsets([2, 3])
    [slice(0, 2, None), slice(2, 5, None)]
    """
    return [slice(a, b) for a, b in pairwise(np.cumsum([0, *sizes]).tolist())]
