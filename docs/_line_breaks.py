"""Says where the lines of the site may break, for narrow screens."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes

_DOTTED = re.compile(r"ebbing(\.\w+)+")
_NUMBER = r"[+-]?\d[\d.,]*(?:e-?\d+)?"
_TOGETHER = re.compile(rf"{_NUMBER}\s±\s{_NUMBER}|\bp\s[=<]\s{_NUMBER}|[+-]?\d[\d.]*e-\d+")


def add_breaks(app: Any, doctree: nodes.document, page: str) -> None:
    """Say where lines may break on a narrow screen, as a handler of doctree-resolved.

    The names of packages in titles and links may break after a dot. Punctuation stays on the line of its formula, an
    error on that of its number (0.75 ± 0.03), and an exponent on that of its digits (2e-05).

    Args:
        app: the Sphinx application.
        doctree: the page, changed in place.
        page: its name.
    """
    if app.builder.format != "html":
        return
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, nodes.title | nodes.reference) and _DOTTED.fullmatch(text):
            text.parent.replace(text, nodes.Text(text.replace(".", ".\u200b")))
    for text in [text for text in doctree.findall(nodes.Text) if _TOGETHER.search(text)]:
        if isinstance(text.parent, nodes.paragraph | nodes.inline | nodes.emphasis | nodes.strong):
            _keep_numbers(text)
    for formula in list(doctree.findall(nodes.math)):
        _keep_punctuation(formula)


def _keep_numbers(text: nodes.Text) -> None:
    """Put each number of a text, with its error or its exponent, into a box that does not break."""
    parts: list[nodes.Node] = []
    end = 0
    for found in _TOGETHER.finditer(text):
        number = found[0].rstrip(".,")  # those belong to the sentence
        parts += [nodes.Text(text[end : found.start()]), nodes.inline("", number, classes=["together"])]
        end = found.start() + len(number)
    text.parent.replace(text, [*parts, nodes.Text(text[end:])])


def _keep_punctuation(formula: nodes.math) -> None:
    """Put a formula, an opening bracket before it and the punctuation after it into one box that does not break."""
    parent, place = formula.parent, formula.parent.index(formula)
    before, after = parent[place - 1] if place else None, parent[place + 1] if place + 1 < len(parent) else None
    opening = re.search(r"[(\[“]$", before) if isinstance(before, nodes.Text) else None
    closing = re.match(r"[-.,;:!?)\]”’]+\S*", after) if isinstance(after, nodes.Text) else None
    if not opening and not closing:
        return
    box = nodes.inline(classes=["together"])
    if opening:
        parent.replace(before, nodes.Text(before[: opening.start()]))
    if closing:
        parent.replace(after, nodes.Text(after[closing.end() :]))
    parent.replace(formula, box)
    box += [nodes.Text(opening[0])] if opening else []
    box += formula
    box += [nodes.Text(closing[0])] if closing else []


def break_names(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Let the names of packages in links to the next page break after a dot, as a handler of html-page-context.

    Args:
        app: the Sphinx application.
        page: the page's name.
        template: the name of its template.
        context: what the template is filled with, changed in place.
        doctree: the page.
    """
    for side in ("prev", "next"):
        if context.get(side):
            title = re.sub(r"(?<=\w)\.(?=\w)", ".<wbr>", context[side]["title"])
            context[side] = {**context[side], "title": title}
