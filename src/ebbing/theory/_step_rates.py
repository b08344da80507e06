"""The effect of one step of a curriculum on any error: a mixture of tasks, learned to the end or less.

A step learns n_j samples of each task j, N in all, and moves the weights toward the mean of their ground truths,
c = sum_j (n_j/N) w*_j (proof in docs/theory/steps.md):

    E|w' - w*_i|^2 = retained |w - w*_i|^2 + replaced |c - w*_i|^2 - unfinished |w - c|^2
                     + conflict * dispersion + noise * variance

    dispersion = sum_j (n_j/N) |w*_j - c|^2,    variance = sum_j (n_j/N) s_j^2

==========  ===============================  =================  ==========================================
here        meaning                          n < p, to the end  n >= p, to the end
==========  ===============================  =================  ==========================================
retained    1 - h1                           (p - N) / p        0
replaced    h1 = E tr f / p                  N / p              1
unfinished  h1 - h2 = E tr f (1 - f) / p     0                  0
noise       E tr f^2/s                       N / (p - N - 1)    p / (N - p - 1)
conflict    h2 - N^2 v: the disagreement     N (p - 1) /        (N^2 (p+1) - N (p+5) + 2 (p+1)) /
            of the tasks acts as noise       (p (p - N - 1))    ((N - p - 1) (N - 1) (N + 2))
==========  ===============================  =================  ==========================================

f is the learner's filter of the eigenvalues s of X'X, h2 = E tr f^2 / p. For any filter, `_wishart` has the expected
traces, and conflict = (N (Np - 2) E tr f^2/s + 4 N E tr f f' + (N - 2) E tr f^2) / (p (N - 1) (N + 2)).
To the end, `noise` and `conflict` are infinite for |p - N| <= 1. With a single task in the step the dispersion is zero
and c is its ground truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt

from ebbing._validate import Array
from ebbing._warnings import warn
from ebbing.learners import Averaged, GradientFlow, GradientSteps, LinearLearner, MinimumNorm, OnePassSgd, Ridge
from ebbing.theory._rare_eigenvalues import rare_traces
from ebbing.theory._rates import UnknownExpectationError
from ebbing.theory._wishart import Functions, Tail, expected_traces


@dataclass(frozen=True)
class StepRates:
    """The coefficients of the recursion over steps, as the table of this module defines them.

    Attributes:
        retained: What a step keeps of every error (S,).
        replaced: What it takes from the distance to the mean of its ground truths (S,).
        unfinished: What it takes from the distance of the weights to that mean (S,).
        conflict: Error per unit of disagreement between the tasks of the step (S,).
        noise: Error per unit of noise variance (S,).
    """

    retained: Array
    replaced: Array
    unfinished: Array
    conflict: Array
    noise: Array

    @classmethod
    def of(cls, samples: npt.NDArray[np.int64], p: int, learner: LinearLearner) -> StepRates:
        """Return the rates of steps with N samples in all (S,), p parameters and a learner."""
        if isinstance(learner, MinimumNorm):
            return _to_the_end(samples, p)
        if isinstance(learner, Averaged):
            return _averaged(_to_the_end(samples, p), learner.weight)
        if isinstance(learner, OnePassSgd):
            return _one_pass(samples, p, learner.learning_rate)
        different = {N: _filtered(N, p, learner) for N in np.unique(samples).tolist()}
        return cls(*np.array([different[N] for N in samples.tolist()]).T)


def _to_the_end(samples: npt.NDArray[np.int64], p: int) -> StepRates:
    over = samples < p
    # Counts are whole numbers up to 2^53, so their differences are exact; products are formed in floats.
    slack = (np.abs(p - samples) - 1).astype(float)
    gap, N, q = (p - samples).astype(float), samples.astype(float), float(p)
    with np.errstate(divide="ignore", invalid="ignore"):
        per_slack = np.where(slack > 0, 1 / slack, np.inf)
        several = ((N / (N - 1)) * (q + 1) - ((q + 5) - 2 * (q + 1) / N) / (N - 1)) * (N / (N + 2)) * per_slack
        fewer = (N / q) * (q - 1) * per_slack
    if p == 1:  # a ratio of sums of squares: finite for any number of samples
        several = 2 / (N + 2)
    return StepRates(
        retained=np.where(over, gap / q, 0.0),
        replaced=np.where(over, N / q, 1.0),
        unfinished=np.zeros(len(N)),
        conflict=np.where(samples == 1, 0.0, np.where(over, fewer, several)),
        noise=np.minimum(N, q) * per_slack,
    )


def functions_of(learner: Ridge | GradientSteps | GradientFlow) -> Functions:
    """Return f, 1 - f, f (1 - f), f^2, f^2/s and f f' of the eigenvalues s, each without cancellation."""

    def functions(s: Array) -> Array:
        f = learner.filter(s)
        match learner:
            case Ridge():
                left = learner.penalty / (s + learner.penalty)
            case GradientSteps():
                left = (1 - learner.learning_rate * s) ** learner.steps
            case GradientFlow():
                left = np.exp(-learner.time * s)
        return np.array([f, left, f * left, f**2, f**2 / s, f * learner.filter_derivative(s)])

    return functions


def tail_of(learner: Ridge | GradientSteps | GradientFlow) -> Tail | None:
    """Return what rare eigenvalues add to the expected traces of `functions_of`; None where it is nothing."""
    if not isinstance(learner, GradientSteps):
        return None
    return partial(rare_traces, learner.learning_rate, learner.steps)


def warn_of_rare_eigenvalues(samples: npt.NDArray[np.int64], p: int, learner: LinearLearner) -> None:
    """Warn if the expectation of gradient steps comes from eigenvalues that single runs hardly ever have."""
    if not isinstance(learner, GradientSteps):
        return
    for N in np.unique(samples).tolist():
        square = _traces(N, p, learner)[3]
        if square > 4 * min(N, p):  # f^2 <= 4 along every eigenvalue up to 2 / learning_rate
            warn(
                f"{learner} with N={N} samples in a step and p={p}: the expectation comes from eigenvalues of X'X "
                f"above 2 / learning_rate = {2 / learner.learning_rate:.4g}, which are rare, and along which steps "
                f"diverge. Runs are usually far better; {_WAY_OUT[GradientSteps]} for an expectation that describes "
                "them"
            )
            return


@lru_cache(maxsize=4096)
def _traces(N: int, p: int, learner: Ridge | GradientSteps | GradientFlow) -> list[float]:
    """Return the expected traces of `functions_of` over N samples."""
    try:
        return expected_traces(functions_of(learner), N, p, tail_of(learner)).tolist()
    except ArithmeticError as reason:
        raise UnknownExpectationError(
            f"{learner} with N={N} samples in a step and p={p}: {reason}; {_WAY_OUT[type(learner)]}, or simulate"
        ) from None


def _filtered(N: int, p: int, learner: Ridge | GradientSteps | GradientFlow) -> tuple[float, ...]:
    """Return retained, replaced, unfinished, conflict and noise of a step with N samples."""
    f, left, unfinished, square, noise, slope = _traces(N, p, learner)
    conflict = (
        (N * (N - 2 / p) * noise + (4 * N * slope + (N - 2) * square) / p) / ((N - 1) * (N + 2)) if N > 1 else 0.0
    )
    return (p - min(N, p) + left) / p, f / p, unfinished / p, conflict, noise


_WAY_OUT = {
    Ridge: "use a larger penalty, or N further from p",
    GradientSteps: "use a smaller learning rate or fewer steps",
    GradientFlow: "use a shorter time, or N further from p",
}


def _averaged(end: StepRates, weight: float) -> StepRates:
    return StepRates(
        retained=(1 - weight) + weight * end.retained,
        replaced=weight * end.replaced,
        unfinished=weight * (1 - weight) * end.replaced,
        conflict=weight**2 * end.conflict,
        noise=weight**2 * end.noise,
    )


def _one_pass(samples: npt.NDArray[np.int64], p: int, rate: float) -> StepRates:
    """Return the rates of `samples` gradient steps, one per sample, on a single task.

    Each multiplies E|w - w*_t|^2 by 1 - loss and adds rate^2 p s^2; the mean of w - w*_t shrinks by 1 - rate.
    """
    loss = rate * (2 - rate * (p + 2))
    slow, fast = samples * np.log1p(-rate), samples * np.log1p(-loss)
    return StepRates(
        retained=np.exp(slow),
        replaced=-np.expm1(slow),
        unfinished=np.exp(slow) * -np.expm1(fast - slow),
        conflict=np.zeros(len(samples)),
        noise=rate**2 * p * -np.expm1(fast) / loss,
    )
