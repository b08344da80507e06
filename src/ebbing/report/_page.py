"""Makes the report from the files of a reproduction."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from ebbing._files import write_atomic
from ebbing._versions import software_versions
from ebbing.report._figures import read_json
from ebbing.report._sections import DESCRIPTIONS, Section, make_section
from ebbing.report._template import asset, render

STATUS = {True: "holds", False: "fails", None: "open"}
"""The class of a verdict in the page."""


def report_page(folder: Path, *, recorded: Path | None = None, failures: Mapping[str, str] | None = None) -> str:
    """Return the report as one self-contained HTML page.

    Args:
        folder: The folder of a reproduction, with its verdicts, data and figures.
        recorded: The folder of the recorded results at paper scale, shown beside those of this run.
        failures: Why targets of this run failed, by name.

    Returns:
        The page. It loads nothing and sends nothing.

    Raises:
        ValueError: If the folder has no verdicts and nothing failed.
    """
    from markupsafe import Markup

    failures = dict(failures or {})
    rows = _rows(folder, "this run", "")
    if not rows and not failures:
        raise ValueError(f"{folder} has no verdicts.json: run ebbing reproduce --out {folder} first")
    sections = _sections(folder, rows, "this run", recorded=False, failures=failures)
    if recorded is not None and recorded.resolve() != folder.resolve():
        more = [row for row in _rows(recorded, "recorded, paper scale", "-recorded") if _is_trained(row["target"])]
        sections += _sections(recorded, more, "recorded runs at paper scale", recorded=True, failures={})
        rows += more
    counts = {status: sum(row["status"] == status for row in rows) for status in ("holds", "fails", "open")}
    return render(
        "page.html.j2",
        rows=rows,
        sections=sections,
        counts=counts,
        failures=failures,
        figures={section.id: section.figure for section in sections if section.figure},
        software=software_versions("numpy"),
        when=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        style=Markup(asset("style.css")),
        script=Markup(asset("report.js")),
        plotly=Markup(_plotly()),
    )


def write_report(
    folder: Path, *, recorded: Path | None = None, failures: Mapping[str, str] | None = None, name: str = "report.html"
) -> Path:
    """Write the report of a reproduction into its folder.

    Args:
        folder: The folder of the reproduction.
        recorded: The folder of the recorded results at paper scale.
        failures: Why targets of this run failed, by name.
        name: The name of the file.

    Returns:
        The file, which any browser opens from disk.
    """
    path = folder / name
    write_atomic(path, report_page(folder, recorded=recorded, failures=failures))
    return path


def _rows(folder: Path, label: str, suffix: str) -> list[dict[str, Any]]:
    """Return the rows of the table of claims."""
    file = folder / "verdicts.json"
    if not file.exists():
        return []
    return [
        entry
        | {
            "status": STATUS[entry["holds"]],
            "verdict": {True: "holds", False: "does not hold", None: entry.get("bounds") or "undecided"}[
                entry["holds"]
            ],
            "label": label,
            "link": f"#{entry['target']}{suffix}",
            "erratum": "erratum" in entry["source"],
        }
        for entry in read_json(file)["verdicts"]
    ]


def _sections(
    folder: Path, rows: list[dict[str, Any]], label: str, *, recorded: bool, failures: Mapping[str, str]
) -> list[Section]:
    found = dict.fromkeys([*(row["target"] for row in rows), *failures])
    order = [name for name in DESCRIPTIONS if name in found] + [name for name in found if name not in DESCRIPTIONS]
    return [make_section(name, folder, label, recorded=recorded, error=failures.get(name, "")) for name in order]


def _is_trained(target: str) -> bool:
    """Whether a target trains networks, so that this run was on a small scale."""
    return target not in ("claims", "fig1", "tables", "rules")


def _plotly() -> str:
    """Return plotly's script from its Python package, as it is installed."""
    try:
        script = (files("plotly") / "package_data" / "plotly.min.js").read_text("utf-8")
    except ModuleNotFoundError:
        raise ModuleNotFoundError("the report needs plotly: pip install 'ebbing[report]'") from None
    return re.sub(r"</(script)", r"<\\/\1", script, flags=re.IGNORECASE)
