"""Tables of results: one neutral value, shown as aligned text, as HTML or as a pandas DataFrame.

A result states its tables once (`_tables`), and what its page has beside them (`_page`). `Tabular` turns these into
`summary()`, the view of a notebook and the page of `to_html()`. Text that users give (names of tasks) is shown with its
control characters escaped.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ebbing._extras import check_installed

if TYPE_CHECKING:
    import pandas as pd

    from ebbing._pages import Page

WIDTH = 100
"""Characters of a line of text; wider columns of text and longer notes wrap."""

MAX_ROWS = 40
"""Rows of a table with one row per task; the others are counted."""

_GUTTER = "  "
_HIDDEN = ("Cc", "Cs", "Zl", "Zp")  # control characters, surrogates, separators of lines and paragraphs
_BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def format_number(value: float, spec: str = ".6g") -> str:
    """Return the number as text: never "-0", "infinite" for infinity, "-" for NaN.

    >>> format_number(1.0214099, ".4g"), format_number(-0.0), format_number(-1e-9, "+.2f"), format_number(math.nan)
    ('1.021', '0', '0.00', '-')
    """
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    text = format(value, spec)
    return text.lstrip("+-") if float(text) == 0 else text


def count_of(number: int, noun: str) -> str:
    """Return a number of things, which may be one.

    >>> count_of(1, "order"), count_of(24, "order")
    ('1 order', '24 orders')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def with_article(noun: str) -> str:
    """Return a noun, such as the name of a class, after its indefinite article.

    >>> with_article("int"), with_article("Forecast")
    ('an int', 'a Forecast')
    """
    return f"a{'n' * noun.lower().startswith(('a', 'e', 'i', 'o', 'u'))} {noun}"


def escape_control(text: str) -> str:
    r"""Return the text with characters that move the cursor or reverse the line shown as escapes.

    >>> escape_control("a\x1b[2J\nb")
    'a\\x1b[2J\\nb'
    """
    return "".join(_escape(c) if unicodedata.category(c) in _HIDDEN or c in _BIDI else c for c in text)


def _escape(c: str) -> str:
    if ord(c) > 255:
        return f"\\u{ord(c):04x}"
    return repr(c)[1:-1] if c in "\n\r\t" else f"\\x{ord(c):02x}"


@dataclass(frozen=True)
class Table:
    """A table of text cells with a title above and notes below.

    Attributes:
        title: Paragraphs above the table, separated by line breaks.
        headers: One header per column; none for a title and notes alone.
        rows: The cells of each row, as many as there are headers.
        notes: Paragraphs below the table.
        left: Columns aligned left, which may wrap; the others are aligned right and stay in one line.
    """

    title: str = ""
    headers: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    notes: Sequence[str] = ()
    left: Sequence[int] = (0,)

    def to_text(self, width: int = WIDTH) -> str:
        """Return the table as aligned lines of at most `width` characters, where its numbers allow it."""
        lines = [line for paragraph in self._paragraphs() for line in _wrap(paragraph, width)]
        if self.headers:
            lines += [""] if lines else []
            cells = [[escape_control(cell) for cell in row] for row in (self.headers, *self.rows)]
            widths = self._column_widths(cells, width)
            lines += [line for row in cells for line in self._row_lines(row, widths)]
        return "\n".join([*lines, *(line for note in self.notes for line in _wrap(note, width))])

    def to_html(self) -> str:
        """Return the table as HTML without any style sheet or script."""
        parts = [f"<p>{_html(paragraph)}</p>" for paragraph in self._paragraphs()]
        if self.headers:
            parts.append("<table><thead>" + self._html_row("th", self.headers) + "</thead><tbody>")
            parts += [self._html_row("td", row) for row in self.rows]
            parts.append("</tbody></table>")
        return "\n".join([*parts, *(f"<p><small>{_html(note)}</small></p>" for note in self.notes)])

    def reword(self, wording: Callable[[str], str]) -> Table:
        """Return the table with another wording of its title and notes; headers and cells stay."""
        return replace(self, title=wording(self.title), notes=[wording(note) for note in self.notes])

    def _paragraphs(self) -> list[str]:
        return self.title.split("\n") if self.title else []

    def _column_widths(self, cells: Sequence[Sequence[str]], width: int) -> list[int]:
        widths = [max(map(_display_width, column)) for column in zip(*cells, strict=True)]
        for _ in self.left:  # narrow the widest column of text until the row fits
            excess = sum(widths) + len(_GUTTER) * (len(widths) - 1) - width
            if excess <= 0:
                break
            widest = max(self.left, key=lambda column: widths[column])
            widths[widest] = max(widths[widest] - excess, min(16, widths[widest]))
        return widths

    def _row_lines(self, row: Sequence[str], widths: Sequence[int]) -> list[str]:
        numbered = enumerate(zip(row, widths, strict=True))
        wrapped = [_wrap(cell, width) if k in self.left else [cell] for k, (cell, width) in numbered]
        height = max(map(len, wrapped))
        padded = [cell + [""] * (height - len(cell)) for cell in wrapped]
        columns = [
            [_pad(line, width, left=k in self.left) for line in cell]
            for k, (cell, width) in enumerate(zip(padded, widths, strict=True))
        ]
        return [_GUTTER.join(lines).rstrip() for lines in zip(*columns, strict=True)]

    def _html_row(self, tag: str, row: Sequence[str]) -> str:
        sides = ["left" if k in self.left else "right" for k in range(len(row))]
        cells = (
            f'<{tag} style="text-align: {side}">{_html(cell)}</{tag}>' for side, cell in zip(sides, row, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"


class Tabular(ABC):
    """A result that shows itself as tables: as text, in a notebook, and as a page with its pictures and data."""

    @abstractmethod
    def _tables(self) -> Sequence[Table]: ...

    @abstractmethod
    def _page(self) -> Page: ...

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return the result as a pandas DataFrame.

        Returns:
            The frame, whose rows each result describes.
        """

    def _answer(self) -> str:
        """Return the answer in one sentence, which stands at the top of the result's page; empty if there is none."""
        return ""

    def summary(self, width: int = WIDTH) -> str:
        """Return the result as plain aligned text.

        Args:
            width: Characters of a line, where the numbers allow it.

        Returns:
            The lines, without a line break at the end.
        """
        return "\n\n".join(table.to_text(width) for table in self._tables())

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the result as one self-contained page: tables, pictures and data, for light, dark and print.

        Args:
            path: A file to write the page to; None to write none.

        Returns:
            The page, with the text of users escaped. It has no script, loads nothing and sends nothing. Pictures need
            matplotlib, downloads of the data need pandas; without these the page has the tables only.

        Raises:
            ImportError: If jinja2 is not installed.
        """
        from ebbing._files import write_atomic
        from ebbing.report import result_page

        page = result_page(self)
        if path is not None:
            write_atomic(Path(path), page)
        return page

    def _repr_html_(self) -> str:
        return "<div>\n" + "\n".join(table.to_html() for table in self._tables()) + "\n</div>"


def abridged_rows(size: int, row: Callable[[int], Sequence[str]]) -> list[Sequence[str]]:
    """Return at most `MAX_ROWS` of `size` rows: the first ones, the last one, and between them how many are left out.

    >>> [cells[0] for cells in abridged_rows(45, lambda i: [f"task {i + 1}", "0"])][-3:]
    ['task 39', '... 5 more', 'task 45']
    """
    if size <= MAX_ROWS:
        return [row(i) for i in range(size)]
    last = row(size - 1)
    return [*map(row, range(MAX_ROWS - 1)), [f"... {size - MAX_ROWS} more", *[""] * (len(last) - 1)], last]


def to_frame(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Return the columns as a pandas DataFrame.

    Args:
        columns: Values of each column by its name, all of one length.

    Returns:
        The frame, with a row for each value.

    Raises:
        ModuleNotFoundError: If pandas is not installed.
    """
    check_installed("pandas", "to_frame()")
    import pandas as pd

    return pd.DataFrame(dict(columns))


def _html(text: str) -> str:
    """Return the text escaped, with places at which a browser may break words that are longer than a column."""
    words = re.split(r"(\S{41,})", escape_control(text))  # the long words have odd places
    for place in range(1, len(words), 2):
        words[place] = "<wbr>".join(html.escape(words[place][i : i + 20]) for i in range(0, len(words[place]), 20))
    words[::2] = map(html.escape, words[::2])
    return "".join(words)


def _display_width(text: str) -> int:
    """Return the columns that a terminal needs: two for wide characters, none for combining ones."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _pad(text: str, width: int, *, left: bool) -> str:
    room = " " * (width - _display_width(text))
    return text + room if left else room + text


def _wrap(text: str, width: int) -> list[str]:
    """Break a paragraph at spaces, and words longer than a line anywhere; its indent stays."""
    text = escape_control(text)
    if _display_width(text) <= width:
        return [text]
    indent = text[: len(text) - len(text.lstrip(" "))]
    lines, line = [], indent
    words = text.split()[::-1]
    while words:
        word = words.pop()
        joined = f"{line} {word}" if line.strip() else line + word
        if _display_width(joined) <= width:
            line = joined
        elif line.strip():  # the word begins the next line
            lines.append(line)
            line = indent
            words.append(word)
        else:  # a word longer than a line
            cut = max(k for k in range(1, len(word) + 1) if k == 1 or _display_width(indent + word[:k]) <= width)
            lines.append(indent + word[:cut])
            words += [word[cut:]] if word[cut:] else []
    return [*lines, line] if line.strip() else lines
