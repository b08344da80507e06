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
from ebbing.curriculum import Curriculum, first_steps_of, learned_before
from ebbing.learners import LinearLearner, MinimumNorm
from ebbing.problem import Problem
from ebbing.theory._step_checks import (
    check_finite,
    check_rates_converge,
    check_representable,
    check_single_tasks,
    check_stored,
)
from ebbing.theory._step_rates import StepRates, warn_of_rare_eigenvalues
from ebbing.theory._terms import CurriculumTerms

START, GAPS, NOISE, CONFLICT = range(4)
"""The parts of errors, in the order of the terms F1, F2, F3, F4."""


@dataclass(frozen=True)
class Mixtures:
    """What some steps learn; zero where a step has no samples.

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
    def of(cls, samples: npt.NDArray[np.int64], problem: Problem) -> Mixtures:
        """Return the mixtures of n_sj samples (S, T)."""
        shares = samples / np.maximum(samples.sum(axis=1, keepdims=True), 1)
        mean_gaps = shares @ problem.gaps
        dispersion = (shares * mean_gaps).sum(axis=1) / 2
        return cls(shares, mean_gaps - dispersion[:, None], dispersion, shares @ problem.noise_variance)


@dataclass(frozen=True)
class LinearSteps:
    """The map of expected errors in each step: L -> retained L - unfinished <shares, L> + added.

    Attributes:
        retained: What a step keeps of every error (S,).
        replaced: 1 - retained (S,).
        unfinished: What it takes from the mean error on its own tasks (S,).
        shares: n_sj / N_s (S, T).
        added: What it adds to each part of the error on each task (S, 4, T).
    """

    retained: Array
    replaced: Array
    unfinished: Array
    shares: Array
    added: Array

    @classmethod
    def of(cls, mixtures: Mixtures, rates: StepRates) -> LinearSteps:
        """Return the map of steps with fresh samples."""
        S, T = mixtures.shares.shape
        added = np.zeros((S, 4, T))
        added[:, GAPS] = rates.replaced[:, None] * mixtures.gaps
        added[:, GAPS] += (rates.unfinished * mixtures.dispersion)[:, None]  # |w - c|^2 = <shares, L> - dispersion
        added[:, CONFLICT] = _scaled(rates.conflict, mixtures.dispersion)[:, None]
        added[:, NOISE] = _scaled(rates.noise, mixtures.variance)[:, None]
        return cls(rates.retained, rates.replaced, rates.unfinished, mixtures.shares, added)

    def propagate(self, start: Array, first_steps: npt.NDArray[np.int64]) -> tuple[Array, Array]:
        """Return the expected errors and the forgetting after each step, in parts.

        Args:
            start: |w_0 - w*_i|^2 (T,).
            first_steps: The step, from 1, in which each task is first learned; 0 for never (T,).

        Returns:
            E L_s[i] (S+1, 4, T), and E (L_s[i] - L_first[i]) for the tasks learned before s, else 0 (S+1, 4, T).
        """
        S, _, T = self.added.shape
        errors, added = np.zeros((S + 1, 4, T)), self.added.copy()
        errors[0, START] = start
        for s in range(S):
            if self.unfinished[s]:
                added[s] -= self.unfinished[s] * (errors[s] @ self.shares[s])[:, None]
            np.multiply(errors[s], self.retained[s], out=errors[s + 1])
            errors[s + 1] += added[s]
        changes = added - self.replaced[:, None, None] * errors[:-1]
        changes *= ((first_steps > 0) & (first_steps <= np.arange(S)[:, None]))[:, None]
        return errors, np.concatenate([np.zeros((1, 4, T)), np.cumsum(changes, axis=0)])


def expected_errors(
    problem: Problem, curriculum: Curriculum, learner: LinearLearner
) -> tuple[Array, Array, CurriculumTerms]:
    """Return the expected errors after each step, the forgetting (both (S+1, T)) and the terms."""
    samples = curriculum.samples(problem)
    first = first_steps_of(samples)
    N = samples.sum(axis=1)
    check_rates_converge(N, problem.p, learner)
    check_single_tasks(samples, learner)
    replayed = np.where(first < np.arange(1, len(N) + 1)[:, None], samples, 0) * curriculum.stored  # (S, T)
    check_stored(problem, samples, replayed, learner)
    mixtures = Mixtures.of(samples, problem)
    check_finite(problem, samples, mixtures.dispersion, mixtures.variance, learner)
    # With n >= p the weights before do not matter, and a sample is as good as a fresh one.
    in_null_space = replayed.any(axis=1) & (problem.p > N)
    steps = LinearSteps.of(mixtures, StepRates.of(N, problem.p, learner))
    warn_of_rare_eigenvalues(N, problem.p, learner)
    if in_null_space.any():
        steps = with_memory(steps, in_null_space, samples - replayed, replayed, problem)
    with np.errstate(over="ignore", invalid="ignore"):
        errors, forgetting = steps.propagate(problem.start, first)
    check_representable(errors, learner)
    earlier = learned_before(first, len(samples))
    F = forgetting[-1][:, earlier].mean(axis=1) if earlier.any() else np.full(4, np.nan)
    G = errors[-1].mean(axis=1)
    terms = {f"{letter}{k + 1}": float(part) for letter, parts in (("F", F), ("G", G)) for k, part in enumerate(parts)}
    return errors.sum(axis=1), forgetting.sum(axis=1), CurriculumTerms(**terms)


def with_memory(
    steps: LinearSteps,
    where: npt.NDArray[np.bool_],
    fresh: npt.NDArray[np.int64],
    stored: npt.NDArray[np.int64],
    problem: Problem,
) -> LinearSteps:
    """Return the map in which some steps replay m stored samples that the model fits already.

    Such a step moves the weights in the null space of its memory M alone, where features have dimension p - m. Its
    error within the span of M is what the stored samples give, whatever was learned since: that of a step on M that
    starts at w*_i. It acts as label noise on the new samples (docs/theory/steps.md, section 4).

    Args:
        steps: The map with fresh samples instead.
        where: The steps with a memory (S,).
        fresh: New samples n_sj (S, T).
        stored: Stored samples m_sj (S, T).
        problem: The tasks.
    """
    p, learner, added = problem.p, MinimumNorm(), steps.added.copy()
    retained, replaced = steps.retained.copy(), steps.replaced.copy()
    for s in np.flatnonzero(where):
        m, n = int(stored[s].sum()), int(fresh[s].sum())
        outside = (p - m) / p
        span = LinearSteps.of(Mixtures.of(stored[[s]], problem), StepRates.of(np.array([m]), p, learner)).added[0]
        new, rates = Mixtures.of(fresh[[s]], problem), StepRates.of(np.array([n]), p - m, learner)
        within = LinearSteps.of(new, rates).added[0]  # (4, T)
        seen = span @ new.shares[0]  # the error within the span on the tasks of the new samples, in parts
        added[s] = rates.replaced[0] * span
        added[s, GAPS] += outside * within[GAPS]
        added[s, CONFLICT] += outside * within[CONFLICT] + _scaled(rates.noise, seen[[GAPS]] + seen[[CONFLICT]])
        added[s, NOISE] += within[NOISE] + _scaled(rates.noise, seen[[NOISE]])
        retained[s], replaced[s] = rates.retained[0], rates.replaced[0]
    return LinearSteps(retained, replaced, steps.unfinished, steps.shares, added)


def _scaled(coefficient: Array, amount: Array) -> Array:
    """Return the product; without noise there is no error, even where its coefficient is infinite."""
    return np.multiply(coefficient, amount, where=amount > 0, out=np.zeros_like(amount))
