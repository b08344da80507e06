"""The table of claims in Markdown: REPRODUCTION.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ebbing.report._claims import GROUPS, Row, count_verdicts

_BEGINNING = """# Reproduction

Lin, Ju, Liang and Shroff (2023), *Theory on Forgetting and Generalization of Continual Learning*, statement by
statement, and what goes beyond it. `ebbing reproduce` writes this file; `report.html` beside it has the figures, the
data and where each number comes from. *Undecided* claims have the 95% interval of the effect, which is positive if the
claim is right; *leans yes* and *leans no* say that it lies on one side of zero, though the test, which is corrected for
the number of claims, does not decide.
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
        lines += ["", f"## {title}", ""]
        lines += ["| where | claim | what was run | ours | verdict |", "|---|---|---|---|---|"]
        for row in mine:
            run = f"{row.procedure} ({row.label})" if several else row.procedure
            verdict = f"**{row.verdict}**" if row.status == "fails" else row.verdict + (row.note and f": {row.note}")
            lines.append("| " + " | ".join(map(_cell, (row.source, row.claim, run, row.result))) + f" | {verdict} |")
    return "\n".join(lines) + "\n"


def _counts(rows: Sequence[Row]) -> list[str]:
    lines = ["| | hold | do not hold | undecided |", "|---|---|---|---|"]
    for count in count_verdicts(rows):
        cells = [f"{number} ({words})" if count.group == "erratum" and number else str(number)
                 for number, words in count.numbers.values()]  # fmt: skip
        lines.append(f"| {count.title} | " + " | ".join(cells) + " |")
    return lines


def _cell(text: str) -> str:
    """Return text that stays in its cell and is not read as HTML."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
