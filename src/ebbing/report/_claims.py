"""The table of claims: every verdict of a reproduction as a row that leads to its evidence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ebbing.paper.records import records_size
from ebbing.report._panels import read_json

GROUPS = {
    "linear": "The paper: linear tasks",
    "networks": "The paper: networks",
    "erratum": "Errors in the paper, corrected",
    "beyond": "Beyond the paper",
}
"""What a claim belongs to, in the order of the table."""

STATUSES = ("holds", "fails", "open")

_WORDS = {"holds": "hold", "fails": "do not hold", "open": "undecided"}
_ERRATA = {"holds": "corrections hold", "fails": "wrong as printed", "open": "undecided"}
_BEYOND = ("new", "control", "sensitivity", "accuracy against memory", "replay")
# Comparisons of Table 1 that the paper does not make: with methods and variants of this project.
_OURS = re.compile(r"TRGP free|more protected|TRGP\+ theory|^TRGP (is|forgets) .* than TRGP as published")
_INTERVAL = re.compile(r"between ([-+][\d.]+) and ([-+][\d.]+)")
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
        verdict: The verdict in a word or two.
        note: What it leaves open: the effects that an undecided test does not exclude.
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
    note: str
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
        target, status = entry["target"], {True: "holds", False: "fails", None: "open"}[entry["holds"]]
        group = _group(entry["source"], entry["claim"], target)
        seen[target] = seen.get(target, 0) + 1
        section = f"{target}-recorded" if recorded else target
        from_records = recorded or is_recorded(folder, target)
        rows.append(
            Row(
                target=target,
                source=entry["source"],
                claim=entry["claim"].replace("forgetting_", "setup "),
                procedure=entry["procedure"],
                result=entry["result"],
                status=status,
                verdict=_verdict(status, group, entry.get("bounds", "")),
                note=entry.get("bounds", "") if status == "open" else "",
                label="recorded, paper scale" if from_records else "this run",
                group=group,
                link=f"{section}-{seen[target]}" if target == "claims" else section,
            )
        )
    return rows


def is_trained(target: str) -> bool:
    """Whether a target trains networks, so that records at paper scale stand beside a quick run."""
    return target in _TRAINED


def is_recorded(folder: Path, target: str) -> bool:
    """Whether the results of a target in a folder are made from records at paper scale."""
    return is_trained(target) and records_size(folder, target) > 0


def in_order(rows: Sequence[Row], targets: Sequence[str]) -> list[Row]:
    """Return rows with the paper first, then errata, then what goes beyond; quick and recorded runs side by side."""
    groups, places = list(GROUPS), {name: place for place, name in enumerate(targets)}

    def place(row: Row) -> tuple[int, int, bool]:
        return groups.index(row.group), places.get(row.target, len(places)), row.label != "this run"

    return sorted(rows, key=place)


@dataclass(frozen=True)
class Count:
    """How many claims of a group have which verdict.

    Attributes:
        group: A key of `GROUPS`.
        title: Its title.
        numbers: For each of `STATUSES`, how many, and what to call them.
    """

    group: str
    title: str
    numbers: dict[str, tuple[int, str]]


def counted_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that counts count: each claim once, by its record if it was also run on a small scale."""
    recorded = {row.target for row in rows if row.label != "this run"}
    return [row for row in rows if row.label != "this run" or row.target not in recorded]


def count_verdicts(rows: Sequence[Row]) -> list[Count]:
    """Return the counts of every group that has claims."""
    found, counted = [], counted_rows(rows)
    for group, title in GROUPS.items():
        mine = [row.status for row in counted if row.group == group]
        words = _ERRATA if group == "erratum" else _WORDS
        if mine:
            found.append(Count(group, title, {status: (mine.count(status), words[status]) for status in STATUSES}))
    return found


def _group(source: str, claim: str, target: str) -> str:
    if "erratum" in source.lower():
        return "erratum"
    if source.lower().startswith(_BEYOND) or claim.lower().startswith("new:") or _OURS.search(claim):
        return "beyond"
    return "networks" if is_trained(target) else "linear"


def _verdict(status: str, group: str, bounds: str) -> str:
    """Return the verdict; of an undecided test, whether its interval lies on one side of zero."""
    if status != "open":
        words = {"holds": "correction holds", "fails": "wrong as printed"} if group == "erratum" else {}
        return words.get(status, {"holds": "holds", "fails": "does not hold"}[status])
    if not (found := _INTERVAL.search(bounds)):
        return "undecided"
    low, high = map(float, found.groups())
    return "undecided, leans yes" if low > 0 else "undecided, leans no" if high < 0 else "undecided"
