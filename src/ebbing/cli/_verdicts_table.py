"""The table of `ebbing reproduce`: a verdict on each of the paper's claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ebbing._tables import escape_control
from ebbing.cli._console import safe_text
from ebbing.paper._output import Verdict


def print_verdicts(verdicts: Sequence[Verdict], folder: Path, console: Console) -> None:
    """Print each claim, what was run and the result."""
    if not verdicts:
        console.print(safe_text(f"No claims to judge. Figures and data: {folder}/", "bold"))
        return
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for v in verdicts:
        unclear = "interval" if v.bounds else "open"
        mark, style = {True: ("holds", "green"), False: ("FAILS", "bold red"), None: (unclear, "yellow")}[v.holds]
        claim = Text.assemble((escape_control(v.source), "bold"), f": {escape_control(v.claim)}")
        table.add_row(Text(mark, style), claim)
        table.add_row("", safe_text(f"{v.procedure} -> {v.result}", "dim"))
    console.print(table)
    console.print()
    console.print(safe_text(f"{_count(verdicts)}. Figures, data and verdicts: {folder}/", "bold"))


def _count(verdicts: Sequence[Verdict]) -> str:
    """Say how many claims hold, and what became of all the others."""
    holding, failing, bounded, open_ = (
        sum((v.holds, bool(v.bounds and v.holds is None)) == kind for v in verdicts)
        for kind in ((True, False), (False, False), (None, True), (None, False))
    )
    others = f", {failing} {'does' if failing == 1 else 'do'} not hold" if failing else ""
    others += f", {bounded} bounded by an interval" if bounded else ""
    others += f", {open_} open (what was run does not decide)" if open_ else ""
    return f"{holding} of {len(verdicts)} claims hold{others}"
