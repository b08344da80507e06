"""Errors of many orders under one model, each common prefix learned once."""

from __future__ import annotations

import numpy as np

from ebbing._validate import Array
from ebbing.forecasting._state import State
from ebbing.forecasting.recursion import KernelModel

_STATES_BYTES = 32e6
"""Bytes of the predictions that are held at once."""


def evaluate_orders(model: KernelModel, orders: np.ndarray) -> tuple[Array, Array]:
    """Compute the errors of orders.

    Args:
        model: The model.
        orders: Tasks in the order of learning, in each row all of them once (orders, T).

    Returns:
        The error on each place's task when it was just learned (orders, T), and at the end (orders, T).
    """
    rank = np.lexsort(orders.T[::-1])
    size = model.start.size * 8 * (1 + model.T * bool(model.alignment))
    chunk = max(1, int(_STATES_BYTES / size))
    learned, final = np.empty(orders.shape), np.empty(orders.shape)
    for first in range(0, len(orders), chunk):
        part = rank[first : first + chunk]
        learned[part], final[part] = _evaluate(model, orders[part])
    return learned, final


def _evaluate(model: KernelModel, orders: np.ndarray) -> tuple[Array, Array]:
    T, tested = model.T, np.concatenate(model.test)
    place_in_tested = np.cumsum([0, *map(len, model.test)])
    state, prefix = model.initial(), np.zeros(len(orders), dtype=int)
    learned, final = np.empty(orders.shape), np.empty(orders.shape)
    for k in range(T):
        last = k == T - 1
        keys, prefix = np.unique(prefix * T + orders[:, k], return_inverse=True)
        parents, tasks = keys // T, keys % T
        just_learned = np.empty(len(keys))
        shape = (len(tested) if last else len(model.start), len(keys), model.start.shape[1])
        predictions = np.empty(shape)
        width = state.directions.shape[2] + (model.start.shape[1] if model.alignment and not last else 0)
        directions = np.empty((shape[0], len(keys), width))
        for t in np.unique(tasks):
            chosen = np.flatnonzero(tasks == t)
            child = model.learn(state.chosen(parents[chosen]), model.train[t], tested if last else None)
            predictions[:, chosen] = child.predictions
            if model.alignment and not last:
                directions[:, chosen] = child.directions
            rows = slice(place_in_tested[t], place_in_tested[t + 1]) if last else model.test[t]
            just_learned[chosen] = model.task_errors(child.predictions[rows], t)
        learned[:, k] = just_learned[prefix]
        state = State(predictions, directions)
    for t in range(T):
        rows = slice(place_in_tested[t], place_in_tested[t + 1])
        errors = model.task_errors(state.predictions[rows], t)[prefix]
        order, place = np.nonzero(orders == t)
        final[order, place] = errors[order]
    return learned, final
