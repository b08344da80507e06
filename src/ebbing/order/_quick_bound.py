"""A lower bound for when there is no time: a fraction of a second for a thousand tasks.

A task x in place p earns from the others at most  1/2 sum_q k_|p-q| d(x, pi_q)  <=  1/2 (k_p sorted) . (d_x sorted), so

    V >= the least assignment of  linear[x, p] - 1/2 (k_p sorted) . (d_x sorted)      (Gilmore 1962, Lawler 1963),

and that is at least what reducing rows and columns of the costs by their minima takes away.
"""

import time

import numpy as np

from ebbing.order._assignment import Assignment, Floats

_SAMPLE = 250  # tasks of the eigendecomposition that is timed


def quick_bound(problem: Assignment) -> float:
    """Return a lower bound on V over all orders, weaker and quicker than `convex_bound`.

    >>> line = Assignment(np.zeros((3, 3)), kernel=[0, 0.5, 0.25], distance=[[0, 1, 4], [1, 0, 1], [4, 1, 0]])
    >>> quick_bound(line)      # the best order has it
    -2.75
    """
    sorted_distances, sorted_weights = np.sort(problem.distance, axis=1), np.sort(problem.nearness, axis=1)
    costs = problem.linear - 0.5 * sorted_distances @ sorted_weights.T  # (T, T)
    return max(_reduction(costs), _reduction(costs.T))


def _reduction(costs: Floats) -> float:
    """Return the sum of the rows' minima and of the minima then left in the columns: below every assignment."""
    rows = costs.min(axis=1)
    return float(rows.sum() + (costs - rows[:, None]).min(axis=0).sum())


def eigh_seconds(T: int) -> float:
    """Return about how long the eigendecomposition of a (T, T) matrix takes here and now; 0 if it takes no time.

    Args:
        T: Number of tasks.

    Returns:
        Seconds, from a smaller matrix.
    """
    if T <= _SAMPLE:
        return 0.0
    began = time.perf_counter()
    np.linalg.eigh(np.cos(np.multiply.outer(np.arange(_SAMPLE), np.arange(_SAMPLE))))
    return (time.perf_counter() - began) * (T / _SAMPLE) ** 3
