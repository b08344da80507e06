"""Theory of curricula: mixtures, and exact standard deviations. Run alone: python benchmarks/bench_curricula.py"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from ebbing import Curriculum, Problem, expect
from ebbing.theory._covariance import standard_deviations
from ebbing.theory._rates import Rates
from harness import Row, at_least, at_most, markdown, seconds

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))
import plain_steps


def many_steps() -> list[Row]:
    rng = np.random.default_rng(0)
    problem = Problem.from_vectors(rng.standard_normal((100, 20)), n=50, p=10_000, sigma=0.3)
    tasks = [rng.choice(100, size=5, replace=False).tolist() for _ in range(1000)]
    plan = Curriculum([{j: int(rng.integers(1, 50)) for j in step} for step in tasks])
    plain = plain_steps.expected_errors(problem, Curriculum(plan.steps[:20]))
    assert np.allclose(expect(problem, plan).errors[:21], plain, rtol=1e-12), "the recursion differs from the loops"
    spent = seconds(lambda: expect(problem, plan).forgetting, repeat=7)
    return [at_most("expect of 1,000 steps that mix five of 100 tasks", spent, 0.1, " s")]


def deviations_of_many_tasks() -> list[Row]:
    rng = np.random.default_rng(1)
    problem = Problem.from_vectors(rng.standard_normal((500, 40)), n=50, p=1000, sigma=0.3)

    def plain() -> tuple[np.ndarray, ...]:
        return standard_deviations(problem.start, problem.gaps, Rates.of(problem))

    e = expect(problem)
    for found, exact in zip((e.errors_std, e.forgetting_std, e.generalization_std), plain(), strict=True):
        assert np.allclose(found, exact, rtol=1e-13, atol=0), "the standard deviations differ"
    fast = seconds(lambda: expect(problem).forgetting_std, repeat=5)
    slow = seconds(plain, repeat=2)
    return [at_least("exact standard deviations at T = 500 against the plain version", slow / fast, 5)]


def run() -> list[Row]:
    return [*many_steps(), *deviations_of_many_tasks()]


if __name__ == "__main__":
    print(markdown(run()))
