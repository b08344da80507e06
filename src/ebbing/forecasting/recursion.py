"""Learning tasks one after another with a fixed kernel: the paper's model on given data.

========  ====================================================================================  ==========
here      meaning                                                                               shape
========  ====================================================================================  ==========
K         kernel of all rows (training and test examples of every task), of mean diagonal 1     (N, N)
f         predictions of all rows, one column for each output                                   (N, C)
y         what they should be                                                                   (N, C)
t         the training rows of a task, or of a mixture of tasks                                 (n,)
========  ====================================================================================  ==========

One step:  f <- f + K[:, t] R (y[t] - f[t]),  with R = g(K[t, t]) and a filter g of its eigenvalues s:

    to the end (minimum norm)     g(s) = 1/s, and 0 for s = 0
    ridge rho                     g(s) = 1/(s + rho)
    gradient flow for time tau    g(s) = (1 - exp(-tau s / n)) / s

Under the cross-entropy f are outputs (log-odds) of a yes-or-no task, and a step is f <- f + K[:, t] a, with a the dual
weights of a logistic regression with ridge rho (`_logistic`). Gradient flow for time tau moves about as far as the
ridge n / tau does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from ebbing._validate import Array
from ebbing.forecasting._logistic import fit_logistic
from ebbing.forecasting.targets import Targets

Loss = Literal["squared", "cross-entropy"]

_NEGLIGIBLE = 1e-10
"""Eigenvalues below this share of the largest are zero: directions that no example determines."""

_ROUNDING_ERRORS = 10.0
"""How many times the rounding errors of a kernel its eigenvalues must exceed to count."""

Rows = np.ndarray
"""Indices of rows."""


@dataclass(frozen=True, eq=False)
class KernelModel:
    """A model with a fixed kernel that learns tasks one after another.

    Attributes:
        kernel: K (N, N), symmetric, of mean diagonal 1.
        start: The predictions before anything is learned (N, C); under the cross-entropy, the outputs (N, 1).
        targets: What the predictions should be.
        train: The training rows of each task.
        test: The test rows of each task.
        ridge: rho, the penalty on the distance from the previous weights, in units of the kernel's mean diagonal.
        time: tau, the time of gradient flow in the same units; None to learn to the end.
        loss: What training minimizes: the squared error of predictions, or the cross-entropy of yes-or-no labels,
            which needs a positive ridge.
        rounding: The relative rounding error of the kernel's entries.
    """

    kernel: Array
    start: Array
    targets: Targets
    train: tuple[Rows, ...]
    test: tuple[Rows, ...]
    ridge: float = 0.0
    time: float | None = None
    loss: Loss = "squared"
    rounding: float = 0.0
    _solvers: dict[bytes, Array] = field(default_factory=dict, repr=False)
    _updates: dict[bytes, Array] = field(default_factory=dict, repr=False)

    @property
    def T(self) -> int:
        """The number of tasks."""
        return len(self.train)

    def solver(self, rows: Rows) -> Array:
        """Compute R = g(K[t, t]).

        Args:
            rows: The training rows t of a step (n,).

        Returns:
            R (n, n).
        """
        key = rows.tobytes()
        if key in self._solvers:
            return self._solvers[key]
        s, V = np.linalg.eigh(self.kernel[np.ix_(rows, rows)])
        present = s > max(_NEGLIGIBLE * float(s[-1]), self._noise(rows))
        safe = np.where(present, s, 1.0) + self.ridge
        gain = 1.0 / safe if self.time is None else -np.expm1(-self.time * safe / len(rows)) / safe
        solver = (V * np.where(present, gain, 0.0)) @ V.T
        if self._is_task(rows):  # mixtures are seldom learned twice
            self._solvers[key] = solver
        return solver

    def learn(self, predictions: Array, rows: Rows, read: Rows | None = None) -> Array:
        """Learn the examples of some rows, with several models at once.

        Args:
            predictions: f of each model before the step (N, models, C); under the cross-entropy, its outputs.
            rows: The training rows t of the step.
            read: The rows whose predictions are needed afterwards; None for all.

        Returns:
            f of each model after the step (rows read, models, C).
        """
        before = predictions if read is None else predictions[read]
        if self.loss == "cross-entropy":
            kernel = self.kernel[:, rows] if read is None else self.kernel[np.ix_(read, rows)]
            return before + (kernel @ self._dual(predictions[rows, :, 0], rows))[:, :, None]
        residual = (self.targets.values[rows][:, None] - predictions[rows]).reshape(len(rows), -1)
        return before + (self._update(rows, read) @ residual).reshape(before.shape)

    def _dual(self, outputs: Array, rows: Rows) -> Array:
        """Return the dual weights (n, models) of a logistic regression that starts from outputs (n, models)."""
        ridge = max(self.ridge, self._noise(rows))
        return fit_logistic(self.kernel[np.ix_(rows, rows)], outputs, self.targets.values[rows, 0], ridge)

    def _noise(self, rows: Rows) -> float:
        """Return the size up to which eigenvalues of a kernel of some rows are rounding errors.

        Errors of the entries, independent of each other and of size `rounding`, have a norm of about its product with
        the root of the number of rows. Where they are fitted, a kernel of low rank, of a small network or of equal
        examples, seems to learn everything and predicts nothing.
        """
        return _ROUNDING_ERRORS * self.rounding * len(rows) ** 0.5

    def predicted(self, values: Array) -> Array:
        """Return probabilities, or plain predictions for regression, from f.

        Args:
            values: f: predictions or, under the cross-entropy, outputs, of any shape.

        Returns:
            The predictions.
        """
        return self.targets.predictions(values) if self.loss == "cross-entropy" else values

    def initial(self) -> Array:
        """Return the predictions of a single model before anything is learned.

        Returns:
            f (N, 1, C).
        """
        return self.start[:, None]

    def errors(self, steps: Sequence[Rows]) -> Array:
        """Compute the errors of a sequence of steps.

        Args:
            steps: The training rows of each step.

        Returns:
            The error on each task, initially and after each step (steps + 1, T).
        """
        return np.array([self.test_errors(predictions)[0] for predictions in self._trajectory(steps)])

    def errors_and_accuracies(self, steps: Sequence[Rows]) -> tuple[Array, Array]:
        """Compute the errors and the accuracies of a sequence of steps, for labels of yes or no and for classes.

        Args:
            steps: The training rows of each step.

        Returns:
            The error, and the share of right answers, on each task, initially and after each step (steps + 1, T).
        """
        errors, accuracies = [], []
        for predictions in self._trajectory(steps):
            tests = [(self.predicted(predictions[rows]), rows) for rows in self.test]
            errors.append([float(self.targets.errors(one, rows)[0]) for one, rows in tests])
            accuracies.append([float(self.targets.accuracy(one, rows)[0]) for one, rows in tests])
        return np.array(errors), np.array(accuracies)

    def _trajectory(self, steps: Sequence[Rows]) -> Iterator[Array]:
        """Yield the predictions of a single model initially and after each step."""
        predictions = self.initial()
        yield predictions
        for rows in steps:
            predictions = self.learn(predictions, rows)
            yield predictions

    def solutions(self) -> Array:
        """Compute inner products of the updates by which each task alone would be learned.

        Returns:
            The Gram matrix <w_i, w_j> (T, T), in units of the kernel.
        """
        if self.loss == "cross-entropy":
            weights = [self._dual(self.start[rows], rows) for rows in self.train]
        else:
            weights = [self.solver(rows) @ (self.targets.values[rows] - self.start[rows]) for rows in self.train]
        T = self.T
        gram = np.empty((T, T))
        for i in range(T):
            for j in range(i + 1):
                block = self.kernel[np.ix_(self.train[i], self.train[j])]
                gram[i, j] = gram[j, i] = float(np.sum(weights[i] * (block @ weights[j])))
        return gram

    def similarity(self) -> Array:
        """Compute the cosine of the updates by which each task alone would be learned.

        Returns:
            The similarities (T, T), from -1 to 1 and 1 on the diagonal.
        """
        gram = self.solutions()
        length = np.sqrt(np.maximum(np.diagonal(gram), 0.0))  # of a task that moves nothing, rounding errors
        length = np.where(length > 0, length, 1.0)
        cosine = gram / length / length[:, None]
        np.fill_diagonal(cosine, 1.0)
        return np.clip(cosine, -1.0, 1.0)

    def part(self, train: Sequence[Rows], test: Sequence[Rows]) -> KernelModel:
        """Return the same model on a part of the rows.

        Args:
            train: The training rows of each task.
            test: The test rows of each task.

        Returns:
            The model.
        """
        kept = np.unique(np.concatenate([*train, *test]))
        place = np.full(len(self.start), -1)
        place[kept] = np.arange(len(kept))
        targets = Targets(self.targets.kind, self.targets.values[kept])
        chosen_train, chosen_test = (tuple(place[one] for one in split) for split in (train, test))
        kernel, start = self.kernel[np.ix_(kept, kept)], self.start[kept]
        return self.with_(kernel=kernel, start=start, targets=targets, train=chosen_train, test=chosen_test)

    def with_(self, **changes: Any) -> KernelModel:
        """Return the model with other attributes.

        Args:
            **changes: Attributes by name.

        Returns:
            The model.
        """
        return replace(self, _solvers={}, _updates={}, **changes)

    def test_errors(self, predictions: Array) -> Array:
        """Compute the errors of several models.

        Args:
            predictions: f of each model (N, models, C).

        Returns:
            The error of each on each task (models, T).
        """
        return np.stack([self.task_errors(predictions[rows], t) for t, rows in enumerate(self.test)], axis=1)

    def task_errors(self, values: Array, t: int) -> Array:
        """Compute the errors of several models on one task.

        Args:
            values: f of each model on the task's test rows (rows, models, C).
            t: The task.

        Returns:
            The error of each (models,).
        """
        return self.targets.errors(self.predicted(values), self.test[t])

    def _update(self, rows: Rows, read: Rows | None) -> Array:
        """Return K[read, t] R, of which those of whole tasks are kept."""
        key = rows.tobytes()
        if key not in self._updates:
            update = self.kernel[:, rows] @ self.solver(rows)
            if not self._is_task(rows):
                return update if read is None else update[read]
            self._updates[key] = update
        return self._updates[key] if read is None else self._updates[key][read]

    def _is_task(self, rows: Rows) -> bool:
        return any(rows is one for one in self.train)
