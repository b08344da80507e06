"""Train every order of a user's tasks with a user's network: `measure`."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np
from torch import nn

from ebbing._progress import Progress, reporting
from ebbing._validate import Array, check_seed
from ebbing.learn import Experiment, Sgd, prefix_tree
from ebbing.learn.experiment import Method
from ebbing.order._tables import join_names
from ebbing.runs._given_network import GivenNetwork, read_tasks
from ebbing.runs._pools import Resources
from ebbing.runs.execution import Execution
from ebbing.runs.measurement import Measurement
from ebbing.runs.store import Store

ALL_ORDERS_UP_TO = 5
"""Tasks up to which all orders are trained if none are given."""

DEFAULT_METHOD = Sgd(epochs=30, batch_size=20)
"""How tasks are learned if no method is given. In batches, so that seeds differ; those of `Sgd()` hold all examples."""


def measure(
    network: Any,
    tasks: Mapping[str, Any],
    *,
    orders: Iterable[Sequence[str]] | None = None,
    seeds: Iterable[int] = (0,),
    method: Method | None = None,
    train_size: int | None = None,
    test_size: int | None = None,
    store: str | os.PathLike[str] | Store = "runs",
    workers: int = 1,
    cluster: str | None = None,
    device: str = "cpu",
    progress: Progress | bool = True,
) -> Measurement:
    """Train orders of tasks and measure what is forgotten; common prefixes of orders are trained once.

    Results are stored as they arrive: an interrupted measurement continues where it stopped.

    Args:
        network: A PyTorch network in float32, from whose weights every run starts; or an architecture, an object with
            a method `build(seed)`, which gives every seed a network of its own. It returns outputs (n, outputs), or an
            object with such `logits`, as transformers do.
        tasks: Data by task, as for `ebbing.forecast`, with inputs in one tensor or in several by name. Labels are yes
            or no, or classes, or floating-point numbers for regression, which is learned by the squared error.
        orders: The orders to train, as names of tasks, each counted once; None for all of up to five tasks.
        seeds: The seeds of training: of the order of batches, of dropout, and of `build(seed)`.
        method: How each task is learned; None for plain gradient descent in batches,
            `ebbing.learn.Sgd(epochs=30, batch_size=20)`. `Sgd` without a `batch_size` learns all examples in one batch:
            from a given network, every seed is then the same run.
        train_size: Training examples of each task; None for all.
        test_size: Test examples of each task; None for all.
        store: The folder of results, or a store.
        workers: The number of worker processes.
        cluster: The address of a Dask scheduler, or None.
        device: The device of the tensors.
        progress: True for a progress bar on a terminal, False for none, or a function that is called with the share of
            the work that is done.

    Returns:
        The error matrices of all orders and seeds, in the units of a forecast, and but for regression the accuracies.

    Raises:
        ValueError: If there is one task alone, or there are too many for all orders; if the method or the seeds are
            none; or if weights of the network have hooks.
        FloatingPointError: If training diverged.
    """
    architecture = GivenNetwork(network) if isinstance(network, nn.Module) else network
    if not hasattr(architecture, "build"):
        raise ValueError(
            f"network={type(network).__name__}: give a PyTorch network, or an architecture with a method build(seed)"
        )
    _check_method(method)
    chosen = _check_seeds(seeds)
    if isinstance(tasks, Mapping) and len(tasks) == 1:
        raise ValueError(f"tasks has {next(iter(tasks))!r} alone: forgetting needs two tasks or more; give another")
    data = read_tasks(architecture, tasks, train_size, test_size)
    experiment = Experiment(data, architecture, method or DEFAULT_METHOD)
    sequences = _sequences(tasks, orders)
    nodes = [node for seed in chosen for node in prefix_tree(sequences, seed)]
    with reporting(progress, "training") as report:
        folder = store if isinstance(store, Store) else Store(store)
        execution = Execution(experiment, nodes, folder, report, needs_accuracies=not data.regression)
        execution.run(Resources(workers, cluster, device))
    errors = np.array([execution.collect(order, chosen)[0] for order in sequences])
    _check_finite(sequences, chosen, errors)
    accuracies = None
    if not data.regression:
        accuracies = np.array([execution.collect_accuracies(order, chosen) for order in sequences])
    return Measurement(sequences, chosen, errors, accuracies)


def _check_method(method: object) -> None:
    """Raise an error for what is no method; `Experiment` checks the rest."""
    if method is None or isinstance(method, type):
        return
    if not any(callable(getattr(method, name, None)) for name in ("learn", "start")):
        raise ValueError(f"method={reprlib.repr(method)}: give a method, such as ebbing.learn.Sgd(epochs=30)")


def _check_seeds(seeds: object) -> tuple[int, ...]:
    """Return the seeds, each once."""
    if isinstance(seeds, str | bytes) or not isinstance(seeds, Iterable):
        raise ValueError(f"seeds={reprlib.repr(seeds)}: give several, such as [0, 1, 2] or range(3)")
    chosen = tuple(dict.fromkeys(map(check_seed, seeds)))
    if not chosen:
        raise ValueError("seeds are empty: give at least one, such as [0]")
    return chosen


def _check_finite(orders: Sequence[Sequence[str]], seeds: Sequence[int], errors: Array) -> None:
    bad = np.argwhere(~np.isfinite(errors))
    if len(bad):
        order, seed, step = (int(place) for place in bad[0, :3])
        raise FloatingPointError(
            f"training diverged: errors are not finite after {join_names(orders[order][:step]) or 'no task'} with seed "
            f"{seeds[seed]}; give the method a lower learning rate, or check that all inputs are finite"
        )


def _sequences(tasks: Mapping[str, Any], orders: Iterable[Sequence[str]] | None) -> tuple[tuple[str, ...], ...]:
    if orders is None:
        if len(tasks) > ALL_ORDERS_UP_TO:
            raise ValueError(
                f"{len(tasks)} tasks have too many orders to train all of them: give some orders, such as the advised "
                "one of a forecast and a few random ones"
            )
        return tuple(permutations(tasks))
    given = [*orders] if isinstance(orders, Iterable) else [orders]
    if any(isinstance(order, str) or not isinstance(order, Iterable) for order in given):  # such as a single order
        example = reprlib.repr([[*tasks]])
        raise ValueError(f"orders={reprlib.repr(orders)}: give a list of orders, such as {example}")
    found = tuple(dict.fromkeys(map(tuple, given)))
    if not found or len(set(map(len, found))) > 1 or len(found[0]) < 2:
        raise ValueError(f"orders={reprlib.repr(found)}: give some orders of two tasks or more, all of one length")
    return found
