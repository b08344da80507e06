"""Problems that several claims are checked on, and how far a simulated mean may be from theory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ebbing._validate import Array
from ebbing.problem import Problem


def random_problem(rng: np.random.Generator, T: int | None = None, **fixed: Any) -> Problem:
    """Tasks of any similarity, overparameterized unless n and p are given."""
    T = int(rng.integers(2, 9)) if T is None else T
    vectors = rng.standard_normal((T, int(rng.integers(1, 9)))) + rng.standard_normal()
    n = int(rng.integers(1, 60))
    settings = {"n": n, "p": n + int(rng.integers(10, 200)), "sigma": float(rng.choice([0.0, 0.3, 1.0]))} | fixed
    return Problem.from_vectors(vectors, **settings)


def pair(cosine: float, **settings: Any) -> Problem:
    """Two unit ground truths at a given cosine."""
    return Problem(gram=[[1.0, cosine], [cosine, 1.0]], **settings)


def largest_z(sample: Array, mean: Array | float) -> float:
    """Largest distance of sample means from `mean`, in standard errors; runs are the first axis."""
    error = sample.std(axis=0, ddof=1) / len(sample) ** 0.5
    varies = error > 1e-12 * np.abs(mean)
    z = np.abs(sample.mean(axis=0) - mean)[varies] / error[varies]
    return float(z.max(initial=0.0))
