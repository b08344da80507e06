"""How far to learn: the best penalty, stopping time or averaging weight, with a bound on all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ebbing._pages import Page
from ebbing._tables import Table, Tabular, format_number, to_frame
from ebbing._validate import Array, check_seconds
from ebbing.curriculum import Curriculum, CurriculumLike, check_curriculum
from ebbing.learners import LinearLearner, MinimumNorm
from ebbing.order._clock import Clock, heed_interrupts
from ebbing.order._curriculum_values import Counts, propagate_many
from ebbing.order._tables import describe_objective
from ebbing.order._tuning_bound import TOLERANCE, Steps, least
from ebbing.order._tuning_boxes import bound_boxes
from ebbing.order._tuning_families import Family, RateTable, averaged, gradient_flow, ridge
from ebbing.order.objective import Criterion, Objective
from ebbing.problem import Problem, check_problem
from ebbing.theory._step_checks import check_finite
from ebbing.theory._step_rates import StepRates
from ebbing.theory._steps import Mixtures

if TYPE_CHECKING:
    import pandas as pd

_SWEEPS, _CELLS = 20, 24


@dataclass(frozen=True, eq=False)
class Tuning(Tabular):
    """The learner of each step with the least objective.

    Attributes:
        learners: The learner of each step (S,); all the same unless each step has its own.
        value: The objective with them.
        lower_bound: No learner of this kind, within the range that was searched, is below it.
        proved: Whether none is better by more than `tolerance`.
        tolerance: Differences below it count as ties: a millionth of the largest value on a grid over the range.
        to_the_end: The objective of learning every step to the end; inf where its expectation is.
        objective: What is minimized.
    """

    learners: tuple[LinearLearner, ...]
    value: float
    lower_bound: float
    proved: bool
    tolerance: float
    to_the_end: float
    objective: Objective

    @property
    def gap(self) -> float:
        """The largest possible distance of the value from the best one, `value - lower_bound`."""
        return self.value - self.lower_bound

    def to_frame(self) -> pd.DataFrame:
        """Return the learner of each step as a pandas DataFrame.

        Returns:
            One row per step, with the column `step` (from 1) and one that has the name of the number that was tuned:
            `penalty`, `time` or `weight`.
        """
        (number,) = vars(self.learners[0])
        values = [vars(learner)[number] for learner in self.learners]
        return to_frame({"step": range(1, len(values) + 1), number: values})

    def _page(self) -> Page:
        return Page("How far to learn")

    def _tables(self) -> Sequence[Table]:
        quantity = describe_objective(self.objective)
        one = len(set(self.learners)) == 1
        (number,) = vars(self.learners[0])
        rows = [["learned to the end", format_number(self.to_the_end)], ["tuned", format_number(self.value)]]
        steps = [
            [f"all {len(self.learners)} steps" if one else f"step {s + 1}", format_number(vars(how)[number], ".4g")]
            for s, how in enumerate(self.learners[:1] if one else self.learners)
        ]
        plural = number if one else "penalties" if number == "penalty" else f"{number}s"
        if self.proved:
            certificate = f"Proved: no {plural} within the range searched reduce{'s' * one} the {quantity} further."
        else:
            below = format_number(self.lower_bound)
            certificate = f"Not proved: no {plural} within the range searched lead{'s' * one} below {below}."
        kind = type(self.learners[0]).__name__
        return (
            Table(f"The best {plural} of {kind} for the least {quantity}.", ["", quantity], rows, [certificate]),
            Table("", ["", number], steps),
        )


def best_penalty(
    problem: Problem,
    curriculum: CurriculumLike | None = None,
    objective: Objective = "generalization",
    *,
    per_step: bool = False,
    seconds: float = 3.0,
) -> Tuning:
    """Find the penalty of `Ridge` with the least expected objective.

    Args:
        problem: The tasks, in the order of learning.
        curriculum: What is learned at each step, with fresh samples; one task after another if None.
        objective: "forgetting", "generalization", the weight of forgetting from 0 to 1, or weights of both.
        per_step: Whether each step has a penalty of its own.
        seconds: Approximate time for the search and its bound. Ctrl-C ends it.

    Returns:
        The best penalties, as learners. Penalties from 10^-3 sqrt(p) to 10^5 sqrt(p) are searched. A single one for all
        steps is proved best. One for each step is proved best if there are few steps; otherwise it has a lower bound.

    Example:
        >>> tuning = best_penalty(Problem.orthogonal(T=2, n=20, p=40, sigma=0.5))
        >>> tuning.value < tuning.to_the_end, tuning.proved
        (True, True)
    """
    return _tune(problem, curriculum, objective, ridge, per_step, seconds)


def best_stopping_time(
    problem: Problem,
    curriculum: CurriculumLike | None = None,
    objective: Objective = "generalization",
    *,
    per_step: bool = False,
    seconds: float = 3.0,
) -> Tuning:
    """Find the time of `GradientFlow` with the least expected objective: early stopping.

    Args:
        problem: The tasks, in the order of learning.
        curriculum: What is learned at each step, with fresh samples; one task after another if None.
        objective: "forgetting", "generalization", the weight of forgetting from 0 to 1, or weights of both.
        per_step: Whether each step has a time of its own.
        seconds: Approximate time for the search and its bound. Ctrl-C ends it.

    Returns:
        The best times, as learners. Times from 10^-4 / p to 10^2 / p are searched. A single one for all steps is proved
        best. One for each step is proved best if there are few steps; otherwise it has a lower bound.

    Example:
        >>> tuning = best_stopping_time(Problem.orthogonal(T=2, n=20, p=40, sigma=0.5))
        >>> tuning.value < tuning.to_the_end, tuning.proved
        (True, True)
    """
    return _tune(problem, curriculum, objective, gradient_flow, per_step, seconds)


def best_weight(
    problem: Problem,
    curriculum: CurriculumLike | None = None,
    objective: Objective = "generalization",
    *,
    per_step: bool = False,
    seconds: float = 3.0,
) -> Tuning:
    """Find the weight of `Averaged` with the least expected objective: how much of each step to keep.

    Args:
        problem: The tasks, in the order of learning.
        curriculum: What is learned at each step, with fresh samples; one task after another if None.
        objective: "forgetting", "generalization", the weight of forgetting from 0 to 1, or weights of both.
        per_step: Whether each step has a weight of its own.
        seconds: Approximate time for the search and its bound. Ctrl-C ends it.

    Returns:
        The best weights, as learners. Weights from 0.001 to 1 are searched. A single one for all steps is proved best.
        One for each step is proved best if there are few steps; otherwise it has a lower bound.

    Example:
        >>> tuning = best_weight(Problem.orthogonal(T=2, n=20, p=40, sigma=0.5))
        >>> tuning.value < tuning.to_the_end, tuning.proved
        (True, True)
    """
    return _tune(problem, curriculum, objective, averaged, per_step, seconds)


def _tune(
    problem: Problem,
    curriculum: CurriculumLike | None,
    objective: Objective,
    family_of: Callable[[int], Family],
    per_step: bool,
    seconds: float,
) -> Tuning:
    check_problem(problem)
    criterion = Criterion.of(problem.replace(sigma=0, unmodeled=0), objective)  # its weights; noise may be tuned away
    given = Curriculum.sequential(problem) if curriculum is None else check_curriculum(curriculum)
    if given.stored:
        raise ValueError("stored samples: the best learner is known for fresh ones; leave stored=True out")
    clock, family, samples = Clock(check_seconds(seconds)), family_of(problem.p), given.samples(problem)
    mixtures = Mixtures.of(samples, problem)
    check_finite(problem, samples, mixtures.dispersion, mixtures.variance, family.learner(family.range[1]))
    steps = Steps.of(samples, problem, mixtures, criterion)
    table = RateTable(family, samples.sum(axis=1), problem.p, mixtures.dispersion, mixtures.variance)
    grid, S = np.linspace(*family.range, _CELLS + 1), len(samples)
    with heed_interrupts():
        x, value, bound = least(steps, family, table.at_one, grid, clock)
        x = _polish(lambda x: float(steps.errors(table.at_one(np.array([x])))[1][0]), x, (grid[1] - grid[0]) / 16, grid)
        scale = float(np.abs(steps.errors(table.at_one(grid))[1]).max())
        places = np.full(S, x)
        if per_step and S > 1:
            places, value = _descend(steps, table, grid, places, clock)
            bound = bound_boxes(steps, family, table.at, value, scale, clock)
    learners = tuple(family.learner(x) for x in places)
    exact, end = (_exact_value(problem, samples, criterion, each) for each in (learners, [MinimumNorm()] * S))
    bound, tolerance = min(bound, exact), TOLERANCE * scale
    return Tuning(learners, exact, bound, exact - bound <= 2 * tolerance, 2 * tolerance, end, criterion.objective)


def _polish(value: Callable[[float], float], x: float, width: float, grid: Array) -> float:
    """Return the place of the least value near x, to more digits than its value needs."""
    from scipy.optimize import minimize_scalar

    ends = (max(x - width, grid[0]), min(x + width, grid[-1]))
    found: Any = minimize_scalar(value, bounds=ends, method="bounded", options={"xatol": 1e-7})
    return float(found.x) if found.fun < value(x) else x


def _descend(steps: Steps, table: RateTable, grid: Array, places: Array, clock: Clock) -> tuple[Array, float]:
    """Return a number for each step, and the objective: each in turn is set to its best value."""
    from scipy.optimize import minimize_scalar

    best = float(steps.errors(table.at(places[None]))[1][0])
    for _ in range(_SWEEPS):
        before = best
        for s in range(len(places)):

            def own(x: Array, s: int = s, others: Array = places) -> Array:
                several = np.tile(others, (len(x), 1))
                several[:, s] = x
                return steps.errors(table.at(several))[1]

            values = own(grid)
            cell = int(np.argmin(values))
            found: Any = minimize_scalar(
                lambda x, own=own: own(np.array([x]))[0],
                bounds=(grid[max(cell - 1, 0)], grid[min(cell + 1, len(grid) - 1)]),
                method="bounded",
                options={"xatol": 1e-7},
            )
            x, value = (found.x, found.fun) if found.fun < values[cell] else (grid[cell], values[cell])
            if value < best:
                best, places = float(value), np.where(np.arange(len(places)) == s, x, places)
        if before - best <= 1e-12 * abs(best) or clock.late:
            break
    return places, best


def _exact_value(problem: Problem, samples: Counts, criterion: Criterion, learners: Sequence[LinearLearner]) -> float:
    """Return the objective as `expect` has it: forgetting is a sum of changes there, not a difference of errors."""
    each = [StepRates.of(n, problem.p, how) for n, how in zip(samples.sum(axis=1)[:, None], learners, strict=True)]
    names = ("retained", "replaced", "unfinished", "conflict", "noise")
    rates = StepRates(*(np.array([[getattr(one, name)[0] for one in each]]) for name in names))
    F, G = propagate_many(problem, samples[None], rates)
    return criterion.generalization * float(G[0]) + (criterion.forgetting * float(F[0]) if criterion.forgetting else 0)
