"""Problems for the tests."""

from typing import Any

import numpy as np

from ebbing.problem import Problem

INF = np.inf
EYE = np.eye(2)
GOOD: dict[str, Any] = {"gram": EYE, "n": 50, "p": 100, "sigma": 0.3}


def build(**changes: Any) -> Problem:
    return Problem(**GOOD | changes)


def vectors(T=4, features=3, seed=0):
    return np.random.default_rng(seed).standard_normal((T, features))


def random_problem(rng, *, T=None, uniform=False, noisy=True):
    """Both regimes and mixtures; no task closer than 4 to p."""
    T = T or int(rng.integers(2, 7))
    p = int(rng.integers(10, 60))

    def samples():
        return int(rng.choice([rng.integers(1, p - 4), rng.integers(p + 5, 4 * p)]))

    n = samples() if uniform else [samples() for _ in range(T)]
    size = None if uniform else T
    settings = {"n": n, "p": p, "sigma": rng.uniform(0.1, 2, size) * noisy, "unmodeled": rng.uniform(0, 1) * noisy}
    return Problem.from_vectors(rng.standard_normal((T, int(rng.integers(1, 6)))), **settings)


def two_tasks(w1, w2, **settings):
    return Problem.from_vectors([w1, w2], **settings)
