"""The sections of the report: for every target its title, how to read its figure, and its files in a folder."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ebbing.paper.targets import TITLES
from ebbing.report._comparisons import fig2_theory_figure, forecast_figure
from ebbing.report._evidence import certificates, repeats
from ebbing.report._figures import (
    fig1_figure,
    fig2_figure,
    methods_figure,
    rules_figure,
    sensitivity_figure,
)
from ebbing.report._frontier_figure import frontier_figure
from ebbing.report._markdown import to_html
from ebbing.report._panels import Figure, read_json

LARGEST_DOWNLOAD = 300_000
"""Data files above this size, in bytes, are named in the page instead of being part of it."""


@dataclass(frozen=True)
class Description:
    """What a section says, whatever the run was.

    Attributes:
        title: The heading.
        figures: For each interactive figure, a sentence on how to read it, and what makes it from the target's JSON
            file; None where a run has no data for it.
        evidence: Makes tables of the evidence, as HTML, from the folder.
    """

    title: str
    figures: tuple[tuple[str, Callable[[Path], Figure | None]], ...] = ()
    evidence: Callable[[Path], str] | None = None


_MEMORY = "Accuracy against the memory that a task adds: up and left is better"

DESCRIPTIONS: dict[str, Description] = {
    "claims": Description(TITLES["claims"], evidence=repeats),
    "fig1": Description(
        TITLES["fig1"],
        (
            (
                "Lines are the theorems' expectations, markers the means of simulated runs with their standard errors: "
                "they agree if markers lie on lines. The peak at p = n separates the two regimes.",
                fig1_figure,
            ),
        ),
    ),
    "tables": Description(TITLES["tables"], evidence=certificates),
    "rules": Description(
        TITLES["rules"],
        (("0 is the proved optimum, 1 a random order: the lower a rule, the better its orders.", rules_figure),),
    ),
    "fig2": Description(
        TITLES["fig2"],
        (
            ("Each line is one setup of the paper's appendix: mean over seeds with its standard error.", fig2_figure),
            (
                "The same networks against the linear theory, which knows only the tasks' labels: each point is a "
                "sequence of tasks. The theory ranks sequences well where points rise from left to right; its levels "
                "mean nothing for networks. r = 1 − n/p is not known for a network: click the legend for others.",
                fig2_theory_figure,
            ),
        ),
    ),
    "table1": Description(
        TITLES["table1"],
        (
            (
                f"{_MEMORY} (fine-tuning may lie below: zoom out). The tables have the paper's numbers beside ours.",
                methods_figure,
            ),
        ),
    ),
    "sensitivity": Description(
        TITLES["sensitivity"],
        (
            (
                "Each line changes one choice that the paper does not print: mean over seeds with its standard error.",
                sensitivity_figure,
            ),
        ),
    ),
    "ablations": Description(TITLES["ablations"], ((f"{_MEMORY}. One panel per question.", methods_figure),)),
    "frontier": Description(
        TITLES["frontier"],
        (
            (
                "Up and left is better: a method with another one above it and to its left is not worth its memory. "
                "Each line is a method with several thresholds, widths or ranks: point at a mark for its setting.",
                frontier_figure,
            ),
        ),
    ),
    "forecast": Description(
        TITLES["forecast"],
        (
            (
                "Each point is an order of a task set, the diamond the one that the forecast advises: it should lie "
                "lowest. Beside the name of a set: the rank correlation. Gray: where the level would be predicted, "
                "too. Bars reach to the largest of the seeds.",
                forecast_figure,
            ),
        ),
    ),
}


@dataclass(frozen=True)
class Section:
    """One section of the page.

    Attributes:
        id: The anchor.
        target: The name of the target.
        title: The heading.
        label: Whether the numbers come from this run or from records.
        figures: The interactive figures: anchor, how to read it, what plotly draws.
        tables: Tables as HTML.
        downloads: Data files: name and data address.
        provenance: Where the numbers come from, in lines.
        error: Why the target failed; empty if it did not.
    """

    id: str
    target: str
    title: str
    label: str
    figures: list[tuple[str, str, Figure]] = field(default_factory=list)
    tables: str = ""
    downloads: list[tuple[str, str]] = field(default_factory=list)
    provenance: list[str] = field(default_factory=list)
    error: str = ""


def make_section(target: str, folder: Path, label: str, *, recorded: bool, error: str = "") -> Section:
    """Return the section of a target from the files in a folder."""
    about = DESCRIPTIONS.get(target, Description(target))
    stem = target
    if not (folder / f"{stem}.json").exists() and (folder / f"{stem}_quick.json").exists():
        stem = f"{stem}_quick"
    anchor = f"{target}-recorded" if recorded else target
    data, markdown = folder / f"{stem}.json", folder / f"{stem}.md"
    has_data = not error and data.exists()
    made = [(reading, make(data)) for reading, make in about.figures] if has_data else []
    return Section(
        id=anchor,
        target=target,
        title=about.title,
        label=label,
        figures=[(f"{anchor}{k or ''}", reading, figure) for k, (reading, figure) in enumerate(made) if figure],
        tables=_tables(about, folder, markdown, shown=has_data),
        downloads=[
            (file.name, _address(file) if file.stat().st_size <= LARGEST_DOWNLOAD else "")
            for file in sorted(folder.glob(f"{stem}*.csv"))
        ],
        provenance=_provenance(data),
        error=error,
    )


def _tables(about: Description, folder: Path, markdown: Path, *, shown: bool) -> str:
    """Return the tables of a section as HTML, escaped."""
    evidence = about.evidence(folder) if about.evidence and shown else ""
    return evidence + (to_html(markdown.read_text("utf-8")) if markdown.exists() else "")


def _address(file: Path) -> str:
    return f"data:text/csv;base64,{base64.b64encode(file.read_bytes()).decode()}"


def _provenance(file: Path) -> list[str]:
    """Return where the numbers of a file come from, one fact a line."""
    if not file.exists():
        return []
    content = read_json(file)
    found = content.get("provenance", {}) if isinstance(content, dict) else {}
    keys = ("commit", "when", "seconds", "machine", "command", "records", "imported", "commits")
    lines = [f"{key}: {found[key]}" for key in keys if found.get(key)]
    for key, what in (("tasks", "tasks of networks"), ("networks", "networks")):
        if isinstance(found.get(key), dict):  # how many were trained now, and how many came from the store
            lines.append(f"{what}: " + ", ".join(f"{count} {how}" for how, count in found[key].items()))
    versions = found.get("versions")
    if isinstance(versions, dict) and versions:
        lines.append("versions: " + ", ".join(f"{name} {version}" for name, version in versions.items()))
    if isinstance(found.get("config"), dict):
        lines.append("settings: " + ", ".join(f"{key} = {value}" for key, value in found["config"].items()))
    return lines
