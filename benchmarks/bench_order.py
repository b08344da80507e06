"""Task orders: proved optima, brute force, SciPy, the cost of a move, and gaps at large T, on one core.

Run alone: python benchmarks/bench_order.py. All functions are compiled before they are timed.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.optimize import linear_sum_assignment, quadratic_assignment

from ebbing.order import _assignment, _local_search, _local_search_kernels, best_order
from ebbing.order._assignment import Assignment, all_values
from ebbing.order._bounds import convex_bound
from ebbing.order.objective import Criterion
from ebbing.problem import Problem
from harness import Row, at_least, at_most, markdown, seconds

RATES = (0.3, 0.6, 0.9)


def tasks(T: int, r: float, seed: int, *, unit: bool = False, dimension: int = 6) -> Problem:
    """Draw Gaussian ground truths; with `unit` they have equal norms."""
    w = np.random.default_rng([T, seed]).standard_normal((T, dimension))
    if unit:
        w /= np.linalg.norm(w, axis=1, keepdims=True)
    return Problem.from_vectors(w, n=round(1000 * (1 - r)), p=1000)


def forgetting(problem: Problem) -> Assignment:
    return Criterion.of(problem, "forgetting").assignment()[0]


def proved_optima() -> list[Row]:
    rows = []
    for T, problems, target in ((12, 20, 1.0), (14, 20, 15.0), (16, 20, 300.0), (20, 5, None)):
        for r in RATES:
            times = []
            for seed in range(problems):
                problem = tasks(T, r, seed)
                began = time.perf_counter()
                plan = best_order(problem, seconds=600)
                times.append(time.perf_counter() - began)
                assert plan.proved, f"T={T}, r={r}, seed={seed} is not proved"
            what = f"best_order proved, T = {T}, r = {r}: median (slowest {max(times):.2g} s) of {problems}"
            median = float(np.median(times))
            rows.append(at_most(what, median, target, " s") if target else Row(what, f"{median:.3g} s", "-", True))
    return rows


def categories() -> list[Row]:
    rows = []
    for counts in ((25, 25), (10, 10, 10), (5, 5, 5, 5), (3,) * 6, (2,) * 8):
        labels = [str(kind) for kind, count in enumerate(counts) for _ in range(count)]
        slowest = 0.0
        for r in RATES:
            problem = Problem.categories(labels, n=round(1000 * (1 - r)), p=1000)
            began = time.perf_counter()
            assert best_order(problem, seconds=600).proved
            slowest = max(slowest, time.perf_counter() - began)
        counted = " + ".join(map(str, counts))
        rows.append(Row(f"categories {counted}, slowest of three r", f"{slowest:.2g} s", "proved", True))
    return rows


def against_brute_force() -> list[Row]:
    problems = [tasks(9, RATES[seed % 3], seed) for seed in range(100)]
    objectives = [Criterion.of(problem, "forgetting") for problem in problems]
    forms = [criterion.assignment()[0] for criterion in objectives]
    for seed, (problem, criterion, form) in enumerate(zip(problems, objectives, forms, strict=True)):
        orders, values = all_values(form)
        plan, best = best_order(problem), criterion.value(orders[values.argmin()].astype(int))
        assert plan.proved
        assert abs(plan.value - best) <= plan.tolerance, f"problem {seed}: {plan.value}, enumeration finds {best}"

    def enumerate_without_cache(form: Assignment) -> None:
        _assignment._permutations.cache_clear()
        all_values(form)

    # New problems: results cached above must not help.
    again = [tasks(9, RATES[seed % 3], seed) for seed in range(100)]
    ours = np.median([seconds(lambda p=problem: best_order(p), repeat=1) for problem in again])
    uncached = np.median([seconds(lambda f=form: enumerate_without_cache(f), repeat=1) for form in forms[:30]])
    cached = np.median([seconds(lambda f=form: all_values(f), repeat=1) for form in forms[:30]])
    return [
        at_least("T = 9: vectorized enumeration against best_order, same optimum on 100 of 100", uncached / ours, 100),
        Row("the same with the table of all orders already built", f"{cached / ours:.0f}x", "-", True),
    ]


def against_scipy() -> list[Row]:
    """Compare on tasks of equal norms, for which the diagonals of SciPy's matrices can express the linear term."""
    rows = []
    for T, limit in ((20, 0.5), (50, 2.0), (100, 5.0)):
        loss: dict[str, list[float]] = {"2opt": [], "faq": []}
        for r in RATES:
            for seed in range(2):
                criterion = forgetting(tasks(T, r, seed, unit=True))
                ours = _local_search.search(criterion, seed=seed, seconds=limit).value
                stake = random_mean(criterion) - ours
                for method, losses in loss.items():
                    losses.append((scipy_restarted(criterion, method, limit) - ours) / stake)
        for method, losses in loss.items():
            worse, better = sum(x < -1e-9 for x in losses), sum(x > 1e-9 for x in losses)
            what = f"scipy {method} restarted for the same {limit:g} s, T = {T}: better / worse than ours, mean loss"
            measured = f"{worse} / {better} of {len(losses)}, {np.mean(losses):.1%}"
            rows.append(Row(what, measured, "never better", worse == 0))
    return rows


def scipy_restarted(problem: Assignment, method: str, limit: float) -> float:
    """Return the best value of all runs that start within the time limit."""
    T = problem.T
    A = -0.5 * np.concatenate(([0.0], problem.kernel[1:]))[np.abs(np.subtract.outer(np.arange(T), np.arange(T)))]
    B = problem.distance.copy()
    flat = problem.linear - problem.linear.mean(axis=0)  # equal norms: the rest is the same for every order
    left, weights, right = np.linalg.svd(flat)
    assert weights[1] <= 1e-9 * weights[0], "linear must have rank one"
    np.fill_diagonal(B, left[:, 0] * weights[0])
    np.fill_diagonal(A, right[0])
    constant = float(problem.linear.mean(axis=0).sum())
    order = np.random.default_rng(0).permutation(T)
    assert np.isclose((A * B[np.ix_(order, order)]).sum() + constant, problem.value(order)), "the objectives differ"
    random, best, deadline = np.random.default_rng(1), np.inf, time.perf_counter() + limit
    while time.perf_counter() < deadline:
        options = {"rng": random} if method == "2opt" else {"rng": random, "P0": "randomized"}
        found = quadratic_assignment(A, B, method=method, options=options)
        best = min(best, problem.value(found.col_ind))
    return best


def cost_of_a_move() -> list[Row]:
    """Time one improvement: evaluate all 2T moves of a task and apply the best, at fixed dimension."""
    cost = {}
    for T in (125, 250, 500, 1000):
        criterion = forgetting(tasks(T, 0.6, 0))
        embedded = tuple(_local_search._embed(criterion))
        pi = np.random.default_rng(0).permutation(T)
        fields = np.zeros((T, 6)), np.zeros((T, 6))
        _local_search_kernels.update(embedded, pi, fields, 0, T - 1)
        before = criterion.value(pi)
        delta, q, carry = _local_search_kernels.best_move(embedded, pi, fields, 3)
        _local_search_kernels.move(pi, 3, q, carry)
        assert np.isclose(criterion.value(pi) - before, delta), (
            "the change of value by a move differs from recomputing it"
        )
        times = []
        for _ in range(20):
            began = time.perf_counter()
            for p in range(0, T, 5):
                _, q, carry = _local_search_kernels.best_move(embedded, pi, fields, p)
                _local_search_kernels.move(pi, p, q, carry)
                _local_search_kernels.update(embedded, pi, fields, min(p, q), max(p, q))
            times.append((time.perf_counter() - began) / len(range(0, T, 5)))
        cost[T] = min(times) * 1e6
    slope = np.polyfit(np.log(list(cost)), np.log(list(cost.values())), 1)[0]
    shown = ", ".join(f"{us:.1f} us at {T}" for T, us in cost.items())
    return [at_most(f"one improvement move, {shown}: growth as a power of T", float(slope), 1.3)]


def gaps_at_large_T() -> list[Row]:
    rows = []
    for T, limit in ((50, 5.0), (100, 10.0), (1000, 40.0)):
        for r in RATES:
            problem = tasks(T, r, 1)
            plan = best_order(problem, seconds=limit)
            criterion, constant = Criterion.of(problem, "forgetting").assignment()
            mean = random_mean(criterion) + constant
            gap = plan.gap / (mean - plan.lower_bound)
            classical = gilmore_lawler(criterion) + constant
            other = (plan.value - classical) / (mean - classical)
            what = f"gap of best_order to its bound, of what is at stake, T = {T:,}, r = {r}, {limit:g} s"
            rows.append(Row(what, f"{gap:.1%} (Gilmore-Lawler: {other:.0%})", "-", True))
    return rows


def random_mean(problem: Assignment) -> float:
    """Return the mean value over all orders."""
    T = problem.T
    pairs = (T - np.arange(T))[1:] @ problem.kernel[1:]
    return float(problem.linear.sum() / T - pairs * problem.distance.sum() / (T * (T - 1)))


def gilmore_lawler(problem: Assignment) -> float:
    """Return the Gilmore-Lawler bound, for comparison."""
    T = problem.T
    k = np.concatenate(([0.0], problem.kernel[1:]))[np.abs(np.subtract.outer(np.arange(T), np.arange(T)))]
    costs = problem.linear - 0.5 * np.sort(problem.distance, axis=1) @ np.sort(k, axis=1).T
    rows, columns = linear_sum_assignment(costs)
    return float(costs[rows, columns].sum())


def run() -> list[Row]:
    best_order(tasks(6, 0.5, 0))  # compiles
    convex_bound(forgetting(tasks(6, 0.5, 0)))
    return [
        *proved_optima(),
        *categories(),
        *against_brute_force(),
        *against_scipy(),
        *cost_of_a_move(),
        *gaps_at_large_T(),
    ]


if __name__ == "__main__":
    print(markdown(run()))
