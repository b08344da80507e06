"""The files that a reproduction writes: verdicts on claims, and data with its provenance."""

from __future__ import annotations

import csv
import io
import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ebbing._files import write_atomic
from ebbing._versions import software_versions


@dataclass(frozen=True)
class Verdict:
    """The outcome of checking one claim.

    Attributes:
        claim: What is claimed, in a clause: "forgetting falls with the overlap of two tasks".
        source: Where the claim stands: "Theorem 1", "Figure 2 (a)"; "new" if the paper does not make it.
        procedure: What was run to check it: "3 seeds, 600 epochs".
        result: The numbers that came out.
        holds: Whether the claim holds; None if the result does not decide.
        bounds: Where it does not, the effects that it leaves possible, in words: "between -0.05 and +0.45".

    Example:
        >>> Verdict("forgetting vanishes as p grows", "Section 4.1", "p up to 10^12", "at most 1e-10", True).label
        'holds'
    """

    claim: str
    source: str
    procedure: str
    result: str
    holds: bool | None
    bounds: str = ""

    @property
    def label(self) -> str:
        """The verdict in words: "holds", "does not hold", or else the bounds or "undecided"."""
        return {True: "holds", False: "does not hold", None: self.bounds or "undecided"}[self.holds]


def provenance(config: Any, seconds: float, *packages: str) -> dict[str, Any]:
    """Return where a result comes from: code, settings, versions, machine.

    Args:
        config: The settings, a dataclass.
        seconds: How long the computation took.
        *packages: Packages besides NumPy whose versions are recorded.

    Returns:
        The entries commit, config, seconds, when, versions, machine and command.
    """
    made = origin(*packages)
    return {
        "commit": made.pop("commit"),
        "config": asdict(config),
        "seconds": round(seconds, 3),
        "when": made.pop("when"),
        **made,
        "command": " ".join(["ebbing", *sys.argv[1:]]),
    }


def origin(*packages: str) -> dict[str, Any]:
    """Return with what something is made now: code, versions, machine and time.

    Args:
        *packages: Packages besides NumPy whose versions are recorded.

    Returns:
        The entries commit, when, versions and machine.
    """
    made = software_versions("numpy", *packages)
    return {
        "commit": made.pop("commit"),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": made,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write indented JSON, with arrays as lists.

    Args:
        path: The file.
        content: What to write: numbers, texts, arrays, lists and dictionaries.
    """
    write_atomic(path, json.dumps(content, indent=1, default=_plain) + "\n")


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Write comma-separated values, numbers in full precision and None as an empty cell.

    Args:
        path: The file.
        header: The names of the columns.
        rows: The rows, each as long as the header.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([header, *([_cell(value) for value in row] for row in rows)])
    write_atomic(path, text.getvalue())


def verdict_markdown(verdicts: Sequence[Verdict]) -> str:
    """Return the table of verdicts that `ebbing reproduce` writes, in Markdown.

    Args:
        verdicts: The rows.

    Returns:
        The table, with a line break at its end.
    """
    lines = ["| claim | source | what was run | result | verdict |", "|---|---|---|---|---|"]
    for v in verdicts:
        cells = (v.claim, v.source, v.procedure, v.result, f"**{v.label}**" if v.holds is False else v.label)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    if value is None:
        return ""
    return repr(float(value)) if isinstance(value, float | np.floating) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not JSON")


def protocol_title(name: str) -> str:
    """Return the heading of a protocol in reports, with the benchmark's full name.

    Args:
        name: The name of the protocol.

    Returns:
        The heading.

    Example:
        >>> protocol_title("cifar100 short")
        'Split CIFAR-100, short'
    """
    title = name.replace("pmnist", "Permuted MNIST").replace("cifar100", "Split CIFAR-100")
    return title.replace(" short", ", short").replace(" quick", ", quick")
