"""The recursion over the steps of a curriculum, as `_recursion` has it for one task after another.

Errors split into four parts, which the same linear map carries from step to step (see `StepRates`): those of the
initial model, of the gaps between tasks, of noise, and of conflict, the disagreement of tasks learned in one step.
Forgetting is the sum of a part's changes after the step in which a task was first learned. A change is never formed as
a difference of two errors: at p = 10^12 it is 10^-10 of them and would keep only six digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ebbing._validate import Array
from ebbing.curriculum import Curriculum, first_steps_of
from ebbing.learners import Learner
from ebbing.problem import Problem
from ebbing.theory._step_checks import check_finite, check_rates_converge, check_single_tasks
from ebbing.theory._step_rates import StepRates
from ebbing.theory._terms import CurriculumTerms

START, GAPS, NOISE, CONFLICT = range(4)
"""The parts of errors, in the order of the terms F1, F2, F3, F4."""


@dataclass(frozen=True)
class Mixtures:
    """What the steps of a curriculum learn.

    Attributes:
        shares: n_sj / N_s (S, T).
        gaps: |w*_i - c_s|^2, c_s the mean ground truth of the step (S, T).
        dispersion: Mean squared distance of the step's ground truths to their mean (S,).
        variance: Mean noise variance of the step's samples (S,).
    """

    shares: Array
    gaps: Array
    dispersion: Array
    variance: Array

    @classmethod
    def of(cls, samples: npt.NDArray[np.int64], gaps: Array, variance: Array) -> Mixtures:
        """Return the mixtures of n_sj samples (S, T), with |w*_i - w*_j|^2 (T, T) and the noise variance of tasks."""
        shares = samples / samples.sum(axis=1, keepdims=True)
        mean_gaps = shares @ gaps
        dispersion = (shares * mean_gaps).sum(axis=1) / 2
        return cls(shares, mean_gaps - dispersion[:, None], dispersion, shares @ variance)


def propagate(
    start: Array, mixtures: Mixtures, rates: StepRates, first_steps: npt.NDArray[np.int64]
) -> tuple[Array, Array]:
    """Return the expected errors and the forgetting after each step, in parts.

    Args:
        start: |w_0 - w*_i|^2 (T,).
        mixtures: What the steps learn.
        rates: How far they learn it.
        first_steps: The step, from 1, in which each task is first learned; 0 for never (T,).

    Returns:
        E L_s[i] (S+1, 4, T), and E (L_s[i] - L_first[i]) for the tasks learned before s, else 0 (S+1, 4, T).
    """
    S, T = mixtures.shares.shape
    errors = np.zeros((S + 1, 4, T))
    errors[0, START] = start
    added = np.zeros((S, 4, T))
    added[:, GAPS] = rates.replaced[:, None] * mixtures.gaps
    added[:, GAPS] += (rates.unfinished * mixtures.dispersion)[:, None]
    for part, coefficient, amount in (
        (CONFLICT, rates.conflict, mixtures.dispersion),
        (NOISE, rates.noise, mixtures.variance),
    ):
        # Without noise there is no error, even where its coefficient is infinite.
        added[:, part] = np.multiply(coefficient, amount, where=amount > 0, out=np.zeros(S))[:, None]
    for s in range(S):
        if rates.unfinished[s]:  # |w - c|^2 is the mean error on the tasks of the step, less their dispersion
            added[s] -= rates.unfinished[s] * (errors[s] @ mixtures.shares[s])[:, None]
        np.multiply(errors[s], rates.retained[s], out=errors[s + 1])
        errors[s + 1] += added[s]
    changes = added - rates.replaced[:, None, None] * errors[:-1]
    changes *= ((first_steps > 0) & (first_steps <= np.arange(S)[:, None]))[:, None]
    return errors, np.concatenate([np.zeros((1, 4, T)), np.cumsum(changes, axis=0)])


def expected_errors(problem: Problem, curriculum: Curriculum, learner: Learner) -> tuple[Array, Array, CurriculumTerms]:
    """Return the expected errors after each step, the forgetting (both (S+1, T)) and the terms."""
    samples = curriculum.samples(problem)
    first = first_steps_of(samples)
    N = samples.sum(axis=1)
    check_rates_converge(N, problem.p, learner)
    check_single_tasks(samples, learner)
    mixtures = Mixtures.of(samples, problem.gaps, problem.noise_variance)
    check_finite(problem, samples, mixtures.dispersion, mixtures.variance, learner)
    errors, forgetting = propagate(problem.start, mixtures, StepRates.of(N, problem.p, learner), first)
    earlier = (first > 0) & (first < len(samples))
    F = forgetting[-1][:, earlier].mean(axis=1) if earlier.any() else np.full(4, np.nan)
    G = errors[-1].mean(axis=1)
    terms = CurriculumTerms(
        **{f"F{k + 1}": float(F[k]) for k in range(4)}, **{f"G{k + 1}": float(G[k]) for k in range(4)}
    )
    return errors.sum(axis=1), forgetting.sum(axis=1), terms
