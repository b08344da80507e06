"""Curricula: exact-law simulation of replay, and the best replay. Run alone: python benchmarks/bench_steps.py"""

from __future__ import annotations

import numpy as np

from ebbing import Curriculum, Problem, best_replay, simulate, simulate_textbook
from ebbing.learners import MinimumNorm
from ebbing.order._curriculum_values import curriculum_values
from harness import Row, at_least, at_most, markdown, seconds


def problem(p: int) -> Problem:
    return Problem.orthogonal(T=8, n=50, p=p, sigma=0.3)


def exact_law_against_textbook() -> list[Row]:
    rows = []
    for p, runs, target in ((1000, 60, 300), (10_000, 12, 3000)):
        case = problem(p)
        plan = Curriculum.replay(case, memory=10)
        exact, textbook = simulate(case, 1000, curriculum=plan), simulate_textbook(case, runs, curriculum=plan)
        spread = np.sqrt(exact.errors[:, 1:].var(axis=0) * (1 / 1000 + 1 / runs))
        z = np.abs(exact.errors[:, 1:].mean(axis=0) - textbook.errors[:, 1:].mean(axis=0)) / spread
        assert z.max() < 4.5, f"the two simulations disagree: z = {z.max():.1f}"
        fast = seconds(lambda case=case, plan=plan: simulate(case, 1000, curriculum=plan), repeat=15) / 1000
        slow = seconds(lambda c=case, q=plan, r=runs: simulate_textbook(c, r, curriculum=q), repeat=2) / runs
        rows.append(at_least(f"exact law of replay against the textbook, p = {p:,}", slow / fast, target))
    return rows


def cost_against_p() -> list[Row]:
    small, large = problem(10**3), problem(10**6)
    plan = Curriculum.replay(small, memory=10)
    pairs = [
        (
            seconds(lambda: simulate(small, 300, curriculum=plan), 1),
            seconds(lambda: simulate(large, 300, curriculum=plan), 1),
        )
        for _ in range(40)
    ]
    one, other = np.min(pairs, axis=0)
    return [at_most("exact-law time of replay at p = 10^6 against p = 10^3", other / one, 1.2, "x")]


def best_replay_of_ten_tasks() -> list[Row]:
    case = Problem.from_vectors(np.random.default_rng(0).standard_normal((10, 6)), n=50, p=400, sigma=0.3)
    rows = []
    for objective in ("generalization", "forgetting"):
        plan = best_replay(case, 200, objective)
        samples = (plan.replayed + np.diag(case.n))[None]
        value = curriculum_values(case, samples, MinimumNorm())[objective == "generalization"][0]
        assert abs(value - plan.value) < 1e-12 * abs(value)
        taken = seconds(lambda o=objective: best_replay(case, 200, o), repeat=3)
        rows.append(at_most(f"best_replay of 10 tasks, budget 200, {objective}", taken, 5, "s"))
    return rows


def run() -> list[Row]:
    return [*exact_law_against_textbook(), *cost_against_p(), *best_replay_of_ten_tasks()]


if __name__ == "__main__":
    print(markdown(run()))
