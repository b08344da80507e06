"""Results as people read them (tables) and as programs read them (JSON, schema in docs/json.md)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text


def console() -> Console:
    """Standard output; on a narrow terminal lines break rather than numbers."""
    return Console(width=max(80, Console().width))


def to_json(command: str, content: dict[str, Any]) -> str:
    """One object, tagged with its schema. JSON has no infinity and no NaN: they become "inf" and null.

    >>> to_json("predict", {"std": math.inf})
    '{"schema": "ebbing.predict/1", "std": "inf"}'
    """
    return json.dumps({"schema": f"ebbing.{command}/1"} | _plain(content), allow_nan=False)


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case np.ndarray():
            return _plain(value.tolist())
        case list() | tuple():
            return [_plain(item) for item in value]
        case float() | np.floating():
            return float(value) if math.isfinite(value) else None if math.isnan(value) else f"{value:g}"
        case np.integer():
            return int(value)
    return value


def note(text: str, console: Console) -> None:
    """A quiet remark below a table."""
    console.print(Text(text, style="dim"))


def table_of(*headers: str, left: Sequence[int] = (0,)) -> Table:
    """An empty table; the columns in `left` are aligned left, the others right."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for i, header in enumerate(headers):
        table.add_column(header, justify="left" if i in left else "right")
    return table
