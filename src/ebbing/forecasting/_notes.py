"""What should make a user doubt a forecast, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ebbing._tables import escape_control
from ebbing._validate import Array
from ebbing.forecasting._summary import describe_sizes
from ebbing.forecasting.extent import Extent
from ebbing.forecasting.recursion import KernelModel
from ebbing.forecasting.targets import Targets, is_binary

FEW = 20
"""Test examples below which the numbers of a task mean little: one more right answer is five points."""

HARDLY = 0.8
"""A task is hardly learned if its error stays above this share of the initial one."""

OPPOSED = -0.3
"""The similarity below which two tasks are said to oppose each other."""

UNEQUAL = 3
"""How many times as many training examples one task must have as another for a word about it."""

_CLASSES = 100
"""Labels 0.0, 1.0, 2.0, ... of at most as many values may be classes that a table has made floating-point numbers."""

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
    notes = [_hardly_learned(model, names, extent)]
    if model.targets.kind == "regression":
        notes.append(_several_answers(model.targets.values))
    else:
        notes.append(_commonest_answer(model, names, leave_out={*few, *constant}))
    notes += [_opposed(model, names), _unequal_sizes(model, extent)]
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
    initial = model.errors([])[0]
    constant = [_constant_error(model.targets, rows) for rows in model.test]  # a task known beforehand is far below
    weak = np.flatnonzero((alone > HARDLY * initial) & (alone > HARDLY * np.array(constant))).tolist()
    if not weak:
        return ""
    worst = int((alone / np.maximum(initial, 1e-300)).argmax())
    if model.targets.kind == "regression" and extent == Extent() and alone[worst] > initial[worst]:
        return (
            "Do not use these numbers: to fit every training example does not reduce the error on test examples of "
            f"{_listed(names, weak)} (from {initial[worst]:.2g} to {alone[worst]:.2g} on "
            f"{escape_control(names[worst])}). Your training stops earlier: give training_error, the mean squared "
            "error on training data that it reaches."
        )
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


def _constant_error(targets: Targets, rows: np.ndarray) -> float:
    """Return the error of the best constant answer."""
    values = targets.values[rows]
    counts_wrong = targets.kind in ("classes", "two classes")
    return 1 - _commonest(values) if counts_wrong else float(values.var(axis=0).mean())


def _several_answers(values: Array) -> str:
    """Say that labels look like classes, one-hot or like yes-or-no answers, which `Targets` takes as numbers."""
    if values.shape[1] == 1 and np.isin(values, (-1, 1)).all():
        return "Labels are -1 and 1, and are taken as numbers: give 0 and 1 for yes or no."
    found = np.unique(values)
    if values.shape[1] == 1 and 2 < len(found) <= _CLASSES and np.array_equal(found, np.arange(len(found))):
        return (
            f"Labels are whole numbers from 0 to {len(found) - 1} of a floating-point type, taken as numbers: if they "
            "are classes, give integers (2 instead of 2.0)."
        )
    if values.shape[1] < 2 or not is_binary(values):
        return ""
    if (values.sum(axis=1) == 1).all():
        return "Labels look one-hot, and are taken as numbers: give class numbers (labels.argmax(1)) for accuracies."
    return (
        "Labels are several yes-or-no answers for each example: they are learned by squared error, and accuracies are "
        "not computed."
    )


def _opposed(model: KernelModel, names: Sequence[str]) -> str:
    """Name the pairs of tasks of which learning one undoes the other, the strongest first."""
    similarity = model.similarity()
    pairs = [(similarity[i, j], i, j) for j in range(model.T) for i in range(j) if similarity[i, j] < OPPOSED]
    if not pairs:
        return ""
    shown = [
        f"{escape_control(names[i])} and {escape_control(names[j])} ({value:.2f})"
        for value, i, j in sorted(pairs)[:_NAMED]
    ]
    more = f" and {len(pairs) - _NAMED} more" if len(pairs) > _NAMED else ""
    return (
        f"Opposed tasks, by similarity: {', '.join(shown)}{more}. Learning one undoes the other; tasks that ask "
        "different questions about similar inputs need a head each."
    )


def _unequal_sizes(model: KernelModel, extent: Extent) -> str:
    sizes = [len(rows) for rows in model.train]
    if extent.steps is not None or max(sizes) < UNEQUAL * min(sizes):
        return ""
    return (
        f"Tasks have {describe_sizes(sizes)} training examples here, and each is trained equally far. If you train all "
        "for the same number of epochs, small tasks are learned and forgotten less than predicted."
    )


def _listed(names: Sequence[str], tasks: Sequence[int]) -> str:
    shown = ", ".join(escape_control(names[t]) for t in tasks[:_NAMED])
    return shown + (f" and {len(tasks) - _NAMED} more" if len(tasks) > _NAMED else "")
