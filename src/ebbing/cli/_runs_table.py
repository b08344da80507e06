"""The table of `ebbing runs`: what a store of trained networks holds."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console

from ebbing.cli._console import new_table, note, safe_text
from ebbing.runs.inventory import Inventory, RunGroup

SECTION = ("tasks", "architecture")
"""Settings that all rows of a section have in common."""

HIDDEN = ("fingerprint", "version", "code")
"""Settings that are shown only where two rows would look the same without them."""

Part = tuple[str, dict[str, str]]
"""A kind and its settings."""


def print_runs(inventory: Inventory, console: Console) -> None:
    """Print a section for each pair of tasks and network, with one row for all seeds of a method."""
    if not inventory.groups:
        note(f"nothing trained in {inventory.folder}{_freed(inventory)}", console)
        return
    sections: dict[str, dict[str, list[RunGroup]]] = {}
    for group in inventory.groups:
        common = {name: dict(group.settings.get(name, {})) for name in SECTION}
        common["architecture"].pop("built", None)  # the initial network: another one for each seed
        rows = sections.setdefault(json.dumps(common, sort_keys=True), {})
        rows.setdefault(json.dumps(group.settings.get("method", {}), sort_keys=True), []).append(group)
    parts = [json.loads(common) for common in sections]
    titles = [", ".join(_cell(*_flat(part[name])) for name in SECTION) for part in parts]
    hidden = [" ".join(filter(None, (_hidden(part[name]) for name in SECTION))) for part in parts]
    for title, rows in zip(_distinguish(titles, hidden), sections.values(), strict=True):
        console.print(safe_text(title, "bold"))
        _print_section([json.loads(method) for method in rows], list(rows.values()), console)
        console.print()
    note(f"{inventory.size / 1e6:.1f} MB in {inventory.folder}{_freed(inventory)}", console)


def _print_section(methods: list[dict[str, Any]], rows: list[list[RunGroup]], console: Console) -> None:
    """Print in each row the settings in which methods differ, and below them those that all share."""
    parts = [_flat(method) for method in methods]
    shared = _shared(parts) if len(rows) > 1 else {}
    cells = [_cell(kind, {name: v for name, v in values.items() if name not in shared}) for kind, values in parts]
    table = new_table("method", "seeds", "trained", left=(0, 1))
    for cell, groups in zip(_distinguish(cells, [_hidden(method) for method in methods]), rows, strict=True):
        seeds = seed_ranges([group.settings["seed"] for group in groups if "seed" in group.settings])
        table.add_row(safe_text(cell), seeds, str(sum(group.entries for group in groups)))
    console.print(table)
    if shared:
        note(_cell("all:", shared), console)


def _freed(inventory: Inventory) -> str:
    return f", {inventory.freed / 1e6:.1f} MB freed" if inventory.freed else ""


def _flat(part: dict[str, Any], prefix: str = "") -> Part:
    """Settings by name, without the hidden ones; custom tasks have the start of their data's hash."""
    found: dict[str, str] = {}
    for name, value in part.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{name}.")[1]
        elif name not in ("kind", *HIDDEN) and value is not None:
            found[f"{prefix}{name}"] = str(value)
    if part.get("kind") == "CustomTasks":
        found["data"] = str(part.get("fingerprint"))[:8]
    return str(part.get("kind", "?")), found


def _hidden(part: dict[str, Any]) -> str:
    return " ".join(f"{name}={str(part[name])[:8]}" for name in HIDDEN if name in part)


def _distinguish(texts: list[str], hidden: list[str]) -> list[str]:
    """The texts; those that are equal are followed by their hidden settings."""
    return [f"{text} {more}" if texts.count(text) > 1 else text for text, more in zip(texts, hidden, strict=True)]


def _shared(methods: list[Part]) -> dict[str, str]:
    """Settings that are the same wherever they occur, and that no method lacks which another of its kind has."""
    names = {name: value for _, values in methods for name, value in values.items()}
    kinds = {name: {kind for kind, values in methods if name in values} for name in names}
    return {
        name: value
        for name, value in names.items()
        if all(values.get(name) == value for kind, values in methods if kind in kinds[name])
    }


def _cell(kind: str, values: dict[str, str]) -> str:
    return " ".join([kind, *(f"{name}={value}" for name, value in values.items())])


def seed_ranges(seeds: list[int]) -> str:
    """Seeds in increasing order, consecutive ones as a range.

    >>> seed_ranges([4, 0, 1, 2])
    '0-2, 4'
    """
    runs: list[list[int]] = []
    for seed in sorted(seeds):
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
