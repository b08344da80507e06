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
        settings = {name: value for name, value in entry.about.items() if name not in ("path", "made_with")}
        counted[json.dumps(settings, sort_keys=True)] += 1
    groups = [{"settings": json.loads(settings), "entries": n} for settings, n in sorted(counted.items())]
    return {"folder": str(folder), "bytes": store.size(), "freed": freed, "groups": groups}


def print_runs(content: dict[str, Any], console: Console) -> None:
    """A table for all that learned the same tasks with the same network; one row for all seeds of the same method."""
    if not content["groups"]:
        note(f"nothing trained in {content['folder']}{_freed(content)}", console)
        return
    sections: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for group in content["groups"]:
        where, method = ({name: group["settings"].get(name, {}) for name in names} for names in (PLACE, ("method",)))
        rows = sections.setdefault(json.dumps(where, sort_keys=True), {})
        rows.setdefault(json.dumps(method["method"], sort_keys=True), []).append(group)
    places = [json.loads(where) for where in sections]
    titles = [", ".join(_cell(*_flat(place[name])) for name in PLACE) for place in places]
    hidden = [" ".join(filter(None, (_hidden(place[name]) for name in PLACE))) for place in places]
    for title, rows in zip(_told_apart(titles, hidden), sections.values(), strict=True):
        console.print(Text(title, style="bold"))
        _print_section([json.loads(method) for method in rows], list(rows.values()), console)
        console.print()
    note(f"{content['bytes'] / 1e6:.1f} MB in {content['folder']}{_freed(content)}", console)


def _print_section(methods: list[dict[str, Any]], rows: list[list[dict[str, Any]]], console: Console) -> None:
    """Of each method what tells it from the others; what they share stands below, once."""
    parts = [_flat(method) for method in methods]
    shared = _shared(parts) if len(rows) > 1 else {}
    cells = [_cell(kind, {name: v for name, v in values.items() if name not in shared}) for kind, values in parts]
    table = table_of("method", "seeds", "trained", left=(0, 1))
    for cell, groups in zip(_told_apart(cells, [_hidden(method) for method in methods]), rows, strict=True):
        seeds = _ranges([group["settings"]["seed"] for group in groups if "seed" in group["settings"]])
        table.add_row(Text(cell), seeds, str(sum(group["entries"] for group in groups)))
    console.print(table)
    if shared:
        note(_cell("all:", shared), console)


PLACE = ("tasks", "architecture")

HIDDEN = ("identity", "version")
"""What only programs tell apart, as a rule."""

Part = tuple[str, dict[str, str]]
"""A kind and its settings."""


def _freed(content: dict[str, Any]) -> str:
    return f", {content['freed'] / 1e6:.1f} MB freed" if content["freed"] else ""


def _flat(part: dict[str, Any], prefix: str = "") -> Part:
    """Settings by name, but for what only programs tell apart; of data of users' own the hash, shortened."""
    found: dict[str, str] = {}
    for name, value in part.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{name}.")[1]
        elif name not in ("kind", *HIDDEN) and value is not None:
            found[f"{prefix}{name}"] = str(value)
    if part.get("kind") == "OwnTasks":
        found["data"] = str(part["identity"])[:8]
    return str(part.get("kind", "?")), found


def _hidden(part: dict[str, Any]) -> str:
    return " ".join(f"{name}={str(part[name])[:8]}" for name in HIDDEN if name in part)


def _told_apart(texts: list[str], hidden: list[str]) -> list[str]:
    """Where texts are equal, with what they hide."""
    return [f"{text} {more}" if texts.count(text) > 1 else text for text, more in zip(texts, hidden, strict=True)]


def _shared(methods: list[Part]) -> dict[str, str]:
    """Settings that are the same wherever they occur, and that no method lacks which another of its kind has."""
    names = {name: value for _, values in methods for name, value in values.items()}
    having = {name: {kind for kind, values in methods if name in values} for name in names}
    return {
        name: value
        for name, value in names.items()
        if all(values.get(name) == value for kind, values in methods if kind in having[name])
    }


def _cell(kind: str, values: dict[str, str]) -> str:
    return " ".join([kind, *(f"{name}={value}" for name, value in values.items())])


def _ranges(seeds: list[int]) -> str:
    """Whole numbers in short.

    >>> _ranges([4, 0, 1, 2])
    '0-2, 4'
    """
    runs: list[list[int]] = []
    for seed in sorted(seeds):
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
