"""Standard deviations of one run by simulation, where theory has none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ebbing.learners import OnePassSgd
from ebbing.simulation._steps import Schedule, can_forget
from ebbing.simulation.exact_law import Progress, simulate_metrics
from ebbing.theory import Expectation

_MOST_RUNS = 1000
_FEWEST_RUNS = 100
_WORK = 3e9
"""Multiplications that are worth it, about: a few seconds."""


@dataclass(frozen=True)
class SimulatedDeviations:
    """Standard deviations of single runs, estimated from some.

    Attributes:
        runs: How many runs.
        forgetting: That of F; None where no task is learned before the last step.
        generalization: That of G.
    """

    runs: int
    forgetting: float | None
    generalization: float


def simulate_deviations(e: Expectation, progress: Progress | None = None) -> SimulatedDeviations | None:
    """Estimate the standard deviations that an expectation does not know.

    Args:
        e: The expectation.
        progress: Called with the finished fraction, 0 to 1.

    Returns:
        The estimates; None if theory knows them, or 100 runs would take more than some seconds.
    """
    if not np.isnan(e.generalization_std):
        return None
    runs = int(min(_MOST_RUNS, _WORK / _work_of_a_run(Schedule.of(e.problem, e.curriculum, e.learner))))
    if runs < _FEWEST_RUNS:
        return None
    sample = simulate_metrics(e.problem, runs, curriculum=e.curriculum, learner=e.learner, progress=progress)
    forgets = can_forget(e.problem, e.curriculum)
    F = float(sample.forgetting.std(ddof=1)) if forgets else None
    return SimulatedDeviations(runs, F, float(sample.generalization.std(ddof=1)))


def _work_of_a_run(schedule: Schedule) -> float:
    """Return the multiplications of one run, about; `exact_law` has the orders."""
    p, work = schedule.problem.p, 0.0
    for step in schedule.steps:
        smaller = float(min(step.size, p))
        if isinstance(schedule.learner, OnePassSgd):
            work += step.size * 10.0
        elif schedule.stored or len(step.tasks) > 1:
            work += 10 * step.size * smaller * smaller
        else:
            work += 10 * smaller**2
    return work
