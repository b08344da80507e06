"""The size of the search for an order, and orders that are equivalent because tasks are."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import prod

import numpy as np
import numpy.typing as npt

from ebbing.problem import Problem

PROVABLE_STATES = 2**20
"""Sets of learned tasks (identical tasks counted together) up to which a proof is tried: 20 different tasks."""

PROVABLE_UNEQUAL = 14
"""Tasks up to which a proof is tried when they differ in n or sigma."""


@lru_cache(maxsize=8)  # a problem never changes
def _kinds(problem: Problem) -> npt.NDArray[np.int64]:
    """Return a number for each task, the same for identical tasks (T,)."""
    rows = np.column_stack([problem.gaps, problem.start, problem.n, problem.noise_variance])
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in rows])


def states(problem: Problem) -> int:
    """Return the number of sets of learned tasks, identical tasks counted together.

    Args:
        problem: The tasks.

    Returns:
        prod_k (m_k + 1), where m_k tasks are of kind k.
    """
    return prod(int(count) + 1 for count in np.bincount(_kinds(problem)))


def provable(problem: Problem) -> bool:
    """Return whether a search for the least forgetting or a mix ends with a proof, given enough time."""
    return states(problem) <= PROVABLE_STATES if problem.uniform else problem.T <= PROVABLE_UNEQUAL


def nearest_equivalent(problem: Problem, order: npt.NDArray[np.intp]) -> tuple[int, ...]:
    """Return, of equivalent orders, the one nearest to that given: A1 before A2, A1 before B1 if A and B may trade."""
    kinds, tasks = _kinds(problem), order.copy()
    members = sorted((np.flatnonzero(kinds == kind) for kind in range(kinds.max() + 1)), key=lambda m: m[0])
    alike: dict[tuple[float, ...], list[npt.NDArray[np.intp]]] = {}
    for m in members:  # kinds may trade only if they are equally large and equal in all that concerns them alone
        key = (len(m), *(float(v[m[0]]) for v in (problem.start, problem.n, problem.noise_variance)))
        alike.setdefault(key, []).append(m)
    for group in alike.values():
        for one, other in combinations(group, 2):
            rest = ~np.isin(np.arange(problem.T), [*one, *other])
            places = [np.flatnonzero(np.isin(tasks, m)) for m in (one, other)]
            may_trade = np.array_equal(problem.gaps[one[0], rest], problem.gaps[other[0], rest])
            if may_trade and places[1][0] < places[0][0]:
                tasks[places[0]], tasks[places[1]] = tasks[places[1]], tasks[places[0]]
    for m in members:
        if len(m) > 1:
            places = np.flatnonzero(np.isin(tasks, m))
            tasks[places] = np.sort(tasks[places])
    return tuple(int(i) for i in tasks)
