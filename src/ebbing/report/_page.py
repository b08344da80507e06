"""Makes the report from the files of a reproduction."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

from ebbing._extras import check_installed
from ebbing._files import write_atomic
from ebbing._versions import software_versions
from ebbing.report._claims import (
    GROUPS,
    Row,
    count_verdicts,
    counted_rows,
    in_order,
    is_recorded,
    is_trained,
    read_claims,
)
from ebbing.report._reproduction import reproduction_markdown
from ebbing.report._sections import DESCRIPTIONS, Section, make_section
from ebbing.report._template import asset, render


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
        ModuleNotFoundError: If jinja2 or plotly is not installed.
    """
    check_installed("jinja2", "the report")
    from markupsafe import Markup

    failures = dict(failures or {})
    rows = all_claims(folder, recorded)
    if not rows and not failures:
        raise ValueError(f"{folder} has no verdicts.json: run ebbing reproduce --out {folder} first")
    sections = _sections(folder, recorded, rows, failures)
    return render(
        "page.html.j2",
        rows=rows,
        groups=GROUPS,
        trained={row.target for row in rows if is_trained(row.target)},
        sections=sections,
        counts=count_verdicts(rows),
        counted=counted_rows(rows),
        labels=list(dict.fromkeys(row.label for row in rows)),
        failures=failures,
        figures={anchor: figure for section in sections for anchor, _, figure in section.figures},
        software=software_versions("numpy"),
        when=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        style=Markup(asset("style.css")),
        script=Markup(asset("report.js")),
        plotly=Markup(_plotly()),
    )


def write_report(folder: Path, *, recorded: Path | None = None, failures: Mapping[str, str] | None = None) -> Path:
    """Write the report of a reproduction into its folder: report.html, and the same claims as REPRODUCTION.md.

    Args:
        folder: The folder of the reproduction.
        recorded: The folder of the recorded results at paper scale.
        failures: Why targets of this run failed, by name.

    Returns:
        The page, which any browser opens from disk.
    """
    path = folder / "report.html"
    write_atomic(path, report_page(folder, recorded=recorded, failures=failures))
    write_atomic(folder / "REPRODUCTION.md", reproduction_markdown(all_claims(folder, recorded), dict(failures or {})))
    return path


def all_claims(folder: Path, recorded: Path | None) -> list[Row]:
    """Return the claims of a run, and beside those on a small scale the ones of the recorded runs at paper scale.

    Args:
        folder: The folder of the reproduction.
        recorded: The folder of the recorded results, or None.

    Returns:
        The rows of the table, the paper first.
    """
    rows = read_claims(folder)
    if recorded is not None and recorded.resolve() != folder.resolve():
        beside = read_claims(recorded, recorded=True)
        rows += [row for row in beside if is_trained(row.target) and not is_recorded(folder, row.target)]
    return in_order(rows, list(DESCRIPTIONS))


def _sections(folder: Path, recorded: Path | None, rows: list[Row], failures: Mapping[str, str]) -> list[Section]:
    """Return the evidence, target by target: this run, then the recorded ones."""
    found = {(row.target, row.label) for row in rows} | {(name, "this run") for name in failures}
    for name in DESCRIPTIONS:  # targets without claims have tables and figures all the same
        found |= {(name, "this run")} if (folder / f"{name}.json").exists() else set()
    known = [*DESCRIPTIONS, *sorted({target for target, _ in found} - set(DESCRIPTIONS))]
    sections = []
    links = {row.link for row in rows}
    for name in known:
        if (name, "this run") in found or name in links:
            label = "recorded runs at paper scale" if is_recorded(folder, name) else "this run"
            sections.append(make_section(name, folder, label, recorded=False, error=failures.get(name, "")))
        if recorded is not None and f"{name}-recorded" in links:
            sections.append(make_section(name, recorded, "recorded runs at paper scale", recorded=True))
    return sections


def _plotly() -> str:
    """Return plotly's script from its Python package, as it is installed."""
    check_installed("plotly", "the report")
    script = (files("plotly") / "package_data" / "plotly.min.js").read_text("utf-8")
    return re.sub(r"</(script)", r"<\\/\1", script, flags=re.IGNORECASE)
