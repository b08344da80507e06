"""What the callbacks of all frameworks share: which task is learned, what is measured, and the file that keeps it."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from ebbing._tables import format_number
from ebbing.integrations.measured_matrix import MeasuredMatrix
from ebbing.metrics import Kind

KINDS: dict[str, Kind] = {"accuracy": "accuracy", "acc": "accuracy", "loss": "error", "error": "error"}
"""What a metric holds, by the last word of its name."""


class MatrixRecorder:
    """A matrix that is filled entry by entry; every entry is on disk as soon as it is measured.

    Args:
        names: The tasks, in the order in which they are learned.
        metric: What is measured.
        kind: What it holds; None if the name of the metric tells.
        file: The file that keeps the matrix, or None.
        resume: Whether to continue the matrix in the file; without it, a file that exists raises an error.
    """

    def __init__(
        self,
        names: Iterable[str],
        metric: str,
        kind: Kind | None,
        file: str | os.PathLike[str] | None,
        *,
        resume: bool,
    ) -> None:
        self.names, self.file = tuple(names), None if file is None else Path(file)
        if not self.names or not all(isinstance(name, str) and name for name in self.names):
            raise ValueError(f"tasks {list(self.names)!r}: give at least one task, each under its name")
        self.metric = metric
        self.kind: Kind = metric_kind(metric, kind)
        T = len(self.names)
        self.values = np.full((T + 1, T), np.nan)
        self.step = 0  # the task that is learned now, from 1; 0 before the first
        if self.file is not None and self.file.exists():
            self._continue(self.file, resume)

    def _continue(self, file: Path, resume: bool) -> None:
        found = MeasuredMatrix.read(file)
        if not resume:
            raise ValueError(
                f"{file} exists already ({found.learned} of {len(found.names)} tasks learned): say resume=True to "
                "continue it, or name another file"
            )
        if (found.names, found.metric, found.kind) != (self.names, self.metric, self.kind):
            raise ValueError(
                f"{file} cannot be continued: it holds the {found.metric} on {', '.join(found.names)}, and this run "
                f"measures the {self.metric} on {', '.join(self.names)}; name another file"
            )
        self.values, self.step = found.values, found.learned

    @property
    def matrix(self) -> MeasuredMatrix:
        """The matrix so far."""
        return MeasuredMatrix(self.values.copy(), self.names, self.kind, self.metric)

    @property
    def remaining(self) -> tuple[str, ...]:
        """The tasks that are still to be learned."""
        return self.names[self.matrix.learned :]

    def start_task(self, task: str | None) -> str:
        """Return the name of the task that is learned next, if it is the one that is meant."""
        remaining = self.remaining
        if not remaining:
            raise ValueError(
                f"all {len(self.names)} tasks are learned already: each training run learns one of {list(self.names)}, "
                "in this order"
            )
        if task is not None and task != remaining[0]:
            raise ValueError(
                f"task {task!r} is not next: tasks are learned in the order of their evaluation data, so this run "
                f"learns {remaining[0]!r}; give the evaluation data in the order of training"
            )
        self.step = len(self.names) - len(remaining) + 1
        return remaining[0]

    def measure(self, step: int, evaluate: Callable[[str], float], *, write: bool = True) -> None:
        """Measure what is missing in a row, task by task; random numbers of training stay as they were."""
        with preserved_random_state():
            for i, name in enumerate(self.names):
                if math.isnan(self.values[step, i]):
                    value = float(evaluate(name))
                    if not math.isfinite(value) or (self.kind == "accuracy" and not 0 <= value <= 100):
                        rule = "a finite number" if self.kind == "error" else "from 0 to 1, or to 100"
                        raise ValueError(
                            f"the {self.metric} on task {name!r} is {format_number(value)}: it must be {rule}"
                        )
                    self.values[step, i] = value
                    if write and self.file is not None:
                        self.matrix.save(self.file)


def metric_kind(metric: str, kind: Kind | None) -> Kind:
    """Return whether a metric is an error or an accuracy: as given, or by its name."""
    found = kind or KINDS.get(metric.rpartition("_")[2])
    if found not in ("error", "accuracy"):
        raise ValueError(
            f"metric={metric!r}, kind={kind!r}: say kind='error' (lower is better) or 'accuracy' (higher is better); "
            f"names that end in {', '.join(KINDS)} need no kind"
        )
    return found


@contextmanager
def preserved_random_state() -> Iterator[None]:
    """Restore all random number generators at the end, so that measuring does not change what training does."""
    python, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002 (the legacy state that others use)
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices):
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy_state)  # noqa: NPY002
