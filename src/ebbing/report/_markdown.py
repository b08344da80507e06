"""Headings, paragraphs, lists and tables of our own Markdown files as HTML; everything is escaped."""

from __future__ import annotations

import html
import re

_SEPARATOR = re.compile(r"\|(\s*:?-+:?\s*\|)+")
_ITEM = re.compile(r"[-*] +")
_IMAGE = re.compile(r"!\[[^]]*\]\([^)]*\)")

LONG = 25
"""A table or a list with more rows is folded away: a click opens it."""


def to_html(text: str) -> str:
    r"""Return Markdown as HTML: headings, paragraphs, lists, tables, bold words and code; without its images.

    Args:
        text: The Markdown.

    Returns:
        The HTML. The first heading is left out: the page has one. The page draws its own figures, instead of images.

    Example:
        >>> to_html("# T\n\n| a | b |\n|---|---|\n| 1 | <2> |")
        '<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>&lt;2&gt;</td></tr></tbody></table>'
    """
    parts: list[str] = []
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = block.splitlines()
        if lines[0].startswith("# "):
            lines = lines[1:]
        lines = [line for line in lines if not _IMAGE.fullmatch(line.strip())]
        if not lines:
            continue
        if heading := re.match(r"(#{2,4}) (.*)", lines[0]):
            level = len(heading[1]) + 1
            parts.append(f"<h{level}>{_inline(heading[2])}</h{level}>")
            lines = lines[1:]
        if len(lines) > 1 and lines[0].startswith("|") and _SEPARATOR.fullmatch(lines[1].strip()):
            parts.append(_folded(_table(lines), len(lines) - 2, "rows"))
        elif lines and all(_ITEM.match(line) for line in lines):
            items = "".join(f"<li>{_inline(_ITEM.sub('', line, count=1))}</li>" for line in lines)
            parts.append(_folded(f"<ul>{items}</ul>", len(lines), "entries"))
        elif lines:
            parts.append(f"<p>{_inline(' '.join(lines))}</p>")
    return "\n".join(parts)


def _folded(content: str, rows: int, what: str) -> str:
    return f"<details><summary>Show all {rows} {what}</summary>{content}</details>" if rows > LONG else content


def _table(lines: list[str]) -> str:
    head, rows = _cells(lines[0]), [_cells(line) for line in lines[2:]]
    header = "".join(f"<th>{_inline(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{_inline(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>"


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def _inline(text: str) -> str:
    safe = html.escape(text)
    safe = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", safe)
    return re.sub(r"`(.+?)`", r"<code>\1</code>", safe)
