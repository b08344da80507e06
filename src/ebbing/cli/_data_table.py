"""The table of `ebbing data`: the files of every dataset."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from ebbing import data
from ebbing.cli._console import new_table, note, safe_text
from ebbing.data import CachedFile, cache_folder

_STYLES = {"verified": "green", "damaged": "bold red", "missing": "dim"}


def print_data(entries: Sequence[CachedFile], console: Console) -> None:
    """Print one row per file, and how to get one that is missing or damaged."""
    console.print(safe_text(f"data in {cache_folder()} (set EBBING_DATA for another folder)"), soft_wrap=True)
    table = new_table("data", "file", "bytes", "", left=(0, 1, 3))
    for entry in entries:
        size = "" if entry.size is None else f"{entry.size:,}"
        table.add_row(entry.dataset, safe_text(entry.path.name), size, safe_text(entry.state, _STYLES[entry.state]))
    console.print(table)
    for entry in entries:
        if entry.error:
            console.print(safe_text(f"{entry.path} {entry.error}"), soft_wrap=True)
    names = sorted({entry.dataset for entry in entries if entry.state != "verified"})
    for name in names:
        note(f"To get what is missing or damaged: ebbing data {name} --fetch", console)
        if data.DATASETS[name].environment_variable:
            note(f"To get it from a file that you have: ebbing data {name} --file PATH", console)
