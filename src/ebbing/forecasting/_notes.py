"""What should make a user doubt a forecast, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ebbing._tables import escape_control
from ebbing._validate import Array
from ebbing.forecasting._summary import describe_sizes
from ebbing.forecasting.extent import Extent
from ebbing.forecasting.recursion import KernelModel

FEW = 20
"""Test examples below which the numbers of a task mean little: one more right answer is five points."""

HARDLY = 0.8
"""A task is hardly learned if its error stays above this share of the initial one."""

_NAMED = 6


def describe_doubts(model: KernelModel, names: Sequence[str], extent: Extent) -> tuple[str, ...]:
    """Say what speaks against a forecast: labels, sizes, and tasks that are not learned.

    Args:
        model: The model that learns.
        names: Names of the tasks (T,).
        extent: How far each task is trained.

    Returns:
        A sentence or two for each doubt.
    """
    few = [t for t, rows in enumerate(model.test) if len(rows) < FEW]
    labels = [model.targets.values[np.concatenate(rows)] for rows in zip(model.train, model.test, strict=True)]
    constant = [t for t, values in enumerate(labels) if (values == values[0]).all()]
    notes = [_one_hot(model.targets.values)] if model.targets.kind == "regression" else []
    notes.append(_hardly_learned(model, names, extent))
    if model.targets.kind != "regression":
        notes.append(_commonest_answer(model, names, leave_out={*few, *constant}))
    if few:
        sizes = [len(model.test[t]) for t in few]
        notes.append(
            f"Very few test examples: {_listed(names, few)} ({describe_sizes(sizes)}, fewer than {FEW}). Their numbers "
            "mean little."
        )
    if constant:
        notes.append(f"Check the data of {_listed(names, constant)}: all examples have the same label.")
    return tuple(note for note in notes if note)


def _hardly_learned(model: KernelModel, names: Sequence[str], extent: Extent) -> str:
    alone = np.array([model.errors([rows])[1, t] for t, rows in enumerate(model.train)])
    weak = np.flatnonzero(alone > HARDLY * model.errors([])[0]).tolist()
    if not weak:
        return ""
    return (
        f"{len(weak)} of {model.T} tasks are hardly learned by this model: {_listed(names, weak)}. Their error stays "
        f"above {HARDLY:.0%} of the initial one, and their forecast means little. {extent.advise(model.targets.kind)}"
    )


def _commonest_answer(model: KernelModel, names: Sequence[str], leave_out: set[int]) -> str:
    """Name the tasks on which the model, just learned, is not above always giving the commonest answer."""
    learned = np.diagonal(model.errors_and_accuracies(model.train)[1][1:])
    shares = [_commonest(model.targets.values[rows]) for rows in model.test]
    found = [t for t in range(model.T) if t not in leave_out and learned[t] <= shares[t] + 1e-9]
    if not found:
        return ""
    shown = [f"{name} ({learned[t]:.0%} just learned, commonest label {shares[t]:.0%})" for t, name in enumerate(names)]
    return (
        f"Learned no better than the commonest answer: {_listed(shown, found)}, in test examples. What is lost of "
        "them is no sign of forgetting."
    )


def _commonest(values: Array) -> float:
    """Return the share of the commonest label.

    >>> _commonest(np.array([[0.0], [1.0], [0.0], [0.0]])), _commonest(np.eye(3)[[0, 2, 2, 1]])
    (0.75, 0.5)
    """
    return float(np.unique(values, axis=0, return_counts=True)[1].max() / len(values))


def _one_hot(values: Array) -> str:
    """Say that labels look one-hot, which `Targets` takes as numbers."""
    if values.shape[1] < 2 or not np.isin(values, (0, 1)).all() or (values.sum(axis=1) != 1).any():
        return ""
    return "Labels look one-hot, and are taken as numbers: give class numbers (labels.argmax(1)) for accuracies."


def _listed(names: Sequence[str], tasks: Sequence[int]) -> str:
    shown = ", ".join(escape_control(names[t]) for t in tasks[:_NAMED])
    return shown + (f" and {len(tasks) - _NAMED} more" if len(tasks) > _NAMED else "")
