"""What a curriculum and a learner must meet for the expectation to exist and to be known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ebbing.learners import Averaged, GradientSteps, LinearLearner, MinimumNorm, OnePassSgd
from ebbing.problem import Problem
from ebbing.theory._rates import InfiniteExpectationError, UnknownExpectationError
from ebbing.theory._wishart import TOO_LARGE


def check_rates_converge(samples: npt.NDArray[np.int64], p: int, learner: LinearLearner) -> None:
    """Raise where gradient steps diverge: N samples in each step (S,), p parameters."""
    if isinstance(learner, OnePassSgd) and learner.learning_rate >= (largest := 2 / (p + 2)):
        raise ValueError(
            f"{learner}: with p={p} every sample increases the expected error from a learning rate of 2 / (p + 2) = "
            f"{largest:.4g} on; use a smaller learning rate"
        )
    if isinstance(learner, GradientSteps):
        N = int(samples.max())
        edge = (np.sqrt(N) + np.sqrt(p)) ** 2
        if diverging(samples, p, learner).any():
            raise ValueError(
                f"{learner} diverges along eigenvalues of X'X above 2 / learning_rate = "
                f"{2 / learner.learning_rate:.4g}, and with N={N} samples in a step and p={p} they reach "
                f"(sqrt(N) + sqrt(p))^2 = {edge:.4g}; use a learning rate below {2 / edge:.4g}"
            )


def diverging(samples: npt.NDArray[np.int64], p: int, learner: LinearLearner) -> npt.NDArray[np.bool_]:
    """Return where gradient steps diverge along typical eigenvalues: N samples in each step (any shape)."""
    if not isinstance(learner, GradientSteps):
        return np.zeros(samples.shape, dtype=np.bool_)
    return learner.learning_rate * (np.sqrt(samples) + np.sqrt(p)) ** 2 > 2


def check_single_tasks(samples: npt.NDArray[np.int64], learner: LinearLearner) -> None:
    """Raise where one-pass SGD learns several tasks in a step: samples n_sj (S, T)."""
    if not isinstance(learner, OnePassSgd):
        return
    mixed = np.flatnonzero(np.count_nonzero(samples, axis=1) > 1)
    if len(mixed):
        raise UnknownExpectationError(
            f"{learner}: step {mixed[0] + 1} mixes tasks, and the result depends on the order of their samples; give "
            "each task a step of its own, in that order, such as [{1: 50}, {0: 10}] for {1: 50, 0: 10}"
        )


def check_stored(
    problem: Problem, samples: npt.NDArray[np.int64], replayed: npt.NDArray[np.int64], learner: LinearLearner
) -> None:
    """Raise where stored samples are replayed that the step before has not fitted, or not to the end.

    Args:
        problem: The tasks.
        samples: n_sj (S, T).
        replayed: The stored ones among them (S, T).
        learner: How the steps learn.

    Raises:
        UnknownExpectationError: If so.
    """
    if not replayed.any():
        return
    way_out = "replay fresh samples (stored=False), or simulate"
    if not isinstance(learner, MinimumNorm):
        raise UnknownExpectationError(f"{learner}: stored samples are exact for MinimumNorm() only; {way_out}")
    N = samples.sum(axis=1)
    fitted = np.where(N[:-1, None] <= problem.p, samples[:-1], 0)
    unfitted = (replayed[1:] > fitted) & (N[1:, None] < problem.p)
    if unfitted.any():
        s, j = np.argwhere(unfitted)[0]
        raise UnknownExpectationError(
            f"step {s + 2} replays {replayed[s + 1, j]} stored samples of {problem.names[j]!r}, of which step {s + 1} "
            f"fits {fitted[s, j]}: the expectation is known where each step replays samples that the step before it "
            f"fits, as Curriculum.replay(problem, memory, stored=True) does; {way_out}"
        )


def check_finite(
    problem: Problem,
    samples: npt.NDArray[np.int64],
    dispersion: npt.NDArray[np.float64],
    variance: npt.NDArray[np.float64],
    learner: LinearLearner,
) -> None:
    """Raise where a step learned to the end has an infinite expected error.

    Args:
        problem: The tasks.
        samples: n_sj (S, T).
        dispersion: The disagreement of the tasks of each step (S,).
        variance: The noise of each step (S,).
        learner: How the steps learn.

    Raises:
        InfiniteExpectationError: If a step has |p - N| <= 1, and noise or tasks that disagree.
    """
    if not isinstance(learner, MinimumNorm | Averaged):
        return
    N = samples.sum(axis=1)
    conflict = (dispersion > 0) & (problem.p > 1)
    infinite = np.flatnonzero((np.abs(problem.p - N) <= 1) & (conflict | (variance > 0)))
    if len(infinite):
        s = infinite[0]
        cause = "there is noise" if variance[s] > 0 else "the tasks of the step disagree, which acts as noise"
        raise InfiniteExpectationError(
            f"step {s + 1} has N={N[s]} samples and p={problem.p}: the expectation is infinite when |p - N| <= 1 and "
            f"{cause}; use another number of samples, another p, or Ridge(penalty)"
        )


def check_representable(errors: npt.NDArray[np.float64], learner: LinearLearner) -> None:
    """Raise where expected errors are beyond the largest number, as those of diverging gradient steps may be.

    Args:
        errors: The expected errors, any shape.
        learner: How the steps learn.

    Raises:
        UnknownExpectationError: If one of them is not finite.
    """
    if isinstance(learner, GradientSteps) and not np.isfinite(errors).all():
        raise UnknownExpectationError(
            f"{learner}: {TOO_LARGE}; use a smaller learning rate or fewer steps, or simulate"
        )
