"""What a network should output, and how wrong its outputs are: `Targets`.

Training pushes outputs toward their labels. The forecast works with *predictions*: probabilities for labels of two
kinds or of several classes, and plain outputs for regression. Predictions start at those of the network, and are
clipped to [0, 1] before their error is computed. The softmax of two outputs is the sigmoid of their difference, so two
classes are learned as yes or no are.

=============  =========================================  ==============================  ==========================
kind           labels                                     prediction of the network       error
=============  =========================================  ==============================  ==========================
"yes or no"    0 or 1, one output                         sigmoid of its output           mean squared
"two classes"  0 or 1, two outputs                        sigmoid of their difference     share of wrong classes
"classes"      whole numbers from 0, C outputs            softmax of its outputs          share of wrong classes
"regression"   any numbers, as many as outputs            its outputs                     mean squared
=============  =========================================  ==============================  ==========================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ebbing._validate import Array

Kind = Literal["yes or no", "two classes", "classes", "regression"]

BINARY = ("yes or no", "two classes")
"""Kinds of labels of which one number, the log-odds, is learned."""

_LARGEST = 1e70
"""The largest label of regression: fourth powers of labels stay finite."""


_MOST_CLASSES = 10_000
"""The most classes of data without a network: larger whole numbers are likely prices or counts."""


@dataclass(frozen=True, eq=False)
class Targets:
    """The targets of all rows.

    Attributes:
        kind: "yes or no", "two classes", "classes" or "regression".
        values: What each row should be predicted as (N, C), 0 or 1 for classes; C is 1 for two classes.
    """

    kind: Kind
    values: Array

    @classmethod
    def of(cls, labels: np.ndarray, outputs: int | None = None) -> Targets:
        """Return the targets of labels.

        Args:
            labels: Labels of all rows (N,) or (N, C).
            outputs: C, the outputs of the network; None if there is no network: as many as the labels need.

        Returns:
            The targets.

        Raises:
            ValueError: If labels do not fit the outputs.

        Example:
            >>> Targets.of(np.array([0, 2, 1])).values.tolist()
            [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
            >>> Targets.of(np.array([0, 1, 1])).kind, Targets.of(np.array([0.5, 3.0])).kind
            ('yes or no', 'regression')
        """
        flat = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
        whole = labels.dtype.kind in "biu"
        two = is_binary(flat)
        if flat.ndim == 1 and two and outputs in (None, 1):
            return cls("yes or no", flat.astype(np.float64)[:, None])
        if flat.ndim == 1 and two and whole and outputs == 2:
            return cls("two classes", flat.astype(np.float64)[:, None])
        if flat.ndim == 1 and whole and outputs != 1:
            return cls._of_classes(flat, outputs)
        values = labels.astype(np.float64).reshape(len(labels), -1)
        if whole and outputs == 1:
            raise ValueError(
                f"labels are whole numbers from {flat.min()} to {flat.max()}, but the network has one output: give 0 "
                "and 1 for yes or no, floating-point numbers for regression, or one output per class"
            )
        if outputs is not None and values.shape[1] != outputs:
            raise ValueError(
                f"labels are {labels.dtype} of shape {labels.shape}, but the network has {outputs} outputs: give whole "
                f"numbers without a column for classes, or {outputs} numbers for each example"
            )
        if (largest := float(np.abs(values).max(initial=0.0))) > _LARGEST:
            raise ValueError(f"labels are up to {largest:.3g}: squares of errors would overflow; scale the labels")
        return cls("regression", values)

    @classmethod
    def _of_classes(cls, labels: np.ndarray, outputs: int | None) -> Targets:
        if outputs is None and (labels.min() < 0 or labels.max() >= _MOST_CLASSES):
            raise ValueError(
                f"labels are whole numbers from {labels.min()} to {labels.max()}: number classes from 0 (0 and 1 for "
                "yes or no), leave out examples without a label, or give floating-point numbers for regression"
            )
        classes = int(labels.max()) + 1 if outputs is None else outputs
        if labels.min() < 0 or labels.max() >= classes:
            raise ValueError(
                f"labels are from {labels.min()} to {labels.max()}, but the network has {classes} outputs: number "
                f"classes from 0 to {classes - 1}, or give the network an output for each class"
            )
        values = np.zeros((len(labels), classes))
        values[np.arange(len(labels)), labels.astype(int)] = 1.0
        return cls("classes", values)

    @property
    def classes(self) -> np.ndarray:
        """The classes of all rows as whole numbers from 0 (N,), but for regression."""
        return (self.values[:, 0] if self.kind in BINARY else self.values.argmax(axis=1)).astype(np.int64)

    def predictions(self, outputs: Array | None) -> Array:
        """Return the predictions that a network starts from.

        Args:
            outputs: Its outputs (N, C), of two classes their difference; None without a network: undecided, or 0 for
                regression.

        Returns:
            The predictions (N, C).
        """
        if outputs is None:
            undecided = {"classes": 1.0 / self.values.shape[1], "regression": 0.0}
            return np.full_like(self.values, undecided.get(self.kind, 0.5))
        if self.kind == "regression":
            return np.array(outputs, dtype=np.float64)
        if self.kind in BINARY:
            return 0.5 * (1.0 + np.tanh(0.5 * outputs))
        exponentials = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return exponentials / exponentials.sum(axis=1, keepdims=True)

    def clip(self, predictions: Array) -> Array:
        """Return predictions in the range that they can have.

        Args:
            predictions: Predictions of any shape.

        Returns:
            The same predictions for regression, otherwise clipped to [0, 1].
        """
        return predictions if self.kind == "regression" else np.clip(predictions, 0.0, 1.0)

    def errors(self, predictions: Array, rows: np.ndarray) -> Array:
        """Compute the error of predictions.

        Args:
            predictions: Predictions of some rows by several models (rows, models, C).
            rows: The rows.

        Returns:
            The error of each model (models,).
        """
        wanted = self.values[rows][:, None]
        if self.kind == "two classes":
            return 1.0 - self.accuracy(predictions, rows)
        if self.kind == "classes":
            return (predictions.argmax(axis=2) != wanted.argmax(axis=2)).mean(axis=0)
        return np.square(self.clip(predictions) - wanted).mean(axis=(0, 2))

    def accuracy(self, predictions: Array, rows: np.ndarray) -> Array:
        """Compute the share of right answers: the label, or class, of the highest probability; undecided counts half.

        Args:
            predictions: Predictions of some rows by several models (rows, models, C).
            rows: The rows.

        Returns:
            The accuracy of each model (models,).

        Raises:
            ValueError: If labels are numbers: an answer is then not right or wrong.

        Example:
            >>> targets = Targets.of(np.array([0, 1, 1]))
            >>> targets.accuracy(np.array([0.2, 0.9, 0.4])[:, None, None], np.arange(3)).round(2).tolist()
            [0.67]
        """
        if self.kind == "regression":
            raise ValueError("labels are numbers (regression), which have no accuracy; ask for errors")
        if self.kind == "classes":
            return 1.0 - self.errors(predictions, rows)
        return 0.5 + 0.5 * np.mean(np.sign(predictions[:, :, 0] - 0.5) * np.sign(self.values[rows] - 0.5), axis=0)


def is_binary(labels: np.ndarray) -> bool:
    """Return whether all labels are 0 or 1, of whatever type.

    Args:
        labels: The labels.

    Returns:
        True if they are.

    Example:
        >>> is_binary(np.array([0.0, 1.0])), is_binary(np.array([True])), is_binary(np.array([0, 2]))
        (True, True, False)
    """
    return bool(np.isin(labels, (0, 1)).all())
