"""Training of whole streams in their usual order, with the accuracy matrix as the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from safetensors.torch import load

from ebbing._pages import Page, forgotten_picture, matrix_picture
from ebbing._tables import Table, Tabular, to_frame
from ebbing._validate import Array
from ebbing.learn._code_objects import is_foreign
from ebbing.learn.experiment import Experiment
from ebbing.learn.sequences import prefix_tree
from ebbing.learn.tasks.base import Tasks, occurrences
from ebbing.learn.training._state_file import decode_json, dump, encode_json
from ebbing.metrics import remembering
from ebbing.metrics._summary import MetricSummary, summarize
from ebbing.runs._pools import LOCAL, Resources
from ebbing.runs.execution import Execution
from ebbing.runs.store import Store

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

StreamProgress = Callable[[float, str], None]
"""A function that is called with the share that is done and a short message."""


@dataclass(frozen=True, eq=False)
class StreamRun(Tabular):
    """The result of training a stream with one seed.

    Attributes:
        seed: The seed.
        tasks: Names of the tasks, in order.
        accuracies: The accuracy matrix (T+1, T): A[t, i] is the accuracy on task i after t tasks, t = 0 is the initial
            network; NaN where a network has not been trained.
        num_trained: The number of tasks that this call trained; the others were in the store.
        state_sizes: Size in bytes of the learner's state after t tasks, including the network, (T+1,); None where it is
            not stored.
        learner: The state of the learner at the end, as its `save` writes it, if it was requested; of a method without
            a learner, such as `Sgd`, the weights of the network in the safetensors format.
        seconds: The time that this call took to train those tasks.
    """

    seed: int
    tasks: tuple[str, ...]
    accuracies: Array
    num_trained: int
    state_sizes: tuple[float | None, ...] = ()
    learner: bytes | None = None
    seconds: float = 0.0

    @property
    def bytes_per_task(self) -> float | None:
        """The average growth of the learner's state per task in bytes, or None if it is not known.

        The last task is left out: nothing needs to be protected after it, and its state may not be stored.
        """
        sizes = [(t, size) for t, size in enumerate(self.state_sizes[:-1]) if size is not None]
        if len(sizes) < 2 or sizes[0][0] != 0:
            return None
        (_, first), (t, last) = sizes[0], sizes[-1]
        return (last - first) / t

    @property
    def num_learned(self) -> int:
        """The number of tasks that have been learned so far, one after the other."""
        rows = np.append(np.isfinite(self.accuracies).all(axis=1), False)
        return int(np.argmin(rows)) - 1

    @property
    def finished(self) -> bool:
        """Whether every task has been learned."""
        return self.num_learned == len(self.tasks)

    def to_frame(self) -> pd.DataFrame:
        """Return the accuracy matrix as a tidy pandas DataFrame.

        Returns:
            One row per entry with the columns `step` (t), `task` (name) and `accuracy`.
        """
        rows, columns = self.accuracies.shape
        return to_frame(
            {
                "step": np.repeat(np.arange(rows), columns),
                "task": list(self.tasks) * rows,
                "accuracy": self.accuracies.ravel(),
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the accuracy on each task after each task; a heat map for more than eight.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.errors import plot_error_matrix

        return plot_error_matrix(100 * self.accuracies, self.tasks, label="accuracy (%)", ax=ax)

    @property
    def _metrics(self) -> MetricSummary:
        """The metrics of the finished run in percent, as all numbers of its page."""
        found = summarize(100 * self.accuracies, kind="accuracy", names=self.tasks)
        remembered = 100 * remembering(self.accuracies, kind="accuracy")  # which needs fractions
        reasons = {name: why for name, why in found.reasons.items() if name != "remembering"}
        return replace(found, values=found.values | {"remembering": remembered}, reasons=reasons)

    def _page(self) -> Page:
        forgotten = forgotten_picture(100 * self.accuracies, self.tasks, "accuracy")
        return Page("What training forgot", [forgotten, matrix_picture(self.plot, self.tasks, "accuracy")])

    def _answer(self) -> str:
        if not self.finished or len(self.tasks) < 2:
            return ""
        return self._metrics._answer()

    def _tables(self) -> Sequence[Table]:
        names = ["initial network", *(f"after {task}" for task in self.tasks)]
        matrix = [[name, *(f"{100 * a:.2f}" for a in row)] for name, row in zip(names, self.accuracies, strict=True)]
        kept = (
            [] if self.bytes_per_task is None else [f"Memory per protected task: {self.bytes_per_task / 1e6:.2f} MB."]
        )
        tables = [Table("Accuracy in percent", ["", *(f"on {task}" for task in self.tasks)], matrix, kept)]
        if self.finished and len(self.tasks) > 1:
            tables += self._metrics._tables()
        return tables


def train_streams(
    experiment: Experiment,
    tasks: Sequence[str],
    seeds: Sequence[int],
    store: Store,
    *,
    resources: Resources = LOCAL,
    progress: StreamProgress | None = None,
    return_learner: bool = False,
    store_learner: bool = False,
    finished: Callable[[StreamRun], None] | None = None,
) -> list[StreamRun]:
    """Train a stream with several seeds, reusing the tasks that are stored.

    Args:
        experiment: Tasks, architecture and method.
        tasks: Names of the tasks, in order.
        seeds: The seeds.
        store: Where results are found and stored.
        resources: Where to train.
        progress: A function that is called with the share that is done and a short message.
        return_learner: Return the final learner as well; if it is not stored, the last task is trained again.
        store_learner: Store the final learner if the last task is trained in this call.
        finished: A function that is called with the result of a seed as soon as it is complete.

    Returns:
        One result per seed.

    Raises:
        ValueError: If the tasks are regression.
    """
    if seeds and _is_regression(experiment.tasks, tasks, seeds[0]):
        raise ValueError(
            f"tasks={type(experiment.tasks).__name__}(...) are regression, which has no accuracies: a stream is told "
            "by them; train prefix_tree([tasks], seed) with ebbing.runs.execute, which returns errors"
        )
    nodes = [node for seed in seeds for node in prefix_tree([tasks], seed)]

    def report(share: float) -> None:
        if progress is not None:
            progress(share, _message(execution, seeds, tasks))

    ends = {(seed, occurrences(tasks)) for seed in seeds}

    def collect(seed: int) -> StreamRun:
        learner = _plain_task_names(execution.weights[seed, occurrences(tasks)]) if return_learner else None
        accuracies, sizes = _accuracies(execution, seed, tasks), _state_sizes(execution, seed, tasks)
        return StreamRun(seed, tuple(tasks), accuracies, num_pending[seed], sizes, learner, execution.seconds[seed])

    execution = Execution(
        experiment,
        nodes,
        store,
        report,
        keep_weights=ends if return_learner else (),
        finished=None if finished is None else lambda seed: finished(collect(seed)),
    )
    if store_learner:  # only now: a learner that was not kept is not trained again for this
        execution.keep_weights = ends
    num_pending = {seed: sum(1 for other, path in execution.pending if other == seed and path) for seed in seeds}
    execution.run(resources)
    return [collect(seed) for seed in seeds]


def _is_regression(source: Tasks, tasks: Sequence[str], seed: int) -> bool:
    """Whether labels are numbers, which only the data of a user's own tasks may say."""
    if hasattr(source, "regression") or not is_foreign(type(source).__module__):
        return bool(getattr(source, "regression", False))
    return source.load(occurrences(tasks)[0], seed).regression


def _plain_task_names(learner: bytes) -> bytes:
    """Replace first occurrences, "task#0", by names of tasks in the state of one of ebbing's learners."""

    def plain(names: list[str]) -> list[str]:
        return [name.removesuffix("#0") for name in names]

    state = load(learner)
    if not {"tasks", "method"} <= state.keys():  # of a user's learner, or the weights alone, as of `Sgd`
        return learner
    state["tasks"] = encode_json(plain(decode_json(state["tasks"])))
    if "trusted" in state:
        by_task = decode_json(state["trusted"])
        state["trusted"] = encode_json([{layer: plain(names) for layer, names in found.items()} for found in by_task])
    return dump(state)


def _state_sizes(execution: Execution, seed: int, tasks: Sequence[str]) -> tuple[int | None, ...]:
    path, store = occurrences(tasks), execution.store
    entries = [store.get(execution.keys[seed, path[:t]]) for t in range(len(path) + 1)]
    return tuple(None if entry is None else store.weights_size(entry) for entry in entries)


def _accuracies(execution: Execution, seed: int, tasks: Sequence[str]) -> Array:
    path = occurrences(tasks)
    matrix = np.full((len(path) + 1, len(path)), np.nan)
    for t in range(len(path) + 1):
        node_id = (seed, path[:t])
        entry = execution.partial_entries.get(node_id)  # stored without weights
        errors = execution.errors.get(node_id, {}) if entry is None else entry.errors
        accuracies = execution.accuracies.get(node_id, {}) if entry is None else entry.accuracies
        # Early entries have no accuracies: of classes, they are 1 - error
        rights = {name: 1 - error for name, error in errors.items()} | accuracies
        matrix[t] = [rights.get(str(occurrence), np.nan) for occurrence in path]
    return matrix


def _message(execution: Execution, seeds: Sequence[int], tasks: Sequence[str]) -> str:
    """Return how many tasks are learned, with the current average accuracy on them."""
    parts = []
    for seed in seeds:
        run = StreamRun(seed, tuple(tasks), _accuracies(execution, seed, tasks), 0)
        if run.num_learned > 0:
            accuracy = run.accuracies[run.num_learned, : run.num_learned].mean()
            prefix = f"seed {seed}: " if len(seeds) > 1 else ""
            parts.append(f"{prefix}{run.num_learned} of {len(tasks)} tasks, accuracy {accuracy:.1%}")
    return "; ".join([*(parts or ["first task"]), *([execution.status] if execution.status else [])])
