"""The table of `ebbing train`: the accuracy matrix and its metrics."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from rich.console import Console

from ebbing import metrics
from ebbing.cli._console import new_table, note, safe_text
from ebbing.runs.streams import StreamRun

_CORNER = "accuracy (%)"


def print_run(run: StreamRun, console: Console) -> None:
    """Print the accuracy matrix in percent, its metrics, and how many tasks were trained now."""
    headers = [f"on {task}" for task in run.tasks]
    names = ["initial", *(f"after {task}" for task in run.tasks)]
    cells = [[f"{100 * value:.2f}" for value in row] for row in run.accuracies]
    if _fitting(headers, names, cells, console.width) < len(headers):  # one decimal less
        cells = [[f"{100 * value:.1f}" for value in row] for row in run.accuracies]
    shown = _fitting(headers, names, cells, console.width)
    table = new_table(_CORNER, *headers[:shown])
    for t, (name, row) in enumerate(zip(names, cells, strict=True)):
        styled = [safe_text(cell, "bold" if t and i == t - 1 else "") for i, cell in enumerate(row[:shown])]
        table.add_row(safe_text(name), *styled)
    console.print(table)
    if len(run.tasks) > shown:
        note(f"{len(run.tasks) - shown} more tasks: a wider terminal or --json shows them", console)
    ACC = 100 * float(metrics.average_accuracy(run.accuracies, kind="accuracy"))
    console.print(f"average accuracy ACC  {ACC:.2f} %")
    if len(run.tasks) > 1:
        BWT = 100 * float(metrics.backward_transfer(run.accuracies, kind="accuracy"))
        worst = 100 * float(np.min(run.accuracies[-1] - np.diag(run.accuracies[1:])))
        console.print(f"backward transfer BWT {BWT:+.2f} percentage points (the worst task {worst:+.2f})")
    if run.bytes_per_task is not None and run.state_sizes[0]:
        kept, network = run.bytes_per_task / 1e6, run.state_sizes[0] / 1e6
        console.print(f"memory                {kept:.2f} MB per protected task, besides the network's {network:.2f} MB")
    stored = "" if run.num_trained == len(run.tasks) else "; the others were stored"
    note(f"{run.num_trained} of {len(run.tasks)} tasks trained now{stored}", console)


def _fitting(headers: Sequence[str], names: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> int:
    """How many columns of numbers fit into a line."""
    widths = (2 + max(map(len, column)) for column in zip(headers, *cells, strict=True))
    ends = accumulate(widths, initial=max(map(len, (_CORNER, *names))))
    return max(1, sum(end <= width for end in ends) - 1)
