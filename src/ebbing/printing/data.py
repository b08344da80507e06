"""The data cache as people read it, and as programs read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from ebbing.data import COLLECTIONS, CachedFile, folder
from ebbing.printing import note, table_of

_STYLES = {"verified": "green", "damaged": "bold red", "missing": "dim"}


def data_json(entries: Sequence[CachedFile]) -> dict[str, Any]:
    """What `ebbing data --json` says; a missing file has no size."""
    return {
        "folder": str(folder()),
        "files": [
            {"data": entry.collection, "path": str(entry.path), "size": entry.size, "state": entry.state}
            | {"fault": entry.fault or None}
            for entry in entries
        ],
    }


def print_data(entries: Sequence[CachedFile], console: Console) -> None:
    """One row per file, and what to do if one is missing or damaged."""
    console.print(Text(f"data in {folder()} (set EBBING_DATA for another folder)"), soft_wrap=True)
    table = table_of("data", "file", "bytes", "", left=(0, 1, 3))
    for entry in entries:
        size = "" if entry.size is None else f"{entry.size:,}"
        table.add_row(entry.collection, entry.path.name, size, Text(entry.state, _STYLES[entry.state]))
    console.print(table)
    for entry in entries:
        if entry.fault:
            console.print(Text(f"{entry.path} {entry.fault}"), soft_wrap=True)
    names = sorted({entry.collection for entry in entries if entry.state != "verified"})
    for name in names:
        note(f"To get what is missing or damaged: ebbing data {name} --fetch", console)
        if COLLECTIONS[name].variable:
            note(f"To get it from a file that you have: ebbing data {name} --file PATH", console)
