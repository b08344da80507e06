"""What a store of trained networks holds, and how much room it takes."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ebbing.learn._current_names import current_names
from ebbing.runs.store import Store


@dataclass(frozen=True)
class RunGroup:
    """Trained prefixes with the same settings and seed.

    Attributes:
        settings: Tasks, architecture, method and seed, under their names in Python.
        entries: Number of trained prefixes, the initial network included.
    """

    settings: dict[str, Any]
    entries: int


@dataclass(frozen=True)
class Inventory:
    """The content of a store.

    Attributes:
        folder: The folder of the store.
        size: Bytes on disk, weights and unfinished files included.
        freed: Bytes that were just removed.
        groups: One group for each set of settings and seed.
    """

    folder: Path
    size: int
    freed: int
    groups: tuple[RunGroup, ...]


def take_inventory(folder: str | os.PathLike[str], clean: str | None = None) -> Inventory:
    """Count what a store holds by settings and seed, after removing what `clean` names.

    Every file is read and compared with its checksum; a warning names each that is damaged.

    Args:
        folder: The folder of the store.
        clean: "weights" removes the weights and keeps the results, "all" removes everything; None removes nothing.

    Returns:
        The content of the store.

    Raises:
        ValueError: If there is no such folder, or `clean` is something else.
    """
    folder = Path(folder)
    if clean not in (None, "weights", "all"):
        raise ValueError(f"clean={clean!r}: give weights or all")
    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder; name runs/ in a folder that --out named, or train first")
    store = Store(folder)
    freed = 0 if clean is None else store.clean(weights_only=clean == "weights")
    counted: Counter[str] = Counter()
    for entry in store.entries():
        store.weights(entry)  # for its warning
        settings = {name: value for name, value in entry.about.items() if name not in ("path", "made_with")}
        counted[json.dumps(current_names(settings), sort_keys=True)] += 1
    groups = tuple(RunGroup(json.loads(settings), n) for settings, n in sorted(counted.items()))
    return Inventory(folder, store.size(), freed, groups)
