"""Words about a linear problem: its numbers, the model that results speak of, and whether its tasks are learned."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from ebbing._tables import format_number
from ebbing._validate import Array
from ebbing.curriculum import Curriculum
from ebbing.learners import LinearLearner, MinimumNorm
from ebbing.problem import Problem
from ebbing.theory._rates import Rates

HARDLY_LEARNED = 0.05
"""Below this n/p, learning a task removes less than a twentieth of its error."""


def describe(problem: Problem) -> str:
    """Return the numbers of a problem in one line.

    >>> describe(Problem.orthogonal(T=8, n=50, p=100, sigma=0.3))
    '8 tasks, n=50, p=100, sigma=0.3: overparameterized, n/p = 0.5'
    """
    over = problem.n < problem.p
    regime = "overparameterized" if over.all() else "underparameterized" if not over.any() else "both regimes"
    ratio = f", n/p = {problem.n[0] / problem.p:.4g}" if over.all() and np.all(problem.n == problem.n[0]) else ""
    missing = f", unmodeled={_range(problem.unmodeled)}" if problem.unmodeled.any() else ""
    tasks = f"{problem.T} task{'s' * (problem.T > 1)}"
    sizes = f"n={_range(problem.n)}, p={problem.p}, sigma={_range(problem.sigma)}{missing}"
    return f"{tasks}, {sizes}: {regime}{ratio}"


def describe_model(n: npt.ArrayLike, p: npt.ArrayLike) -> str:
    """Return the model that every number speaks of, in one sentence.

    >>> describe_model(n=500, p=100)
    'Model: linear, isotropic Gaussian features, each task learned by least squares (n >= p).'
    """
    over = np.asarray(n) < np.asarray(p)
    if over.all():
        learned = "each task learned to interpolation (minimum norm)"
    elif over.any():
        learned = (
            "tasks with n < p learned to interpolation (minimum norm), tasks with n >= p by least squares"
        )  # fmt: skip
    else:
        learned = "each task learned by least squares (n >= p)"
    return f"Model: linear, isotropic Gaussian features, {learned}."


def describe_step_model(learner: LinearLearner) -> str:
    """Return the model of a sequence of steps that may mix tasks, without the full stop.

    >>> describe_step_model(MinimumNorm())
    'Model: linear, isotropic Gaussian features, each step learned to the end (minimum norm)'
    """
    learned = "to the end (minimum norm)" if isinstance(learner, MinimumNorm) else f"by {learner}"
    return f"Model: linear, isotropic Gaussian features, each step learned {learned}"


def describe_curriculum(problem: Problem, curriculum: Curriculum, learner: LinearLearner) -> str:
    """Return the numbers of a curriculum and its model, in two lines.

    >>> from ebbing.learners import Ridge
    >>> problem = Problem.orthogonal(T=3, n=50, p=200, sigma=0.3)
    >>> print(describe_curriculum(problem, Curriculum.replay(problem, memory=10), Ridge(0.5)))
    3 tasks in 3 steps of 50..70 samples, p=200, sigma=0.3: overparameterized
    Model: linear, isotropic Gaussian features, each step learned by Ridge(penalty=0.5); fresh samples are replayed.
    """
    samples = curriculum.samples(problem)  # (S, T)
    N = samples.sum(axis=1)
    over = problem.p > N
    regime = "overparameterized" if over.all() else "underparameterized" if not over.any() else "both regimes"
    tasks, steps = (f"{k} {word}{'s' * (k > 1)}" for k, word in ((problem.T, "task"), (len(N), "step")))
    missing = f", unmodeled={_range(problem.unmodeled)}" if problem.unmodeled.any() else ""
    again = (samples[1:] > 0) & (np.cumsum(samples, axis=0)[:-1] > 0)
    replayed = f"; {'stored' if curriculum.stored else 'fresh'} samples are replayed" if again.any() else ""
    return (
        f"{tasks} in {steps} of {_range(N)} samples, p={problem.p}, sigma={_range(problem.sigma)}{missing}: {regime}\n"
        f"{describe_step_model(learner)}{replayed}."
    )


def learning_notes(problem: Problem, errors: Array, forgetting: float | None) -> tuple[str, ...]:
    """Return a warning where the tasks are hardly learned, so that a small forgetting is not read as good memory.

    E L[t-1, t] - E L[t, t] = (1 - r) E L[t-1, t] - noise is what learning task t gains: at most n/p of its error.

    Args:
        problem: The tasks in the order of learning.
        errors: Their expected error matrix (T+1, T).
        forgetting: E F_T, or None for a single task.

    Returns:
        No note, or one.
    """
    rates = Rates.of(problem)
    ratio = problem.n / problem.p
    hardly = ratio < HARDLY_LEARNED
    if not hardly.any():
        return ()
    before, after = np.diagonal(errors), np.diagonal(errors[1:])  # (T,) L[t-1, t] and L[t, t]
    gain = rates.replaced * before - rates.noise_error
    which = (
        "The tasks are hardly learned"
        if hardly.all()
        else f"{np.count_nonzero(hardly)} of the {problem.T} tasks are hardly learned"
    )
    text = (
        f"{which}: n/p is {_range(ratio[hardly], '.3g')}, and learning one of them changes its error from "
        f"{format_number(before[hardly].mean())} to {format_number(after[hardly].mean())} on average. "
        "Where little is learned there is little to forget: a small F does not mean that knowledge is kept."
    )
    if forgetting is not None and hardly.all() and (gained := float(gain[:-1].mean())) > 0:
        text += (
            f" F is {format_number(100 * forgetting / gained, '.3g')}% of the error that learning a task removes "
            f"({format_number(gained, '.3g')} on average)."
        )
    return (text,)


def _range(values: Iterable[float], spec: str = ".6g") -> str:
    low, high = min(values), max(values)
    return f"{low:{spec}}" if low == high else f"{low:{spec}}..{high:{spec}}"
