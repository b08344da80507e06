"""A progress bar with time left: on a terminal only, on standard error, and only for work that takes a while."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

_PATIENCE = 1.0
"""Seconds that work may take in silence."""


@contextmanager
def progress_bar(description: str) -> Iterator[Callable[..., None]]:
    """Yields a function that takes the finished fraction and, if there is more to say, a few words.

    Silent when standard error is not a terminal.

    >>> with progress_bar("simulating") as report:
    ...     report(0.5)
    ...     report(0.75, "nearly there")
    """
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    with _shown(*columns, TimeElapsedColumn(), TimeRemainingColumn()) as (bar, show):
        task = bar.add_task(description, total=1.0)

        def report(fraction: float, words: str = "") -> None:
            bar.update(task, completed=fraction, description=f"{description}: {words}" if words else description)
            show()

        yield report


@contextmanager
def status_line(description: str) -> Iterator[Callable[[str], None]]:
    """For searches without a known end: yields a function that shows a line beside the time taken.

    >>> with status_line("searching") as report:
    ...     report("best so far 1.5")
    """
    with _shown(TextColumn("{task.description}"), TimeElapsedColumn()) as (bar, show):
        task = bar.add_task(description, total=None)

        def report(line: str) -> None:
            bar.update(task, description=f"{description}: {line}")
            show()

        yield report


@contextmanager
def resumable() -> Iterator[None]:
    """Who interrupts long work that is stored as it goes is told that it is not lost.

    >>> with resumable():
    ...     pass
    """
    try:
        yield
    except KeyboardInterrupt:
        print("ebbing: interrupted; what is done is stored, and the same command goes on from there", file=sys.stderr)
        raise


@contextmanager
def _shown(*columns: ProgressColumn) -> Iterator[tuple[Progress, Callable[[], None]]]:
    """A bar, and a function that makes it visible once the work has taken a while; it goes when the work is done."""
    console = Console(stderr=True)
    bar = Progress(*columns, console=console, transient=True)
    began = time.monotonic()

    def show() -> None:
        if console.is_terminal and not bar.live.is_started and time.monotonic() - began > _PATIENCE:
            bar.start()

    try:
        yield bar, show
    finally:
        if bar.live.is_started:
            bar.stop()
