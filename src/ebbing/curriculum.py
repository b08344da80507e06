"""What is learned at each step, together with what: `Curriculum`.

The paper learns one task per step. A curriculum may mix tasks in a step (replay, joint training), and repeat them.

========  ==================================================================  ==============
here      meaning                                                             shape
========  ==================================================================  ==============
steps     task -> number of samples, for each step                            S dictionaries
samples   n_sj, samples of task j in step s                                   (S, T)
stored    samples of a task seen before: the ones kept (True), or fresh ones  bool
========  ==================================================================  ==============
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from ebbing._validate import check_count
from ebbing.learners import LinearLearner
from ebbing.problem import Problem, check_problem

Step = Mapping[int, int] | Mapping[str, int] | Mapping[int | str, int]
"""Task -> number of samples."""

Replay = Literal["concurrent", "sequential", "hybrid"]
"""How old tasks are replayed: in the step of the new task, in steps of their own, or whichever suits the pair."""


@dataclass(frozen=True)
class Curriculum:
    """The steps of training: in each step, some samples of some tasks are learned together.

    Args:
        steps: For each step, the number of samples of each task in it. A task is its place in the problem, from 0, or
            its name.
        stored: Whether samples of a task that was learned before are the ones it had then (a replay buffer) instead of
            fresh ones.

    Attributes:
        steps: The steps, as they were given.
        stored: Whether repeated samples are stored ones.

    Raises:
        ValueError: If there is no step, a step is empty, or a number of samples is not a whole number >= 1.

    Example:
        >>> Curriculum([{"cats": 50}, {"dogs": 50, "cats": 10}])
        Curriculum([{'cats': 50}, {'dogs': 50, 'cats': 10}])
    """

    steps: tuple[Step, ...]
    stored: bool = False

    def __init__(self, steps: Sequence[Step], *, stored: bool = False) -> None:
        if isinstance(steps, Mapping | str) or not isinstance(steps, Sequence):
            raise ValueError(f"steps={steps!r}: give a list of steps, such as [{{0: 50}}, {{1: 50, 0: 10}}]")
        if not steps:
            raise ValueError("steps: a curriculum has at least one step, such as {0: 50}")
        if not isinstance(stored, bool):
            raise ValueError(f"stored={stored!r}: give True or False")
        object.__setattr__(self, "steps", tuple(_checked(s, step) for s, step in enumerate(steps)))
        object.__setattr__(self, "stored", stored)

    @classmethod
    def sequential(cls, problem: Problem, cycles: int = 1, *, stored: bool = False) -> Self:
        """Return the curriculum of the paper: the tasks one after another, each with its n samples.

        Args:
            problem: The tasks, in the order of learning.
            cycles: How often the whole sequence is learned.
            stored: Whether later cycles see the samples of the first.

        Returns:
            The curriculum, T steps per cycle.

        Example:
            >>> Curriculum.sequential(Problem.orthogonal(T=2, n=50, p=100), cycles=2)
            Curriculum([{0: 50}, {1: 50}, {0: 50}, {1: 50}])
        """
        check_problem(problem)
        once = [{t: int(n)} for t, n in enumerate(problem.n)]
        return cls(once * check_count("cycles", cycles), stored=stored)

    @classmethod
    def joint(cls, problem: Problem) -> Self:
        """Return the curriculum that learns all tasks together in one step (multi-task training).

        Args:
            problem: The tasks.

        Returns:
            The curriculum, one step.

        Example:
            >>> Curriculum.joint(Problem.orthogonal(T=3, n=50, p=200))
            Curriculum([{0: 50, 1: 50, 2: 50}])
        """
        check_problem(problem)
        return cls([{t: int(n) for t, n in enumerate(problem.n)}])

    @classmethod
    def replay(cls, problem: Problem, memory: int, *, how: Replay = "concurrent", stored: bool = False) -> Self:
        """Return the curriculum that learns the tasks one after another and replays every old one at each step.

        Args:
            problem: The tasks, in the order of learning.
            memory: The number of samples of each old task, at every step; 0 for no replay.
            how: "concurrent": the samples of old tasks are mixed with those of the new one. "sequential": after each
                new task, the old ones follow one by one, each in a step of its own. "hybrid": old tasks similar to the
                new one (<w*_i - w_0, w*_t - w_0> > 0) are mixed with it, the others follow one by one.
            stored: Whether the replayed samples are the ones that the task was learned from, instead of fresh ones.

        Returns:
            The curriculum.

        Raises:
            ValueError: If `how` is unknown, or stored samples are more than a task has.

        Example:
            >>> problem = Problem.orthogonal(T=3, n=50, p=200)
            >>> Curriculum.replay(problem, memory=10)
            Curriculum([{0: 50}, {1: 50, 0: 10}, {2: 50, 0: 10, 1: 10}])
            >>> Curriculum.replay(problem, memory=10, how="sequential")
            Curriculum([{0: 50}, {1: 50}, {0: 10}, {2: 50}, {0: 10}, {1: 10}])
            >>> Curriculum.replay(problem, memory=0)
            Curriculum([{0: 50}, {1: 50}, {2: 50}])
        """
        check_problem(problem)
        memory = check_count("memory", memory, least=0)
        if how not in get_args(Replay):
            raise ValueError(f"how={how!r}: give one of {', '.join(get_args(Replay))}")
        steps: list[dict[int, int]] = []
        for t, n in enumerate(problem.n):
            old = range(t) if memory else ()
            together = [j for j in old if how == "concurrent" or (how == "hybrid" and problem.gram[t, j] > 0)]
            steps.append({t: int(n)} | dict.fromkeys(together, memory))
            steps += [{j: memory} for j in old if j not in together]
        plan = cls(steps, stored=stored)
        plan.samples(problem)
        return plan

    def samples(self, problem: Problem) -> npt.NDArray[np.int64]:
        """Return the number of samples of each task in each step.

        Args:
            problem: The tasks that the steps speak of.

        Returns:
            n_sj (S, T).

        Raises:
            ValueError: If a task is unknown, or more stored samples are replayed than a task was learned from.

        Example:
            >>> problem = Problem.orthogonal(T=3, n=50, p=200)
            >>> Curriculum([{0: 50}, {1: 50, "task 1": 10}]).samples(problem).tolist()
            [[50, 0, 0], [10, 50, 0]]
        """
        check_problem(problem)
        counts = np.zeros((len(self.steps), problem.T), dtype=np.int64)
        T = problem.T
        tasks: list[int] = []
        for s, step in enumerate(self.steps):
            places = [j if isinstance(j, int) and 0 <= j < T else _place(problem, s, j) for j in step]
            if len(set(places)) < len(places):
                twice = next(j for j in places if places.count(j) > 1)
                raise ValueError(f"step {s + 1} has task {problem.names[twice]!r} twice, by name and by place")
            tasks += places
        rows = np.repeat(np.arange(len(self.steps)), [len(step) for step in self.steps])
        counts[rows, tasks] = [number for step in self.steps for number in step.values()]
        if self.stored:
            for j, first in enumerate(first_steps_of(counts)):
                seen = counts[first - 1, j] if first else 0
                if (s := int(np.argmax(counts[:, j]))) + 1 != first and counts[s, j] > seen:
                    raise ValueError(
                        f"step {s + 1} replays {counts[s, j]} stored samples of {problem.names[j]!r}, which was "
                        f"learned from {seen}: replay at most {seen}, or fresh samples (stored=False)"
                    )
        return counts

    def first_steps(self, problem: Problem) -> npt.NDArray[np.int64]:
        """Return the step in which each task is first learned: forgetting counts from there.

        Args:
            problem: The tasks that the steps speak of.

        Returns:
            The number of the step, from 1 (T,); 0 for a task that is never learned.

        Example:
            >>> Curriculum([{1: 50}, {0: 50, 1: 5}]).first_steps(Problem.orthogonal(T=3, n=50, p=200)).tolist()
            [2, 1, 0]
        """
        return first_steps_of(self.samples(problem))

    def is_sequential(self, problem: Problem) -> bool:
        """Return whether this is the paper's curriculum: each task once, in order, with its n samples.

        Args:
            problem: The tasks that the steps speak of.

        Returns:
            Whether it is.
        """
        return len(self.steps) == problem.T and np.array_equal(self.samples(problem), np.diag(problem.n))

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __repr__(self) -> str:
        return f"Curriculum([{', '.join(map(repr, self.steps))}]{', stored=True' * self.stored})"


CurriculumLike = Curriculum | Sequence[Step]
"""A curriculum, or its steps."""


def check_curriculum(curriculum: object) -> Curriculum:
    """Return a curriculum; a list of steps becomes one.

    Args:
        curriculum: The curriculum, or its steps.

    Returns:
        The curriculum.

    Raises:
        ValueError: If it is something else, such as a learner.

    Example:
        >>> check_curriculum([{0: 50}, {1: 50}])
        Curriculum([{0: 50}, {1: 50}])
    """
    if isinstance(curriculum, Curriculum):
        return curriculum
    if isinstance(curriculum, list | tuple):
        return Curriculum(curriculum)
    if isinstance(curriculum, LinearLearner):
        raise ValueError(f"curriculum={curriculum!r} is a learner: write learner={curriculum!r}")
    raise ValueError(
        f"curriculum={reprlib.repr(curriculum)}: give a Curriculum, such as Curriculum([{{0: 50}}, {{1: 50, 0: 10}}])"
    )


def _checked(s: int, step: object) -> Step:
    if not isinstance(step, Mapping) or not step:
        raise ValueError(f"step {s + 1} is {step!r}: give task -> samples for at least one task, such as {{0: 50}}")
    for task in step:
        if isinstance(task, bool) or not isinstance(task, str | int | np.integer):
            raise ValueError(f"step {s + 1} has task {task!r}: give its place in the problem, from 0, or its name")
    return {
        task if isinstance(task, str) else int(task): check_count(f"step {s + 1}, task {task!r}", number)
        for task, number in step.items()
    }


def _place(problem: Problem, s: int, task: int | str) -> int:
    """Return the place of a task, from 0, that a step names."""
    if isinstance(task, str):
        if task not in problem.names:
            known = ", ".join(map(repr, problem.names[:8])) + ", ..." * (problem.T > 8)
            raise ValueError(f"step {s + 1} has task {task!r}: the problem has {known}")
        return problem.names.index(task)
    if not 0 <= task < problem.T:
        raise ValueError(f"step {s + 1} has task {task}: the problem has tasks 0..{problem.T - 1}")
    return task


def first_steps_of(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the step, from 1, in which each task is first learned, 0 for never (T,).

    Args:
        counts: Samples n_sj (S, T).

    Returns:
        The steps.
    """
    return np.where(counts.any(axis=0), np.argmax(counts > 0, axis=0) + 1, 0)


def learned_before(first_steps: npt.NDArray[np.int64], step: int) -> npt.NDArray[np.bool_]:
    """Return which tasks are first learned before a step: of these, forgetting in the step is the mean.

    Args:
        first_steps: The step in which each task is first learned, from 1; 0 for never (T,).
        step: The step, from 1.

    Returns:
        Whether each task is (T,).

    Example:
        >>> learned_before(np.array([1, 0, 2]), step=2).tolist()
        [True, False, False]
    """
    return (first_steps > 0) & (first_steps < step)
