"""The table of `ebbing reproduce --progress`: which runs are recorded, begun and to come."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from ebbing.cli._console import new_table
from ebbing.cli._runs_table import seed_ranges
from ebbing.paper.run_progress import RunProgress


def print_progress(runs: Sequence[RunProgress], console: Console) -> None:
    """Print a row for all seeds of a run, and the sum."""
    groups: dict[tuple[str, str], list[RunProgress]] = {}
    for run in runs:
        groups.setdefault((run.target, run.name), []).append(run)
    table = new_table("target", "run", "recorded", "begun", "to come", "time left", left=(0, 1, 2, 3, 4))
    for (target, name), group in groups.items():
        recorded, waiting = ([r.seed for r in group if r.state == state] for state in ("recorded", "to come"))
        begun = [
            f"{run.seed}: {run.trained} of {run.networks}{', running' if run.state == 'running' else ''}"
            for run in group
            if run.state in ("running", "begun")
        ]
        row = (target, name, seed_ranges(recorded), "; ".join(begun), seed_ranges(waiting), _time_left(group))
        table.add_row(*map(Text, row))
    console.print(table)
    finished = sum(run.state == "recorded" for run in runs)
    left = _time_left(runs) or "nothing"
    console.print(Text(f"\n{finished} of {len(runs)} runs are recorded; left: {left} on one core", "bold"))


def _time_left(runs: Sequence[RunProgress]) -> str:
    """The training that is left, as far as times are recorded."""
    seconds = sum(run.seconds_left or 0.0 for run in runs)
    unknown = sum(run.seconds_left is None for run in runs)
    parts = [format_duration(seconds)] if seconds else []
    return " and ".join([*parts, *([f"{unknown} run{'s' * (unknown > 1)} of unknown length"] if unknown else [])])


def format_duration(seconds: float) -> str:
    """A duration in hours or minutes.

    >>> format_duration(40), format_duration(1900), format_duration(100_000)
    ('1 min', '32 min', '27.8 h')
    """
    return f"{max(1, round(seconds / 60))} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
