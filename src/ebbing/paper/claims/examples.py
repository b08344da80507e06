"""Problems that several claims use, and the distance of simulated means from theory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ebbing._validate import Array
from ebbing.problem import Problem


def random_problem(rng: np.random.Generator, T: int | None = None, **fixed: Any) -> Problem:
    """Draw a random problem of arbitrary similarity between tasks.

    Args:
        rng: The random generator.
        T: The number of tasks; None draws 2 to 8.
        **fixed: Settings of the problem that are not drawn: n, p, sigma.

    Returns:
        The problem, overparameterized unless n and p say otherwise.
    """
    T = int(rng.integers(2, 9)) if T is None else T
    vectors = rng.standard_normal((T, int(rng.integers(1, 9)))) + rng.standard_normal()
    n = int(rng.integers(1, 60))
    settings = {"n": n, "p": n + int(rng.integers(10, 200)), "sigma": float(rng.choice([0.0, 0.3, 1.0]))} | fixed
    return Problem.from_vectors(vectors, **settings)


def pair(cosine: float, **settings: Any) -> Problem:
    """Return a problem of two unit ground truths.

    Args:
        cosine: The cosine of the angle between them.
        **settings: The settings n, p and sigma of the problem.

    Returns:
        The problem.
    """
    return Problem(gram=[[1.0, cosine], [cosine, 1.0]], **settings)


def largest_z(sample: Array, mean: Array | float) -> float:
    """Return the largest distance of sample means from their expectation, in standard errors.

    Args:
        sample: The samples (runs, ...).
        mean: The expectation (...).

    Returns:
        The largest |z|; entries that do not vary are left out.
    """
    error = sample.std(axis=0, ddof=1) / len(sample) ** 0.5
    varies = error > 1e-12 * np.abs(mean)
    z = np.abs(sample.mean(axis=0) - mean)[varies] / error[varies]
    return float(z.max(initial=0.0))
