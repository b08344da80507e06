"""Theory and simulation of linear tasks. Run alone: python benchmarks/bench_linear.py"""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from ebbing import Problem, expect, expect_grid, simulate, simulate_metrics, simulate_textbook
from harness import Row, at_least, at_most, markdown, seconds


def problem(p: int) -> Problem:
    return Problem.orthogonal(T=8, n=50, p=p, sigma=0.3)


def exact_law_against_textbook() -> list[Row]:
    rows = []
    for p, target in ((1000, 800), (10_000, 8000)):
        exact, textbook = simulate(problem(p), runs=300), simulate_textbook(problem(p), runs=300)
        spread = np.sqrt((exact.errors[:, 1:].var(axis=0) + textbook.errors[:, 1:].var(axis=0)) / 300)
        z = np.abs(exact.errors[:, 1:].mean(axis=0) - textbook.errors[:, 1:].mean(axis=0)) / spread
        assert z.max() < 4.5, f"the two simulations disagree: z = {z.max():.1f}"
        fast = seconds(lambda p=p: simulate(problem(p), runs=300), repeat=30)
        slow = seconds(lambda p=p: simulate_textbook(problem(p), runs=300), repeat=2)
        rows.append(at_least(f"exact-law simulation against the textbook one, p = {p:,}", slow / fast, target))
    return rows


def cost_against_p() -> list[Row]:
    small, large = problem(10**3), problem(10**6)
    times = [(seconds(lambda: simulate(small, 300), 1), seconds(lambda: simulate(large, 300), 1)) for _ in range(100)]
    one, other = np.min(times, axis=0)
    return [at_most("exact-law time at p = 10^6 against p = 10^3", other / one, 1.2, "x")]


def exact_std_against_sampling() -> list[Row]:
    """Estimating a standard deviation to 1% takes about (kurtosis - 1) / 4 * 100^2 runs."""
    case = problem(100)
    runs, exact = 20_000, expect(case).forgetting_std
    sample = simulate_metrics(case, runs, seed=3).forgetting
    kurtosis = float(np.mean((sample - sample.mean()) ** 4) / sample.var() ** 2)
    needed = round((kurtosis - 1) / 4 * 100**2)
    assert abs(sample.std() / exact - 1) < 5 * np.sqrt((kurtosis - 1) / 4 / runs), "simulation and theory disagree"
    fast = seconds(lambda: expect(case).forgetting_std, repeat=200)
    slow = seconds(lambda: np.std(simulate_metrics(case, needed).forgetting), repeat=3)
    textbook = seconds(lambda: simulate_textbook(case, 300), repeat=3) / 300 * needed
    return [
        at_least(f"exact std against simulating it to 1% ({needed:,} textbook runs)", textbook / fast, 1000),
        Row("the same against the exact-law simulation", f"{slow / fast:,.0f}x", "-", True),
    ]


def grid_against_loop() -> list[Row]:
    p = np.unique(np.geomspace(60, 10**6, 1200).astype(int))[:1000, None]
    sigma = np.linspace(0.0, 2.0, 100)
    case = problem(100)

    def loop(points: list[tuple[int, float]]) -> list[tuple[float, float]]:
        results = []
        for size, noise in points:
            e = expect(case.replace(p=size, sigma=noise))
            results.append((e.forgetting, e.generalization))
        return results

    grid = expect_grid(case, p=p, sigma=sigma)
    points = [(int(a), float(b)) for a in p.ravel() for b in sigma]
    some = np.random.default_rng(0).choice(len(points), 3000, replace=False)
    looped = np.array(loop([points[i] for i in some]))
    together = np.stack([grid.forgetting.ravel()[some], grid.generalization.ravel()[some]], axis=1)
    assert np.allclose(looped, together, rtol=1e-12, atol=1e-14), "the grid differs from the loop"
    slow = seconds(lambda: loop([points[i] for i in some]), repeat=2) / len(some) * len(points)
    fast = seconds(lambda: expect_grid(case, p=p, sigma=sigma), repeat=5)
    return [at_least(f"grid of {len(points):,} points against a loop over expect (3,000 timed)", slow / fast, 100)]


def startup_time() -> list[Row]:
    def python(*arguments: str) -> None:
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)

    numpy = seconds(lambda: python("-c", "import numpy"), repeat=7)
    ours = seconds(lambda: python("-c", "import ebbing"), repeat=7)
    command = ("-m", "ebbing", "expect", "--tasks", "orthogonal:8", "-n", "50", "-p", "100", "--sigma", "0.3")
    answer = seconds(lambda: python(*command), repeat=5)
    return [
        at_most("import ebbing, beyond import numpy", ours - numpy, 0.3, " s"),
        at_most("ebbing expect, from the shell", answer, 1.0, " s"),
    ]


def run() -> list[Row]:
    return [
        *exact_law_against_textbook(),
        *cost_against_p(),
        *exact_std_against_sampling(),
        *grid_against_loop(),
        *startup_time(),
    ]


if __name__ == "__main__":
    print(markdown(run()))
