"""Metrics of an error matrix, as people and programs read them."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from ebbing import metrics
from ebbing.metrics import Summary
from ebbing.printing import note, table_of


def summary_json(summary: Summary) -> dict[str, Any]:
    """What `ebbing metrics --json` says; a metric that cannot be computed is null, with the reason."""
    return {"kind": summary.kind, "tasks": summary.tasks, "metrics": summary.values, "missing": summary.reasons}


def print_summary(summary: Summary, console: Console) -> None:
    """Every metric with its formula, or why it cannot be had."""
    what = {"error": "errors", "accuracy": "accuracies"}[summary.kind]
    console.print(Text(f"{summary.tasks} tasks, {what}; results in the unit of the matrix"))
    table = table_of("metric", "value", "", left=(0, 2))
    for name, value in summary.values.items():
        if value is None:
            table.add_row(name, "-", Text(summary.reasons[name]), style="dim")
        else:
            table.add_row(name, " ".join(f"{x:.5g}" for x in np.atleast_1d(value)), Text(_formula(name)))
    console.print(table)
    note("Which framework calls which of them what: docs/metrics.md", console)


def _formula(name: str) -> str:
    return (getattr(metrics, name).__doc__ or "").splitlines()[0]
