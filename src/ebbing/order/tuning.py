"""How far to learn: the best penalty, stopping time or averaging weight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ebbing.curriculum import Curriculum, check_curriculum
from ebbing.learners import Averaged, GradientFlow, LinearLearner, MinimumNorm, Ridge
from ebbing.order._curriculum_values import propagate_many
from ebbing.order.objective import Criterion, Objective
from ebbing.problem import Problem, check_problem
from ebbing.theory._step_rates import StepRates

_SWEEPS = 20


@dataclass(frozen=True)
class Tuning:
    """The learner of each step with the least objective.

    Attributes:
        learners: The learner of each step (S,); all the same unless each step has its own.
        value: The objective with them.
        to_the_end: The objective of learning every step to the end; inf where its expectation is.
    """

    learners: tuple[LinearLearner, ...]
    value: float
    to_the_end: float


def best_penalty(
    problem: Problem,
    curriculum: Curriculum | None = None,
    objective: Objective = "generalization",
    *,
    per_step: bool = False,
) -> Tuning:
    """Find the penalty of `Ridge` with the least expected objective.

    Args:
        problem: The tasks, in the order of learning.
        curriculum: What is learned at each step, with fresh samples; one task after another if None.
        objective: "forgetting", "generalization", the weight of forgetting from 0 to 1, or weights of both.
        per_step: Whether each step has a penalty of its own.

    Returns:
        The penalties, as learners. A local minimum of a fine grid's best cell.

    Example:
        >>> tuning = best_penalty(Problem.orthogonal(T=2, n=20, p=40, sigma=0.5))
        >>> tuning.value < tuning.to_the_end
        True
    """
    scale = np.sqrt(problem.p)
    return _tune(problem, curriculum, objective, lambda x: Ridge(scale * 10.0**x), (-3.0, 5.0), per_step)


def best_stopping_time(
    problem: Problem,
    curriculum: Curriculum | None = None,
    objective: Objective = "generalization",
    *,
    per_step: bool = False,
) -> Tuning:
    """Find the time of `GradientFlow` with the least expected objective: early stopping.

    Args:
        problem: The tasks, in the order of learning.
        curriculum: What is learned at each step, with fresh samples; one task after another if None.
        objective: "forgetting", "generalization", the weight of forgetting from 0 to 1, or weights of both.
        per_step: Whether each step has a time of its own.

    Returns:
        The times, as learners.

    Example:
        >>> tuning = best_stopping_time(Problem.orthogonal(T=2, n=20, p=40, sigma=0.5))
        >>> tuning.value < tuning.to_the_end
        True
    """
    return _tune(problem, curriculum, objective, lambda x: GradientFlow(10.0**x / problem.p), (-4.0, 2.0), per_step)


def best_weight(
    problem: Problem,
    curriculum: Curriculum | None = None,
    objective: Objective = "generalization",
    *,
    per_step: bool = False,
) -> Tuning:
    """Find the weight of `Averaged` with the least expected objective: how much of each step to keep.

    Args:
        problem: The tasks, in the order of learning.
        curriculum: What is learned at each step, with fresh samples; one task after another if None.
        objective: "forgetting", "generalization", the weight of forgetting from 0 to 1, or weights of both.
        per_step: Whether each step has a weight of its own.

    Returns:
        The weights, as learners.

    Example:
        >>> tuning = best_weight(Problem.orthogonal(T=2, n=20, p=40, sigma=0.5))
        >>> tuning.value < tuning.to_the_end
        True
    """
    return _tune(problem, curriculum, objective, lambda x: Averaged(float(x)), (1e-3, 1.0), per_step)


def _tune(
    problem: Problem,
    curriculum: Curriculum | None,
    objective: Objective,
    learner: Callable[[float], LinearLearner],
    interval: tuple[float, float],
    per_step: bool,
) -> Tuning:
    check_problem(problem)
    criterion = Criterion.of(problem.replace(sigma=0, unmodeled=0), objective)  # its weights; noise may be tuned away
    steps = Curriculum.sequential(problem) if curriculum is None else check_curriculum(curriculum)
    if steps.stored:
        raise ValueError("stored samples: the best learner is known for fresh ones; leave stored=True out")
    samples = steps.samples(problem)
    N, S = samples.sum(axis=1), len(samples)

    def value(rates: StepRates) -> float:
        every = StepRates(*(getattr(rates, name)[None] for name in _NAMES))
        F, G = propagate_many(problem, samples[None], every)
        return criterion.generalization * float(G[0]) + (
            criterion.forgetting * float(F[0]) if criterion.forgetting else 0.0
        )

    def one_for_all(x: float) -> float:
        return value(StepRates.of(N, problem.p, learner(x)))

    end = value(StepRates.of(N, problem.p, MinimumNorm()))
    places = np.full(S, _minimum(one_for_all, interval))
    best = one_for_all(places[0])
    if per_step:
        rates = StepRates.of(N, problem.p, learner(places[0]))
        columns = np.array([getattr(rates, name) for name in _NAMES])  # (5, S)
        for _ in range(_SWEEPS):
            before = best
            for s in range(S):

                def own(x: float, s: int = s) -> float:
                    changed = columns.copy()
                    alone = StepRates.of(N[s : s + 1], problem.p, learner(x))
                    changed[:, s] = [getattr(alone, name)[0] for name in _NAMES]
                    return value(StepRates(*changed))

                x = _minimum(own, interval)
                if (found := own(x)) < best:
                    best, places[s] = found, x
                    alone = StepRates.of(N[s : s + 1], problem.p, learner(x))
                    columns[:, s] = [getattr(alone, name)[0] for name in _NAMES]
            if before - best <= 1e-10 * abs(best):
                break
    return Tuning(tuple(learner(x) for x in places), best, end)


_NAMES = ("retained", "replaced", "unfinished", "conflict", "noise")


def _minimum(function: Callable[[float], float], interval: tuple[float, float], cells: int = 24) -> float:
    """Return where a function of one variable is least: the best cell of a grid, then Brent's method."""
    from scipy.optimize import minimize_scalar

    grid = np.linspace(*interval, cells + 1)
    values = [function(x) for x in grid]
    best = int(np.argmin(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, cells)]
    found = minimize_scalar(function, bounds=(low, high), method="bounded", options={"xatol": 1e-6})
    return float(found.x) if found.fun < values[best] else float(grid[best])
