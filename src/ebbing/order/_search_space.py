"""The size of the search for an order, and orders that are equivalent because tasks are."""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt

from ebbing._weak_cache import weakly_cached
from ebbing.problem import Problem

PROVABLE_STATES = 2**20
"""Sets of learned tasks (identical tasks counted together) up to which a proof is tried: 20 different tasks."""

PROVABLE_TASKS = 200
"""Tasks up to which a proof is tried, however many are identical: with more, bounding one set takes half a second."""

PROVABLE_UNEQUAL = 14
"""Tasks up to which a proof is tried when they differ in n or sigma."""


@weakly_cached  # a problem never changes
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
    if not problem.uniform:
        return problem.T <= PROVABLE_UNEQUAL
    return problem.T <= PROVABLE_TASKS and states(problem) <= PROVABLE_STATES


def nearest_equivalent(problem: Problem, order: npt.NDArray[np.intp]) -> tuple[int, ...]:
    """Return, of equivalent orders, the one nearest to that given: A1 before A2, A1 before B1 if A and B may trade."""
    kinds, tasks = _kinds(problem), order.copy()
    place = np.argsort(order)  # (T,) of each task
    members = [np.flatnonzero(kinds == kind) for kind in range(kinds.max() + 1)]  # by their first task
    places = [np.sort(place[m]) for m in members]
    for group in _interchangeable(problem, kinds, members):
        by_first_place = sorted((places[kind] for kind in group), key=lambda taken: taken[0])
        for kind, taken in zip(group, by_first_place, strict=True):
            places[kind] = taken
    for m, taken in zip(members, places, strict=True):
        tasks[taken] = m
    return tuple(int(i) for i in tasks)


def _interchangeable(
    problem: Problem, kinds: npt.NDArray[np.int64], members: list[npt.NDArray[np.intp]]
) -> list[list[int]]:
    """Return groups of kinds of tasks that may trade places with one another without changing the value of any order.

    Kinds may trade if they are equally large, equal in all that concerns them alone, and equally far from each task of
    another kind. This is an equivalence, so each kind is compared with the first one of every group.
    """
    groups: dict[tuple[object, ...], list[list[int]]] = {}
    for kind, m in enumerate(members):
        row = problem.gaps[m[0]]
        alone = (float(v[m[0]]) for v in (problem.start, problem.n, problem.noise_variance))
        alike = groups.setdefault((len(m), *alone, np.sort(row).tobytes()), [])
        others = np.array([members[group[0]][0] for group in alike], dtype=np.intp)
        apart = (problem.gaps[others] != row).sum(axis=1)  # equal ones differ only where these two kinds are
        for group in (alike[k] for k in np.flatnonzero(apart <= 2 * len(m))):
            differs = kinds[problem.gaps[members[group[0]][0]] != row]
            if np.all((differs == kind) | (differs == group[0])):
                group.append(kind)
                break
        else:
            alike.append([kind])
    return [group for alike in groups.values() for group in alike]
