"""Tables of evidence: how to repeat the check of each claim, and the certificates of orders."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from pathlib import Path

from ebbing.report._panels import read_json, read_rows

CERTIFICATES = {
    "two": "Orders of two categories, T = 6 (proof of Prop. order2): (T-1)/(1-r) times the difference of forgetting to "
    "the alternating order, as printed and as computed, and the proof that it is positive for 0 < r < 1",
    "three": "Orders of three categories, T = 6 (proof of Prop. order3)",
    "equal": "Beyond the paper: the best orders of equally large categories",
    "unequal": "Beyond the paper: the best orders of categories of unequal size",
}
"""The tables of orders by the end of their file's name, each with a caption."""

_HEADS = {
    "index": "row",
    "text": "as computed",
    "printed": "as printed",
    "verdict": "sign",
    "method": "proof",
    "roots": "roots between 0 and 1",
    "coefficients": "coefficients, from r^0 on",
    "counts": "tasks in each category",
    "polynomials": "different polynomials",
    "counterexample": "another order is better",
}
_VALUES = {"True": "yes", "False": "no", "zero": "0"}


def repeats(folder: Path) -> str:
    """Return a row for every claim: what came out, and the line of Python that checks it again."""
    from ebbing.paper.claims import CLAIMS

    file = folder / "claims.json"
    if not file.exists():
        return ""
    names = {(claim.text, claim.source): name for name, claim in CLAIMS.items()}
    rows = []
    for number, entry in enumerate(read_json(file)["verdicts"], start=1):
        name = names.get((entry["claim"], entry["source"]))
        again = html.escape(f'check("{name}")') if name else ""
        cells = _cells("td", [entry[key] for key in ("source", "claim", "procedure", "result")])
        rows.append(f'<tr id="claims-{number}">{cells}<td><code>{again}</code></td></tr>')
    head = _cells("th", ["Where", "Claim", "What was run", "What came out", "Check it again"])
    note = "<p>To check a claim again in Python: <code>from ebbing.paper.claims import check</code>, then its line.</p>"
    return f"{note}<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def certificates(folder: Path) -> str:
    """Return the tables of orders with the certificate of each row."""
    parts = []
    for name, caption in CERTIFICATES.items():
        file = folder / f"tables_{name}.csv"
        if not file.exists():
            continue
        rows = [row | {"printed": _plain(row["printed"])} if "printed" in row else row for row in read_rows(file)]
        body = "".join(f"<tr>{_cells('td', [_VALUES.get(x, x) for x in row.values()])}</tr>" for row in rows)
        heads = [_HEADS.get(name, name) for name in rows[0]]
        table = f"<table><thead><tr>{_cells('th', heads)}</tr></thead><tbody>{body}</tbody></table>"
        opened = " open" if name == "two" else ""
        parts.append(f"<details{opened}><summary>{html.escape(caption)}</summary>{table}</details>")
    return "".join(parts)


def _plain(formula: str) -> str:
    """Return a printed polynomial without the commands of TeX."""
    return re.sub(r"\\left|\\right|[{}]", "", formula)


def _cells(tag: str, texts: Sequence[str]) -> str:
    return "".join(f"<{tag}>{html.escape(text or '')}</{tag}>" for text in texts)
