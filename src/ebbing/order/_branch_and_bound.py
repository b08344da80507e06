"""The best order, proved: branch and bound over sets of learned tasks, with an exact dominance test.

Place the tasks one after another. After j of them, in the set S, the learned prefix acts on the rest only through

    H_x = sum_{i<j} k_{j-i} d(pi_i, x),      as task x in place j+q then earns  rho^q H_x   (k is geometric),

so two prefixes of the same set S are compared *exactly*: B is useless beside A if, however the rest is arranged,
A ends no worse. The worst arrangement pairs the largest H^B_x - H^A_x with the largest rho^q, a sort:

    A dominates B   <=>   V_A - V_B + sum_q rho^q (H^B - H^A)_(q) <= 0,      (q): decreasing order.          (D)

Per set few prefixes survive (for rho -> 0 one per last task: the Held-Karp recursion of the longest path). What is
left is bounded from below by a linear assignment of the unplaced tasks to the places left: their linear costs and
-rho^q H_x are exact, and `_minorant.minorant`, computed once per set, is a linear function below their mutual costs.
The assignment's reduced costs discard successors before they are built.

Identical tasks are one type with a count, so categories need a table over counts, not over sets; interchangeable types
start in a fixed order; if V is the same backwards, only one of the two directions is searched; if not, from the end
that branches less. A layer of prefixes is expanded at a time, in batches of bounded size, last batch first, so
memory stays bounded and the search can stop at any time with a valid bound: the least over open prefixes.

Proved means: no order is better by more than `Assignment.tolerance`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import factorial, inf, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ebbing.order._assignment import Assignment, Floats, Order, Types
from ebbing.order._bounds import convex_bound
from ebbing.order._clock import interrupt_requested
from ebbing.order._compilation import SLOWDOWN
from ebbing.order._local_search import search
from ebbing.order._minorant import last_places
from ebbing.order._prefix_kernels import expand

Integers = NDArray[np.int64]

_DOMINANCE = 1e-4  # of the tolerance, per layer: prefixes this close count as equal
_ROUNDS = 200  # the heuristic search that provides the first order has 1 + T^4 / 200 rounds
_BOTH_ENDS = 11  # from this T on, it pays to find out from which end to start
_BATCH = 200_000  # prefixes expanded together: more means more dominance, and more memory
_SLICE = 20_000 // SLOWDOWN  # prefixes built between two looks at the clock, of at most a fortieth as many sets
_USUAL = 20  # unplaced tasks: with more of them, m, a set takes about m^3 times as long and a prefix m^2


@dataclass(frozen=True)
class Proof:
    """The best order found, and a lower bound on all others."""

    order: Order  # (T,)
    value: float
    lower_bound: float  # equal to `value` if proved
    proved: bool  # no order is better by more than `tolerance`
    tolerance: float
    prefixes: int  # how many the search kept
    interrupted: bool = False  # by Ctrl-C


@dataclass(frozen=True)
class Ties:
    """The orders whose value is within `tolerance` of the optimum; identical tasks appear in increasing order."""

    orders: NDArray[np.intp]  # (found, T)
    count: int  # how many there are with identical tasks told apart; if not complete, at least
    complete: bool


class _Batch(NamedTuple):
    """Prefixes of one length j."""

    j: int
    code: Integers  # (s,) the set, as a number
    prefix: NDArray[np.int16]  # (s, T) types in order; the first j are filled
    V: Floats  # (s,)
    H: Floats  # (s, K)
    bound: Floats  # (s,)
    successors: Integers  # (s,) bit x is set if type x may come next

    def part(self, lo: int, hi: int) -> "_Batch":
        """Return the prefixes lo to hi."""
        cut = slice(lo, hi)
        return _Batch(
            self.j, self.code[cut], self.prefix[cut], self.V[cut], self.H[cut], self.bound[cut], self.successors[cut]
        )


class _Rules(NamedTuple):
    """The rules that discard a prefix, besides its bound."""

    earlier: Integers  # (K,) the type that must start before, or -1
    weight: Integers | None  # (K,) if one of two directions is enough: the first half weighs no less than the last
    slack: float  # in (D)
    deadline: float


def prove(
    problem: Assignment,
    *,
    seconds: float = inf,
    incumbent: ArrayLike | None = None,
    progress: Callable[[Proof], None] | None = None,
    symmetries: bool = True,
) -> Proof:
    """Search for the best order until it is proved, time is up or the user interrupts (Ctrl-C).

    `progress` receives the state of the search between batches; without `incumbent`, a short heuristic search is first.

    >>> line = Assignment(np.zeros((3, 3)), kernel=[0, 0.5, 0.25], distance=[[0, 1, 4], [1, 0, 1], [4, 1, 0]])
    >>> proof = prove(line)
    >>> proof.value, proof.lower_bound, proof.proved
    (-2.75, -2.75, True)
    """
    deadline = time.monotonic() + seconds
    types, tolerance = Types.of(problem), problem.tolerance
    interrupted = False
    if incumbent is None:
        found = search(problem, seed=0, rounds=1 + problem.T**4 // _ROUNDS, seconds=seconds / 10)
        incumbent, interrupted = found.order, found.interrupted
    order = np.asarray(incumbent, dtype=np.intp)
    value = problem.value(order)
    rules = _Rules(np.full(len(types.count), -1, dtype=np.int64), None, _DOMINANCE * tolerance, deadline)
    if symmetries:
        earlier = types.interchangeable()
        rules = rules._replace(earlier=earlier, weight=_weights(earlier) if types.reversible else None)
    stack, kept = [_root(types, rules)], 0
    try:
        if problem.T >= _BOTH_ENDS and not types.reversible and not interrupted:
            types, stack = _shorter_way(types, stack, rules, value - types.offset - 0.5 * tolerance)
        while stack and time.monotonic() < deadline and not (interrupted or interrupt_requested()):
            if progress:
                progress(Proof(order, value, _open_bound(stack, types, value), False, tolerance, kept))
            prune = value - types.offset - 0.5 * tolerance
            children = _children(types, stack[-1], rules, prune)
            if children is None:
                break
            kept += len(children.V)
            for candidate in map(types.order, children.prefix if children.j == problem.T else ()):
                if problem.value(candidate) < value:
                    order, value = candidate, problem.value(candidate)
            stack = stack[:-1] + (_split(children) if children.j < problem.T else [])  # one step: Ctrl-C loses nothing
    except KeyboardInterrupt:
        interrupted = True
    value = problem.value(order)
    below = _open_bound(stack, types, value) if stack else value
    if below == -inf:  # not even the first layer is done
        below = min(value, convex_bound(problem, steps=5).value)
    return Proof(order, value, below, not stack, tolerance, kept, interrupted or interrupt_requested())


def ties(problem: Assignment, value: float, *, cap: int = 1000, seconds: float = inf) -> Ties:
    """Return all orders with V <= value + tolerance, up to `cap`, where `value` is the proved optimum.

    >>> line = Assignment(np.zeros((3, 3)), kernel=[0, 0.5, 0.25], distance=[[0, 1, 4], [1, 0, 1], [4, 1, 0]])
    >>> sorted(ties(line, value=-2.75).orders.tolist())
    [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1]]
    """
    types, tolerance = Types.of(problem), problem.tolerance
    most = value + tolerance
    free = np.full(len(types.count), -1, dtype=np.int64)
    rules = _Rules(free, None, -3 * tolerance, time.monotonic() + seconds)  # only what is clearly worse is dominated
    stack, found = [_root(types, rules)], []
    while stack and len(found) <= cap:
        children = _children(types, stack[-1], rules, most - types.offset)
        if children is None:
            break
        stack.pop()
        if children.j < problem.T:
            stack.extend(_split(children))
        else:
            found += [pi for pi in map(types.order, children.prefix) if problem.value(pi) <= most]
    orders = np.array(found[:cap], dtype=np.intp).reshape(-1, problem.T)
    alike = prod(factorial(int(c)) for c in types.count)
    return Ties(orders, len(found) * alike, not stack and len(found) <= cap)


def _weights(earlier: Integers) -> Integers:
    """Return a weight per type, the same for interchangeable ones (K,)."""
    weight = np.arange(len(earlier), dtype=np.int64)
    for x, y in enumerate(earlier):
        if y >= 0:
            weight[x] = weight[y]
    return weight


def _root(types: Types, rules: _Rules) -> _Batch:
    """Return the empty prefix."""
    first = sum(1 << x for x, y in enumerate(rules.earlier) if y < 0)
    T, K = types.linear.shape[1], len(types.count)
    code, successors = np.zeros(1, np.int64), np.array([first], dtype=np.int64)
    return _Batch(0, code, np.zeros((1, T), np.int16), np.zeros(1), np.zeros((1, K)), np.array([-inf]), successors)


def _split(batch: _Batch) -> list[_Batch]:
    """Split prefixes into batches of at most `_BATCH`."""
    if 0 < len(batch.V) <= _BATCH:
        return [batch]
    return [batch.part(at, at + _BATCH) for at in range(0, len(batch.V), _BATCH)]


def _open_bound(stack: list[_Batch], types: Types, value: float) -> float:
    """Return the lower bound of all orders: the least over the best one known and the open prefixes."""
    return min(value, min(float(batch.bound.min()) for batch in stack) + types.offset)


def _shorter_way(types: Types, stack: list[_Batch], rules: _Rules, prune: float) -> tuple[Types, list[_Batch]]:
    """Choose the end to start from, by how many pairs its first tasks leave; return the problem and its first batch."""
    ways = (types, replace(types, linear=types.linear[:, ::-1].copy(), backwards=True))
    first = [batch for way in ways if (batch := _children(way, stack[0], rules, prune)) is not None]
    if len(first) < 2:  # late
        return types, stack
    pairs = [(batch.successors[:, None] >> np.arange(len(types.count)) & 1).sum() for batch in first]
    better = int(np.argmin(pairs))
    return ways[better], _split(first[better])


def _children(types: Types, batch: _Batch, rules: _Rules, prune: float) -> _Batch | None:
    """Return the prefixes one task longer that are not dominated and not bounded above `prune`; None if time is up."""
    j, K, T = batch.j + 1, len(types.count), types.linear.shape[1]
    parent, added = np.nonzero(batch.successors[:, None] >> np.arange(K) & 1)  # (c,), (c,)
    code = batch.code[parent] + types.stride[added]  # (c,)
    if rules.weight is not None and j == (T + 1) // 2:  # in the middle: of an order and its reverse, keep the heavier
        half = types.placed(code) @ rules.weight
        first = half - rules.weight[added] if T % 2 else half
        retained = np.flatnonzero(first >= types.count @ rules.weight - half)
        parent, added, code = parent[retained], added[retained], code[retained]
    if len(code) == 0:
        return batch.part(0, 0)._replace(j=j)
    by_set = np.argsort(code, kind="stable")
    parent, added, code = parent[by_set], added[by_set], code[by_set]
    starts = np.concatenate(([True], code[1:] != code[:-1], [True]))
    edges = np.flatnonzero(starts)  # (sets + 1,) where each set's candidates start
    remaining = types.count - types.placed(code[edges[:-1]])  # (sets, K) unplaced tasks by type
    places = last_places(types.k1, types.rho, T - j)
    u = -0.75 * (types.distance @ types.count) / T  # (K,) multipliers of the path bound, carried from set to set
    tasks = (types.linear, types.distance, types.k1, types.rho)
    parents = (batch.j, batch.V, batch.H, batch.bound)

    longer = max(1.0, (T - j) / _USUAL)
    prefixes, sets = max(1, int(_SLICE / longer**2)), max(1, int(_SLICE // 40 / longer**3))
    parts, at = [], 0
    while at < len(edges) - 1:
        if time.monotonic() > rules.deadline or interrupt_requested():
            return None
        to = int(np.searchsorted(edges, edges[at] + prefixes)) - 1
        to = min(max(at + 1, to), at + sets)
        candidates = (edges[at : to + 1], remaining[at:to], parent, added)
        parts.append(expand(tasks, parents, candidates, (places, u), (types.count, rules.earlier, prune, rules.slack)))
        at = to
    joined = parts[0] if len(parts) == 1 else [np.concatenate(part) for part in zip(*parts, strict=True)]
    who, V, H, bound, successors = joined
    prefix = batch.prefix[parent[who]]
    prefix[:, j - 1] = added[who]
    return _Batch(j, code[who], prefix, V, H, bound, successors)
