"""How far a step of linear training goes: to interpolation, or less.

A step with features X (N, p) and labels y replaces the weights w by

    w' = w + a(X'X) X'(y - X w),        f(s) = s a(s)

where the spectral filter f says which share of the error is removed along an eigenvector of X'X with eigenvalue s.

==================  ==================================================  =====================================
learner             how it learns                                       f(s), for s > 0
==================  ==================================================  =====================================
MinimumNorm         to the nearest weights that fit (the paper)         1
Ridge               penalty |w' - w|^2                                  s / (s + penalty)
GradientSteps       early stopping of gradient descent on |y - Xw|^2/2  1 - (1 - learning_rate s)^steps
GradientFlow        the same in continuous time                         1 - exp(-time s)
Averaged            averages minimum norm with the weights before       weight
OnePassSgd          one gradient step per sample, each used once        not a filter of X'X: its own recursion
==================  ==================================================  =====================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ebbing._validate import Array, check_count, check_number


class SpectralFilter(Protocol):
    """A learner that is a filter of the eigenvalues of X'X."""

    def filter(self, s: Array) -> Array:
        """Return f(s), the share of the error that a step removes.

        Args:
            s: Eigenvalues of X'X, positive; any shape.

        Returns:
            f(s), of the same shape.
        """
        ...

    def filter_derivative(self, s: Array) -> Array:
        """Return f'(s).

        Args:
            s: Eigenvalues of X'X, positive; any shape.

        Returns:
            f'(s), of the same shape.
        """
        ...


@dataclass(frozen=True)
class MinimumNorm:
    """Learn each step to the end: the weights nearest to those before that fit all samples (or fit them best).

    Example:
        >>> MinimumNorm().filter(np.array([0.5, 2.0])).tolist()
        [1.0, 1.0]
    """

    def filter(self, s: Array) -> Array:
        """Return f(s) = 1, the share of the error that a step removes.

        Args:
            s: Eigenvalues of X'X.

        Returns:
            Ones of the same shape.
        """
        return np.ones_like(s)

    def filter_derivative(self, s: Array) -> Array:
        """Return f'(s) = 0, the derivative of the filter.

        Args:
            s: Eigenvalues of X'X.

        Returns:
            Zeros of the same shape.
        """
        return np.zeros_like(s)


@dataclass(frozen=True)
class Ridge:
    """Minimize |y - X w'|^2 + penalty |w' - w|^2: ridge regression toward the weights before.

    Args:
        penalty: The weight of the penalty, >= 0. 0 is minimum norm.

    Attributes:
        penalty: The weight of the penalty.

    Raises:
        ValueError: If the penalty is negative or not finite.

    Example:
        >>> Ridge(0.5).filter(np.array([0.5, 1.5])).tolist()
        [0.5, 0.75]
    """

    penalty: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "penalty", check_number("penalty", self.penalty))

    def filter(self, s: Array) -> Array:
        """Return f(s) = s / (s + penalty), the share of the error that a step removes.

        Args:
            s: Eigenvalues of X'X.

        Returns:
            The filter, of the same shape.
        """
        return s / (s + self.penalty)

    def filter_derivative(self, s: Array) -> Array:
        """Return f'(s) = penalty / (s + penalty)^2, the derivative of the filter.

        Args:
            s: Eigenvalues of X'X.

        Returns:
            The derivative, of the same shape.
        """
        return self.penalty / (s + self.penalty) ** 2


@dataclass(frozen=True)
class GradientSteps:
    """Take a number of gradient steps on |y - X w|^2 / 2 from the weights before: early stopping.

    Args:
        learning_rate: The learning rate, > 0. Steps diverge along eigenvectors of X'X with eigenvalues above
            2 / learning_rate.
        steps: The number of steps, >= 1.

    Attributes:
        learning_rate: The learning rate.
        steps: The number of steps.

    Raises:
        ValueError: If the learning rate is not positive, or the number of steps is not a whole number >= 1.

    Example:
        >>> GradientSteps(learning_rate=0.5, steps=2).filter(np.array([1.0, 2.0])).tolist()
        [0.75, 1.0]
    """

    learning_rate: float
    steps: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "learning_rate", _positive("learning_rate", self.learning_rate))
        object.__setattr__(self, "steps", check_count("steps", self.steps))

    def filter(self, s: Array) -> Array:
        """Return f(s) = 1 - (1 - learning_rate s)^steps, the share of the error that a step removes.

        Args:
            s: Eigenvalues of X'X.

        Returns:
            The filter, of the same shape.
        """
        x = self.learning_rate * np.asarray(s)
        small = np.minimum(x, 0.5)  # without cancellation for small x
        return np.where(x < 0.5, -np.expm1(self.steps * np.log1p(-small)), 1 - (1 - x) ** self.steps)

    def filter_derivative(self, s: Array) -> Array:
        """Return f'(s) = learning_rate steps (1 - learning_rate s)^(steps - 1), the derivative of the filter.

        Args:
            s: Eigenvalues of X'X.

        Returns:
            The derivative, of the same shape.
        """
        return self.learning_rate * self.steps * (1 - self.learning_rate * np.asarray(s)) ** (self.steps - 1)


@dataclass(frozen=True)
class GradientFlow:
    """Follow the gradient of |y - X w|^2 / 2 for a time: early stopping of gradient descent with a small learning rate.

    Args:
        time: How long, > 0: learning rate times number of steps.

    Attributes:
        time: How long.

    Raises:
        ValueError: If the time is not positive.

    Example:
        >>> GradientFlow(2.0).filter(np.array([0.5])).round(4).tolist()
        [0.6321]
    """

    time: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "time", _positive("time", self.time))

    def filter(self, s: Array) -> Array:
        """Return f(s) = 1 - exp(-time s), the share of the error that a step removes.

        Args:
            s: Eigenvalues of X'X.

        Returns:
            The filter, of the same shape.
        """
        return -np.expm1(-self.time * np.asarray(s))

    def filter_derivative(self, s: Array) -> Array:
        """Return f'(s) = time exp(-time s), the derivative of the filter.

        Args:
            s: Eigenvalues of X'X.

        Returns:
            The derivative, of the same shape.
        """
        return self.time * np.exp(-self.time * np.asarray(s))


@dataclass(frozen=True)
class Averaged:
    """Average the minimum-norm weights with those before (model merging, WiSE-FT): w + weight (w_learned - w).

    Args:
        weight: The weight of the learned weights, in (0, 1].

    Attributes:
        weight: The weight of the learned weights.

    Raises:
        ValueError: If the weight is not in (0, 1].

    Example:
        >>> Averaged(0.5).filter(np.array([1.0])).tolist()
        [0.5]
    """

    weight: float

    def __post_init__(self) -> None:
        weight = _positive("weight", self.weight)
        if weight > 1:
            raise ValueError(f"weight={weight:g}: give a share of the learned weights, above 0 and at most 1")
        object.__setattr__(self, "weight", weight)

    def filter(self, s: Array) -> Array:
        """Return f(s) = weight, the share of the error that a step removes.

        Args:
            s: Eigenvalues of X'X.

        Returns:
            The weight, in the same shape.
        """
        return np.full_like(s, self.weight)

    def filter_derivative(self, s: Array) -> Array:
        """Return f'(s) = 0, the derivative of the filter.

        Args:
            s: Eigenvalues of X'X.

        Returns:
            Zeros of the same shape.
        """
        return np.zeros_like(s)


@dataclass(frozen=True)
class OnePassSgd:
    """Take one gradient step per sample, w + learning_rate x (y - x'w), and use each sample once.

    Args:
        learning_rate: The learning rate, > 0. Errors grow for rates above 2 / (p + 2).

    Attributes:
        learning_rate: The learning rate.

    Raises:
        ValueError: If the learning rate is not positive.

    Example:
        >>> OnePassSgd(learning_rate=0.01)
        OnePassSgd(learning_rate=0.01)
    """

    learning_rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "learning_rate", _positive("learning_rate", self.learning_rate))


LinearLearner = MinimumNorm | Ridge | GradientSteps | GradientFlow | Averaged | OnePassSgd
"""How a step learns its samples."""


def check_learner(learner: object) -> LinearLearner:
    """Return a learner, if it is one.

    Args:
        learner: The learner.

    Returns:
        The same learner.

    Raises:
        ValueError: If it is something else, such as the class instead of an instance.

    Example:
        >>> check_learner(Ridge(0.5))
        Ridge(penalty=0.5)
    """
    if not isinstance(learner, LinearLearner):
        raise ValueError(
            f"learner={learner!r}: give MinimumNorm(), Ridge(penalty), GradientSteps(learning_rate, steps), "
            "GradientFlow(time), Averaged(weight) or OnePassSgd(learning_rate)"
        )
    return learner


def simplify_learner(learner: LinearLearner) -> LinearLearner:
    """Return the plainest learner that learns the same: Ridge(0) and Averaged(1) are minimum norm.

    Args:
        learner: The learner.

    Returns:
        `MinimumNorm()`, or the same learner.

    Example:
        >>> simplify_learner(Ridge(0)), simplify_learner(Ridge(0.5))
        (MinimumNorm(), Ridge(penalty=0.5))
    """
    return MinimumNorm() if learner in (Ridge(0), Averaged(1)) else learner


def _positive(name: str, value: float) -> float:
    number = check_number(name, value)
    if number == 0:
        raise ValueError(f"{name}=0: give a positive number")
    return number
