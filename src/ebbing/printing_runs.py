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
    if not content["groups"]:
        note(f"nothing trained in {content['folder']}{_freed(content)}", console)
        return
    table = table_of("tasks", "network", "method", "seed", "trained", left=(0, 1, 2))
    for group in content["groups"]:
        settings = group["settings"]
        cells = (_short(settings.get(name, {})) for name in ("tasks", "architecture", "method"))
        table.add_row(*map(Text, cells), str(settings.get("seed", "")), str(group["entries"]))
    console.print(table)
    note(f"{content['bytes'] / 1e6:.1f} MB in {content['folder']}{_freed(content)}", console)


def _freed(content: dict[str, Any]) -> str:
    return f", {content['freed'] / 1e6:.1f} MB freed" if content["freed"] else ""


def _short(part: dict[str, Any]) -> str:
    """The kind and its settings, but for what only programs tell apart; of data of users' own the hash, shortened."""
    hidden = ("kind", "identity", "version")
    shown = [f"{name}={value}" for name, value in part.items() if name not in hidden and value is not None]
    if part.get("kind") == "OwnTasks":
        shown.append(str(part["identity"])[:8])
    return " ".join([part.get("kind", "?"), *shown])
