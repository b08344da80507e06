"""Simple rules for the order of tasks, without a search; `ebbing.paper.rule_comparison` measures how much each loses.

Each takes a problem and returns an order, indices from 0. All but `largest_error_order` look at the distances alone, so
they give the same order for every n, p and noise. Of equally good candidates the first one in the problem is taken.

========================  ======================================================================
rule                      next comes
========================  ======================================================================
greedy_order              the task farthest from the last one
largest_error_order       the task on which the current model has the largest error
farthest_order            the task farthest, on average, from all learned so far
periphery_to_core_order   the task farthest, on average, from all others
core_to_periphery_order   the task nearest, on average, to all others
nearest_order             the task nearest to the last one
longest_path_order        the next one on the path with the greatest sum of distances
alternating_order         a task of the next cluster, the clusters in turn
random_order              a random task
========================  ======================================================================

Distances are the paper's d_ij = |w*_i - w*_j|^2 throughout.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ebbing._validate import Array, check_seed
from ebbing.problem import Problem, check_problem
from ebbing.theory._rates import Rates

if TYPE_CHECKING:
    from ebbing.order._assignment import Assignment

Order = npt.NDArray[np.intp]
Rule = Callable[[Problem], Order]

_DECIMALS = 12  # of scores relative to the largest: what differs later is rounding
_PROVE_PATH_UP_TO = 12  # tasks; beyond, a local search finds the path
_NEW_CLUSTER = 0.5  # of the largest distance: a task this far from all clusters starts one


def greedy_order(problem: Problem) -> Order:
    """Return the order that starts with the most dissimilar task and goes on with the one farthest from the last.

    This is the paper's advice read literally: tasks at a large distance "should be learned adjacently with higher
    priority" (Section 4.3, 1). Section 5.2 repeats it for networks, and finds that Li et al. (2022) and Bell and
    Lawrence (2022) agree.

    Args:
        problem: The tasks.

    Returns:
        The order, indices from 0 (T,).

    Example:
        >>> greedy_order(Problem.from_vectors([[0], [1], [3], [7]], n=50, p=100)).tolist()
        [3, 0, 2, 1]
    """
    return _one_by_one(problem, _dissimilarity(problem), lambda learned: problem.gaps[learned[-1]])


def nearest_order(problem: Problem) -> Order:
    """Return the order that starts with the most typical task and goes on with the one nearest to the last.

    A curriculum of small steps: the opposite of the paper's advice on forgetting, and a common choice without it.

    Args:
        problem: The tasks.

    Returns:
        The order, indices from 0 (T,).

    Example:
        >>> nearest_order(Problem.from_vectors([[0], [1], [3], [7]], n=50, p=100)).tolist()
        [2, 1, 0, 3]
    """
    return _one_by_one(problem, -_dissimilarity(problem), lambda learned: -problem.gaps[learned[-1]])


def farthest_order(problem: Problem) -> Order:
    """Return the order in which each task is the one farthest, on average, from all tasks learned so far.

    It starts with the most dissimilar task. It reads "diversify the learning tasks in the early stage" (Sections 1 and
    5.2) as: each task is far from what is known. It is `largest_error_order` in the limit r -> 1, norms aside, and does
    not depend on r.

    Args:
        problem: The tasks.

    Returns:
        The order, indices from 0 (T,).

    Example:
        >>> farthest_order(Problem.from_vectors([[0], [1], [3], [7]], n=50, p=100)).tolist()
        [3, 0, 1, 2]
    """
    check_problem(problem)
    distance = np.zeros(problem.T)  # from all tasks learned so far

    def score(learned: list[int]) -> Array:
        nonlocal distance
        distance = distance + problem.gaps[learned[-1]]
        return distance

    return _one_by_one(problem, _dissimilarity(problem), score)


def largest_error_order(problem: Problem) -> Order:
    """Return the order in which each task is the one on which the current model has the largest expected error.

    This rule is not in the paper. With D_t the error of task t when just learned, (T-1) F_T = T G_T - sum_t D_t, and
    E D_t = r_t E L[t-1, t] + q_t: each step makes the term that it adds as large as possible. The rule needs no
    distances, only the current error on each remaining task. Noise raises all errors alike (Lemma 2), so it plays no
    part.

    Args:
        problem: The tasks.

    Returns:
        The order, indices from 0 (T,).

    Example:
        >>> largest_error_order(Problem.categories("AABBB", n=50, p=100)).tolist()
        [0, 2, 1, 3, 4]
    """
    check_problem(problem)
    rates, errors = Rates.of(problem), problem.start

    def score(learned: list[int]) -> Array:
        nonlocal errors
        t = learned[-1]
        errors = rates.retained[t] * errors + rates.replaced[t] * problem.gaps[t]  # Lemma 2 without noise
        return errors

    return _one_by_one(problem, errors, score)


def periphery_to_core_order(problem: Problem) -> Order:
    """Return the order of decreasing mean distance to all others: outliers first, the most typical task last.

    This is the paper's order of least generalization error (Section 4, remark (3) on Theorem 1), stated there for equal
    norms. Norms do not matter: E G_T depends on the order only through sum_i r^{T-i} sum_k d_ik. Unequal n or sigma do.

    Args:
        problem: The tasks.

    Returns:
        The order, indices from 0 (T,).

    Example:
        >>> periphery_to_core_order(Problem.from_vectors([[0], [1], [3], [7]], n=50, p=100)).tolist()
        [3, 0, 1, 2]
    """
    return np.argsort(-_dissimilarity(problem), kind="stable")


def core_to_periphery_order(problem: Problem) -> Order:
    """Return the order of increasing mean distance to all others: the most typical task first.

    It is the contrast to `periphery_to_core_order`.

    Args:
        problem: The tasks.

    Returns:
        The order, indices from 0 (T,).

    Example:
        >>> core_to_periphery_order(Problem.from_vectors([[0], [1], [3], [7]], n=50, p=100)).tolist()
        [2, 1, 0, 3]
    """
    return np.argsort(_dissimilarity(problem), kind="stable")


def longest_path_order(problem: Problem) -> Order:
    """Return the order with the greatest sum of distances between neighbors, from its more dissimilar end.

    It reads "learn more dissimilar tasks adjacently" (Section 1) without "in the early stage". The path is proved
    longest up to 12 tasks; beyond, it is the best of a local search, which takes minutes without numba. Of equally long
    paths any may be returned, but always the same.

    Args:
        problem: The tasks.

    Returns:
        The order, indices from 0 (T,).

    Example:
        >>> longest_path_order(Problem.from_vectors([[0], [1], [3], [7]], n=50, p=100)).tolist()
        [1, 3, 0, 2]
    """
    from ebbing.order._assignment import Assignment
    from ebbing.order._branch_and_bound import prove
    from ebbing.order._local_search import search

    kernel = np.zeros(problem.T)
    kernel[1:2] = 1.0  # neighbors only
    paths = Assignment(np.zeros((problem.T, problem.T)), kernel, problem.gaps)
    order = (prove(paths) if problem.T <= _PROVE_PATH_UP_TO else search(paths)).order
    first, last = _dissimilarity(problem)[order[[0, -1]]]
    return order[::-1].copy() if last > first or (last == first and order[-1] < order[0]) else order


def alternating_order(problem: Problem) -> Order:
    """Return the order that takes clusters in turn, the largest first, each until no task of it is left.

    Within a cluster the more dissimilar task comes first. Props. order2 and order3: optimal for two and three
    categories of equal counts (`ebbing.paper.proofs`: for any number). The two most distant tasks start two clusters,
    and each task farther than half their distance from all clusters so far starts another: so categories are clusters,
    and tasks on a line make two. The others join the nearest one.

    Args:
        problem: The tasks.

    Returns:
        The order, indices from 0 (T,).

    Example:
        >>> tasks = Problem.categories("ABBCCC", n=50, p=100)
        >>> tasks.reordered(alternating_order(tasks)).names
        ('C1', 'B1', 'A1', 'C2', 'B2', 'C3')
    """
    dissimilarity, gaps = _dissimilarity(problem), problem.gaps
    widest = np.unravel_index(_largest(gaps.reshape(-1)), gaps.shape)
    seeds = list(dict.fromkeys(int(i) for i in widest))
    to_seeds, far = gaps[seeds].min(axis=0), _NEW_CLUSTER * gaps.max()  # (T,)
    while to_seeds.max() > far:
        seeds.append(_largest(to_seeds))
        to_seeds = np.minimum(to_seeds, gaps[seeds[-1]])
    member = _rounded(gaps[seeds]).argmin(axis=0)  # (T,) the seed's number
    outer_first = np.argsort(-dissimilarity, kind="stable")
    clusters: list[list[int]] = [[] for _ in seeds]
    for task in outer_first.tolist():
        clusters[member[task]].append(task)
    clusters.sort(key=lambda tasks: (-len(tasks), -dissimilarity[tasks[0]], tasks[0]))
    laps = range(len(clusters[0]))
    return np.array([tasks[lap] for lap in laps for tasks in clusters if lap < len(tasks)], dtype=np.intp)


def random_order(problem: Problem, seed: int = 0) -> Order:
    """Return a random order, each as likely as any other: the baseline of the rules.

    Args:
        problem: The tasks.
        seed: Seed of the random numbers.

    Returns:
        The order, indices from 0 (T,).

    Example:
        >>> sorted(random_order(Problem.orthogonal(T=4, n=50, p=100), seed=3).tolist())
        [0, 1, 2, 3]
    """
    check_problem(problem)
    return np.random.default_rng(check_seed(seed)).permutation(problem.T)


def mean_over_orders(assignment: Assignment) -> float:
    """Return the mean of V over all orders, which is the expected value of `random_order`.

    Over all orders every task is in every place, and every pair of tasks at every distance of places, equally often.

    Args:
        assignment: The order problem V.

    Returns:
        The mean of V over the T! orders.

    Example:
        >>> from ebbing.order._assignment import Assignment
        >>> mean_over_orders(Assignment(np.eye(2), [0, 1], [[0, 3], [3, 0]]))  # of -1 and -3
        -2.0
    """
    T = assignment.T
    pairs = float((T - np.arange(1, T)) @ assignment.kernel[1:])  # sum_{i<j} k_{j-i}
    mean_distance = assignment.distance.sum() / max(1, T * (T - 1))
    return float(assignment.linear.mean() * T - pairs * mean_distance)


RULES: dict[str, Rule] = {
    "largest_error": largest_error_order,
    "farthest": farthest_order,
    "greedy": greedy_order,
    "alternating": alternating_order,
    "periphery_to_core": periphery_to_core_order,
    "longest_path": longest_path_order,
    "nearest": nearest_order,
    "core_to_periphery": core_to_periphery_order,
    "random": random_order,
}
"""The rules by the names that tables and records use."""

CHEAP_RULES = {name: rule for name, rule in RULES.items() if name != "longest_path"}
"""The rules that do not search: milliseconds, and a few tenths of a second for a thousand tasks."""


def _dissimilarity(problem: Problem) -> Array:
    """Return sum_k d_ik of each task, rounded so that equal sums are equal (T,)."""
    check_problem(problem)
    return _rounded(problem.gaps.sum(axis=1))


def _rounded(scores: Array) -> Array:
    """Return the scores relative to the largest, without their last digits."""
    return np.round(scores / (float(np.abs(scores).max()) or 1.0), _DECIMALS)  # also of denormal scores


def _largest(scores: Array) -> int:
    """Return the index of the largest score; of those that `_rounded` makes equal, the first."""
    scale = float(np.abs(scores).max()) or 1.0
    close = np.flatnonzero(scores >= scores.max() - 2 * 10.0**-_DECIMALS * scale)  # only these can round to the largest
    return int(close[np.round(scores[close] / scale, _DECIMALS).argmax()])


def _one_by_one(problem: Problem, first: Array, score: Callable[[list[int]], Array]) -> Order:
    """Start with the task of largest `first`, then always take the remaining task of largest `score`."""
    learned: list[int] = []
    left = np.arange(problem.T)
    while len(left):
        scores = score(learned) if learned else first
        task = int(left[_largest(scores[left])])
        learned.append(task)
        left = left[left != task]
    return np.array(learned, dtype=np.intp)
