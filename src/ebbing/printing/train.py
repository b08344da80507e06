"""What came of learning a stream, as people and programs read it."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from ebbing import metrics
from ebbing.learn.experiment import Experiment
from ebbing.printing import note, table_of
from ebbing.runs.streams import StreamRun

_MOST_COLUMNS = 12


def parse_weights(text: str | None) -> tuple[float, ...] | None:
    """Weights as written on the command line.

    >>> parse_weights("1.2,0.8")
    (1.2, 0.8)
    """
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"weights={text!r}: give numbers separated by commas: 1.2,0.8") from None


def train_json(run: StreamRun, experiment: Experiment) -> dict[str, Any]:
    """What `ebbing train --json` says."""
    several = len(run.tasks) > 1
    return {
        "settings": experiment.describe(),
        "seed": run.seed,
        "tasks": list(run.tasks),
        "accuracies": run.accuracies,
        "average_accuracy": float(metrics.average_accuracy(run.accuracies, kind="accuracy")),
        "backward_transfer": float(metrics.backward_transfer(run.accuracies, kind="accuracy")) if several else None,
        "bytes_per_task": run.kept_per_task,
        "trained": run.trained,
    }


def print_run(run: StreamRun, console: Console) -> None:
    """The accuracy matrix in percent, its metrics, and how much of it was trained just now."""
    shown = run.tasks[:_MOST_COLUMNS]
    table = table_of("accuracy (%) after", *(f"on {task}" for task in shown))
    for t, row in enumerate(100 * run.accuracies):
        name = "nothing" if t == 0 else f"task {run.tasks[t - 1]}"
        cells = [Text(f"{value:.2f}", style="bold" if t and i == t - 1 else "") for i, value in enumerate(row)]
        table.add_row(name, *cells[:_MOST_COLUMNS])
    console.print(table)
    if len(run.tasks) > len(shown):
        note(f"{len(run.tasks) - len(shown)} more tasks: see them all with --json", console)
    ACC = 100 * float(metrics.average_accuracy(run.accuracies, kind="accuracy"))
    console.print(f"average accuracy ACC  {ACC:.2f} %")
    if len(run.tasks) > 1:
        BWT = 100 * float(metrics.backward_transfer(run.accuracies, kind="accuracy"))
        worst = 100 * float(np.min(run.accuracies[-1] - np.diag(run.accuracies[1:])))
        console.print(f"backward transfer BWT {BWT:+.2f} percentage points (the worst task {worst:+.2f})")
    if run.kept_per_task is not None and run.kept[0]:
        kept, network = run.kept_per_task / 1e6, run.kept[0] / 1e6
        console.print(
            f"memory                {kept:.2f} MB a task but the last, besides the network's {network:.2f} MB"
        )
    stored = "" if run.trained == len(run.tasks) else ", the others were stored"
    note(f"{run.trained} of {len(run.tasks)} tasks learned now{stored}", console)
