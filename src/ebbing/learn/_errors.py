"""The error of a network's outputs, and the error matrix of a sequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ebbing._validate import Array
from ebbing.learn.tasks.base import Occurrence, check_sequence, occurrences
from ebbing.learn.training._regression import squared_error

Row = dict[str, float]
"""The errors of one network, by the occurrence "task#index"."""


def error(outputs: Tensor, labels: Tensor, *, regression: bool = False) -> float:
    """Compute the error of outputs: the mean squared error of probabilities or numbers, or the share of wrong classes.

    Args:
        outputs: Logits: (n, 1) for binary labels, (n, classes) for classes. For regression, predictions (n, C).
        labels: Binary labels from 0 to 1 (n, 1), or int64 classes (n,). For regression, numbers (n, C).
        regression: Whether labels are numbers, which outputs should equal.

    Returns:
        For binary labels the mean of (sigmoid(output) - label)^2; for classes the share of wrong predictions; for
        regression the mean of (output - label)^2 over examples and outputs.

    Raises:
        ValueError: If labels that are no classes differ in shape from the outputs.

    Example:
        >>> error(torch.tensor([[3.0, 0.0]]), torch.tensor([[1.0, 0.0]]), regression=True)
        2.0
    """
    if regression:
        return float(squared_error(outputs.detach().to(torch.float64), labels.to(torch.float64)))
    if labels.dtype == torch.int64:
        return float((outputs.argmax(1) != labels).to(torch.float64).mean())
    if outputs.shape != labels.shape:
        raise ValueError(f"labels of shape {tuple(labels.shape)}, outputs {tuple(outputs.shape)}: make them equal")
    return float((outputs.detach().sigmoid() - labels).square().mean())


def accuracy(outputs: Tensor, labels: Tensor) -> float:
    """Compute the share of right answers; an undecided one, of probability 1/2, counts half.

    Args:
        outputs: Logits: (n, 1) for binary labels, (n, classes) for classes.
        labels: Binary labels from 0 to 1 (n, 1), or int64 classes (n,).

    Returns:
        The share, from 0 to 1.

    Example:
        >>> accuracy(torch.tensor([[2.0], [-1.0], [0.5], [0.0]]), torch.ones(4, 1))
        0.625
    """
    if labels.dtype == torch.int64:
        return 1 - error(outputs, labels)
    return float(0.5 + 0.5 * (outputs.sign() * (labels - 0.5).sign()).to(torch.float64).mean())


def error_matrix(
    sequence: Sequence[str],
    errors: Mapping[Any, Row] | tuple[Mapping[Any, Row], Any],
    seed: int | None = None,
) -> Array:
    """Return the error matrix of a sequence: L[t, i] is the error on task i after t tasks.

    Args:
        sequence: Names of tasks.
        errors: The errors of the sequence's prefixes: what `ebbing.runs.execute` returns, or its first part, by (seed,
            path); or the errors by path alone.
        seed: The seed; not needed if the errors have only one.

    Returns:
        The error matrix, (T+1, T).

    Raises:
        ValueError: If a prefix is missing, or several seeds are there and none is given.

    Example:
        >>> a, b = occurrences(["a", "b"])
        >>> initial, after_a, after_b = {"a#0": 1, "b#0": 1}, {"a#0": 0.1, "b#0": 0.9}, {"a#0": 0.3, "b#0": 0.2}
        >>> error_matrix(["a", "b"], {(0, ()): initial, (0, (a,)): after_a, (0, (a, b)): after_b}).tolist()
        [[1.0, 1.0], [0.1, 0.9], [0.3, 0.2]]
    """
    path = occurrences(check_sequence(sequence))
    by_path = _errors_by_path(errors[0] if isinstance(errors, tuple) else errors, seed)
    prefixes = [path[:t] for t in range(len(path) + 1)]
    for prefix in prefixes:
        if prefix not in by_path or any(str(occurrence) not in by_path[prefix] for occurrence in path):
            shown = ", ".join(map(str, prefix)) or "the initial network"
            raise ValueError(
                f"sequence {list(sequence)}: no errors of {shown} on all its tasks; train the nodes of "
                "prefix_tree([sequence], seed)"
            )
    return np.array([[by_path[prefix][str(occurrence)] for occurrence in path] for prefix in prefixes], dtype=float)


def _errors_by_path(errors: Mapping[Any, Row], seed: int | None) -> dict[tuple[Occurrence, ...], Row]:
    """Return the errors of one seed by path."""
    by_seed: dict[int | None, dict[tuple[Occurrence, ...], Row]] = {}
    for key, row in errors.items():
        with_seed = len(key) == 2 and not isinstance(key[0], Occurrence)
        by_seed.setdefault(key[0] if with_seed else None, {})[key[1] if with_seed else key] = row
    if seed is None and len(by_seed) > 1:
        raise ValueError(f"errors of seeds {', '.join(map(str, by_seed))}: give seed=, one of them")
    if seed is not None and seed not in by_seed:
        raise ValueError(f"seed={seed}: there are errors of seeds {', '.join(map(str, by_seed)) or 'none'}")
    return by_seed[seed] if seed is not None else next(iter(by_seed.values()), {})
