"""The objective of an order: expected forgetting, generalization error, or a weighted mix of both.

With weights f and g,  V(pi) = f E F_T + g E G_T  of the tasks learned in the order pi. With D_t the error of task t
when just learned, (T-1) F_T = T G_T - sum_t D_t, so always  V = a G_T - b sum_t D_t  with a = g + f T/(T-1) and
b = f/(T-1): the form of `_unequal.Recursion`. With equal n and sigma, Theorem 1 makes it an `Assignment` plus a
constant:

    T G_T     = sum_i (1-r) r^{T-i} S_{pi_i} + r^T sum_i |w*_i|^2 + noise,            S_k = sum_l d_kl
    sum_t D_t = sum_i r^i |w*_{pi_i}|^2 + (1-r) sum_{i<j} r^{j-i} d(pi_i, pi_j) + noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import frexp, isfinite, ldexp

import numpy as np
import numpy.typing as npt

from ebbing._validate import check_number
from ebbing.order._assignment import Assignment
from ebbing.problem import Problem, check_problem
from ebbing.theory._rates import Rates, check_two_tasks, finite_rates
from ebbing.theory._recursion import ExpectedErrors

Objective = str | float | Mapping[str, float]
"""'forgetting', 'generalization', or weights: {'forgetting': 0.7, 'generalization': 0.3}."""


def objective_weights(objective: Objective) -> tuple[float, float]:
    """Return the weights of forgetting and of the generalization error in an objective as users give it.

    Args:
        objective: "forgetting", "generalization", the weight of forgetting from 0 to 1, or weights of both.

    Returns:
        Both weights, not negative and not both zero.

    Raises:
        ValueError: If the objective is something else.

    Example:
        >>> objective_weights(0.75)
        (0.75, 0.25)
    """
    known = ("forgetting", "generalization")
    if isinstance(objective, np.number):
        objective = float(objective)
    if isinstance(objective, int | float) and not isinstance(objective, bool) and 0 <= objective <= 1:
        objective = {"forgetting": float(objective), "generalization": 1.0 - float(objective)}
    weights = {objective: 1.0} if isinstance(objective, str) else objective
    weights = dict(weights) if isinstance(weights, Mapping) else {}
    if not weights or set(weights) - set(known):
        raise ValueError(
            f"objective={objective!r}: give 'forgetting', 'generalization', the weight of forgetting from 0 to 1, "
            "or weights of both such as {'forgetting': 0.7, 'generalization': 0.3}"
        )
    f, g = (check_number(name, weights.get(name, 0.0)) for name in known)
    if f == g == 0:
        raise ValueError(f"objective={objective!r}: one of the weights must be positive")
    return f, g


@dataclass(frozen=True)
class Criterion:
    """The validated objective of a search: V(pi) = f E F_T + g E G_T.

    Attributes:
        problem: The tasks.
        forgetting: f, the weight of forgetting.
        generalization: g, the weight of the generalization error.
        objective: The objective as the user gave it; both weights if the user gave one.
    """

    problem: Problem
    forgetting: float
    generalization: float
    objective: Objective

    @classmethod
    def of(cls, problem: Problem, objective: Objective) -> Criterion:
        """Return the criterion of an objective in the form that users give it.

        Args:
            problem: The tasks.
            objective: "forgetting", "generalization", the weight of forgetting from 0 to 1, or weights of both such as
                {"forgetting": 0.7, "generalization": 0.3}.

        Returns:
            The criterion with both weights.

        Raises:
            ValueError: If the objective is neither a known name nor weights, if no weight is positive, or if the
                expectation is infinite or undefined (forgetting needs two tasks).

        Example:
            >>> Criterion.of(Problem.orthogonal(T=3, n=50, p=100), "forgetting").forgetting
            1.0
        """
        check_problem(problem)
        f, g = objective_weights(objective)
        if f:
            check_two_tasks(problem)
        finite_rates(problem)
        named = objective if isinstance(objective, str | Mapping) else {"forgetting": f, "generalization": g}
        return cls(problem, f, g, named)

    def value(self, order: npt.ArrayLike) -> float:
        """Compute V(order) = f E F_T + g E G_T to the last digit as `expect` does, without keeping every error.

        Args:
            order: Indices of the tasks from 0, in the order of learning (T,).

        Returns:
            The value of the objective.

        Raises:
            ValueError: If it overflows.
        """
        problem = self.problem.reordered(np.asarray(order))
        mean = ExpectedErrors(problem.gaps, Rates.of(problem))
        for _ in range(problem.T):
            mean.learn_next()
        forgetting = float(mean.forgetting(problem.start)[:-1].mean()) if self.forgetting else 0.0
        value = self.forgetting * forgetting + self.generalization * float(mean.errors(problem.start).mean())
        if not isfinite(value):
            raise ValueError(
                f"objective={self.objective!r}: its value, {value:g}, is beyond the largest number; use larger units "
                "for the tasks, or smaller weights"
            )
        return value

    def scaled(self) -> tuple[Criterion, float]:
        """Return the same objective in units that keep the search away from underflow and overflow.

        The largest error and the larger weight become about one. The units are powers of two, so no digit changes. With
        equal n and sigma, noise is the same in every order and is left out.

        Returns:
            The scaled objective, and the factor that leads back: V = factor * V_scaled, up to a constant.

        Example:
            >>> criterion = Criterion.of(Problem.orthogonal(T=3, n=50, p=100, norm=2.0**-300), "forgetting")
            >>> small, factor = criterion.scaled()
            >>> float(small.problem.start[0]), small.value([0, 1, 2]) * factor == criterion.value([0, 1, 2])
            (0.25, True)
        """
        problem, noise_floor = self.problem, Rates.of(self.problem).noise_floor
        largest = max(problem.gaps.max(), problem.start.max(), 0.0 if problem.uniform else noise_floor.max())
        half = frexp(largest)[1] // 2  # sigma is scaled by 2^half, squares by 4^half
        sigma, unmodeled = (np.zeros(problem.T) if problem.uniform else v for v in (problem.sigma, problem.unmodeled))
        scaled = problem._copy(
            gram=np.ldexp(problem.gram, -2 * half),
            gaps=np.ldexp(problem.gaps, -2 * half),
            sigma=np.ldexp(sigma, -half),
            unmodeled=np.ldexp(unmodeled, -2 * half),
        )
        weight = frexp(max(self.forgetting, self.generalization))[1] - 1
        f, g = ldexp(self.forgetting, -weight), ldexp(self.generalization, -weight)
        return Criterion(scaled, f, g, self.objective), ldexp(1.0, 2 * half + weight)

    @property
    def coefficients(self) -> tuple[float, float]:
        """The coefficients a and b of V = a G_T - b sum_t D_t."""
        T = self.problem.T
        if not self.forgetting:
            return self.generalization, 0.0
        return self.generalization + self.forgetting * T / (T - 1), self.forgetting / (T - 1)

    def assignment(self) -> tuple[Assignment, float]:
        """Return the same objective as an assignment of tasks to places; n and sigma must be equal.

        Returns:
            The assignment, whose kernel is geometric, and the constant to add to its value.

        Example:
            >>> criterion = Criterion.of(Problem.orthogonal(T=3, n=50, p=100, sigma=0.3), "forgetting")
            >>> problem, constant = criterion.assignment()
            >>> round(problem.value([2, 0, 1]) + constant, 12) == round(criterion.value([2, 0, 1]), 12)
            True
        """
        problem, T = self.problem, self.problem.T
        rates = Rates.of(problem)
        r, replaced = float(rates.retained[0]), float(rates.replaced[0])
        power = r ** np.arange(T + 1)  # (T+1,)
        place = np.arange(1, T + 1)
        a, b = self.coefficients
        late = replaced * power[T - place]  # (T,) (1-r) r^{T-i}
        # G_T enters V with weight a; in sum_t D_t the gaps enter by the kernel alone, the start by r^i.
        linear = (a / T) * problem.gaps.sum(axis=1)[:, None] * late - b * problem.start[:, None] * power[place]
        kernel = b * replaced * power[:T]
        kernel[0] = 0.0
        return Assignment(linear, kernel, problem.gaps), a * float(power[T] * problem.start.mean()) + self.noise_share

    @property
    def noise_share(self) -> float:
        """The part of V that noise causes, the same for every order if n and sigma are equal."""
        rates = Rates.of(self.problem)
        noise, total = 0.0, 0.0  # in G_T and in sum_t D_t
        for retained, q in zip(rates.retained.tolist(), rates.noise_error.tolist(), strict=True):
            noise = retained * noise + q
            total += noise
        a, b = self.coefficients
        return a * noise - b * total
