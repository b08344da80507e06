"""The table of claims in Markdown: REPRODUCTION.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ebbing.report._claims import GROUPS, Row

_BEGINNING = """# Reproduction

Lin, Ju, Liang and Shroff (2023), *Theory on Forgetting and Generalization of Continual Learning*, statement by
statement, and what goes beyond it. `ebbing reproduce` writes this file; `report.html` beside it has the figures, the
data and where each number comes from. A claim that is not decided has the 95% interval of the effect as its verdict.
"""


def reproduction_markdown(rows: Sequence[Row], failures: Mapping[str, str]) -> str:
    """Return the claims with what was run, what came out and the verdict.

    Args:
        rows: The claims, in the order of the table.
        failures: Why targets failed, by name.

    Returns:
        The text of REPRODUCTION.md. The same claims always give the same text.
    """
    lines = [_BEGINNING, *_counts(rows)]
    if failures:
        lines += [
            "",
            f"**Failed in this run**: {'; '.join(f'{name} ({_cell(why)})' for name, why in failures.items())}.",
        ]
    several = len({row.label for row in rows}) > 1
    for group, title in GROUPS.items():
        mine = [row for row in rows if row.group == group]
        if not mine:
            continue
        lines += ["", f"## {title[0].upper()}{title[1:]}", ""]
        lines += ["| where | claim | what was run | ours | verdict |", "|---|---|---|---|---|"]
        for row in mine:
            run = f"{row.procedure} ({row.label})" if several else row.procedure
            verdict = f"**{row.verdict}**" if row.status == "fails" else row.verdict
            lines.append("| " + " | ".join(map(_cell, (row.source, row.claim, run, row.result))) + f" | {verdict} |")
    return "\n".join(lines) + "\n"


def _counts(rows: Sequence[Row]) -> list[str]:
    lines = ["| | hold | do not hold | not decided |", "|---|---|---|---|"]
    for group, title in GROUPS.items():
        statuses = [row.status for row in rows if row.group == group]
        if statuses:
            lines.append(
                f"| {title} | " + " | ".join(str(statuses.count(s)) for s in ("holds", "fails", "open")) + " |"
            )
    return lines


def _cell(text: str) -> str:
    """Return text that stays in its cell and is not read as HTML."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
