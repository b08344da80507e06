"""Forward transfer, the recursion of forgetting, and when forgetting is negative."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ebbing._validate import Array, check_number
from ebbing.problem import Problem
from ebbing.theory._expect import expect
from ebbing.theory._rates import Rates


@dataclass(frozen=True, eq=False)
class ForwardTransfer:
    """The forward transfer of every task, with both terms of its definition.

    Attributes:
        learned: E|w_t - w*_t|^2, the error on task t just after learning it in the sequence (T,).
        scratch: E|w^r_t - w*_t|^2, the error after learning task t alone (T,).
        difference: learned - scratch, negative where earlier tasks helped (T,).
    """

    learned: Array
    scratch: Array
    difference: Array


def forward_transfer(problem: Problem, *, random_energy: float = 0.0) -> ForwardTransfer:
    """Compute the forward transfer E|w_t - w*_t|^2 - E|w^r_t - w*_t|^2 of every task (Section 5.3).

    A difference of errors: negative means benefit. w^r_t learns task t alone, starting at the initial model plus a
    random vector of mean zero.

    Args:
        problem: The tasks, in the order of learning.
        random_energy: Expected squared length of that vector; 0 starts at the initial model, as the sequence does.

    Returns:
        Both terms and their difference, arrays (T,).

    Example:
        >>> transfer = forward_transfer(Problem.identical(T=3, n=50, p=100))
        >>> transfer.difference.tolist()
        [0.0, -0.25, -0.375]
    """
    energy = check_number("random_energy", random_energy)
    rates, errors = Rates.of(problem), expect(problem).errors
    scratch = rates.retained * (problem.start + energy) + rates.noise_error
    before = np.diagonal(errors)  # L[t-1, t]: the diagonal of the matrix with its initial row
    return ForwardTransfer(
        learned=np.diagonal(errors[1:]).copy(),
        scratch=scratch,
        # The recursion of task t applied to both: the gap d_tt is zero and the noise is the same.
        difference=rates.retained * (before - problem.start - energy),
    )


def forgetting_curve_by_recursion(problem: Problem) -> Array:
    """Compute E F_t for t = 2..T by the appendix's recursion from F_t to F_{t+1}, here with n and sigma of each task.

    F_{t+1} = (t-1)/t r F_t + (1-r)/t sum_{i<=t} (|w*_{t+1} - w*_i|^2 - E|w_i - w*_i|^2) + q, eq. (forget_another)

    Args:
        problem: The tasks, in the order of learning.

    Returns:
        The curve (T-1,), as `expect(problem).forgetting_curve`.

    Example:
        >>> problem = Problem.orthogonal(T=4, n=50, p=100, sigma=0.3)
        >>> bool(np.allclose(forgetting_curve_by_recursion(problem), expect(problem).forgetting_curve, rtol=1e-14))
        True
    """
    rates, errors = Rates.of(problem), expect(problem).errors
    just_learned = np.diagonal(errors[1:])
    F = np.zeros(problem.T + 1)
    for t in range(1, problem.T):
        worse = np.sum(problem.gaps[t, :t] - just_learned[:t])
        F[t + 1] = (t - 1) / t * rates.retained[t] * F[t] + rates.replaced[t] / t * worse + rates.noise_error[t]
    return F[2:]


@dataclass(frozen=True)
class NegativeForgetting:
    """Whether learning task 2 makes the model better on task 1 (Proposition on negative forgetting).

    Attributes:
        margin: Left minus right side of the condition; E F_2 = -(1 - r) * margin.
        noise_allows: Whether sigma^2 <= (p-n-1)/p |w*_1|^2: some second task meets the condition.
    """

    margin: float
    noise_allows: bool

    @property
    def holds(self) -> bool:
        """Whether E F_2 <= 0."""
        return self.margin >= 0


def negative_forgetting(problem: Problem) -> NegativeForgetting:
    """Check the condition 2 <w*_1,w*_2> >= n/p |w*_1|^2 + |w*_2|^2 + (p-n) sigma^2 / (p-n-1).

    The paper states it as sufficient under a bound on the noise. It is necessary too, and needs no bound, as
    E F_2 = -(n/p) margin; the bound only says that the condition can be met at all. Tasks may differ in n and
    sigma: then margin = r_1 |w*_1|^2 + q_1 - |w*_1 - w*_2|^2 - q_2 / (1 - r_2).

    Args:
        problem: Two tasks, in the order of learning.

    Returns:
        The margin of the condition, and whether the noise allows any second task to meet it.

    Raises:
        ValueError: If there are not two tasks, or if the expectation is infinite.

    Example:
        >>> negative_forgetting(Problem.identical(T=2, n=50, p=100, sigma=0.1)).holds
        True
    """
    if problem.T != 2:
        raise ValueError(f"the condition is about T=2 tasks, not {problem.T}; use expect(problem).forgetting")
    expect(problem)  # raises where expectations are infinite
    rates = Rates.of(problem)
    signal = rates.retained[0] * problem.start[0] - problem.gaps[0, 1]
    return NegativeForgetting(
        margin=float(signal + rates.noise_error[0] - rates.noise_floor[1]),
        noise_allows=bool(rates.noise_floor[1] - rates.noise_error[0] <= rates.retained[0] * problem.start[0]),
    )
