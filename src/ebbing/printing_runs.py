"""A store of trained networks, as people and programs read it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from ebbing.printing import note, table_of
from ebbing.runs.store import Store


def runs_json(folder: Path, clean: str | None) -> dict[str, Any]:
    """What `ebbing runs --json` says: entries counted by settings and seed, after cleaning if asked for."""
    if clean not in (None, "weights", "all"):
        raise ValueError(f"clean={clean!r}: give weights or all")
    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder; runs are kept in results/runs, or where --out was")
    store = Store(folder)
    freed = 0 if clean is None else store.clean(weights_only=clean == "weights")
    counted: Counter[str] = Counter()
    for entry in store.entries():
        settings = {name: value for name, value in entry.about.items() if name != "path"}
        counted[json.dumps(settings, sort_keys=True)] += 1
    groups = [{"settings": json.loads(settings), "entries": n} for settings, n in sorted(counted.items())]
    return {"folder": str(folder), "bytes": store.size(), "freed": freed, "groups": groups}


def print_runs(content: dict[str, Any], console: Console) -> None:
    """One row per method and seed."""
    table = table_of("tasks", "network", "method", "seed", "trained", left=(0, 1, 2))
    for group in content["groups"]:
        settings = group["settings"]
        cells = (_short(settings["tasks"]), _short(settings["architecture"]), _short(settings["method"]))
        table.add_row(*map(Text, cells), str(settings["seed"]), str(group["entries"]))
    console.print(table)
    freed = f", {content['freed'] / 1e6:.1f} MB freed" if content["freed"] else ""
    note(f"{content['bytes'] / 1e6:.1f} MB in {content['folder']}{freed}", console)


def _short(part: dict[str, Any]) -> str:
    hidden = ("kind", "identity", "version")
    return part["kind"] + " " + " ".join(f"{k}={v}" for k, v in part.items() if k not in hidden and v is not None)
