"""Errors of many orders under one model, each common prefix learned once."""

from __future__ import annotations

import numpy as np

from ebbing._validate import Array
from ebbing.forecasting.recursion import KernelModel

_PREDICTIONS_BYTES = 32e6
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
    chunk = max(1, int(_PREDICTIONS_BYTES / model.start.nbytes))
    learned, final = np.empty(orders.shape), np.empty(orders.shape)
    for first in range(0, len(orders), chunk):
        part = rank[first : first + chunk]
        learned[part], final[part] = _evaluate(model, orders[part])
    return learned, final


def _evaluate(model: KernelModel, orders: np.ndarray) -> tuple[Array, Array]:
    T, tested = model.T, np.concatenate(model.test)
    place_in_tested = np.cumsum([0, *map(len, model.test)])
    predictions, prefix = model.initial(), np.zeros(len(orders), dtype=int)
    learned, final = np.empty(orders.shape), np.empty(orders.shape)
    for k in range(T):
        last = k == T - 1
        keys, prefix = np.unique(prefix * T + orders[:, k], return_inverse=True)
        parents, tasks = keys // T, keys % T
        just_learned = np.empty(len(keys))
        after = np.empty((len(tested) if last else len(model.start), len(keys), model.start.shape[1]))
        for t in np.unique(tasks):
            chosen = np.flatnonzero(tasks == t)
            learned_t = model.learn(predictions[:, parents[chosen]], model.train[t], tested if last else None)
            after[:, chosen] = learned_t
            rows = slice(place_in_tested[t], place_in_tested[t + 1]) if last else model.test[t]
            just_learned[chosen] = model.task_errors(learned_t[rows], t)
        learned[:, k] = just_learned[prefix]
        predictions = after
    for t in range(T):
        rows = slice(place_in_tested[t], place_in_tested[t + 1])
        errors = model.task_errors(predictions[rows], t)[prefix]
        order, place = np.nonzero(orders == t)
        final[order, place] = errors[order]
    return learned, final
