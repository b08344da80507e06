"""Samples of the error matrix with its exact law, at a cost that does not depend on p, and mostly not on n.

Why n and p do not matter. Everything is rotationally symmetric about span{w*_i}, of dimension k <= T. So a run lives
in that span plus one further direction whose orientation is irrelevant: w_t = (a in R^k, b >= 0), and
L[t,i] = |a - alpha_i|^2 + b^2, where the rows alpha_i factor the Gram matrix.

==========================================  =================  ===========================
step                                        law                cost of a step of a run
==========================================  =================  ===========================
one task, minimum norm or averaged          `SingleTask`       T
mixture, minimum norm or averaged           `Mixture`          (tasks in it)^4
one task, another filter                    `FilteredTask`     min(n, p)^2
one task, one-pass SGD                      `OnePass`          n
stored samples; mixtures with a filter      `reduced_runs`     N^3, N samples in the step
==========================================  =================  ===========================

Of a Gaussian vector of R^p only the k+1 kept coordinates and the length of all others are drawn; what falls outside
the span is folded into b. docs/theory/simulation.md has the proofs. `simulate_textbook` draws X and y themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ebbing._limits import check_memory
from ebbing._progress import Progress
from ebbing._validate import Array, check_count, check_seed
from ebbing.curriculum import CurriculumLike
from ebbing.learners import Averaged, LinearLearner, MinimumNorm, OnePassSgd
from ebbing.problem import Problem
from ebbing.simulation._filters import FilteredTask, OnePass
from ebbing.simulation._minimum_norm import Mixture, SingleTask, StepLaw
from ebbing.simulation._reduced import largest_step, reduced_runs
from ebbing.simulation._span import NUMBERS_AT_ONCE, ground_truths
from ebbing.simulation._steps import Schedule, Step, can_forget, forgetting, generalization, offsets
from ebbing.simulation.results import SimulatedMetrics, Simulation

_LEAST_BATCH = 8
"""A sum over a single column would be taken in another order, and differ in its last bit."""


def simulate(
    problem: Problem,
    runs: int = 300,
    seed: int = 0,
    *,
    curriculum: CurriculumLike | None = None,
    learner: LinearLearner = MinimumNorm(),  # noqa: B008  (frozen)
    progress: Progress | None = None,
) -> Simulation:
    """Sample the error matrix of learning tasks with its exact law.

    The same seed gives the same runs, and more runs begin with the same ones.

    Args:
        problem: The tasks, in the order of learning.
        runs: Number of independent runs.
        seed: Seed of the random numbers, a whole number >= 0.
        curriculum: What is learned at each step, a `Curriculum` or a list of steps; one task after another if None.
            Stored samples are the first ones that the task was learned from.
        learner: How a step learns its samples.
        progress: Called with the finished fraction, 0 to 1.

    Returns:
        The error matrix of every run (runs, S+1, T).

    Example:
        >>> from ebbing import Curriculum, MeanEstimate, expect
        >>> problem = Problem.orthogonal(T=8, n=50, p=10**9, sigma=0.3)
        >>> sample = simulate(problem, runs=1000, seed=1)
        >>> sample.errors.shape
        (1000, 9, 8)
        >>> estimate = MeanEstimate.of(sample.forgetting)
        >>> abs(estimate.mean - expect(problem).forgetting) < 4 * estimate.standard_error
        True
        >>> plan = Curriculum.replay(problem, memory=10)
        >>> simulate(problem, runs=100, curriculum=plan).errors.shape
        (100, 9, 8)
    """
    schedule = Schedule.of(problem, curriculum, learner)
    runs = check_count("runs", runs)
    size = 8.0 * runs * (len(schedule.steps) + 1) * problem.T
    check_memory(f"the error matrices of {runs:,} runs", size, "use fewer runs, or simulate_metrics")
    errors = np.empty((runs, len(schedule.steps) + 1, problem.T))
    for first, batch in _batches(schedule, runs, seed):
        errors[first : first + len(batch)] = batch
        if progress:
            progress((first + len(batch)) / runs)
    return Simulation(problem, errors, schedule.curriculum, learner)


def simulate_metrics(
    problem: Problem,
    runs: int = 300,
    seed: int = 0,
    *,
    curriculum: CurriculumLike | None = None,
    learner: LinearLearner = MinimumNorm(),  # noqa: B008  (frozen)
    progress: Progress | None = None,
) -> SimulatedMetrics:
    """Sample as `simulate` does, and keep only F and G of every run: ten million runs fit into 200 MB.

    Args:
        problem: The tasks, in the order of learning.
        runs: Number of independent runs.
        seed: Seed of the random numbers, a whole number >= 0.
        curriculum: What is learned at each step, a `Curriculum` or a list of steps; one task after another if None.
        learner: How a step learns its samples.
        progress: Called with the finished fraction, 0 to 1.

    Returns:
        F and G of every run (runs,), and the mean error matrix (S+1, T).

    Example:
        >>> problem = Problem.orthogonal(T=8, n=50, p=100, sigma=0.3)
        >>> bool(np.all(simulate_metrics(problem, 100).forgetting == simulate(problem, 100).forgetting))
        True
    """
    schedule = Schedule.of(problem, curriculum, learner)
    runs = check_count("runs", runs)
    check_memory(f"the metrics of {runs:,} runs", 16.0 * runs, "use fewer runs")
    F, G = np.empty(runs), np.empty(runs)
    total = np.zeros((len(schedule.steps) + 1, problem.T))
    can = can_forget(problem, schedule.curriculum)
    for first, batch in _batches(schedule, runs, seed):
        rows = slice(first, first + len(batch))
        F[rows] = forgetting(problem, schedule.curriculum, batch) if can else np.nan
        G[rows] = generalization(batch)
        total += batch.sum(axis=0)
        if progress:
            progress((first + len(batch)) / runs)
    return SimulatedMetrics(problem, F, G, total / runs, schedule.curriculum, learner)


# -------------------------------------------------------------------- the exact law


def _batches(schedule: Schedule, runs: int, seed: int) -> Iterator[tuple[int, Array]]:
    """Yield the index of the first run and the error matrices of a batch of runs (batch, S+1, T).

    Each stream of random numbers is consumed run by run, so no result depends on the size of the batches.
    """
    problem, alpha = schedule.problem, ground_truths(schedule.problem)
    seeds = np.random.SeedSequence(check_seed(seed))
    laws = step_laws(schedule, alpha)
    if laws is None:  # a generator for each run
        at_once = max(1, min(-(-runs // 20), NUMBERS_AT_ONCE // largest_step(schedule)))
        for first in range(0, runs, at_once):
            generators = [np.random.default_rng(child) for child in seeds.spawn(min(at_once, runs - first))]
            yield first, reduced_runs(schedule, alpha, generators)
        return
    normal, gamma = (np.random.default_rng(child) for child in seeds.spawn(2))
    normals, shapes = sum(law.normals for law in laws), np.concatenate([law.freedom for law in laws]) / 2
    at_once = max(_LEAST_BATCH, NUMBERS_AT_ONCE // (len(laws) * problem.T + normals + len(shapes)))
    for first in range(0, runs, at_once):
        wanted = min(at_once, runs - first)
        batch = max(wanted, _LEAST_BATCH)
        numbers = normal.standard_normal((batch, normals)), gamma.standard_gamma(shapes, size=(batch, len(shapes)))
        yield first, _learn_all(schedule, alpha, laws, *numbers)[:wanted]


def step_laws(schedule: Schedule, alpha: Array) -> list[StepLaw] | None:
    """Return the law of every step, or None if one has none of its own.

    Args:
        schedule: The steps.
        alpha: Coordinates of the ground truths (T, k).

    Returns:
        One law per step, or None: then `reduced_runs` covers all steps.
    """
    if schedule.stored:
        return None
    problem, p = schedule.problem, schedule.problem.p
    width = min(alpha.shape[1] + 1, p)  # the span, and one direction outside it if there is any
    targets = np.pad(alpha, [(0, 0), (0, width - alpha.shape[1])])
    sigma = np.sqrt(problem.noise_variance)
    laws = [_step_law(step, schedule.learner, p, targets, sigma) for step in schedule.steps]
    return None if None in laws else [law for law in laws if law is not None]


def _step_law(step: Step, learner: LinearLearner, p: int, targets: Array, sigma: Array) -> StepLaw | None:
    to_the_end = isinstance(learner, MinimumNorm | Averaged)
    if len(step.tasks) > 1:
        return Mixture(step, p, targets, sigma) if to_the_end else None
    t, n = next(iter(step.tasks)), step.size
    one = n, p, targets[t], float(sigma[t])
    if isinstance(learner, OnePassSgd):
        return OnePass(learner, *one)
    return SingleTask(*one) if to_the_end else FilteredTask(learner, *one)


def _learn_all(schedule: Schedule, alpha: Array, laws: list[StepLaw], normals: Array, gammas: Array) -> Array:
    """Return the error matrices (batch, S+1, T) that the random numbers lead to."""
    (T, k), batch, S = alpha.shape, len(normals), len(laws)
    width = min(k + 1, schedule.problem.p)
    targets = np.pad(alpha, [(0, 0), (0, width - k)])[:, :, None]  # (T, width, 1)
    weight = schedule.learner.weight if isinstance(schedule.learner, Averaged) else 1.0
    chi2 = 2 * gammas
    w = np.zeros((width, batch))  # runs last: one long sweep over them
    difference = np.empty((T, width, batch))
    errors = np.empty((S + 1, T, batch))
    errors[0] = schedule.problem.start[:, None]
    shares = (offsets([law.normals for law in laws]), offsets([len(law.freedom) for law in laws]))
    for s, (law, a, b) in enumerate(zip(laws, *shares, strict=True)):
        learned, beyond = law.learn(w, normals[:, a], chi2[:, b])
        if weight < 1:
            learned, beyond = w + weight * (learned - w), weight**2 * beyond
        w = learned
        if width > k:
            w[-1] = np.sqrt(w[-1] ** 2 + beyond)  # b: all that is outside the span
        np.subtract(w, targets, out=difference)
        difference *= difference
        np.add.reduce(difference, axis=1, out=errors[s + 1])
    return errors.transpose(2, 0, 1)
