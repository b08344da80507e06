"""What a reproduction leaves behind: verdicts on claims, data with its provenance, and pictures."""

from __future__ import annotations

import io
import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ebbing._files import write_atomic
from ebbing._versions import software_versions

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Verdict:
    """One claim of the paper (or an erratum), what was run to check it, and what came out."""

    claim: str
    where: str
    ran: str
    result: str
    holds: bool | None  # None: what was run does not decide

    @property
    def word(self) -> str:
        """For people."""
        return {True: "holds", False: "does not hold", None: "undecided"}[self.holds]


def provenance(config: Any, seconds: float, *packages: str) -> dict[str, Any]:
    """Where a result comes from: code, settings, versions (also of the packages named), machine."""
    made = software_versions("numpy", *packages)
    return {
        "commit": made.pop("commit"),
        "config": asdict(config),
        "seconds": round(seconds, 3),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": made,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "command": " ".join(["ebbing", *sys.argv[1:]]),
    }


STYLE: dict[Any, Any] = {"font.size": 9, "axes.titlesize": 9, "axes.spines.top": False, "axes.spines.right": False}
"""Of every figure."""


def save_figure(figure: Figure, folder: Path, name: str) -> None:
    """As .png and .svg."""
    for kind in ("png", "svg"):
        content = io.BytesIO()
        figure.savefig(content, format=kind, dpi=200)
        write_atomic(folder / f"{name}.{kind}", content.getvalue())


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Indented JSON; arrays become lists."""
    write_atomic(path, json.dumps(content, indent=1, default=_plain) + "\n")


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Comma-separated, numbers in full precision, nothing for None."""
    lines = [",".join(header), *(",".join(_cell(value) for value in row) for row in rows)]
    write_atomic(path, "\n".join(lines) + "\n")


def verdict_markdown(verdicts: Sequence[Verdict]) -> str:
    """The table that `ebbing reproduce` writes."""
    lines = ["| claim | where | what was run | result | verdict |", "|---|---|---|---|---|"]
    for v in verdicts:
        cells = (v.claim, v.where, v.ran, v.result, f"**{v.word}**" if v.holds is False else v.word)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = repr(float(value)) if isinstance(value, float | np.floating) else str(value)
    return f'"{text}"' if "," in text else text


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not JSON")
