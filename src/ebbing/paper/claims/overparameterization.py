"""Section 4.1: the effect of more parameters."""

from __future__ import annotations

import numpy as np

from ebbing import theory
from ebbing.paper.claims.examples import pair, random_problem
from ebbing.paper.claims.registry import Config, claim
from ebbing.problem import Problem
from ebbing.theory import expect_grid


@claim("forgetting and Term G2 vanish as p grows", "Section 4.1, 1)", "{problems} random problems at p = 10^3 .. 10^12")
def limits_of_many_parameters(config: Config) -> tuple[str, bool]:
    rng = np.random.default_rng(config.seed)
    p = np.logspace(3, 12, 10).astype(int)
    worst, falls = 0.0, True
    for _ in range(config.problems):
        problem = random_problem(rng, n=50, p=1000)
        grid = expect_grid(problem, p=p)
        scale = problem.gaps.max() + problem.start.max() + 1
        worst = max(worst, abs(grid.forgetting[-1]) / scale, grid.G2[-1] / scale)
        # Each tenfold p divides both by ten, up to the next order in n/p.
        falls &= bool(np.allclose(grid.G2[6:] / grid.G2[5:-1], 0.1, rtol=1e-3)) if problem.gaps.max() > 0 else True
    return f"at p = 10^12 at most {worst:.0e} relative to the tasks", worst < 1e-8 and falls


@claim("Term G2 falls with p for T = 2 and for orthogonal tasks", "Section 4.1, 1)", "every p from n+2 to 5,000")
def gap_term_falls(config: Config) -> tuple[str, bool]:
    p = np.arange(52, 5001)
    problems = [pair(cosine, n=50, p=100) for cosine in (-1.0, 0.0, 0.9)]
    problems += [Problem.orthogonal(T=T, n=50, p=100) for T in (3, 5, 8)]
    falling = all(np.all(np.diff(expect_grid(problem, p=p).G2) < 0) for problem in problems)
    return f"{len(problems)} problems, G2 falls strictly in {'all' if falling else 'not all'}", falling


@claim(
    "overfitting is benign more easily with more noise",
    "Section 4.1, 2)",
    "orthogonal tasks, noise 0 .. 3, best p on each side of n",
)
def benign_with_noise(config: Config) -> tuple[str, bool]:
    gains = [
        theory.benign_overfitting(Problem.orthogonal(T=8, n=50, p=100, sigma=s)).advantage
        for s in np.linspace(0, 3, 13)
    ]
    text = f"advantage of overfitting grows from {gains[0]:.3f} to {gains[-1]:.3f}"
    return text, bool(np.all(np.diff(gains) > -1e-12) and gains[0] > 0 and gains[-1] > gains[0])


@claim(
    "overfitting is benign more easily with less similar tasks",
    "Section 4.1, 2)",
    "8 tasks at cosine 1 .. 0, noise 0.3",
)
def benign_with_dissimilarity(config: Config) -> tuple[str, bool]:
    gains = []
    for cosine in np.linspace(1, 0, 11):
        gram = cosine * np.ones((8, 8)) + (1 - cosine) * np.eye(8)
        gains.append(theory.benign_overfitting(Problem(gram=gram, n=50, p=100, sigma=0.3)).advantage)
    text = f"advantage of overfitting grows from {gains[0]:.3f} (identical) to {gains[-1]:.3f} (orthogonal)"
    return text, bool(np.all(np.diff(gains) > 0) and gains[0] < 0 < gains[-1])


@claim(
    "forgetting has a descent floor if tasks are similar and noise is low", "Section 4.1, 3)", "T = 2, n = 50, all p"
)
def floor_of_forgetting(config: Config) -> tuple[str, bool]:
    similar = theory.descent_floor(pair(0.95, n=50, p=100, sigma=0.1), of="forgetting")
    different = theory.descent_floor(pair(0.0, n=50, p=100, sigma=0.1), of="forgetting")
    text = f"cosine 0.95: floor {similar.value:.3f} at p = {similar.p:g}; cosine 0: {_floor(different)}"
    return text, similar.exists and not different.exists


@claim(
    "generalization error has a descent floor if tasks agree and noise is low",
    "Section 4.1, 3)",
    "T = 2 and the 8 identical tasks of Figure 1 (c), all p",
)
def floor_of_generalization(config: Config) -> tuple[str, bool]:
    floors = {s: theory.descent_floor(Problem.identical(T=8, n=50, p=100, sigma=s)) for s in (0.1, 0.3, 1.0)}
    opposed = theory.descent_floor(pair(-0.5, n=50, p=100, sigma=0.1))
    agreeing = theory.descent_floor(pair(0.5, n=50, p=100, sigma=0.1))
    text = "; ".join(f"noise {s}: {_floor(f)}" for s, f in floors.items()) + f"; opposed pair: {_floor(opposed)}"
    holds = floors[0.1].exists and floors[0.3].exists and not floors[1.0].exists
    return text, holds and agreeing.exists and not opposed.exists


def _floor(floor: theory.DescentFloor) -> str:
    return f"floor {floor.value:.3f} at p = {floor.p:g}" if floor.exists else "no floor"


@claim(
    "dG_2/dp is first negative, then positive (the paper: first positive, then negative)",
    "Section 4.1, 3), erratum E8",
    "agreeing tasks, low noise, p = n+2 .. 10^6",
)
def slope_signs(config: Config) -> tuple[str, bool]:
    p = np.unique(np.geomspace(52, 1e6, 400).astype(int))
    slopes = [theory.two_task_generalization_slope(pair(0.8, n=50, p=int(k), sigma=0.1)) for k in p]
    changes = np.flatnonzero(np.diff(np.sign(slopes)))
    holds = len(changes) == 1 and slopes[0] < 0 < slopes[-1]
    return f"one change of sign, from - to +, near p = {p[changes[0]]}", holds
