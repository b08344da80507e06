"""Expected errors of one problem: the recursion of the paper, or that of a curriculum and a learner: `expect`."""

from __future__ import annotations

import numpy as np

from ebbing.curriculum import Curriculum, CurriculumLike, check_curriculum
from ebbing.learners import LinearLearner, MinimumNorm, check_learner, simplify_learner
from ebbing.problem import Problem, check_problem
from ebbing.theory._rates import InfiniteExpectationError, UnknownExpectationError, finite_rates
from ebbing.theory._recursion import ExpectedErrors
from ebbing.theory._steps import expected_errors
from ebbing.theory._terms import Terms
from ebbing.theory.expectation import Expectation

_MINIMUM_NORM = MinimumNorm()


def expect(
    problem: Problem,
    curriculum: CurriculumLike | None = None,
    *,
    learner: LinearLearner = _MINIMUM_NORM,
) -> Expectation:
    """Compute the expected error matrix, forgetting and generalization error of any problem.

    Without a curriculum these are Theorems 1 and 2, and their mixtures where some tasks have n < p and others n >= p.
    With one, tasks may share a step (replay, joint training) and come back in later ones.

    Args:
        problem: The tasks; without a curriculum, in the order of learning.
        curriculum: The steps of learning, a `Curriculum` or a list of steps; None: one task after another, each with
            its n samples.
        learner: How each step learns its samples.

    Returns:
        The expected errors with their terms; exact standard deviations are computed on first use, where they are known.

    Raises:
        ValueError: If the expectation is infinite (noise or disagreeing tasks in a step, and |p - N| <= 1), if a
            learning rate diverges, or if no exact formula is known for this curriculum and learner.

    Example:
        >>> e = expect(Problem.orthogonal(T=8, n=50, p=100, sigma=0.3))
        >>> e
        Expectation(T=8, forgetting=1.02141, generalization=1.93003)
        >>> round(e.forgetting_std, 4), e.errors.shape
        (0.1523, (9, 8))
        >>> problem = Problem.categories("AABB", n=50, p=200, sigma=0.3)
        >>> expect(problem, Curriculum.replay(problem, memory=10))
        Expectation(T=4, steps=4, forgetting=0.399041, generalization=1.26055)
        >>> expect(problem, [{"A1": 50}, {"B1": 50}, {"A1": 10}])
        Expectation(T=4, steps=3, forgetting=0.169695, generalization=1.05497)
    """
    check_problem(problem)
    learner = check_learner(learner)
    if curriculum is not None:
        curriculum = check_curriculum(curriculum)
    effective = simplify_learner(learner)
    if effective == _MINIMUM_NORM and (curriculum is None or curriculum.is_sequential(problem)):
        return _expect_sequence(problem)
    curriculum = curriculum or Curriculum.sequential(problem)
    errors, forgetting_matrix, terms = expected_errors(problem, curriculum, effective)
    return Expectation(problem, errors, forgetting_matrix, terms, learner, curriculum)


def _expect_sequence(problem: Problem) -> Expectation:
    """Return the expectation of the paper: one task after another, each learned to the end."""
    rates = finite_rates(problem)
    T, start = problem.T, problem.start
    errors, forgetting_matrix = np.empty((T + 1, T)), np.empty((T + 1, T))
    mean = ExpectedErrors(problem.gaps, rates)
    errors[0], forgetting_matrix[0] = mean.errors(start), mean.forgetting(start)
    for t in range(1, T + 1):
        mean.learn_next()
        errors[t], forgetting_matrix[t] = mean.errors(start), mean.forgetting(start)
    return Expectation(problem, errors, forgetting_matrix, Terms(*(float(part) for part in mean.parts(start))))


def expectation_if_finite(
    problem: Problem, curriculum: CurriculumLike | None = None, *, learner: LinearLearner = _MINIMUM_NORM
) -> Expectation | None:
    """Return what `expect` returns, or None where the expectation is infinite or not known.

    Args:
        problem: The tasks; without a curriculum, in the order of learning.
        curriculum: The steps of learning; None: one task after another, each with its n samples.
        learner: How each step learns its samples.

    Returns:
        The expectation, or None if it is infinite (such as a task with noise and |p - n| <= 1) or no exact formula is
        known.

    Example:
        >>> expectation_if_finite(Problem.orthogonal(T=2, n=50, p=51, sigma=0.3)) is None
        True
    """
    try:
        return expect(problem, curriculum, learner=learner)
    except (InfiniteExpectationError, UnknownExpectationError):
        return None
