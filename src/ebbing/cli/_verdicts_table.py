"""The table of `ebbing reproduce`: a verdict on each of the paper's claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ebbing.paper._output import Verdict


def print_verdicts(verdicts: Sequence[Verdict], folder: Path, console: Console) -> None:
    """Print each claim, what was run and the result."""
    if not verdicts:
        console.print(Text(f"No claims to judge. Figures and data: {folder}/", "bold"))
        return
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for v in verdicts:
        unclear = Text("interval" if v.bounds else "open", "yellow")
        mark = {True: Text("holds", "green"), False: Text("FAILS", "bold red"), None: unclear}[v.holds]
        table.add_row(mark, Text.assemble((v.source, "bold"), f": {v.claim}"))
        table.add_row("", Text(f"{v.procedure} -> {v.result}", "dim"))
    console.print(table)
    holding, bounded, open_ = (
        sum((v.holds, bool(v.bounds and v.holds is None)) == kind for v in verdicts)
        for kind in ((True, False), (None, True), (None, False))
    )
    unclear = f", {bounded} bounded by an interval" if bounded else ""
    unclear += f", {open_} open (what was run does not decide)" if open_ else ""
    summary = f"\n{holding} of {len(verdicts)} claims hold{unclear}. Figures, data and verdicts: {folder}/"
    console.print(Text(summary, "bold"))
