"""Order search: proved optima, brute force, scipy's quadratic assignment, growth of a move's cost, gaps at large T.

Run with `python benchmarks/bench_order.py`; one core, about ten minutes. Compilation is done before anything is timed,
and each comparison checks that both sides mean the same objective, or reach the same optimum, before it prints a ratio.
"""

import time

import numpy as np
from scipy.optimize import linear_sum_assignment, quadratic_assignment

from ebbing.order import assignment, heuristic
from ebbing.order.assignment import Assignment, all_values
from ebbing.order.bounds import convex_bound
from ebbing.order.exact import prove
from ebbing.order.heuristic import search

RATES = (0.3, 0.6, 0.9)


def gaussian_tasks(T: int, r: float, seed: int, *, unit: bool = False, dimension: int = 6) -> Assignment:
    """The forgetting of random tasks; of equal norms if `unit`."""
    w = np.random.default_rng([T, seed]).standard_normal((T, dimension))
    if unit:
        w /= np.linalg.norm(w, axis=1, keepdims=True)
    gram = w @ w.T
    norm = np.diag(gram)
    d = np.maximum(norm + norm[:, None] - 2 * gram, 0)
    d, j = (d + d.T) / 2 * (1 - np.eye(T)), np.arange(T)
    linear = np.outer(d.sum(1), (1 - r) * r ** (T - 1 - j))
    if not unit:  # otherwise a constant
        linear += np.outer(norm, (r**T - r ** (j + 1)) * (j < T - 1))
    return Assignment(linear, (1 - r) * r**j, d)


def categories(counts: list[int], r: float) -> Assignment:
    """Categories at random places."""
    kind = np.repeat(np.arange(len(counts)), counts)
    T = len(kind)
    w = np.random.default_rng(len(counts)).standard_normal((len(counts), 6))[kind]
    d, j = np.square(w[:, None] - w[None]).sum(-1), np.arange(T)
    linear = np.outer(d.sum(1), (1 - r) * r ** (T - 1 - j))
    linear += np.outer(np.square(w).sum(1), (r**T - r ** (j + 1)) * (j < T - 1))
    return Assignment(linear, (1 - r) * r**j, d)


def random_mean(problem: Assignment) -> float:
    """The mean of V over all orders."""
    T = problem.T
    pairs = (T - np.arange(T))[1:] @ problem.kernel[1:]
    return float(problem.linear.sum() / T - pairs * problem.distance.sum() / (T * (T - 1)))


def gilmore_lawler(problem: Assignment) -> float:
    """The classical bound, for comparison."""
    T = problem.T
    k = np.concatenate(([0.0], problem.kernel[1:]))[np.abs(np.subtract.outer(np.arange(T), np.arange(T)))]
    costs = problem.linear - 0.5 * np.sort(problem.distance, axis=1) @ np.sort(k, axis=1).T
    rows, columns = linear_sum_assignment(costs)
    return float(costs[rows, columns].sum())


def proved_optima() -> None:
    print("\nProved optimum, heuristic start included; random Gaussian tasks in 6 dimensions; seconds")
    print(f"{'T':>4} {'r':>5} {'problems':>9} {'median':>8} {'slowest':>8} {'target':>7} {'prefixes':>9}")
    for T, problems, target in ((12, 20, 1), (14, 20, 15), (16, 20, 300), (18, 5, None), (20, 5, None)):
        for r in RATES:
            times, prefixes = [], []
            for seed in range(problems):
                problem = gaussian_tasks(T, r, seed)
                start = time.perf_counter()
                proof = prove(problem)
                times.append(time.perf_counter() - start)
                prefixes.append(proof.prefixes)
                if not proof.proved:
                    raise AssertionError(f"T={T}, r={r}, seed={seed} is not proved")
            print(
                f"{T:4} {r:5} {problems:9} {np.median(times):8.3f} {max(times):8.3f} {target or '':>7} "
                f"{int(np.median(prefixes)):9}"
            )
    print("\nCategories (identical tasks), proved; seconds")
    for counts in ([15, 15], [25, 25], [10, 10, 10], [5, 5, 5, 5], [3] * 6, [2] * 8):
        for r in RATES:
            start = time.perf_counter()
            proof = prove(categories(counts, r), seconds=60)
            verdict = "proved" if proof.proved else f"gap {proof.value - proof.lower_bound:.3g}"
            print(f"  T={sum(counts):2} {counts!s:26} r={r}: {time.perf_counter() - start:7.3f} {verdict}")


def against_brute_force() -> None:
    print("\nT=9, 100 problems: vectorised enumeration of all orders against the exact search; milliseconds each")
    ours, ready, fresh = [], [], []
    for seed in range(100):
        problem = gaussian_tasks(9, (0.1, 0.3, 0.6, 0.9)[seed % 4], seed)
        assignment._permutations.cache_clear()
        clock = [time.perf_counter()]
        all_values(problem)
        clock.append(time.perf_counter())
        best = all_values(problem)[1].min()
        clock.append(time.perf_counter())
        proof = prove(problem)
        clock.append(time.perf_counter())
        for column, seconds in zip((fresh, ready, ours), np.diff(clock), strict=True):
            column.append(seconds * 1e3)
        if not proof.proved or abs(proof.value - best) > proof.tolerance:
            raise AssertionError(f"problem {seed}: {proof.value}, but enumeration finds {best}")
    print("  the same optimum on 100 of 100")
    print(f"  enumeration {np.median(fresh):.1f} (with its table ready {np.median(ready):.1f}), ours {np.median(ours):.2f}")
    print(f"  ratio {np.median(fresh) / np.median(ours):.0f}x ({np.median(ready) / np.median(ours):.0f}x)")


def against_scipy() -> None:
    print(
        "\nAgainst scipy.optimize.quadratic_assignment, restarted for the same time; tasks of equal norm (so that the"
    )
    print("diagonals of its matrices carry the linear term); its loss in % of (mean over random orders - ours)")
    print(f"{'T':>4} {'r':>5} {'seconds':>8} {'problem':>8} {'2opt':>8} {'faq':>8}")
    worse, total = 0, 0
    for T, seconds in ((20, 0.5), (50, 2.0), (100, 5.0)):
        for r in RATES:
            for seed in range(3):
                problem = gaussian_tasks(T, r, seed, unit=True)
                ours = search(problem, seed=seed, seconds=seconds).value
                range_ = random_mean(problem) - ours
                loss = {}
                for method in ("2opt", "faq"):
                    loss[method] = 100 * (scipy_restarted(problem, method, seconds) - ours) / range_
                    total += 1
                    worse += loss[method] < -1e-7
                print(f"{T:4} {r:5} {seconds:8} {seed:8} {loss['2opt']:8.3f} {loss['faq']:8.3f}")
    print(f"  ours was worse in {worse} of {total}")


def scipy_restarted(problem: Assignment, method: str, seconds: float) -> float:
    """The best value of as many runs as begin within the time."""
    T = problem.T
    A = -0.5 * np.concatenate(([0.0], problem.kernel[1:]))[np.abs(np.subtract.outer(np.arange(T), np.arange(T)))]
    B = problem.distance.copy()
    left, weights, right = np.linalg.svd(problem.linear)
    if T > 1 and weights[1] > 1e-9 * weights[0]:
        raise AssertionError("linear must have rank one")
    np.fill_diagonal(B, left[:, 0] * weights[0])
    np.fill_diagonal(A, right[0])
    order = np.random.default_rng(0).permutation(T)
    if not np.isclose((A * B[np.ix_(order, order)]).sum(), problem.value(order)):
        raise AssertionError("the two objectives differ")
    random, best, deadline = np.random.default_rng(1), np.inf, time.perf_counter() + seconds
    while time.perf_counter() < deadline:
        options = {"rng": random} if method == "2opt" else {"rng": random, "P0": "randomized"}
        found = quadratic_assignment(A, B, method=method, options=options)
        best = min(best, problem.value(found.col_ind))
    return best


def growth() -> None:
    print("\nOne improvement: all 2T moves of a task priced, the best carried out; beside it, V recomputed once")
    print(f"{'T':>5} {'D':>4} {'us':>9} {'us / T':>8} {'recomputing, us':>16}")
    for dimension, sizes in ((6, (125, 250, 500, 1000)), (50, (125, 250, 500, 1000))):
        for T in sizes:
            problem = gaussian_tasks(T, 0.6, 0, dimension=dimension)
            tasks = tuple(heuristic._embed(problem))
            pi = np.random.default_rng(0).permutation(T)
            fields = np.zeros((T, dimension)), np.zeros((T, dimension))
            heuristic._update(tasks, pi, fields, 0, T - 1)
            before = problem.value(pi)
            delta, q, carry = heuristic._best_move(tasks, pi, fields, 3)
            heuristic._move(pi, 3, q, carry)
            if not np.isclose(problem.value(pi) - before, delta):
                raise AssertionError("a move's price differs from recomputing")
            times = []
            for _ in range(5):
                start = time.perf_counter()
                for p in range(0, T, 5):
                    _, q, carry = heuristic._best_move(tasks, pi, fields, p)
                    heuristic._move(pi, p, q, carry)
                    heuristic._update(tasks, pi, fields, min(p, q), max(p, q))
                times.append((time.perf_counter() - start) / len(range(0, T, 5)))
            start = time.perf_counter()
            problem.value(pi)
            recomputed = time.perf_counter() - start
            print(f"{T:5} {dimension:4} {min(times) * 1e6:9.1f} {min(times) / T * 1e6:8.4f} {recomputed * 1e6:16.0f}")


def gaps() -> None:
    print("\nBest order found, bound, and gap in % of (mean over random orders - bound)")
    print(f"{'T':>5} {'r':>5} {'found':>11} {'bound':>11} {'gap %':>6} {'seconds':>8} {'Gilmore-Lawler gap %':>21}")
    for T, seconds in ((20, 1), (50, 2), (100, 5), (1000, 30)):
        for r in RATES:
            problem = gaussian_tasks(T, r, 1)
            start = time.perf_counter()
            found, bound = search(problem, seconds=seconds).value, convex_bound(problem, seconds=seconds).value
            seconds_used = time.perf_counter() - start
            classical, mean = gilmore_lawler(problem), random_mean(problem)
            gap, classical_gap = (100 * (found - b) / (mean - b) for b in (bound, classical))
            print(f"{T:5} {r:5} {found:11.4f} {bound:11.4f} {gap:6.2f} {seconds_used:8.1f} {classical_gap:21.1f}")


if __name__ == "__main__":
    prove(gaussian_tasks(6, 0.5, 0))  # compiles
    search(gaussian_tasks(6, 0.5, 0), rounds=10)
    proved_optima()
    against_brute_force()
    growth()
    gaps()
    against_scipy()
