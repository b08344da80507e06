"""Search for the best order of tasks under a forecast: all orders of few tasks, beam and exchange beyond.

With weights f and g the value of an order is f F_T + g G_T, forgetting and generalization error as in `ebbing.metrics`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import permutations

import numpy as np

from ebbing._progress import Progress
from ebbing._validate import Array
from ebbing.forecasting._evaluation import evaluate_orders
from ebbing.forecasting.recursion import KernelModel
from ebbing.order.objective import Objective, objective_weights

ALL_ORDERS_UP_TO = 8
"""Tasks up to which every order is computed under the squared error."""

ALL_LOGISTIC_UP_TO = 6
"""The same under the cross-entropy, where a step takes twenty times as long."""

SAMPLED = 200
"""Random orders that stand for all orders of more tasks, if there is time for them."""

_LEAST_SAMPLED = 25
"""Random orders that are computed however long they take, and that are computed at once."""

_SHARES = {"random orders": 0.25, "beam": 0.35}
"""Parts of the time of a search; exchanges have the rest."""

_BEAM = 16
_NEIGHBORS = 64
_RESTARTS = 8
_KICKS = 4

Value = Callable[[np.ndarray], Array]
"""The value of each of several orders (orders, T), to be made small."""


@dataclass(frozen=True)
class Weights:
    """The weights of forgetting and of the generalization error in the value of an order.

    Attributes:
        forgetting: f.
        generalization: g.
    """

    forgetting: float
    generalization: float

    @classmethod
    def of(cls, objective: Objective, T: int) -> Weights:
        """Return the weights of an objective as users give it."""
        f, g = objective_weights(objective)
        if T < 2:
            raise ValueError("an order needs at least two tasks, not 1")
        return cls(f, g)

    def values(self, learned: Array, final: Array) -> Array:
        """Return the value of orders from their errors just learned and at the end (orders, T)."""
        forgetting = (final[:, :-1] - learned[:, :-1]).mean(axis=1)
        return self.forgetting * forgetting + self.generalization * final.mean(axis=1)


@dataclass(frozen=True, eq=False)
class Found:
    """What a search found.

    Attributes:
        orders: The orders that stand for all: every order, or random ones (orders, T).
        values: Their values (orders,).
        best: The best order found (T,).
        worst: The worst order found (T,).
        value: The value of the best.
        worst_value: The value of the worst.
        complete: Whether every order was computed.
    """

    orders: np.ndarray
    values: Array
    best: np.ndarray
    worst: np.ndarray
    value: float
    worst_value: float
    complete: bool


def is_complete(model: KernelModel) -> bool:
    """Return whether tasks are few enough for all of their orders to be computed.

    Args:
        model: The model.

    Returns:
        Whether they are.
    """
    return (ALL_LOGISTIC_UP_TO if model.loss == "cross-entropy" else ALL_ORDERS_UP_TO) >= model.T


def search(
    model: KernelModel, weights: Weights, *, seconds: float = 60.0, seed: int = 0, progress: Progress | None = None
) -> Found:
    """Find the best and the worst order.

    Args:
        model: The model.
        weights: The value of an order.
        seconds: Time for the search, where not all orders are computed.
        seed: The seed of random orders and exchanges.
        progress: A function that is called with the share of the work that is done.

    Returns:
        The orders found.
    """
    report = progress or (lambda share: None)
    T = model.T
    if is_complete(model):
        orders = np.array(list(permutations(range(T))))
        values = _values(model, weights, orders, report)
        tolerance = 1e-9 * float(np.abs(values).max())  # of orders that tie, the first
        best = int(np.argmax(values <= values.min() + tolerance))
        worst = int(np.argmax(values >= values.max() - tolerance))
        return Found(orders, values, orders[best], orders[worst], values[best], values[worst], True)
    random, began = np.random.default_rng(seed), time.monotonic()
    orders = np.array([random.permutation(T) for _ in range(SAMPLED)])
    values = _sample(model, weights, orders, _SHARES["random orders"] * seconds, lambda share: report(0.2 * share))
    orders = orders[: len(values)]
    step = (time.monotonic() - began) / orders.size  # of one model that learns one task
    width = int(np.clip(_SHARES["beam"] * seconds / (T**2 * step), 1, _BEAM))
    ends = []
    for k, sign in enumerate((1.0, -1.0)):
        candidates = np.vstack([_beam(model, weights, sign, width), orders[[np.argmin(sign * values)]]])
        found = _values(model, weights, candidates)
        report(0.3 + 0.4 * k)
        start = candidates[np.argmin(sign * found)]
        left = began + seconds - time.monotonic()
        end, least = _exchange(partial(_signed, model, weights, sign), start, left / (2 - k), random)
        ends.append((end, sign * least))
        report(0.6 + 0.4 * k)
    (best, value), (worst, worst_value) = ends
    return Found(orders, values, best, worst, value, worst_value, False)


def _sample(model: KernelModel, weights: Weights, orders: np.ndarray, seconds: float, progress: Progress) -> Array:
    """Return the values of as many orders as there is time for."""
    end, values = time.monotonic() + seconds, []
    for part in np.array_split(orders, len(orders) // _LEAST_SAMPLED):
        if values and time.monotonic() > end:
            break
        values.append(_values(model, weights, part))
        progress(sum(map(len, values)) / len(orders))
    return np.concatenate(values)


def _values(model: KernelModel, weights: Weights, orders: np.ndarray, progress: Progress | None = None) -> Array:
    parts = []
    for part in np.array_split(orders, max(1, len(orders) // 2000)):
        parts.append(weights.values(*evaluate_orders(model, part)))
        if progress:
            progress(sum(map(len, parts)) / len(orders))
    return np.concatenate(parts)


def _signed(model: KernelModel, weights: Weights, sign: float, orders: np.ndarray) -> Array:
    return sign * _values(model, weights, orders)


def _beam(model: KernelModel, weights: Weights, sign: float, width: int) -> np.ndarray:
    """Build orders task by task, and keep as many prefixes as `width` whose values so far are best.

    The value of a prefix counts what its tasks have lost since they were learned, and the errors on all tasks.
    """
    T = model.T
    predictions, paths = model.initial(), np.empty((1, 0), dtype=int)
    learned = np.zeros((1, 0))
    for _ in range(T):
        candidates = []  # (value, parent, task)
        children = {}
        for t in range(T):
            parents = np.flatnonzero((paths != t).all(axis=1))
            if not len(parents):
                continue
            child = model.learn(predictions[:, parents], model.train[t])
            final = model.test_errors(child)
            own = final[:, t]
            before = np.take_along_axis(final, paths[parents], axis=1) - learned[parents]
            value = weights.forgetting * before.sum(axis=1) / (T - 1) + weights.generalization * final.mean(axis=1)
            children[t] = (child, {p: m for m, p in enumerate(parents)}, own)
            candidates += [(sign * v, int(p), t) for v, p in zip(value, parents, strict=True)]
        kept = sorted(candidates)[:width]
        picks = [(children[t][0], children[t][1][p], p, t) for _, p, t in kept]
        predictions = np.stack([child[:, m] for child, m, _, _ in picks], axis=1)
        own = np.array([children[t][2][m] for _, m, _, t in picks])
        learned = np.column_stack([learned[[p for _, _, p, _ in picks]], own])
        paths = np.column_stack([paths[[p for _, _, p, _ in picks]], [t for _, _, _, t in picks]])
    return paths


def _exchange(value: Value, order: np.ndarray, seconds: float, random: np.random.Generator) -> tuple[np.ndarray, float]:
    """Improve an order by moving or exchanging tasks until nothing helps, again after random kicks, or time is over."""
    end, T = time.monotonic() + seconds, len(order)
    moves = [(i, j, swap) for i in range(T) for j in range(T) if i != j for swap in (True, False) if not swap or i < j]
    best, least = _descend(value, order, moves, end, random)
    for _ in range(_RESTARTS):
        if time.monotonic() > end:
            break
        start = best
        for k in random.choice(len(moves), _KICKS):
            start = _moved(start, *moves[k])
        found, found_value = _descend(value, start, moves, end, random)
        if found_value < least:
            best, least = found, found_value
    return best, least


def _descend(
    value: Value,
    order: np.ndarray,
    moves: list[tuple[int, int, bool]],
    end: float,
    random: np.random.Generator,
) -> tuple[np.ndarray, float]:
    """Take the best of a few random moves, as long as one of all moves helps."""
    least = float(value(order[None])[0])
    untried = random.permutation(len(moves))
    while len(untried) and time.monotonic() < end:
        part, untried = untried[:_NEIGHBORS], untried[_NEIGHBORS:]
        neighbors = np.array([_moved(order, *moves[k]) for k in part])
        found = value(neighbors)
        best = int(found.argmin())
        if found[best] < least - 1e-12:
            order, least = neighbors[best], float(found[best])
            untried = random.permutation(len(moves))
    return order, least


def _moved(order: np.ndarray, i: int, j: int, swap: bool) -> np.ndarray:
    """Exchange the tasks at two places, or move the task at place i to place j."""
    if swap:
        changed = order.copy()
        changed[[i, j]] = changed[[j, i]]
        return changed
    return np.insert(np.delete(order, i), j, order[i])
