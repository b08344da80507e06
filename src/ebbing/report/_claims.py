"""The table of claims: every verdict of a reproduction as a row that leads to its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ebbing.report._figures import read_json

GROUPS = {"paper": "the paper", "erratum": "errata of the paper", "beyond": "beyond the paper"}
"""What a claim belongs to, in the order of the table."""

_BEYOND = ("new", "control", "sensitivity", "accuracy against memory", "replay")
_TRAINED = ("fig2", "table1", "sensitivity", "ablations", "frontier", "forecast")


@dataclass(frozen=True)
class Row:
    """One claim in the table.

    Attributes:
        target: The target that judged it.
        source: Where it stands.
        claim: What is claimed.
        procedure: What was run.
        result: What came out, with its uncertainty.
        status: "holds", "fails" or "open".
        verdict: The verdict in words.
        label: "this run" or "recorded, paper scale".
        group: A key of `GROUPS`.
        link: The place of its evidence in the page.
    """

    target: str
    source: str
    claim: str
    procedure: str
    result: str
    status: str
    verdict: str
    label: str
    group: str
    link: str


def read_claims(folder: Path, *, recorded: bool = False) -> list[Row]:
    """Return the rows of a folder; none if it has no verdicts."""
    file = folder / "verdicts.json"
    if not file.exists():
        return []
    seen: dict[str, int] = {}
    rows = []
    for entry in read_json(file)["verdicts"]:
        target, holds = entry["target"], entry["holds"]
        seen[target] = seen.get(target, 0) + 1
        section = f"{target}-recorded" if recorded else target
        from_records = recorded or (is_trained(target) and (folder / "records").is_dir())
        rows.append(
            Row(
                target=target,
                source=entry["source"],
                claim=entry["claim"],
                procedure=entry["procedure"],
                result=entry["result"],
                status={True: "holds", False: "fails", None: "open"}[holds],
                verdict={True: "holds", False: "does not hold", None: entry.get("bounds") or "undecided"}[holds],
                label="recorded, paper scale" if from_records else "this run",
                group=_group(entry["source"], entry["claim"]),
                link=f"{section}-{seen[target]}" if target == "claims" else section,
            )
        )
    return rows


def is_trained(target: str) -> bool:
    """Whether a target trains networks, so that records at paper scale stand beside a quick run."""
    return target in _TRAINED


def in_order(rows: Sequence[Row], targets: Sequence[str]) -> list[Row]:
    """Return rows with the paper first, then errata, then what goes beyond; quick and recorded runs side by side."""
    groups, places = list(GROUPS), {name: place for place, name in enumerate(targets)}

    def place(row: Row) -> tuple[int, int, bool]:
        return groups.index(row.group), places.get(row.target, len(places)), row.label != "this run"

    return sorted(rows, key=place)


def _group(source: str, claim: str) -> str:
    if "erratum" in source.lower():
        return "erratum"
    if source.lower().startswith(_BEYOND) or claim.lower().startswith("new:"):
        return "beyond"
    return "paper"
