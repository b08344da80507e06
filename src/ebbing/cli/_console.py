"""The terminal: its width, tables and notes."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ebbing import _startup
from ebbing._tables import WIDTH, Tabular, escape_control, format_number
from ebbing.simulation._deviations import SimulatedDeviations


def console() -> Console:
    """Standard output; on a narrow terminal lines break rather than numbers."""
    return Console(width=max(80, Console().width))


def print_result(result: Tabular, wording: Callable[[str], str] | None = None) -> None:
    """Print the tables of a result, wrapped for the terminal; `wording` rewords titles and notes."""
    tables = [table if wording is None else table.reword(wording) for table in result._tables()]
    print("\n\n".join(table.to_text(min(WIDTH, console().width)) for table in tables))


def describe_simulated(found: SimulatedDeviations) -> str:
    """A sentence on standard deviations that a simulation has and theory has not."""
    parts = [("forgetting", found.forgetting), ("generalization error", found.generalization)]
    numbers = ", ".join(f"{name} {format_number(std, '.3g')}" for name, std in parts if std is not None)
    text = f"Standard deviation of one run, from {found.runs:,} simulated runs (no exact formula is known): {numbers}."
    return textwrap.fill(text, min(WIDTH, console().width))


def safe_text(text: str, style: str = "") -> Text:
    """Text for the terminal that may hold names and paths of users: without markup and control characters."""
    return Text(escape_control(text), style)


def note(text: str, console: Console) -> None:
    """Print a quiet remark below a table."""
    console.print(safe_text(text, "dim"))


def new_table(*headers: str, left: Sequence[int] = (0,)) -> Table:
    """An empty table; the columns in `left` are aligned left, the others right."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for i, header in enumerate(headers):
        table.add_column(safe_text(header), justify="left" if i in left else "right")
    return table


@contextmanager
def ended_by_interrupts() -> Iterator[None]:
    """Let Ctrl-C end the command at once, where nothing is lost; packages that are being imported may swallow it."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _startup.end_as_interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def end_successfully() -> NoReturn:
    """End the command successfully without waiting for its threads."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
